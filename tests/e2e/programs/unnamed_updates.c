/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Tasks with a whole array write to more of it than the sections that their depend clauses name, and so say nobody when;
 * between them updates to and from the host, sections and all of it, tasks that name nothing, and a host version.
 *
 * memory: 112Ki
 */
#include "check.h"

enum { BLOCK = 2 * TILE, BLOCKS = 12, N = BLOCK * BLOCKS, STEPS = 6 };

static double a[N];

/* Named: block b. Written, too: block b + 6. */
static void step(void)
{
    for (int b = 0; b < BLOCKS / 2; b++) {
        int o = b * BLOCK;
#pragma omp target nowait map(to : a) depend(inout : a[o : BLOCK])
        for (int i = o; i < o + BLOCK; i++) {
            a[i] += 1;
            a[i + N / 2] += 2;
        }
    }
#pragma omp taskwait
}

static void check_all(double named, double unnamed)
{
    for (int i = 0; i < N / 2; i++)
        CHECK(a[i] == named && a[i + N / 2] == unnamed);
}

int main(void)
{
#pragma omp target enter data map(to : a)
    for (int s = 1; s <= STEPS; s++) {
        step();
        if (s % 2) {
#pragma omp target update from(a)
        } else {
#pragma omp target update from(a[0 : N / 2])
#pragma omp target update from(a[N / 2 : N / 2])
        }
        check_all(s, 2 * s);
    }
    for (int i = 0; i < N; i++)
        a[i] = 100;
#pragma omp target update to(a[N / 2 : N / 2])
    step();
#pragma omp target update from(a[BLOCK : N / 2])
    for (int i = 0; i < N; i++)
        CHECK(a[i] == (i < BLOCK || i >= N / 2 + BLOCK ? 100 : i < N / 2 ? STEPS + 1 : 102));
#pragma omp target nowait map(tofrom : a) if (0)
    a[0] = 7; /* the host's own */
#pragma omp taskwait
#pragma omp target
    for (int i = 0; i < N; i++)
        a[i] += 1;
    step();
#pragma omp target exit data map(from : a)
    check_all(STEPS + 3, 105);
    return check_result();
}
