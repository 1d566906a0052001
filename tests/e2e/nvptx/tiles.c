/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * usage: tiles TILES ROUNDS [leave]
 *
 * In each round a task per tile changes all of it. leave: the program ends without having waited for them.
 */
#include <stdio.h>
#include <stdlib.h>

enum { TILE = 4096 };

static int next(int value, int tile, int i)
{
    return 3 * value + tile + i % 7;
}
#pragma omp declare target to(next)

static int is_right(const int *x, int ntiles, int rounds)
{
    int wrong = 0;
    for (int t = 0; t < ntiles; t++)
        for (int i = 0; i < TILE; i++) {
            int value = 0;
            for (int r = 0; r < rounds; r++)
                value = next(value, t, i);
            wrong += x[t * TILE + i] != value;
        }
    return !wrong;
}

int main(int argc, char **argv)
{
    int ntiles = atoi(argv[1]), rounds = atoi(argv[2]);
    int *x = calloc((size_t)ntiles * TILE, sizeof *x);
    for (int r = 0; r < rounds; r++)
        for (int t = 0; t < ntiles; t++) {
            int *tile = x + t * TILE;
#pragma omp target teams distribute parallel for nowait depend(inout : tile[0]) map(tofrom : tile [0:TILE])
            for (int i = 0; i < TILE; i++)
                tile[i] = next(tile[i], t, i);
        }
    if (argc > 3)
        exit(0);
#pragma omp taskwait
    int right = is_right(x, ntiles, rounds);
    puts(right ? "right" : "wrong");
    free(x);
    return !right;
}
