/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Tiled QR factorisation with Householder reflectors, flat tree, tile names and order as in PLASMA: geqrt factors
 * a diagonal tile, unmqr applies it along the row; tsqrt eliminates a tile below with the triangle above, tsmqr
 * applies that to pairs of tiles. Reflectors stay in the tiles, their factors tau in a second, small array. R
 * overwrites the upper half.
 *
 * How data are named: tiles are contiguous; depend clauses name a tile's *first element*. Tasks have up to three
 * inout data (tsqrt, tsmqr). The triangle and the reflectors below it share a tile: unmqr only reads the tile that
 * tsqrt writes next. --map task lets each task map its tiles; --map region enters and leaves each tile by target
 * tasks of their own (enter/exit data nowait depend), so tiles leave while others are still computed.
 *
 * Checked by R^T (R x) against A^T (A x) for a random x.
 *
 * Out of core: the default needs 4.7 MB, so
 *     ompdarts run --mem 600k build/examples/qr
 */
#include "common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct matrix {
    size_t tiles, size; /* along each side; rows and columns of a tile, stored by columns */
    double *element;    /* tiles by columns of tiles */
    double *tau;        /* `size` factors for each tile */
} matrix;

#pragma omp begin declare target

/*
 * The reflector H = I - tau v v^T with v = (1, x / (alpha - beta)) that takes (alpha, x) to (beta, 0).
 * x becomes v's lower part, alpha beta; returns tau.
 */
static inline double make_reflector(double *alpha, size_t count, double *x)
{
    double square = 0.0;
    for (size_t i = 0; i < count; i++) {
        square += x[i] * x[i];
    }
    if (square == 0.0) {
        return 0.0;
    }
    const double norm = sqrt(*alpha * *alpha + square), beta = *alpha > 0.0 ? -norm : norm;
    const double tau = (beta - *alpha) / beta, scale = 1.0 / (*alpha - beta);
    for (size_t i = 0; i < count; i++) {
        x[i] *= scale;
    }
    *alpha = beta;
    return tau;
}

/* Applies H to the column (top, below). */
static inline void apply_reflector(double tau, size_t count, const double *v, double *top, double *below)
{
    double sum = *top;
    for (size_t i = 0; i < count; i++) {
        sum += v[i] * below[i];
    }
    sum *= tau;
    *top -= sum;
    for (size_t i = 0; i < count; i++) {
        below[i] -= sum * v[i];
    }
}

/* A := R and, below the diagonal, the reflectors. */
static inline void geqrt(size_t n, double *a, double *tau)
{
    for (size_t k = 0; k < n; k++) {
        double *column = a + k * n + k;
        tau[k] = make_reflector(column, n - k - 1, column + 1);
        for (size_t j = k + 1; j < n; j++) {
            apply_reflector(tau[k], n - k - 1, column + 1, a + j * n + k, a + j * n + k + 1);
        }
    }
}

/* C := Q^T C with the reflectors that geqrt left in V. */
static inline void unmqr(size_t n, const double *v, const double *tau, double *c)
{
    for (size_t k = 0; k < n; k++) {
        for (size_t j = 0; j < n; j++) {
            apply_reflector(tau[k], n - k - 1, v + k * n + k + 1, c + j * n + k, c + j * n + k + 1);
        }
    }
}

/* The triangle R above the full tile A: R := new triangle, A := the reflectors. */
static inline void tsqrt(size_t n, double *r, double *a, double *tau)
{
    for (size_t k = 0; k < n; k++) {
        tau[k] = make_reflector(r + k * n + k, n, a + k * n);
        for (size_t j = k + 1; j < n; j++) {
            apply_reflector(tau[k], n, a + k * n, r + j * n + k, a + j * n);
        }
    }
}

/* (C above D) := Q^T (C above D) with the reflectors that tsqrt left in V. */
static inline void tsmqr(size_t n, const double *v, const double *tau, double *c, double *d)
{
    for (size_t k = 0; k < n; k++) {
        for (size_t j = 0; j < n; j++) {
            apply_reflector(tau[k], n, v + k * n, c + j * n + k, d + j * n);
        }
    }
}

#pragma omp end declare target

static double *tile_of(const matrix *m, size_t i, size_t j)
{
    return m->element + (j * m->tiles + i) * m->size * m->size;
}

static double *tau_of(const matrix *m, size_t i, size_t j)
{
    return m->tau + (j * m->tiles + i) * m->size;
}

/* --- tasks -------------------------------------------------------------------------------- */

static void task_geqrt(const matrix *m, size_t k)
{
    const size_t n = m->size, square = n * n;
    double *a = tile_of(m, k, k), *tau = tau_of(m, k, k);
#pragma omp target nowait depend(inout : a[0]) depend(out : tau[0]) map(tofrom : a[0 : square]) map(from : tau[0 : n])
    geqrt(n, a, tau);
}

static void task_unmqr(const matrix *m, size_t k, size_t j)
{
    const size_t n = m->size, square = n * n;
    const double *v = tile_of(m, k, k), *tau = tau_of(m, k, k);
    double *c = tile_of(m, k, j);
#pragma omp target nowait depend(in : v[0], tau[0]) depend(inout : c[0]) map(to : v[0 : square], tau[0 : n])           \
    map(tofrom : c[0 : square])
    unmqr(n, v, tau, c);
}

