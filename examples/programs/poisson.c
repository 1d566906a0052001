/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The Poisson equation on a rectangle by conjugate gradients: a sparse matrix by rows (start, column, value), and three
 * synchronous kernels per step, two of them with a reduction.
 *
 * How data are named: seven arrays entered once, kernels map nothing but the variable that they reduce to. Sums are of
 * whole numbers, of terms scaled by the last sum: they do not depend on the order in which they are added up.
 *
 * Checked against the same steps on the host, and by the residual.
 *
 * On all devices: OMPDARTS_SLICE=4 ompdarts run build/examples/poisson
 */
#include "common.h"

#include <math.h>
#include <stdlib.h>

enum { NEIGHBOURS = 5 };

typedef struct matrix {
    size_t rows;
    int32_t *start, *column; /* of each row, and the end; of each entry */
    double *value;
} matrix;

typedef struct vectors {
    double *x, *r, *p, *q; /* solution, residual, direction, matrix times direction */
} vectors;

/* Terms are to be whole numbers below 2^63 together, with the last sum as 2^40. */
static double scale_for(double last)
{
    return ldexp(1, 40 - ilogb(last));
}

static inline double row_times(const int32_t *start, const int32_t *column, const double *value, const double *p, size_t i)
{
    double sum = 0;
    for (int32_t k = start[i]; k < start[i + 1]; k++)
        sum += value[k] * p[column[k]];
    return sum;
}

/* q = A p; returns p q, scaled. */
static int64_t multiply(const matrix *a, const vectors *v, double scale)
{
    const int32_t *start = a->start, *column = a->column;
    const double *value = a->value, *p = v->p;
    double *q = v->q;
    const size_t rows = a->rows;
    int64_t sum = 0;
#pragma omp target teams distribute parallel for reduction(+ : sum)
    for (size_t i = 0; i < rows; i++) {
        q[i] = row_times(start, column, value, p, i);
        sum += (int64_t)(p[i] * q[i] * scale);
    }
    return sum;
}

/* x += alpha p, r -= alpha q; returns r r, scaled. */
static int64_t advance(size_t rows, const vectors *v, double alpha, double scale)
{
    double *x = v->x, *r = v->r;
    const double *p = v->p, *q = v->q;
    int64_t sum = 0;
#pragma omp target teams distribute parallel for reduction(+ : sum)
    for (size_t i = 0; i < rows; i++) {
        x[i] += alpha * p[i];
        r[i] -= alpha * q[i];
        sum += (int64_t)(r[i] * r[i] * scale);
    }
    return sum;
}

static void turn(size_t rows, const vectors *v, double beta)
{
    double *p = v->p;
    const double *r = v->r;
#pragma omp target teams distribute parallel for
    for (size_t i = 0; i < rows; i++)
        p[i] = r[i] + beta * p[i];
}

static void solve(const matrix *a, const vectors *v, size_t steps, double square)
{
    const size_t rows = a->rows, entries = (size_t)a->start[rows];
    int32_t *start = a->start, *column = a->column;
    double *value = a->value, *x = v->x, *r = v->r, *p = v->p, *q = v->q;
#pragma omp target enter data map(to : start[0 : rows + 1], column[0:entries], value[0:entries])
#pragma omp target enter data map(to : x[0:rows], r[0:rows], p[0:rows]) map(alloc : q[0:rows])
    for (size_t step = 0; step < steps; step++) {
        const double scale = scale_for(square);
        const double alpha = square / ((double)multiply(a, v, scale) / scale);
        const double next = (double)advance(rows, v, alpha, scale) / scale;
        turn(rows, v, next / square);
        square = next;
    }
#pragma omp target exit data map(from : x[0:rows])
#pragma omp target exit data map(release : r[0:rows], p[0:rows], q[0:rows])
#pragma omp target exit data map(release : start[0 : rows + 1], column[0:entries], value[0:entries])
}

