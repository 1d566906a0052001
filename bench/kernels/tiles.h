/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Blocks of a matrix for one precision (see for_each_type.h): random contents,
 * products with a vector for the checks, and their way in and out of a region.
 *
 * A block's contents depend on (seed, number of the block) alone, so a check
 * makes the input again instead of keeping a copy of it. Products are summed
 * in double, whatever the block's type.
 */
#ifndef BENCH_TILES_H
#define BENCH_TILES_H

/* Which elements of a square block count. */
typedef enum bench_part { PART_ALL, PART_LOWER, PART_UNIT_LOWER, PART_UPPER } bench_part;

/* y += block x, or block^T x. */
typedef struct bench_product {
    size_t rows, columns;
    bench_part part;
    bool transpose;
} bench_product;

#endif

static inline void TYPED(fill_random)(REAL *block, size_t size, uint64_t seed, uint64_t number)
{
    const size_t piece = (size_t)1 << 16;
#pragma omp parallel for if (size > piece)
    for (size_t start = 0; start < size; start += piece) {
        bench_random random = bench_random_start(seed, number);
        bench_random_skip(&random, start);
        const size_t end = size - start < piece ? size : start + piece;
        for (size_t i = start; i < end; i++) {
            block[i] = (REAL)bench_random_next(&random);
        }
    }
}

/*
 * Makes the diagonal of a matrix of order n large enough for a factorisation
 * without pivoting: a random matrix of order n with elements in [-0.5, 0.5)
 * has a norm of about 0.58 sqrt(n), so 2 sqrt(n) dominates it. (Adding n would
 * dominate every row too, but then the off-diagonal tiles hardly influence the
 * factors, and a lost update would hide in the rounding errors.)
 */
static inline void TYPED(add_to_diagonal)(REAL *tile, size_t t, size_t n)
{
    for (size_t i = 0; i < t; i++) {
        tile[i + i * t] += (REAL)(2.0 * sqrt((double)n));
    }
}

static inline void TYPED(make_symmetric)(REAL *tile, size_t t)
{
    for (size_t j = 0; j < t; j++) {
        for (size_t i = 0; i < j; i++) {
            tile[i + j * t] = tile[j + i * t];
        }
    }
}

static inline void TYPED(multiply)(const REAL *block, bench_product product, const double *x, double *y)
{
    const size_t rows = product.rows;
    for (size_t j = 0; j < product.columns; j++) {
        const REAL *column = block + j * rows;
        const size_t first = product.part == PART_LOWER ? j : product.part == PART_UNIT_LOWER ? j + 1 : 0;
        const size_t end = product.part == PART_UPPER ? j + 1 : rows;
        for (size_t i = first; i < end; i++) {
            const size_t from = product.transpose ? i : j, to = product.transpose ? j : i;
            y[to] += (double)column[i] * x[from];
        }
        if (product.part == PART_UNIT_LOWER) {
            y[j] += x[j];
        }
    }
}

/* --- the edges of a region: one block enters or leaves ---------------------------------------- */

/* The region holds the block, with its contents. */
static inline void TYPED(enter)(REAL *block, size_t size)
{
#pragma omp target enter data nowait depend(out : block[0 : size]) map(to : block[0 : size])
}

/* The region holds the block, which the first task will write. */
static inline void TYPED(enter_unset)(REAL *block, size_t size)
{
#pragma omp target enter data nowait depend(out : block[0 : size]) map(alloc : block[0 : size])
}

/* The block leaves and its contents come back. */
static inline void TYPED(leave)(REAL *block, size_t size)
{
#pragma omp target exit data nowait depend(inout : block[0 : size]) map(from : block[0 : size])
}

/* The block leaves; it was only read. */
static inline void TYPED(leave_unchanged)(REAL *block, size_t size)
{
#pragma omp target exit data nowait depend(inout : block[0 : size]) map(release : block[0 : size])
}
