/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * private and firstprivate arrays, structs, variable-length arrays and pointers; lastprivate, linear; defaultmap in
 * its kinds; on target and on the constructs inside, synchronous and nowait.
 *
 * memory: 48Ki
 */
#include "check.h"

typedef struct point {
    double x, y;
    int tag[5];
} point;

static void structs(void)
{
    point p = {1, 2, {1, 2, 3, 4, 5}}, out = {0};
#pragma omp target firstprivate(p) map(tofrom : out)
    {
        p.x += 1;
        p.tag[4] = 50;
        out = p;
    }
    CHECK(p.x == 1 && p.tag[4] == 5 && out.x == 2 && out.tag[4] == 50 && out.tag[0] == 1);
    double sums[8] = {0};
#pragma omp parallel
#pragma omp single
    for (int t = 0; t < 8; t++) {
        double *sum = &sums[t];
        point mine = {t, 2 * t, {t, t, t, t, t}};
#pragma omp target nowait firstprivate(mine) map(tofrom : sum[0 : 1])
        {
            for (int i = 0; i < 5; i++)
                *sum += mine.tag[i];
            *sum += mine.x + mine.y;
            mine.x = 0;
        }
#pragma omp taskwait
    }
    for (int t = 0; t < 8; t++)
        CHECK(sums[t] == 8 * t);
}

static void arrays(int n)
{
    int a[32], v[n], seen = 0;
    double big[600], total = 0;
    for (int i = 0; i < 32; i++)
        a[i] = i;
    for (int i = 0; i < n; i++)
        v[i] = 3 * i;
    for (int i = 0; i < 600; i++)
        big[i] = 1;
#pragma omp target private(a) map(from : seen)
    {
        for (int i = 0; i < 32; i++)
            a[i] = 100;
        seen = a[31];
    }
    CHECK(seen == 100 && a[31] == 31);
#pragma omp target firstprivate(a, v, big) map(tofrom : total)
    {
        for (int i = 0; i < 32; i++)
            total += a[i];
        for (int i = 0; i < n; i++)
            total += v[i];
        for (int i = 0; i < 600; i++)
            total += big[i];
        a[0] = v[1] = -1;
        big[5] = -1;
    }
    CHECK(total == 31 * 16 + 3 * n * (n - 1) / 2 + 600);
    CHECK(a[0] == 0 && v[1] == 3 && big[5] == 1);
    int last = -1;
#pragma omp target map(tofrom : last)
#pragma omp parallel for lastprivate(last)
    for (int i = 0; i < 100; i++)
        last = i;
    CHECK(last == 99);
    last = -1;
#pragma omp target teams distribute parallel for lastprivate(last) map(tofrom : last)
    for (int i = 0; i < 100; i++)
        last = i;
    CHECK(last == 99);
    int linear = 0, out[16];
#pragma omp target parallel for firstprivate(linear) map(from : out)
    for (int i = 0; i < 16; i++)
        out[i] = linear + i;
    CHECK(out[15] == 15);
}

static void default_maps(double *x)
{
    int scalar = 1, table[16] = {0};
    point p = {0};
#pragma omp target defaultmap(tofrom : scalar)
    scalar = 5;
    CHECK(scalar == 5);
#pragma omp target defaultmap(to : aggregate) map(tofrom : scalar)
    {
        table[0] = 9;
        scalar = table[0];
    }
    CHECK(table[0] == 0 && scalar == 9);
#pragma omp target defaultmap(none) map(tofrom : table) firstprivate(scalar)
    table[1] = scalar;
    CHECK(table[1] == 9);
#pragma omp target defaultmap(firstprivate : aggregate) map(from : scalar)
    {
        p.x = 3;
        scalar = (int)p.x;
    }
    CHECK(p.x == 0 && scalar == 3);
#pragma omp target defaultmap(from : scalar)
    scalar = 8;
    CHECK(scalar == 8);
#pragma omp target enter data map(to : x[0 : TILE])
#pragma omp target defaultmap(present : aggregate) defaultmap(default : pointer)
    x[0] = 4;
#pragma omp target defaultmap(tofrom : pointer) map(from : scalar)
    scalar = x != 0;
#pragma omp target exit data map(from : x[0 : TILE])
    CHECK(x[0] == 4 && scalar == 1);
#pragma omp target data map(tofrom : table)
#pragma omp target defaultmap(present)
    table[2] = 7;
    CHECK(table[2] == 7);
#pragma omp target defaultmap(alloc : aggregate) map(from : scalar)
    {
        table[3] = 11;
        scalar = table[3];
    }
    CHECK(table[3] == 0 && scalar == 11);
}

static void pointers(double *x)
{
    double *p = x, *q = NULL;
    int same = 0;
#pragma omp target firstprivate(q) private(p) map(from : same)
    {
        p = q;
        same = p == NULL;
    }
    CHECK(same == 1 && p == x);
    _Bool flag = 1;
    char letter = 'x';
    float _Complex z = 2;
    long double wide = 3;
    __int128 huge = 5;
    double out[5] = {0};
#pragma omp target map(from : out)
    {
        out[0] = flag;
        out[1] = letter;
        out[2] = (double)__real__ z;
        out[3] = (double)wide;
        out[4] = (double)huge;
    }
    CHECK(out[0] == 1 && out[1] == 'x' && out[2] == 2 && out[3] == 3 && out[4] == 5);
}

int main(void)
{
    double *x = make_tiles(1, 0);
    structs();
    arrays(21);
    default_maps(x);
    pointers(x);
    free(x);
    return check_result();
}
