/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Pointers inside of what a program is shown by its device address: structs, arrays of structs, lists, pointers to
 * pointers. What they lead to is reached on the device by kernels that say nothing of it (has_device_addr).
 *
 * memory: 64Ki
 */
#include "check.h"

#include <omp.h>

enum { N = 64, COUNT = 5 };

typedef struct array {
    int n;
    double *p;
} array;

typedef struct node {
    double value;
    struct node *next;
} node;

static array make(double value)
{
    array a = {N, malloc(N * sizeof *a.p)};
    for (int i = 0; i < N; i++)
        a.p[i] = value;
    return a;
}

static void in_one_construct(void)
{
    array s = make(1);
#pragma omp target data map(tofrom : s) map(tofrom : s.p[0 : N]) use_device_addr(s)
#pragma omp target has_device_addr(s)
    for (int i = 0; i < s.n; i++)
        s.p[i] += i;
    CHECK((int)s.p[0] == 1 && (int)s.p[N - 1] == N);
    free(s.p);
}

/* A host that goes on beside it, and kernels by name before and after. */
static void in_a_region(void)
{
    array s = make(1);
#pragma omp target enter data map(to : s) map(to : s.p[0 : N])
    for (int i = 0; i < N; i++)
        s.p[i] = 1000;
#pragma omp target
    s.p[1] += 1;
#pragma omp target data use_device_addr(s)
    {
#pragma omp target has_device_addr(s)
        s.p[2] += s.p[1];
#pragma omp target has_device_addr(s)
        s.p[3] += s.p[2];
    }
#pragma omp target
    s.p[4] += s.p[3];
#pragma omp target update from(s.p[0 : N])
    CHECK((int)s.p[0] == 1 && (int)s.p[1] == 2 && (int)s.p[2] == 3 && (int)s.p[3] == 4 && (int)s.p[4] == 5);
#pragma omp target exit data map(delete : s.p[0 : N], s)
    free(s.p);
}

static void array_of_structs(void)
{
    array s[COUNT];
#pragma omp target enter data map(alloc : s)
    for (int k = 0; k < COUNT; k++) {
        s[k] = make(k);
#pragma omp target enter data map(to : s[k].n, s[k].p[0 : N])
    }
#pragma omp target data use_device_addr(s)
#pragma omp target has_device_addr(s)
    for (int k = 0; k < COUNT; k++)
        s[k].p[k] += 100;
    for (int k = 0; k < COUNT; k++) {
#pragma omp target exit data map(from : s[k].p[0 : N])
        CHECK((int)s[k].p[k] == 100 + k && (int)s[k].p[COUNT] == k);
    }
#pragma omp target exit data map(delete : s)
    for (int k = 0; k < COUNT; k++)
        free(s[k].p);
}

/* In a circle. Clang 22 does not attach what is present on both sides. */
static void list(void)
{
#if __clang_major__ < 22
    node nodes[2] = {{1, &nodes[1]}, {2, &nodes[0]}}, *a = &nodes[0], *b = &nodes[1];
#pragma omp target enter data map(to : a[0 : 1])
#pragma omp target enter data map(to : b[0 : 1])
#pragma omp target enter data map(to : a->next[0 : 1])
#pragma omp target enter data map(to : b->next[0 : 1])
#pragma omp target data use_device_ptr(a)
#pragma omp target is_device_ptr(a)
    {
        a->next->value += 10;
        a->next->next->value += 10;
    }
#pragma omp target update from(a->value, b->value)
    CHECK((int)a->value == 11 && (int)b->value == 12);
#pragma omp target exit data map(delete : a[0 : 1], b[0 : 1])
#endif
}

/* clang 22 refuses it. */
static void pointer_to_pointer(void)
{
#if __clang_major__ < 22
    short x[10], *xp[10], **xpp = xp;
    xp[1] = x;
    x[1] = 111;
#pragma omp target data map(tofrom : xpp[1][1]) use_device_addr(xpp[1][1])
#pragma omp target has_device_addr(xpp[1][1])
    xpp[1][1] = 222;
    CHECK(xpp[1][1] == 222);
#endif
}

/* Asked for with omp_get_mapped_ptr. */
static void mapped_pointer(void)
{
    array s = make(1);
#pragma omp target enter data map(to : s) map(to : s.p[0 : N])
    const array *there = omp_get_mapped_ptr(&s, omp_get_default_device());
#pragma omp target is_device_ptr(there)
    for (int i = 0; i < there->n; i++)
        there->p[i] += i;
#pragma omp target exit data map(from : s.p[0 : N]) map(release : s)
    CHECK((int)s.p[0] == 1 && (int)s.p[N - 1] == N);
    free(s.p);
}

/* Pointers that are attached when the struct has been shown already, and again to another array. */
static void attached_later(bool kept)
{
    array s = {N, NULL}, *there = &s;
    const array host = make(1), longer = make(5);
#pragma omp target enter data map(to : s)
    if (kept)
        there = omp_get_mapped_ptr(&s, omp_get_default_device());
    else
#pragma omp target data use_device_addr(s)
        there = &s;
    s.p = host.p;
#pragma omp target enter data map(to : s.p[0 : N])
#pragma omp target is_device_ptr(there)
    for (int i = 0; i < there->n; i++)
        there->p[i] += i;
#pragma omp target exit data map(from : s.p[0 : N])
    CHECK((int)s.p[0] == 1 && (int)s.p[N - 1] == N);
    s.p = longer.p;
#pragma omp target enter data map(to : s.p[0 : N])
#pragma omp target is_device_ptr(there)
    there->p[N - 1] += 2;
#pragma omp target exit data map(from : s.p[0 : N]) map(release : s)
    CHECK((int)s.p[0] == 5 && (int)s.p[N - 1] == 7);
    free(host.p);
    free(longer.p);
}

/* Beside members, two pointers that refer to the same. */
static void beside_members(void)
{
    struct {
        double a, b;
    } s = {1, 2};
    double *x = calloc(3 * N, sizeof *x), *p = x, *q = x + N;
#pragma omp target data map(tofrom : s.a, s.b) map(tofrom : p[N : N]) use_device_ptr(p, q)
#pragma omp target is_device_ptr(p, q)
    {
        p[N] = 3;
        q[1] = 4;
    }
    CHECK((int)x[N] == 3 && (int)x[N + 1] == 4 && (int)x[2 * N] == 0);
    free(x);
}

int main(void)
{
    for (int round = 0; round < 3; round++) {
        in_one_construct();
        mapped_pointer();
        beside_members();
        attached_later(false);
        attached_later(true);
        in_a_region();
        array_of_structs();
        list();
    }
    pointer_to_pointer(); /* last: libomptarget does not give back the mapping of the slot */
    return check_result();
}