static void task_tsqrt(const matrix *m, size_t k, size_t i)
{
    const size_t n = m->size, square = n * n;
    double *r = tile_of(m, k, k), *a = tile_of(m, i, k), *tau = tau_of(m, i, k);
#pragma omp target nowait depend(inout : r[0], a[0]) depend(out : tau[0]) map(tofrom : r[0 : square], a[0 : square])   \
    map(from : tau[0 : n])
    tsqrt(n, r, a, tau);
}

static void task_tsmqr(const matrix *m, size_t k, size_t i, size_t j)
{
    const size_t n = m->size, square = n * n;
    const double *v = tile_of(m, i, k), *tau = tau_of(m, i, k);
    double *c = tile_of(m, k, j), *d = tile_of(m, i, j);
#pragma omp target nowait depend(in : v[0], tau[0]) depend(inout : c[0], d[0]) map(to : v[0 : square], tau[0 : n])     \
    map(tofrom : c[0 : square], d[0 : square])
    tsmqr(n, v, tau, c, d);
}

static void create_tasks(const matrix *m)
{
    for (size_t k = 0; k < m->tiles; k++) {
        task_geqrt(m, k);
        for (size_t j = k + 1; j < m->tiles; j++) {
            task_unmqr(m, k, j);
        }
        for (size_t i = k + 1; i < m->tiles; i++) {
            task_tsqrt(m, k, i);
            for (size_t j = k + 1; j < m->tiles; j++) {
                task_tsmqr(m, k, i, j);
            }
        }
    }
}

static void task_enter(const matrix *m, size_t i, size_t j)
{
    double *a = tile_of(m, i, j), *tau = tau_of(m, i, j);
#pragma omp target enter data nowait depend(inout : a[0]) map(to : a[0 : m -> size * m->size])
#pragma omp target enter data nowait depend(inout : tau[0]) map(alloc : tau[0 : m -> size])
}

static void task_leave(const matrix *m, size_t i, size_t j)
{
    double *a = tile_of(m, i, j), *tau = tau_of(m, i, j);
#pragma omp target exit data nowait depend(inout : a[0]) map(from : a[0 : m -> size * m->size])
#pragma omp target exit data nowait depend(inout : tau[0]) map(from : tau[0 : m -> size])
}

static void for_each_tile(const matrix *m, void (*visit)(const matrix *, size_t, size_t))
{
    for (size_t j = 0; j < m->tiles; j++) {
        for (size_t i = 0; i < m->tiles; i++) {
            visit(m, i, j);
        }
    }
}

static void factorise(const matrix *m, bool in_region)
{
#pragma omp parallel
#pragma omp single
    {
        if (in_region) {
            for_each_tile(m, task_enter);
        }
        create_tasks(m);
        if (in_region) {
            for_each_tile(m, task_leave);
        }
    }
}

/* --- the check ------------------------------------------------------------------------------ */

/* Row i, column j of the whole matrix; of its upper triangle, if `upper`. */
static double element(const matrix *m, const double *elements, bool upper, size_t i, size_t j)
{
    const size_t n = m->size;
    return upper && i > j ? 0.0 : elements[(j / n * m->tiles + i / n) * n * n + j % n * n + i % n];
}

/* y := M^T (M x); malloc'ed */
static double *normal_product(const matrix *m, const double *elements, bool upper, const double *x)
{
    const size_t order = m->tiles * m->size;
    double *once = example_doubles(order), *twice = example_doubles(order);
    for (size_t j = 0; j < order; j++) {
        for (size_t i = 0; i < order; i++) {
            once[i] += element(m, elements, upper, i, j) * x[j];
        }
    }
    for (size_t j = 0; j < order; j++) {
        for (size_t i = 0; i < order; i++) {
            twice[j] += element(m, elements, upper, i, j) * once[i];
        }
    }
    free(once);
    return twice;
}

static double measure_error(const matrix *m, const double *input)
{
    const size_t order = m->tiles * m->size;
    uint64_t random = 2;
    double *x = example_doubles(order), difference = 0.0, norm = 0.0;
    for (size_t i = 0; i < order; i++) {
        x[i] = example_random(&random) - 0.5;
    }
    double *expected = normal_product(m, input, false, x), *found = normal_product(m, m->element, true, x);
    for (size_t i = 0; i < order; i++) {
        difference += (expected[i] - found[i]) * (expected[i] - found[i]);
        norm += expected[i] * expected[i];
    }
    free(x);
    free(expected);
    free(found);
    return sqrt(difference / norm);
}

int main(int argc, char **argv)
{
    static const char *const maps[] = {"task", "region", NULL};
    matrix m = {.tiles = 10, .size = 76};
    size_t map = 0;
    const example_option options[] = {
        {"tiles", &m.tiles, 1, 1000, NULL, "tiles along each side of the matrix"},
        {"size", &m.size, 1, 10000, NULL, "rows and columns of a tile"},
        {"map", &map, 0, 0, maps, "where tiles are mapped: by each task, or once"},
        {0},
    };
    example_parse(argc, argv, "Tiled QR factorisation of a random square matrix.", options);
    const size_t count = m.tiles * m.tiles * m.size * m.size;
    m.element = example_doubles(count);
    m.tau = example_doubles(m.tiles * m.tiles * m.size);
    double *input = example_doubles(count);
    uint64_t random = 1;
    for (size_t i = 0; i < count; i++) {
        input[i] = example_random(&random) - 0.5;
    }
    memcpy(m.element, input, count * sizeof *input);
    factorise(&m, map == 1);
    const int exit_code =
        example_verdict(m.element, count, measure_error(&m, input), 1e-13 * (double)(m.tiles * m.size));
    free(input);
    free(m.element);
    free(m.tau);
    return exit_code;
}
