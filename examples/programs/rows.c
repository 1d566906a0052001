/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A dense system of linear equations, symmetric and diagonally dominant, solved by the method of Jacobi or by conjugate
 * gradients, as such codes are first ported: matrix and vectors are mapped whole, in one data region around everything.
 *
 * --run kernels: each product and each update of vectors is one synchronous kernel. --run tasks: each is a group of
 * tasks, one for each block of rows, with a synchronous kernel inside. Kernels map the rows of the matrix and the part
 * of a vector that they work on as sections of what is present, and read the other vector whole; there are no depend
 * clauses.
 *
 * Dot products are summed on the device, one thread per block of rows, then on the host: the same result in every run.
 *
 * Checked by the true residual b - A x, computed on the host.
 *
 * Out of core: the default needs 8.5 MB, so
 *     ompdarts run --mem 3M build/examples/rows --run tasks
 */
#include "common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { JACOBI, CG };
enum { KERNELS, TASKS };

typedef struct solver {
    size_t blocks, rows, steps, method, run; /* blocks of so many rows */
    size_t order;
    double *a, *b, *x;       /* [order * order] by rows, [order], [order] */
    double *r, *p, *q, *sum; /* vectors of the method; a sum per block */
} solver;

/* --- kernels: each on rows begin .. begin + rows - 1 ------------------------------ */

/* q = A p */
static void multiply_rows(const solver *s, size_t begin, size_t rows)
{
    const size_t n = s->order;
    const double *a = s->a, *p = s->p;
    double *q = s->q;
#pragma omp target teams distribute parallel for map(to : a [begin * n:rows * n], p [0:n]) map(from : q [begin:rows])
    for (size_t i = begin; i < begin + rows; i++) {
        double sum = 0.0;
        for (size_t j = 0; j < n; j++) {
            sum += a[i * n + j] * p[j];
        }
        q[i] = sum;
    }
}

/* q = p + (b - A p) / diagonal, from q = A p */
static void relax_rows(const solver *s, size_t begin, size_t rows)
{
    const size_t n = s->order;
    const double *a = s->a, *b = s->b, *p = s->p;
    double *q = s->q;
#pragma omp target map(to : a [begin * n:rows * n], b [begin:rows], p [begin:rows]) map(tofrom : q [begin:rows])
    for (size_t i = begin; i < begin + rows; i++) {
        q[i] = p[i] + (b[i] - q[i]) / a[i * n + i];
    }
}

/* x += alpha p, r -= alpha q */
static void advance_rows(const solver *s, double alpha, size_t begin, size_t rows)
{
    const double *p = s->p, *q = s->q;
    double *x = s->x, *r = s->r;
#pragma omp target map(to : p [begin:rows], q [begin:rows]) map(tofrom : x [begin:rows], r [begin:rows])
    for (size_t i = begin; i < begin + rows; i++) {
        x[i] += alpha * p[i];
        r[i] -= alpha * q[i];
    }
}

/* p = r + beta p */
static void turn_rows(const solver *s, double beta, size_t begin, size_t rows)
{
    const double *r = s->r;
    double *p = s->p;
#pragma omp target map(to : r [begin:rows]) map(tofrom : p [begin:rows])
    for (size_t i = begin; i < begin + rows; i++) {
        p[i] = r[i] + beta * p[i];
    }
}

/* The block's part of the dot product of u and v, into its place in `sum`, on the host. */
static void dot_rows(const solver *s, const double *u, const double *v, size_t begin, size_t rows)
{
    double *sum = s->sum;
    const size_t each = s->rows;
#pragma omp target map(to                                                                                              \
                       : u [begin:rows], v [begin:rows]) map(always, from                                              \
                                                             : sum [begin / each:(rows + each - 1) / each])
    for (size_t block = begin; block < begin + rows; block += each) {
        double part = 0.0;
        for (size_t i = block; i < block + each; i++) {
            part += u[i] * v[i];
        }
        sum[block / each] = part;
    }
}

/* --- steps on whole vectors ------------------------------------------------------- */

/* Calls STEP for all rows at once, or for each block in a task of its own; done when it ends. */
#define FOR_ROWS(s, STEP)                                                                                              \
    do {                                                                                                               \
        const size_t rows = (s)->run == TASKS ? (s)->rows : (s)->order;                                                \
        _Pragma("omp taskgroup") for (size_t begin = 0; begin < (s)->order; begin += rows)                             \
        {                                                                                                              \
            _Pragma("omp task if (rows < (s)->order)") STEP;                                                           \
        }                                                                                                              \
    } while (0)

