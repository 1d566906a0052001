/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Structs: members mapped separately, pointer members with sections, structs in structs, bit-fields, members attached
 * by enter data, an array of structs with a pointer each; as a whole, in regions and in tasks.
 *
 * memory: 48Ki
 */
#include "check.h"

#include <omp.h>

#if __clang_major__ >= 22 /* p->x[0:n] does not map p->x */
#define POINTERS(...) map(to : __VA_ARGS__)
#else
#define POINTERS(...)
#endif

typedef struct inner {
    double *data;
    int n;
} inner;

typedef struct outer {
    int before;
    inner in;
    double *a, *b;
    double fixed[16];
    int n;
} outer;

static bool present(const void *address)
{
    return omp_target_is_present(address, omp_get_default_device());
}

static double *vector(int n, double value)
{
    double *x = malloc((size_t)n * sizeof *x);
    for (int i = 0; i < n; i++)
        x[i] = value;
    return x;
}

static void members(outer *s)
{
    double *host_a = s->a;
#pragma omp target POINTERS(s->a, s->b) map(tofrom : s -> a[0 : 100], s->b[0 : 100]) map(to : s->n)
    for (int i = 0; i < 100; i++) {
        s->a[i] += s->n;
        s->b[i] += s->a[i];
    }
    CHECK(s->a == host_a);
    CHECK(all_are(s->a, 100, 8) && all_are(s->b, 100, 10));
#pragma omp target map(tofrom : s->fixed[4 : 4], s->n)
    {
        for (int i = 4; i < 8; i++)
            s->fixed[i] = i;
        s->n++;
    }
    CHECK(s->n == 8 && s->fixed[3] == 0 && s->fixed[4] == 4 && s->fixed[7] == 7 && s->fixed[8] == 0);
#pragma omp target POINTERS(s->in.data) map(tofrom : s -> in.data[0 : 50])
    for (int i = 0; i < 50; i++)
        s->in.data[i] = i;
    for (int i = 0; i < 50; i++)
        CHECK(s->in.data[i] == i);
}

static void by_value(outer s)
{
#pragma omp target POINTERS(s.a) map(tofrom : s.a[0 : 100], s.b) map(tofrom : s.before)
    {
        s.a[0] = 1000;
        s.before = 5;
    }
    CHECK(s.a[0] == 1000 && s.before == 5);
#pragma omp target map(tofrom : s)
    {
        s.n = 3;
        s.fixed[15] = 1;
    }
    CHECK(s.n == 3 && s.fixed[15] == 1 && s.a[0] == 1000);
    int seen = 0;
#pragma omp target firstprivate(s) map(from : seen)
    {
        s.n += 74;
        seen = s.n;
    }
    CHECK(s.n == 3 && seen == 77);
}

/* The struct is entered, then its members: attached on the device. */
static void attached(outer *s)
{
#pragma omp target enter data map(to : s[0 : 1])
#pragma omp target enter data map(to : s->a[0 : 100])
#pragma omp target enter data map(to : s->in.data[0 : 50])
    CHECK(present(s) && present(s->a) && present(s->in.data) && !present(s->b));
#pragma omp target
    {
        for (int i = 0; i < 100; i++)
            s->a[i] = 3;
        for (int i = 0; i < 50; i++)
            s->in.data[i] += 1;
        s->n = 100;
    }
#pragma omp target map(present, alloc : s[0 : 1])
    s->before = 12;
    CHECK(s->a[5] == 8 && s->n == 8);
#pragma omp target update from(s->a[0 : 100])
    CHECK(s->a[5] == 3 && s->n == 8);
#pragma omp target update from(s->n)
    CHECK(s->n == 100);
    s->a[7] = 20;
#pragma omp target update to(s->a[7 : 1])
#pragma omp target
    s->a[7] += 1;
#pragma omp target exit data map(from : s->in.data[0 : 50])
#pragma omp target exit data map(from : s->a[0 : 100])
    CHECK(s->a[7] == 21 && s->in.data[49] == 50);
#pragma omp target exit data map(from : s->before, s->n)
    CHECK(!present(s) && !present(s->a));
    CHECK(s->before == 12);
}

