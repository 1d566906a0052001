/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Recursive tasks that are decided on when they can begin: a host task that depends on what the tile's task would
 * depend on asks, and waits for the tasks that it creates. Rounds over tiles, each of which reads the one before it.
 * When a host task asks, all that it depends on has been done. (split.sh)
 */
#include "check.h"

#include "ompdarts.h"

enum { TILES = 4, BLOCKS = 4, ROUNDS = 3, SIZE = BLOCKS * TILE };

/* Blocks `from` to `from + count - 1` of a tile: x += 1 + the block of the tile before it. */
static __attribute__((noinline)) void add(int level, double *x, const double *before, int from, int count)
{
    double *begin = x + from * TILE;
    const double *in = before + from * TILE;
    if (ompdarts_split(level, (const void *const[]){in, begin}, 2) && level < 1) {
        for (int b = 0; b < count; b++)
            add(level + 1, x, before, from + b, 1);
        return;
    }
    const int size = count * TILE;
#pragma omp target nowait map(to : in [0:size]) map(tofrom : begin [0:size])
    for (int i = 0; i < size; i++)
        begin[i] += 1 + in[i];
}

int main(void)
{
    static double x[TILES + 1][SIZE], expected[TILES + 1];
    static int done[TILES + 1]; /* rounds */
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < ROUNDS; round++)
        for (int t = 1; t <= TILES; t++) {
            double *tile = x[t], *before = x[t - 1];
#pragma omp task depend(in : before[0]) depend(inout : tile[0]) firstprivate(tile, before, round, t)
            {
                CHECK(done[t] == round && (t == 1 || done[t - 1] == round + 1));
                add(0, tile, before, 0, BLOCKS);
#pragma omp taskwait
                done[t]++;
            }
        }
    for (int round = 0; round < ROUNDS; round++)
        for (int t = 1; t <= TILES; t++)
            expected[t] += 1 + expected[t - 1];
    for (int t = 1; t <= TILES; t++)
        for (int i = 0; i < SIZE; i++)
            CHECK(x[t][i] == expected[t]);
    return check_result();
}
