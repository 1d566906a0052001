/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * usage: away ROUNDS
 *
 * A host task that comes after a kernel waits for one that comes after another kernel, which ends later: the thread that
 * runs it has been waiting for both kernels, and now another one has to see the second one's end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { TILE = 4096 };

static void add(int *tile)
{
#pragma omp target teams distribute parallel for nowait depend(inout : tile[0]) map(tofrom : tile [0:TILE])
    for (int i = 0; i < TILE; i++)
        tile[i]++;
}

static void round_trip(int *x, int *y)
{
    int flag = 0;
    add(x);
    add(y);
#pragma omp task depend(in : x[0]) shared(flag)
    while (!__atomic_load_n(&flag, __ATOMIC_ACQUIRE))
        usleep(100);
#pragma omp task depend(in : y[0]) shared(flag)
    __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
#pragma omp taskwait
}

int main(int argc, char **argv)
{
    int *x = calloc(2 * TILE, sizeof *x), rounds = atoi(argv[argc - 1]), wrong = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int i = 0; i < rounds; i++)
        round_trip(x, x + TILE);
    for (int i = 0; i < 2 * TILE; i++)
        wrong += x[i] != rounds;
    puts(wrong ? "wrong" : "right");
    free(x);
    return wrong != 0;
}
