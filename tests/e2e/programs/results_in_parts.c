/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Arrays larger than a device's memory, which tasks name by the first elements of their parts; one is mapped `alloc` and
 * written in parts that end within pages. What a kernel writes to the page that it shares with the next task's part
 * left that task waiting for ever.
 *
 * memory: 256Ki
 * run: OMPDARTS_MEM=256Ki OMPDARTS_DEVICES=1
 */
#include "check.h"

enum { N = 50000 };

static void try(int parts, int sweeps)
{
    double *u = malloc(N * sizeof *u), *v = malloc(N * sizeof *v);
    for (int i = 0; i < N; i++)
        u[i] = i % 100;
    int size = N / parts;
#pragma omp target enter data map(to : u [0:N]) map(alloc : v [0:N])
    for (int sweep = 0; sweep < sweeps; sweep++)
        for (int part = 0; part < parts; part++) {
            int from = part * size;
#pragma omp target nowait depend(in : u[from]) depend(out : v[from])
            for (int i = from; i < from + size; i++)
                v[i] = u[i] + sweep;
        }
#pragma omp taskwait
#pragma omp target exit data map(from : v [0:N]) map(delete : u [0:N])
    int wrong = 0;
    for (int i = 0; i < parts * size; i++)
        wrong += v[i] != i % 100 + sweeps - 1;
    CHECK(wrong == 0);
    free(u);
    free(v);
}

int main(void)
{
    for (int parts = 8; parts >= 2; parts--) /* of the largest, two fit on no device */
        try(parts, 1 + parts % 3);
#pragma omp parallel num_threads(2)
#pragma omp single
    try(7, 2);
    return check_result();
}