static void solve_on_host(const matrix *a, const vectors *v, size_t steps, double square)
{
    for (size_t step = 0; step < steps; step++) {
        const double scale = scale_for(square);
        int64_t direction = 0, sum = 0;
        for (size_t i = 0; i < a->rows; i++) {
            v->q[i] = row_times(a->start, a->column, a->value, v->p, i);
            direction += (int64_t)(v->p[i] * v->q[i] * scale);
        }
        const double alpha = square / ((double)direction / scale);
        for (size_t i = 0; i < a->rows; i++) {
            v->x[i] += alpha * v->p[i];
            v->r[i] -= alpha * v->q[i];
            sum += (int64_t)(v->r[i] * v->r[i] * scale);
        }
        const double next = (double)sum / scale;
        for (size_t i = 0; i < a->rows; i++)
            v->p[i] = v->r[i] + next / square * v->p[i];
        square = next;
    }
}

static int32_t *whole_numbers(size_t count)
{
    int32_t *numbers = malloc(count * sizeof *numbers);
    if (!numbers)
        example_fail("out of memory");
    return numbers;
}

/* Five points, and some absorption, so that few steps are enough. */
static matrix make_matrix(size_t height, size_t width)
{
    const size_t rows = height * width;
    matrix a = {rows, whole_numbers(rows + 1), whole_numbers(NEIGHBOURS * rows), example_doubles(NEIGHBOURS * rows)};
    int32_t entries = 0;
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++) {
            const size_t i = y * width + x;
            const size_t at[NEIGHBOURS] = {i - width, i - 1, i, i + 1, i + width};
            const bool inside[NEIGHBOURS] = {y > 0, x > 0, true, x + 1 < width, y + 1 < height};
            a.start[i] = entries;
            for (int n = 0; n < NEIGHBOURS; n++)
                if (inside[n]) {
                    a.column[entries] = (int32_t)at[n];
                    a.value[entries++] = at[n] == i ? 4.1 : -1;
                }
        }
    a.start[rows] = entries;
    return a;
}

/* x = 0, so the residual is the right side; returns its square. */
static double make_vectors(size_t rows, vectors *v)
{
    uint64_t random = 1;
    double square = 0;
    *v = (vectors){example_doubles(rows), example_doubles(rows), example_doubles(rows), example_doubles(rows)};
    for (size_t i = 0; i < rows; i++) {
        v->r[i] = v->p[i] = example_random(&random) - 0.5;
        square += v->r[i] * v->r[i];
    }
    return square;
}

static void destroy(const vectors *v)
{
    free(v->x);
    free(v->r);
    free(v->p);
    free(v->q);
}

/* Largest difference to what is expected, and how far the residual is above what so many steps reach. */
static double measure_error(const matrix *a, const vectors *v, const vectors *expected, size_t steps)
{
    uint64_t random = 1;
    double error = 0, residual = 0, side = 0;
    for (size_t i = 0; i < a->rows; i++) {
        const double b = example_random(&random) - 0.5;
        residual += pow(b - row_times(a->start, a->column, a->value, v->x, i), 2);
        side += b * b;
        error = fmax(error, fabs(v->x[i] - expected->x[i]));
    }
    return error + fmax(0, sqrt(residual / side) - pow(0.8, (double)(steps < 60 ? steps : 60)));
}

int main(int argc, char **argv)
{
    size_t height = 64, width = 2048, steps = 30;
    const example_option options[] = {
        {"height", &height, 2, 10000, NULL, "rows of points"},
        {"width", &width, 2, 10000, NULL, "points of a row"},
        {"steps", &steps, 1, 1000000, NULL, "steps of the method"},
        {0},
    };
    vectors v, expected;
    example_parse(argc, argv, "Poisson's equation by conjugate gradients, three synchronous kernels per step.", options);
    matrix a = make_matrix(height, width);
    const double square = make_vectors(a.rows, &v);
    make_vectors(a.rows, &expected);
    solve(&a, &v, steps, square);
    solve_on_host(&a, &expected, steps, square);
    const int exit_code = example_verdict(v.x, a.rows, measure_error(&a, &v, &expected, steps), 1e-9);
    destroy(&v);
    destroy(&expected);
    free(a.start);
    free(a.column);
    free(a.value);
    return exit_code;
}
