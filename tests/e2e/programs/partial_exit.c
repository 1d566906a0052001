/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * `exit data` with sections of what is present, of many arrays at once, and a region of members of a struct, while other
 * tasks need the memory: what is to come home does, and the rest is left as the host has it.
 *
 * memory: 40Ki
 */
#include "check.h"

enum { ARRAYS = 6, TILES = 12, ROUNDS = 10, HALF = TILE / 2 };

static double a[ARRAYS][TILE], c[TILES][TILE];

static struct members {
    double before[TILE], x[TILE], between[TILE], y[TILE];
} s;

static void begin_others(void)
{
    for (int t = 0; t < TILES; t++) {
#pragma omp target nowait map(tofrom : c[t]) depend(inout : c[t])
        for (int i = 0; i < TILE; i++)
            c[t][i] += 1;
    }
}

static bool are(const double *x, int begin, int end, double value)
{
    for (int i = begin; i < end; i++)
        if (x[i] != value)
            return false;
    return true;
}

static void sections(int round)
{
    double *p0 = a[0], *p1 = a[1], *p2 = a[2], *p3 = a[3], *p4 = a[4], *p5 = a[5];
    for (int m = 0; m < ARRAYS; m++)
        for (int i = 0; i < TILE; i++)
            a[m][i] = -1;
#pragma omp target enter data map(to : p0[0 : TILE], p1[0 : TILE], p2[0 : TILE], p3[0 : TILE], p4[0 : TILE], p5[0 : TILE])
    for (int m = 0; m < ARRAYS; m++) {
        double *q = a[m];
#pragma omp target map(tofrom : q[0 : TILE])
        for (int i = 0; i < TILE; i++)
            q[i] = round + m;
    }
    begin_others();
#pragma omp target exit data map(from : p0[0 : HALF], p1[0 : HALF], p2[0 : HALF], p3[HALF : HALF], p4[0 : HALF], p5[0 : HALF])
    for (int m = 0; m < ARRAYS; m++) {
        bool first = m != 3;
        CHECK(are(a[m], 0, HALF, first ? round + m : -1));
        CHECK(are(a[m], HALF, TILE, first ? -1 : round + m));
    }
#pragma omp taskwait
}

static void members(int round)
{
    for (int i = 0; i < TILE; i++)
        s.before[i] = s.x[i] = s.between[i] = s.y[i] = -1;
#pragma omp target data map(tofrom : s.x, s.y)
    {
#pragma omp target map(tofrom : s.x, s.y)
        for (int i = 0; i < TILE; i++) {
            s.x[i] = round;
            s.y[i] = -round;
        }
        begin_others();
    }
    CHECK(are(s.x, 0, TILE, round) && are(s.y, 0, TILE, -round));
    CHECK(are(s.before, 0, TILE, -1) && are(s.between, 0, TILE, -1));
#pragma omp taskwait
}

int main(void)
{
    for (int round = 1; round <= ROUNDS; round++) {
        sections(round);
        members(round);
    }
    for (int t = 0; t < TILES; t++)
        CHECK(are(c[t], 0, TILE, 2 * ROUNDS));
    return check_result();
}