/* The struct is on the device without its pointees: a kernel brings one. */
static void entered_alone(outer *s)
{
    s->n = 4;
    for (int i = 0; i < 100; i++)
        s->a[i] = i;
#pragma omp target enter data map(to : s[0 : 1])
#pragma omp target map(tofrom : s -> a[0 : 100])
    {
        for (int i = 0; i < 100; i++)
            s->a[i] += s->n;
        s->n = 8;
    }
    for (int i = 0; i < 100; i++)
        CHECK(s->a[i] == i + 4);
#pragma omp target exit data map(from : s[0 : 1])
    CHECK(s->n == 8);
}

/* A construct that maps a struct and shows an address. */
static void beside_an_address(outer s)
{
    double *x = vector(100, 2), *host_x = x;
#pragma omp target data map(to : s, s.a[0 : 100]) map(tofrom : x[0 : 100]) use_device_ptr(x)
    {
        CHECK(x != host_x);
#pragma omp target is_device_ptr(x)
        for (int i = 0; i < 100; i++)
            x[i] += s.a[i];
    }
    for (int i = 0; i < 100; i++)
        CHECK(host_x[i] == s.a[i] + 2);
    free(host_x);
}

static void in_tasks(outer *s, int count)
{
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < 5; round++)
        for (int t = 0; t < count; t++) {
            outer *p = &s[t];
#pragma omp target nowait depend(inout : p->a[0]) POINTERS(p -> a) map(tofrom : p->a[0 : 100]) map(to : p->n)
            for (int i = 0; i < 100; i++)
                p->a[i] += p->n;
#pragma omp target nowait depend(inout : p->a[0]) POINTERS(p -> a) map(tofrom : p->a[0 : 100])
            for (int i = 0; i < 100; i++)
                p->a[i] *= 2;
        }
    for (int t = 0; t < count; t++) /* a' = 2 (a + t) five times */
        CHECK(all_are(s[t].a, 100, 62 * t));
}

static void array_of_owners(void)
{
    enum { N = 6 };
    outer *s = calloc(N, sizeof *s);
    for (int t = 0; t < N; t++) {
        s[t].a = vector(100, 0);
        s[t].n = t;
    }
    in_tasks(s, N);
#pragma omp target enter data map(to : s[0 : N])
    for (int t = 0; t < N; t++) {
#pragma omp target enter data map(to : s[t].a[0 : 100])
    }
#pragma omp target teams distribute parallel for
    for (int t = 0; t < N; t++)
        for (int i = 0; i < 100; i++)
            s[t].a[i] = s[t].n + i;
    for (int t = 0; t < N; t++) {
#pragma omp target exit data map(from : s[t].a[0 : 100])
    }
#pragma omp target exit data map(delete : s[0 : N])
    for (int t = 0; t < N; t++) {
        CHECK(s[t].a[0] == t && s[t].a[99] == t + 99);
        free(s[t].a);
    }
    free(s);
}

typedef struct flags {
    unsigned low : 3, middle : 7;
    int whole;
    unsigned high : 22;
} flags;

static void bit_fields(void)
{
    flags f = {1, 2, 3, 4};
#pragma omp target map(tofrom : f)
    {
        f.low += 4;
        f.middle = 100;
        f.high = 1u << 21;
        f.whole = -1;
    }
    CHECK(f.low == 5 && f.middle == 100 && f.high == 1u << 21 && f.whole == -1);
    flags many[32] = {{0}};
#pragma omp target teams distribute parallel for
    for (int i = 0; i < 32; i++)
        many[i].middle = (unsigned)i & 127;
    for (int i = 0; i < 32; i++)
        CHECK(many[i].middle == (unsigned)i && many[i].low == 0);
}

int main(void)
{
    outer s = {1, {vector(50, 0), 50}, vector(100, 1), vector(100, 2), {0}, 7};
    members(&s);
    by_value(s);
    attached(&s);
    entered_alone(&s);
    beside_an_address(s);
    array_of_owners();
    bit_fields();
    free(s.in.data);
    free(s.a);
    free(s.b);
    return check_result();
}
