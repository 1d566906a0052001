/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The program copies between all pairs of devices. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 1 << 12, BYTES = COUNT * sizeof(int) };

static int is_copied(const int *x, int *y, int from, int to)
{
    int host = omp_get_initial_device(), wrong = 0;
    int *a = omp_target_alloc(BYTES, from), *b = omp_target_alloc(BYTES, to);
    wrong += omp_target_memcpy(a, x, BYTES, 0, 0, from, host);
    wrong += omp_target_memcpy(b, a, BYTES, 0, 0, to, from);
    wrong += omp_target_memcpy(y, b, BYTES, 0, 0, host, to);
    for (int i = 0; i < COUNT; i++)
        wrong += y[i] != i;
    omp_target_free(a, from);
    omp_target_free(b, to);
    return !wrong;
}

int main(void)
{
    int *x = malloc(BYTES), *y = calloc(COUNT, sizeof *y), n = omp_get_num_devices(), wrong = 0;
#pragma omp target teams distribute parallel for map(from : x [0:COUNT])
    for (int i = 0; i < COUNT; i++)
        x[i] = i;
    for (int from = 0; from < n; from++)
        for (int to = 0; to < n; to++)
            wrong += !is_copied(x, y, from, to);
    puts(wrong ? "wrong" : "right");
    free(x);
    free(y);
    return wrong > 0;
}
