/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* usage: windows BLOCKS SWEEPS: an array entered whole, of blocks of 2 MiB that depend clauses name, each computed from
 * another one; more of them than a device has memory for. */
#include <stdio.h>
#include <stdlib.h>

enum { BLOCK = (2 << 20) / sizeof(double) };

static void add(double *a, int n, int sweeps, int on_devices)
{
    for (int s = 0; s < sweeps; s++)
        for (int b = 0; b < n; b++) {
            int k = (b * 5 + s + 1) % n, o = b * BLOCK, from = k * BLOCK;
            if (k == b)
                continue;
            if (!on_devices) {
                for (int i = 0; i < BLOCK; i++)
                    a[o + i] -= 0.5 * a[from + i];
                continue;
            }
#pragma omp target nowait map(to : a[0 : n * BLOCK]) depend(in : a[from : BLOCK]) depend(inout : a[o : BLOCK])
            for (int i = 0; i < BLOCK; i++)
                a[o + i] -= 0.5 * a[from + i];
        }
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 16, sweeps = argc > 2 ? atoi(argv[2]) : 4, wrong = 0;
    double *a = malloc(sizeof *a * (size_t)n * BLOCK), *expected = malloc(sizeof *a * (size_t)n * BLOCK);
    for (int i = 0; i < n * BLOCK; i++)
        a[i] = expected[i] = i % 101;
#pragma omp target enter data map(to : a[0 : n * BLOCK])
    add(a, n, sweeps, 1);
#pragma omp taskwait
#pragma omp target exit data map(from : a[0 : n * BLOCK])
    add(expected, n, sweeps, 0);
    for (int i = 0; i < n * BLOCK; i++)
        wrong += a[i] != expected[i];
    printf(wrong ? "%d wrong\n" : "right\n", wrong);
    return wrong != 0;
}
