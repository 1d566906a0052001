/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Reductions of regions and of worksharing constructs with and without nowait, in teams of two to eight threads that
 * have target tasks under way. Larger teams have a barrier of libomp's own there.
 *
 * memory: 72Ki
 * run: KMP_DETERMINISTIC_REDUCTION=1
 */
#include "check.h"

#include <omp.h>

enum { ROUNDS = 8, MOST = 8 };

static double *tiles;

static void add_to_own(int steps)
{
    double *x = tiles + omp_get_thread_num() * TILE;
    for (int step = 0; step < steps; step++) {
#pragma omp target nowait depend(inout : x[0]) map(tofrom : x[0 : TILE])
        for (int i = 0; i < TILE; i++)
            x[i] += 1;
    }
}

static void round_of(int threads)
{
    double sum = 0, parts[3] = {0};
    int most = 0, members = 0;
#pragma omp parallel num_threads(threads) reduction(+ : sum, parts, members) reduction(max : most)
    {
        add_to_own(3);
        most = omp_get_thread_num();
        parts[most % 3] += 1;
        sum += most;
        members = omp_get_num_threads();
    }
    CHECK(members == threads * threads);
    CHECK(most == threads - 1 && sum == threads * (threads - 1) / 2 && parts[0] + parts[1] + parts[2] == threads);
#pragma omp parallel num_threads(threads)
    {
        add_to_own(2);
#pragma omp for reduction(+ : sum, parts) nowait
        for (int i = 0; i < 60; i++) {
            sum += i;
            parts[i % 3] += 1;
        }
        add_to_own(2);
#pragma omp for reduction(+ : sum, parts)
        for (int i = 0; i < 60; i++) {
            sum += i;
            parts[i % 3] += 1;
        }
        add_to_own(1);
    }
    CHECK(sum == 2 * 60 * 59 / 2 + threads * (threads - 1) / 2);
    CHECK(parts[0] + parts[1] + parts[2] == threads + 120);
}

int main(void)
{
    tiles = make_tiles(MOST, 0);
    for (int threads = 2; threads <= MOST; threads += 3)
        for (int round = 0; round < ROUNDS; round++)
            round_of(threads);
    CHECK(all_are(tiles, (size_t)2 * TILE, 3 * ROUNDS * 8));
    CHECK(all_are(tiles + (size_t)7 * TILE, TILE, ROUNDS * 8));
    free(tiles);
    return check_result();
}
