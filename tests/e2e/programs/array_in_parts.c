/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A whole array is entered once, and tasks work on sections of it that their depend clauses name: sweeps over blocks, each
 * computed from another one; blocks that begin anywhere in a page, and overlap; kernels without a depend clause in
 * between, which use all of it; updates of sections; and a release.
 *
 * memory: 112Ki
 * run: OMPDARTS_COHERENCE=depend
 * run: OMPDARTS_COHERENCE=depend OMPDARTS_MEM=112Ki
 * run: OMPDARTS_COHERENCE=depend OMPDARTS_MEM=112Ki OMPDARTS_SPILL=0
 * run: OMPDARTS_COHERENCE=depend OMPDARTS_MEM=112Ki OMPDARTS_DEVICES=2 OMPDARTS_DEBUG=jitter=0.002
 * run: OMPDARTS_COHERENCE=depend OMPDARTS_MEM=400Ki OMPDARTS_SCHED=eager OMPDARTS_EVICT=lru
 * run: OMPDARTS_COHERENCE=depend OMPDARTS_MEM=400Ki OMPDARTS_DEBUG=check
 * run: OMPDARTS_COHERENCE=depend OMPDARTS_MEM=112Ki CUDA_DOUBLE_GRANULARITY=4096
 * run: OMPDARTS_COHERENCE=depend OMPDARTS_MEM=400Ki OMPDARTS_DEBUG=jitter=0.002 CUDA_DOUBLE_GRANULARITY=16Ki
 */
#include "check.h"

#include <stdint.h>

enum { BLOCK = 3 * TILE / 2, BLOCKS = 16, N = BLOCK * BLOCKS, SWEEPS = 4, HALO = 700 };

static double a[N], expected[N];

static void fill(double *x)
{
    for (int i = 0; i < N; i++)
        x[i] = i % 101;
}

static void add(double *x, int o, int k)
{
    for (int i = 0; i < BLOCK; i++)
        x[o + i] -= 0.5 * x[k + i];
}

static void sweep(void)
{
    for (int s = 0; s < SWEEPS; s++)
        for (int b = 0; b < BLOCKS; b++) {
            int o = b * BLOCK, k = (b * 5 + s) % BLOCKS * BLOCK;
            if (k == o)
                continue;
            add(expected, o, k);
#pragma omp target nowait depend(in : a[k : BLOCK]) depend(inout : a[o : BLOCK]) map(to : a[0 : N])
            for (int i = 0; i < BLOCK; i++)
                a[o + i] -= 0.5 * a[k + i];
        }
#pragma omp taskwait
}

/* Sections that overlap those of the sweep in other ways, ordered by waiting. */
static void overlapping(int shift)
{
    for (int o = shift; o + HALO < N; o += 2 * HALO) {
        for (int i = 0; i < HALO; i++)
            expected[o + i] += 1;
#pragma omp target nowait depend(inout : a[o : HALO])
        for (int i = 0; i < HALO; i++)
            a[o + i] += 1;
    }
#pragma omp taskwait
}

static void all_of_it(void)
{
    for (int i = 0; i < N; i++)
        expected[i] *= 0.5;
#pragma omp target
    for (int i = 0; i < N; i++)
        a[i] *= 0.5;
}

static void update(int o)
{
#pragma omp target update from(a[o : HALO])
    for (int i = 0; i < HALO; i++) {
        CHECK(a[o + i] == expected[o + i]);
        a[o + i] = expected[o + i] = 3;
    }
#pragma omp target update to(a[o : HALO])
}

static bool is_as_expected(void)
{
    for (int i = 0; i < N; i++)
        if (a[i] != expected[i]) {
            printf("element %d is %g, not %g\n", i, a[i], expected[i]);
            return false;
        }
    return true;
}

int main(void)
{
    fill(a);
    fill(expected);
#pragma omp target enter data map(to : a[0 : N])
#pragma omp parallel
#pragma omp single
    {
        sweep();
        overlapping(17);
        sweep();
        all_of_it();
        sweep();
        update(5 * BLOCK - 100);
        overlapping(400);
        all_of_it();
        sweep();
    }
#pragma omp target update from(a[0 : N])
    CHECK(is_as_expected());
    a[7] = 1;
#pragma omp target exit data map(release : a[0 : N])
    CHECK(a[7] == 1);
    return check_result();
}
