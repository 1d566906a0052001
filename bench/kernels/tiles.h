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

/* A matrix of tiles, and how tasks get them. */
typedef struct TYPED(matrix) {
    REAL *at;
    bench_style style;
    size_t tiles, t; /* along each side; order of one */
    size_t ld;       /* distance of a tile's columns */
    bool lower;      /* nothing but the tiles of the lower half is stored (not in the style lapack) */
    size_t elements; /* of all of it */
    bench_levels levels; /* where they are not rows of tiles */
    size_t named;    /* elements from a tile's first one on that depend items name, where tasks map all of it */
} TYPED(matrix);

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
#pragma omp target enter data nowait depend(out : block [0:size]) map(to : block [0:size])
}

/* The region holds the block, which the first task will write. */
static inline void TYPED(enter_unset)(REAL *block, size_t size)
{
#pragma omp target enter data nowait depend(out : block [0:size]) map(alloc : block [0:size])
}

/* The block leaves and its contents come back. */
static inline void TYPED(leave)(REAL *block, size_t size)
{
#pragma omp target exit data nowait depend(inout : block [0:size]) map(from : block [0:size])
}

/* The block leaves; it was only read. */
static inline void TYPED(leave_unchanged)(REAL *block, size_t size)
{
#pragma omp target exit data nowait depend(inout : block [0:size]) map(release : block [0:size])
}

/* --- matrices ---------------------------------------------------------------------------------- */

static inline bool TYPED(is_whole)(const TYPED(matrix) * m)
{
    return m->style == BENCH_ARRAY || m->style == BENCH_LAPACK;
}

/* Tiles follow each other by rows of tiles, each without gaps; in the style lapack columns do. With levels they are
 * blocks of such tiles, all of which are stored on the diagonal, too. */
static inline REAL *TYPED(tile)(const TYPED(matrix) * m, size_t i, size_t j)
{
    if (m->levels.count) {
        const size_t s = m->levels.span[0], row = i / s, column = j / s;
        const size_t tiles = m->lower ? row * (row + 1) / 2 + column : row * (m->tiles / s) + column;
        return m->at + (tiles * s * s + bench_block_inside(&m->levels, 0, i % s, j % s)) * m->t * m->t;
    }
    const size_t before = m->lower ? i * (i + 1) / 2 : i * m->tiles;
    return m->style == BENCH_LAPACK ? m->at + (i + j * m->ld) * m->t : m->at + (before + j) * m->t * m->t;
}

static inline void TYPED(copy_tiles)(const TYPED(matrix) * to, const TYPED(matrix) * from)
{
#pragma omp parallel for
    for (size_t i = 0; i < to->tiles; i++) {
        for (size_t j = 0; j < (to->lower ? i + 1 : to->tiles); j++) {
            for (size_t column = 0; column < to->t; column++) {
                memcpy(TYPED(tile)(to, i, j) + column * to->ld, TYPED(tile)(from, i, j) + column * from->ld,
                       to->t * sizeof *to->at);
            }
        }
    }
}

/* Tiles without gaps. */
static inline TYPED(matrix) TYPED(tiled)(const bench_config *config, REAL *tiles, bool lower)
{
    const size_t n = config->tiles, t = config->tile;
    return (TYPED(matrix)){.at = tiles,
                           .style = config->style == BENCH_LAPACK ? BENCH_ARRAY : config->style,
                           .tiles = n,
                           .t = t,
                           .ld = t,
                           .lower = lower,
                           .elements = (lower ? n * (n + 1) / 2 : n * n) * t * t,
                           .named = t * t};
}

/* The matrix as the style has it: these tiles, or a copy of them. */
static inline TYPED(matrix) TYPED(lay_out)(const bench_config *config, const TYPED(matrix) * tiles)
{
    const size_t order = tiles->tiles * tiles->t;
    TYPED(matrix) m = *tiles;
    if (config->levels.count) {
        const size_t s = config->levels.span[0], n = m.tiles / s, count = m.lower ? n * (n + 1) / 2 : n * n;
        m.levels = config->levels;
        m.elements = count * s * s * m.t * m.t;
        m.at = bench_alloc_matrix(config, m.elements, sizeof *m.at);
        memset(m.at, 0, m.elements * sizeof *m.at);
        TYPED(copy_tiles)(&m, tiles);
        return m;
    }
    if (config->style != BENCH_LAPACK) {
        return m;
    }
    m.at = bench_alloc_matrix(config, order * order, sizeof *m.at);
    m.style = BENCH_LAPACK;
    m.ld = order;
    m.elements = order * order;
    m.named = 1;
    TYPED(copy_tiles)(&m, tiles);
    return m;
}

/* The tiles have its contents again. */
static inline void TYPED(gather)(const bench_config *config, const TYPED(matrix) * tiles, TYPED(matrix) m)
{
    if (m.at != tiles->at) {
        TYPED(copy_tiles)(tiles, &m);
        bench_free_matrix(config, m.at);
    }
}

/* Elements of what enters as one; with levels, a tile of the first. */
static inline size_t TYPED(entered)(const TYPED(matrix) * m)
{
    const size_t span = m->levels.count ? m->levels.span[0] : 1;
    return span * span * m->t * m->t;
}

/* All of it enters, or leaves. */
static inline void TYPED(enter_matrix)(const TYPED(matrix) * m)
{
    REAL *at = m->at;
    const size_t elements = m->elements, size = TYPED(entered)(m);
    if (TYPED(is_whole)(m)) {
#pragma omp target enter data map(to : at [0:elements])
    } else if (m->style != BENCH_TASK) {
        for (size_t i = 0; i < elements; i += size) {
            TYPED(enter)(at + i, size);
        }
        if (m->levels.count) { /* tasks name blocks */
#pragma omp taskwait
        }
    }
}

static inline void TYPED(leave_matrix)(const TYPED(matrix) * m, bool changed)
{
    REAL *at = m->at;
    const size_t elements = m->elements, size = TYPED(entered)(m);
    if (TYPED(is_whole)(m) || m->levels.count) {
#pragma omp taskwait
    }
    if (TYPED(is_whole)(m)) {
        if (changed) {
#pragma omp target exit data map(from : at [0:elements])
        } else {
#pragma omp target exit data map(release : at [0:elements])
        }
    } else if (m->style != BENCH_TASK) {
        for (size_t i = 0; i < elements; i += size) {
            if (changed) {
                TYPED(leave)(at + i, size);
            } else {
                TYPED(leave_unchanged)(at + i, size);
            }
        }
    }
}
