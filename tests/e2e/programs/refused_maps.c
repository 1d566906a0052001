/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Constructs that the runtime must refuse: what must be present is not, or what is present would be extended. The
 * program ends as it does without the library. With others beside them that are right.
 */
#include "check.h"

#include <string.h>

static const char *wanted;
static double *x;

static bool is(const char *name)
{
    return strcmp(wanted, name) == 0;
}

static void extend(void)
{
    if (is("extend.enter_after")) {
#pragma omp target enter data map(to : x[64 : 128])
    } else if (is("extend.enter_before")) {
#pragma omp target enter data map(to : x[0 : 65])
    } else if (is("extend.data")) {
#pragma omp target data map(to : x[32 : 64])
        x[0] = 1;
    } else if (is("extend.target")) {
#pragma omp target map(tofrom : x[64 : 128])
        x[64] = 1;
    } else if (is("extend.target_around")) {
#pragma omp target map(tofrom : x[0 : 256])
        x[64] = 1;
    } else if (is("extend.nowait")) {
#pragma omp target nowait depend(inout : x[0]) map(tofrom : x[0 : 256])
        x[64] = 1;
#pragma omp taskwait
    } else if (is("extend.own")) { /* one entry another */
#pragma omp target map(tofrom : x[0 : 10]) map(to : x[5 : 10])
        x[0] = 1;
    } else if (is("extend.enter_own")) {
        double *y = x + 5;
#pragma omp target enter data map(to : x[0 : 10]) map(to : y[0 : 10])
    }
}

static void present(void)
{
    if (is("present.target")) {
#pragma omp target map(present, tofrom : x[0 : 10])
        x[0] = 1;
    } else if (is("present.target_part")) {
#pragma omp target map(present, tofrom : x[64 : 80])
        x[64] = 1;
    } else if (is("present.nowait")) {
#pragma omp target nowait depend(inout : x[0]) map(present, tofrom : x[0 : 10])
        x[0] = 1;
#pragma omp taskwait
    } else if (is("present.enter")) {
#pragma omp target enter data map(present, to : x[0 : 10])
    } else if (is("present.data")) {
#pragma omp target data map(present, to : x[0 : 10])
        x[0] = 2;
    } else if (is("present.exit")) {
#pragma omp target exit data map(present, from : x[0 : 10])
    } else if (is("present.exit_part")) {
#pragma omp target exit data map(present, from : x[64 : 80])
    } else if (is("present.update")) {
#pragma omp target update to(present : x[0 : 10])
    } else if (is("present.update_part")) {
#pragma omp target update from(present : x[120 : 10])
    } else if (is("present.empty")) {
        double *y = x + 200;
#pragma omp target map(present, tofrom : y[0 : 0])
        (void)y;
    }
}

/* --- structs ------------------------------------------------------------------ */

typedef struct node {
    long a;
    double *p;
    long b;
} node;

static node s, t;

static void extend_struct(void)
{
    if (is("struct.enter")) {
#pragma omp target enter data map(to : s.a)
#pragma omp target enter data map(to : s.a, s.b)
    } else if (is("struct.enter_whole")) {
#pragma omp target enter data map(to : s.b)
#pragma omp target enter data map(to : s)
    } else if (is("struct.target")) {
#pragma omp target enter data map(to : s.a)
#pragma omp target map(tofrom : s.a, s.b)
        s.b = 1;
    } else if (is("struct.implicit_beside")) { /* the struct comes whole, with an array of it */
#pragma omp target enter data map(to : s.b)
#pragma omp target map(tofrom : s) map(tofrom : s.p[0 : 4])
        s.b = 1;
    } else if (is("struct.nowait")) {
#pragma omp target enter data map(to : s.b)
#pragma omp target nowait depend(inout : s) map(tofrom : s.a, s.b)
        s.b = 1;
#pragma omp taskwait
    } else if (is("struct.held")) {
#pragma omp target data map(ompx_hold, to : s.a)
        {
#pragma omp target map(tofrom : s.a, s.b)
            s.b = 1;
        }
    } else if (is("struct.pointee")) {
#pragma omp target enter data map(to : s.p[0 : 4])
#pragma omp target map(tofrom : s.p[0 : 8])
        s.p[7] = 1;
    } else if (is("struct.other_pointee")) { /* one list, one array by two pointers */
        t.p = s.p + 2;
#pragma omp target map(tofrom : s.p[0 : 4]) map(tofrom : t.p[0 : 4])
        s.p[0] = t.p[3];
    }
}

