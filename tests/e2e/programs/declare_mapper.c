/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * declare mapper: the default one and named ones, on target, target data, enter and exit data, update, arrays of
 * structs, nested mappers, and in tasks.
 *
 * memory: 48Ki
 */
#include "check.h"

#include <omp.h>

typedef struct vector {
    int n;
    double *x;
    double cache; /* not mapped by the named mapper */
} vector;

#pragma omp declare mapper(vector v) map(tofrom : v.n, v.cache, v.x[0 : v.n])
#pragma omp declare mapper(data_only : vector v) map(tofrom : v.x[0 : v.n]) map(to : v.n)

typedef struct pair {
    vector first;
    int tag;
} pair;

#pragma omp declare mapper(pair p) map(mapper(default), tofrom : p.first) map(tofrom : p.tag)

static vector make(int n, double value)
{
    vector v = {n, malloc((size_t)n * sizeof(double)), 0};
    for (int i = 0; i < n; i++)
        v.x[i] = value;
    return v;
}

static bool present(const void *address)
{
    return omp_target_is_present(address, omp_get_default_device());
}

static void simple(void)
{
    vector v = make(200, 1);
#pragma omp target map(tofrom : v)
    {
        for (int i = 0; i < v.n; i++)
            v.x[i] += 1;
        v.cache = 5;
    }
    CHECK(all_are(v.x, 200, 2) && v.cache == 5);
#pragma omp target map(mapper(data_only), tofrom : v)
    for (int i = 0; i < v.n; i++)
        v.x[i] += 1;
    CHECK(all_are(v.x, 200, 3) && v.cache == 5);
#pragma omp target data map(mapper(data_only), tofrom : v)
    {
        CHECK(present(v.x));
#pragma omp target map(mapper(data_only), tofrom : v)
        for (int i = 0; i < v.n; i++)
            v.x[i] *= 2;
        CHECK(v.x[0] == 3);
    }
    CHECK(!present(v.x));
    CHECK(all_are(v.x, 200, 6));
#pragma omp target enter data map(to : v)
    CHECK(present(v.x));
#pragma omp target
    v.x[7] = 70;
#pragma omp target update from(mapper(data_only) : v)
    CHECK(v.x[7] == 70);
    v.x[8] = 80;
#pragma omp target update to(v)
#pragma omp target
    v.x[8] += 1;
#pragma omp target exit data map(from : v)
    CHECK(v.x[8] == 81);
    CHECK(!present(v.x));
    free(v.x);
}

static void array(void)
{
    vector v[5];
    for (int k = 0; k < 5; k++)
        v[k] = make(10 + k, k);
#pragma omp target map(tofrom : v[0 : 5])
    for (int k = 0; k < 5; k++) {
        for (int i = 0; i < v[k].n; i++)
            v[k].x[i] += 10;
        v[k].cache = k;
    }
    for (int k = 0; k < 5; k++)
        CHECK(all_are(v[k].x, 10 + (size_t)k, 10 + k) && v[k].cache == k);
#pragma omp target map(tofrom : v[1 : 2])
    for (int k = 1; k < 3; k++)
        v[k].x[0] = -k;
    CHECK(v[0].x[0] == 10 && v[1].x[0] == -1 && v[2].x[0] == -2 && v[3].x[0] == 13);
    for (int k = 0; k < 5; k++)
        free(v[k].x);
}

static void nested(void)
{
    pair p = {make(32, 4), 1};
#pragma omp target map(tofrom : p)
    {
        for (int i = 0; i < p.first.n; i++)
            p.first.x[i] *= 2;
        p.tag = 2;
    }
    CHECK(all_are(p.first.x, 32, 8) && p.tag == 2);
    free(p.first.x);
}

static void tasks(void)
{
    vector v[4];
    for (int k = 0; k < 4; k++)
        v[k] = make(500, k);
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < 4; round++)
        for (int k = 0; k < 4; k++) {
            double *x = v[k].x;
#pragma omp target nowait depend(inout : x[0]) map(mapper(data_only), tofrom : v[k])
            for (int i = 0; i < v[k].n; i++)
                v[k].x[i] += 1;
#pragma omp target nowait depend(inout : x[0]) map(tofrom : x[0 : 500])
            for (int i = 0; i < 500; i++)
                x[i] *= 2;
        }
    for (int k = 0; k < 4; k++) {
        CHECK(all_are(v[k].x, 500, 16 * k + 30));
        free(v[k].x);
    }
}

int main(void)
{
    simple();
    array();
    nested();
    tasks();
    return check_result();
}
