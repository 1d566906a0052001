/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Tiles of several levels (--levels): a tile of one level consists of r x r tiles of the next, row by row, each without
 * gaps; those of the last level are blocks, stored by columns. So the blocks of any tile are one range.
 */
#ifndef BENCH_KERNELS_LEVELS_H
#define BENCH_KERNELS_LEVELS_H

#include <stddef.h>

enum { BENCH_MOST_LEVELS = 8 };

typedef struct bench_levels {
    unsigned count;                 /* 0: tiles are what tasks work on, as they are */
    size_t span[BENCH_MOST_LEVELS]; /* blocks along each side of a tile, by level; the last is 1 */
} bench_levels;

#pragma omp begin declare target

/* The number of block (i, j) among those of its tile, which is of this level. */
static inline size_t bench_block_inside(const bench_levels *levels, unsigned level, size_t i, size_t j)
{
    size_t number = 0;
    for (; level + 1 < levels->count; level++) {
        const size_t part = levels->span[level + 1], parts = levels->span[level] / part;
        number += (i / part * parts + j / part) * part * part;
        i %= part;
        j %= part;
    }
    return number;
}

#pragma omp end declare target

#endif