static double dot(const solver *s, const double *u, const double *v)
{
    double sum = 0.0;
    FOR_ROWS(s, dot_rows(s, u, v, begin, rows));
    for (size_t block = 0; block < s->blocks; block++) {
        sum += s->sum[block];
    }
    return sum;
}

static void swap(double **u, double **v)
{
    double *old = *u;
    *u = *v;
    *v = old;
}

/* Ends with the result in p. */
static void solve_by_jacobi(solver *s)
{
    for (size_t step = 0; step < s->steps; step++) {
        FOR_ROWS(s, multiply_rows(s, begin, rows));
        FOR_ROWS(s, relax_rows(s, begin, rows));
        swap(&s->p, &s->q);
    }
}

/* Starts with x = 0, r = p = b. */
static void solve_by_cg(solver *s)
{
    double square = dot(s, s->r, s->r);
    for (size_t step = 0; step < s->steps && square > 0.0; step++) {
        const double before = square;
        FOR_ROWS(s, multiply_rows(s, begin, rows));
        const double alpha = square / dot(s, s->p, s->q);
        FOR_ROWS(s, advance_rows(s, alpha, begin, rows));
        square = dot(s, s->r, s->r);
        FOR_ROWS(s, turn_rows(s, square / before, begin, rows));
    }
}

static void solve(solver *s)
{
    const size_t n = s->order, blocks = s->blocks;
    double *a = s->a, *b = s->b, *x = s->x, *r = s->r, *p = s->p, *q = s->q, *sum = s->sum;
#pragma omp target data map(to                                                                                         \
                            : a [0:n * n], b [0:n], r [0:n]) map(tofrom                                                \
                                                                 : x [0:n], p [0:n], q [0:n]) map(alloc                \
                                                                                                  : sum [0:blocks])
    {
#pragma omp parallel
#pragma omp single
        if (s->method == CG) {
            solve_by_cg(s);
        } else {
            solve_by_jacobi(s);
        }
    }
    if (s->method == JACOBI) {
        swap(&s->x, &s->p);
    }
}

/* --- the problem ------------------------------------------------------------------ */

static void fill_matrix(solver *s)
{
    const size_t n = s->order;
    uint64_t random = 1;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++) {
            s->a[i * n + j] = s->a[j * n + i] = example_random(&random) - 0.5;
            s->a[i * n + i] += 0.5;
            s->a[j * n + j] += 0.5;
        }
        s->b[i] = example_random(&random);
    }
}

static void make(solver *s)
{
    s->order = s->blocks * s->rows;
    double **vectors[] = {&s->b, &s->x, &s->r, &s->p, &s->q};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        *vectors[i] = example_doubles(s->order);
    }
    s->a = example_doubles(s->order * s->order);
    s->sum = example_doubles(s->blocks);
    fill_matrix(s);
    memcpy(s->r, s->b, s->order * sizeof *s->r);
    if (s->method == CG) {
        memcpy(s->p, s->b, s->order * sizeof *s->p);
    }
}

static void destroy(solver *s)
{
    double *all[] = {s->a, s->b, s->x, s->r, s->p, s->q, s->sum};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        free(all[i]);
    }
}

/* Norm of b - A x over that of b. */
static double measure_error(const solver *s)
{
    double rest = 0.0, norm = 0.0;
    for (size_t i = 0; i < s->order; i++) {
        double sum = s->b[i];
        for (size_t j = 0; j < s->order; j++) {
            sum -= s->a[i * s->order + j] * s->x[j];
        }
        rest += sum * sum;
        norm += s->b[i] * s->b[i];
    }
    return sqrt(rest / norm);
}

int main(int argc, char **argv)
{
    static const char *const methods[] = {"jacobi", "cg", NULL};
    static const char *const runs[] = {"kernels", "tasks", NULL};
    solver s = {.blocks = 16, .rows = 64, .steps = 60, .method = CG, .run = TASKS};
    const example_option options[] = {
        {"blocks", &s.blocks, 1, 10000, NULL, "blocks of rows"},
        {"rows", &s.rows, 1, 10000, NULL, "rows of a block"},
        {"steps", &s.steps, 1, 1000000, NULL, "iterations"},
        {"method", &s.method, 0, 0, methods, "how the system is solved"},
        {"run", &s.run, 0, 0, runs, "what a product is: one kernel, or a task for each block of rows"},
        {0},
    };
    example_parse(argc, argv, "Dense linear system, matrix and vectors mapped whole in one data region.", options);
    make(&s);
    solve(&s);
    const int exit_code = example_verdict(s.x, s.order, measure_error(&s), 1e-9);
    destroy(&s);
    return exit_code;
}