static void present_struct(void)
{
    if (is("present.members")) {
#pragma omp target map(present, tofrom : s.a, s.b)
        s.b = 1;
    } else if (is("present.members_in_part")) {
#pragma omp target enter data map(to : s.a)
#pragma omp target map(present, tofrom : s.a, s.b)
        s.b = 1;
    } else if (is("present.one_member")) { /* counts for the whole struct */
#pragma omp target enter data map(to : s.a)
#pragma omp target map(present, to : s.a) map(tofrom : s.b)
        s.b = s.a;
    } else if (is("present.pointee")) {
#pragma omp target enter data map(to : s)
#pragma omp target map(present, tofrom : s.p[0 : 4])
        s.p[0] = 1;
    } else if (is("present.pointee_in_part")) {
#pragma omp target enter data map(to : s.p[0 : 4])
#pragma omp target data map(present, tofrom : s.p[2 : 4])
        s.p[0] = 1;
    } else if (is("present.enter_pointee")) {
#pragma omp target enter data map(to : s)
#pragma omp target enter data map(present, to : s.p[0 : 4])
    } else if (is("present.exit_pointee")) {
#pragma omp target enter data map(to : s)
#pragma omp target exit data map(present, from : s.p[0 : 4])
    } else if (is("present.update_members")) {
#pragma omp target enter data map(to : s.a)
#pragma omp target update to(present : s.a, s.b)
    }
}

/* Not refused. */
static void right_with_structs(void)
{
#pragma omp target enter data map(to : s)
#pragma omp target map(present, tofrom : s.a, s.b)
    s.b = ++s.a;
#pragma omp target enter data map(to : s.p[0 : 4])
#pragma omp target map(present, tofrom : s.a) map(present, tofrom : s.p[1 : 2])
    s.p[1] += (double)++s.a;
#pragma omp target data map(ompx_hold, tofrom : s.a, s.b)
    {
#pragma omp target update from(present : s.a, s.b)
    }
    CHECK(s.a == 3 && s.b == 2);
#pragma omp target exit data map(present, from : s.p[0 : 4])
    CHECK(s.p[0] == 0 && s.p[1] == 1 + 3 && s.p[2] == 2);
#pragma omp target enter data map(to : s.a, s.b)
#pragma omp target exit data map(delete : s.a, s.b) /* of the whole struct all references */
    s.a = 7;
#pragma omp target map(tofrom : s.a, s.b)
    s.b = s.a;
    CHECK(s.b == 7);
}

static void right(void)
{
    double *y = x, sum = 0;
#pragma omp target map(present, tofrom : x[64 : 64]) map(tofrom : sum)
    sum += x[64];
#pragma omp target map(present, tofrom : y[0 : 0]) map(tofrom : sum) /* by its base */
    sum += y[65];
#pragma omp target data map(present, alloc : x[70 : 10])
    {
#pragma omp target update to(present : x[70 : 10])
#pragma omp target update to(x[0 : 10])
    }
#pragma omp target exit data map(release : x[0 : 256])
#pragma omp target map(tofrom : x[0 : 10]) map(tofrom : sum) map(to : x[2 : 3])
    sum += x[2];
#pragma omp target exit data map(present, from : x[64 : 64])
    CHECK(sum == 64 + 65 + 2);
}

int main(int argc, char **argv)
{
    wanted = argc > 1 ? argv[1] : "right";
    x = make_tiles(1, 0);
    for (int i = 0; i < 256; i++)
        x[i] = i;
#pragma omp target enter data map(to : x[64 : 64])
    puts("goes on to");
    fflush(stdout);
    s = (node){.a = 1, .p = make_tiles(1, 0)};
    for (int i = 0; i < 8; i++)
        s.p[i] = i;
    extend();
    present();
    extend_struct();
    present_struct();
    if (is("right")) {
        right();
        right_with_structs();
    }
    return check_result();
}
