/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Members of a struct that is on the device as a whole, mapped by a kernel in every way: the kernel works on the
 * device's copy, and the program's own changes only where `always` says so. Outside of regions members come and go by
 * themselves, and what lies between them is the host's. Structs of which only the pointer is present.
 *
 * memory: 48Ki
 */
#include "check.h"

#include <omp.h>
#include <string.h>

enum { N = 100 };

typedef struct record {
    int a;
    double *p;
    int b;
    double v[4];
    int c;
} record;

static record make_record(void)
{
    record r = {1, malloc(N * sizeof(double)), 2, {3, 4, 5, 6}, 7};
    for (int i = 0; i < N; i++)
        r.p[i] = i;
    return r;
}

/* On the device a and b are 11 and 12 from here on, on the host -1 and -2. */
static void enter(record *r)
{
    r->a = 1;
    r->b = 2;
    r->c = 7;
#pragma omp target enter data map(to : r[0 : 1])
#pragma omp target
    {
        r->a += 10;
        r->b += 10;
    }
    r->a = -1;
    r->b = -2;
}

/* What the device has at last; the host's had not changed. */
static void leave(record *r, int a, int b)
{
    CHECK(r->a == -1 && r->b == -2);
#pragma omp target exit data map(from : r[0 : 1])
    CHECK(r->a == a && r->b == b && r->c == 7 && r->v[3] == 6);
}

static void by_clause(record *r)
{
    int a = 0, b = 0;
    enter(r);
#pragma omp target map(alloc : r->a, r->b) map(from : a, b)
    {
        a = r->a++;
        b = r->b;
    }
    CHECK(a == 11 && b == 12);
    leave(r, 12, 12);
    enter(r);
#pragma omp target map(to : r->a, r->b) map(from : a, b)
    {
        a = r->a++;
        b = r->b;
    }
    CHECK(a == 11 && b == 12);
    leave(r, 12, 12);
    enter(r);
#pragma omp target map(from : r->a, r->b) map(from : a, b)
    {
        a = r->a++;
        b = r->b;
    }
    CHECK(a == 11 && b == 12);
    leave(r, 12, 12);
    enter(r);
#pragma omp target map(tofrom : r->a, r->b) map(from : a, b)
    {
        a = r->a++;
        b = r->b++;
    }
    CHECK(a == 11 && b == 12);
    leave(r, 12, 13);
}

static void always(record *r)
{
    int a = 0, b = 0;
    enter(r);
#pragma omp target map(always, to : r->a) map(alloc : r->b) map(from : a, b)
    {
        a = r->a--;
        b = r->b;
    }
    CHECK(a == -1 && b == 12);
    leave(r, -2, 12);
    enter(r);
#pragma omp target map(always, from : r->a) map(to : r->b) map(from : a, b)
    {
        a = r->a++;
        b = r->b++;
    }
    CHECK(a == 11 && b == 12 && r->a == 12);
    r->a = -1;
    leave(r, 12, 13);
}

/* A pointer member, and an address shown, beside members of what is present. */
static void pointers(record *r)
{
    int a = 0;
    double *host = r->p;
    enter(r);
#pragma omp target map(tofrom : r->a, r->p[0 : N]) map(from : a)
    {
        a = r->a++;
        for (int i = 0; i < N; i++)
            r->p[i] += r->b;
    }
    CHECK(a == 11 && r->p == host);
    for (int i = 0; i < N; i++)
        CHECK(r->p[i] == i + 12);
#pragma omp target enter data map(to : r->p[0 : N])
#pragma omp target map(to : r->b)
    for (int i = 0; i < N; i++)
        r->p[i] -= r->b;
    CHECK(r->p[N - 1] == N - 1 + 12);
    double *shown = r->p;
#pragma omp target data use_device_ptr(shown)
    {
#pragma omp target is_device_ptr(shown) map(tofrom : r->a)
        for (int i = 0; i < N; i++)
            shown[i] += 12 - r->a;
    }
#pragma omp target exit data map(from : r->p[0 : N])
    for (int i = 0; i < N; i++)
        CHECK(r->p[i] == i);
    leave(r, 12, 12);
    CHECK(r->p == host);
}

/* Each construct brings its members; what lies between them belongs to the host. */
static void alone(record *r)
{
    r->a = 1;
    r->b = 2;
    r->c = 7;
#pragma omp target map(to : r->a) map(tofrom : r->c)
    {
        r->a = 50;
        r->c += r->a;
    }
    CHECK(r->a == 1 && r->b == 2 && r->c == 57);
#pragma omp target map(from : r->b) map(to : r->a, r->v[1 : 2])
    {
        r->b = r->a + (int)r->v[2];
        r->v[1] = 9;
    }
    CHECK(r->a == 1 && r->b == 6 && r->v[1] == 4);
#pragma omp target data map(to : r->a) map(tofrom : r->c)
    {
        r->b = 3;
#pragma omp target
        r->c = ++r->a;
#pragma omp target update from(r->a)
    }
    CHECK(r->a == 2 && r->b == 3 && r->c == 2);
}

static void updates(record *r)
{
    r->a = 1;
    r->b = 2;
#pragma omp target data map(to : r->a, r->b, r->p[0 : N])
    {
        double *host = r->p;
        r->b = 5;
#pragma omp target update to(r->b)
#pragma omp target
        {
            r->a += r->b;
            r->p[0] = r->a;
        }
#pragma omp target update from(r->a)
        CHECK(r->a == 6 && r->p[0] == 0 && r->p == host);
#pragma omp target update from(r->p[0 : 1])
        CHECK(r->p[0] == 6);
        r->p[0] = 0;
    }
    CHECK(r->a == 6 && r->b == 5 && r->p[0] == 0);
}

/* Only the pointer is on the device: the struct around it is named as a whole, or by its address. */
static void only_the_pointer(record *r)
{
    record s = *r;
#pragma omp target enter data map(to : s.p[0 : N])
#pragma omp target
    s.p[1] = 100;
    CHECK(s.p[1] == 1 && s.p == r->p);
#pragma omp target exit data map(from : s.p[0 : N])
    CHECK(s.p[1] == 100);
#pragma omp target enter data map(to : r->p[0 : N])
#pragma omp target
    r->p[1] += 1;
    CHECK(r->p[1] == 100);
#pragma omp target update from(r->p[1 : 1])
    CHECK(r->p[1] == 101);
#pragma omp target exit data map(delete : r->p[0 : N])
    r->p[1] = 1;
}

int main(void)
{
    record r = make_record();
    by_clause(&r);
    always(&r);
    pointers(&r);
    alone(&r);
    updates(&r);
    only_the_pointer(&r);
    free(r.p);
    return check_result();
}
