/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Conjugate gradients for a block-sparse symmetric positive definite matrix (BSR: row starts, column numbers,
 * dense square tiles one after the other). Each block couples to its neighbours on a square of blocks and to a
 * random far one, so which tiles and which parts of a vector a task needs comes from an index array. The scalars
 * alpha and beta are computed by host tasks between the target tasks; the program waits once per iteration, to
 * look at the residual.
 *
 * How data are named: matrix and vectors are entered once as whole arrays; kernels map tiles and blocks of the
 * vectors. Depend clauses name the *first element* of a block. --product tile makes one task per tile, chained by
 * depend(inout) of the result's block; --product row makes one task per block row, which maps all tiles of the row
 * as one section and the *whole* vector, and whose depend clause *iterates* over the column numbers. Scalars are
 * mapped by each task. Dot products are reductions: per block, in a fixed order, then over blocks; the last one is
 * a reduction over teams.
 *
 * Checked by the true residual b - A x, computed on the host.
 *
 * Out of core: the default matrix has 19 MB, so
 *     ompdarts run --mem 2M build/examples/sparse
 */
#include "common.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct system_of_equations {
    size_t side, size; /* blocks along the square; order of a tile */
    size_t rows, tiles;
    size_t *start, *column; /* rows + 1 and `tiles` numbers */
    double *tile;           /* `tiles` tiles, by rows */
    double *x, *b, *r, *p, *q;
} system_of_equations;

/* What host tasks and target tasks hand each other. */
typedef struct scalars {
    double *partial; /* one per block */
    double alpha, beta, rho;
} scalars;

#pragma omp begin declare target
/* q := q + A p for one tile, or q := A p. */
static inline void multiply_tile(size_t n, const double *a, const double *p, bool first, double *q)
{
    for (size_t i = 0; i < n; i++) {
        double sum = first ? 0.0 : q[i];
        for (size_t j = 0; j < n; j++) {
            sum += a[i * n + j] * p[j];
        }
        q[i] = sum;
    }
}
#pragma omp end declare target

/* --- the iteration's tasks ----------------------------------------------------------------- */

static void task_product_by_tiles(const system_of_equations *s, size_t row)
{
    const size_t n = s->size;
    double *q = s->q + row * n;
    for (size_t k = s->start[row]; k < s->start[row + 1]; k++) {
        const double *a = s->tile + k * n * n, *p = s->p + s->column[k] * n;
        const bool first = k == s->start[row];
#pragma omp target nowait depend(in : a[0], p[0]) depend(inout : q[0]) map(to : a[0 : n * n], p[0 : n])                \
    map(tofrom : q[0 : n])
        multiply_tile(n, a, p, first, q);
    }
}

static void task_product_by_row(const system_of_equations *s, size_t row)
{
    const size_t n = s->size, from = s->start[row], count = s->start[row + 1] - from, all = s->rows * n;
    const size_t *column = s->column + from;
    const double *a = s->tile + from * n * n, *p = s->p;
    double *q = s->q + row * n;
#pragma omp target nowait depend(iterator(size_t k = 0 : count), in : p[column[k] * n]) depend(in : a[0])              \
    depend(out : q[0]) map(to : column[0 : count], a[0 : count * n * n], p[0 : all]) map(from : q[0 : n])
    for (size_t k = 0; k < count; k++) {
        multiply_tile(n, a + k * n * n, p + column[k] * n, k == 0, q);
    }
}

static void task_dot(const system_of_equations *s, size_t row, const double *left, const double *right, scalars *c)
{
    const size_t n = s->size;
    const double *u = left + row * n, *v = right + row * n;
    double *partial = &c->partial[row];
#pragma omp target nowait depend(in : u[0], v[0]) depend(out : partial[0]) map(to : u[0 : n], v[0 : n])                \
    map(from : partial[0 : 1])
    {
        double sum = 0.0;
#pragma omp simd reduction(+ : sum)
        for (size_t i = 0; i < n; i++) {
            sum += u[i] * v[i];
        }
        partial[0] = sum;
    }
}

static double sum_of(const double *partial, size_t count)
{
    double sum = 0.0;
    for (size_t i = 0; i < count; i++) {
        sum += partial[i];
    }
    return sum;
}

static void task_alpha(scalars *c, size_t rows)
{
    const double *partial = c->partial;
#pragma omp task depend(iterator(size_t i = 0 : rows), in : partial[i]) depend(out : c -> alpha) depend(in : c->rho)
    c->alpha = c->rho / sum_of(partial, rows);
}

static void task_beta(scalars *c, size_t rows)
{
    const double *partial = c->partial;
#pragma omp task depend(iterator(size_t i = 0 : rows), in : partial[i]) depend(out : c -> beta) depend(inout : c->rho)
    {
        const double rho = sum_of(partial, rows);
        c->beta = rho / c->rho;
        c->rho = rho;
    }
}

/* x += alpha p, r -= alpha q */
static void task_step(const system_of_equations *s, size_t row, scalars *c)
{
    const size_t n = s->size;
    double *x = s->x + row * n, *r = s->r + row * n;
    const double *p = s->p + row * n, *q = s->q + row * n, *alpha = &c->alpha;
#pragma omp target nowait depend(in : alpha[0], p[0], q[0]) depend(inout : x[0], r[0])                                 \
    map(to : alpha[0 : 1], p[0 : n], q[0 : n]) map(tofrom : x[0 : n], r[0 : n])
    for (size_t i = 0; i < n; i++) {
        x[i] += alpha[0] * p[i];
        r[i] -= alpha[0] * q[i];
    }
}

/* p = r + beta p */
static void task_direction(const system_of_equations *s, size_t row, scalars *c)
{
    const size_t n = s->size;
    double *p = s->p + row * n;
    const double *r = s->r + row * n, *beta = &c->beta;
#pragma omp target nowait depend(in : beta[0], r[0]) depend(inout : p[0]) map(to : beta[0 : 1], r[0 : n])              \
    map(tofrom : p[0 : n])
    for (size_t i = 0; i < n; i++) {
        p[i] = r[i] + beta[0] * p[i];
    }
}

static void create_iteration(const system_of_equations *s, bool by_rows, scalars *c)
{
    for (size_t row = 0; row < s->rows; row++) {
        if (by_rows) {
            task_product_by_row(s, row);
        } else {
            task_product_by_tiles(s, row);
        }
    }
    for (size_t row = 0; row < s->rows; row++) {
        task_dot(s, row, s->p, s->q, c);
    }
    task_alpha(c, s->rows);
    for (size_t row = 0; row < s->rows; row++) {
        task_step(s, row, c);
        task_dot(s, row, s->r, s->r, c);
    }
    task_beta(c, s->rows);
    for (size_t row = 0; row < s->rows; row++) {
        task_direction(s, row, c);
    }
}

/* Iterates until |r| <= tolerance |b|; returns the iterations. */
static size_t iterate(const system_of_equations *s, bool by_rows, size_t most, double tolerance)
{
    scalars c = {.partial = example_doubles(s->rows)};
    for (size_t i = 0; i < s->rows * s->size; i++) {
        c.rho += s->b[i] * s->b[i];
    }
    const double enough = tolerance * tolerance * c.rho;
    size_t iteration = 0;
    while (iteration < most && c.rho > enough) {
        create_iteration(s, by_rows, &c);
        iteration++;
#pragma omp taskwait depend(in : c.rho)
    }
#pragma omp taskwait
    free(c.partial);
    return iteration;
}

/* |r| as the iteration left it on the devices. */
static double device_norm(const system_of_equations *s)
{
    const size_t all = s->rows * s->size;
    const double *r = s->r;
    double sum = 0.0;
#pragma omp target teams distribute parallel for reduction(+ : sum) map(to : r[0 : all]) map(tofrom : sum)
    for (size_t i = 0; i < all; i++) {
        sum += r[i] * r[i];
    }
    return sqrt(sum);
}

static size_t solve(const system_of_equations *s, bool by_rows, size_t most, double tolerance, double *norm)
{
    const size_t all = s->rows * s->size, elements = s->tiles * s->size * s->size;
    const size_t *column = s->column;
    const double *tile = s->tile;
    double *x = s->x, *r = s->r, *p = s->p, *q = s->q;
    size_t iterations;
#pragma omp target enter data map(to : tile[0 : elements], column[0 : s->tiles], x[0 : all], r[0 : all], p[0 : all])   \
    map(alloc : q[0 : all])
#pragma omp parallel
#pragma omp single
    iterations = iterate(s, by_rows, most, tolerance);
    *norm = device_norm(s);
#pragma omp target exit data map(from : x[0 : all])                                                                    \
    map(release : tile[0 : elements], column[0 : s -> tiles], r[0 : all], p[0 : all], q[0 : all])
    return iterations;
}

/* --- the matrix ------------------------------------------------------------------------------ */

static bool are_coupled(const system_of_equations *s, const size_t *far, size_t i, size_t j)
{
    const size_t low = i < j ? i : j, high = i < j ? j : i;
    const bool beside = high - low == 1 && high % s->side != 0;
    return low == high || beside || high - low == s->side || far[low] == high || far[high] == low;
}

/* Row starts and column numbers; each row is sorted. */
static void make_pattern(system_of_equations *s, uint64_t *random)
{
    size_t *far = malloc(s->rows * sizeof *far);
    s->start = malloc((s->rows + 1) * sizeof *s->start);
    s->column = malloc(s->rows * s->rows * sizeof *s->column);
    if (far == NULL || s->start == NULL || s->column == NULL) {
        example_fail("no memory for the pattern");
    }
    for (size_t i = 0; i < s->rows; i++) {
        far[i] = (size_t)(example_random(random) * (double)s->rows);
    }
    for (size_t i = 0; i < s->rows; i++) {
        s->start[i] = s->tiles;
        for (size_t j = 0; j < s->rows; j++) {
            if (are_coupled(s, far, i, j)) {
                s->column[s->tiles++] = j;
            }
        }
    }
    s->start[s->rows] = s->tiles;
    free(far);
}

static double *find_tile(const system_of_equations *s, size_t i, size_t j)
{
    size_t k = s->start[i];
    while (s->column[k] != j) {
        k++;
    }
    return s->tile + k * s->size * s->size;
}

/* Random and symmetric, the diagonal a little larger than the rest of its row: positive definite. */
static void fill_tiles(const system_of_equations *s, uint64_t *random)
{
    const size_t n = s->size;
    for (size_t i = 0; i < s->rows; i++) {
        for (size_t k = s->start[i]; k < s->start[i + 1]; k++) {
            double *upper = s->tile + k * n * n, *lower = find_tile(s, s->column[k], i);
            for (size_t e = 0; s->column[k] >= i && e < n * n; e++) {
                upper[e] = -example_random(random);
                lower[e % n * n + e / n] = upper[e];
            }
        }
    }
    for (size_t i = 0; i < s->rows * n; i++) {
        double sum = 0.0;
        for (size_t k = s->start[i / n] * n; k < s->start[i / n + 1] * n; k++) {
            sum += fabs(s->tile[k / n * n * n + i % n * n + k % n]);
        }
        find_tile(s, i / n, i / n)[i % n * n + i % n] = 1.02 * sum;
    }
}

static void make_system(system_of_equations *s)
{
    uint64_t random = 1;
    s->rows = s->side * s->side;
    make_pattern(s, &random);
    s->tile = example_doubles(s->tiles * s->size * s->size);
    fill_tiles(s, &random);
    double **const vectors[] = {&s->x, &s->b, &s->r, &s->p, &s->q};
    for (size_t v = 0; v < sizeof vectors / sizeof vectors[0]; v++) {
        *vectors[v] = example_doubles(s->rows * s->size);
    }
    for (size_t i = 0; i < s->rows * s->size; i++) { /* x = 0, so r = p = b */
        s->b[i] = s->r[i] = s->p[i] = example_random(&random) - 0.5;
    }
}

static void free_system(const system_of_equations *s)
{
    free(s->start);
    free(s->column);
    free(s->tile);
    free(s->x);
    free(s->b);
    free(s->r);
    free(s->p);
    free(s->q);
}

/* |b - A x| / |b| */
static double residual(const system_of_equations *s, double *norm_of_b)
{
    const size_t n = s->size;
    double difference = 0.0, norm = 0.0;
    for (size_t i = 0; i < s->rows * n; i++) {
        double sum = s->b[i];
        for (size_t k = s->start[i / n] * n; k < s->start[i / n + 1] * n; k++) {
            sum -= s->tile[k / n * n * n + i % n * n + k % n] * s->x[s->column[k / n] * n + k % n];
        }
        difference += sum * sum;
        norm += s->b[i] * s->b[i];
    }
    *norm_of_b = sqrt(norm);
    return sqrt(difference) / *norm_of_b;
}

int main(int argc, char **argv)
{
    static const char *const products[] = {"tile", "row", NULL};
    system_of_equations s = {.side = 7, .size = 88};
    size_t product = 0, most = 40, digits = 6;
    const example_option options[] = {
        {"side", &s.side, 1, 200, NULL, "blocks along each side of the square of blocks"},
        {"size", &s.size, 1, 10000, NULL, "rows and columns of a tile"},
        {"iterations", &most, 1, 1000000, NULL, "at most so many"},
        {"digits", &digits, 1, 14, NULL, "by which the residual has to shrink"},
        {"product", &product, 0, 0, products, "tasks of the matrix product"},
        {0},
    };
    example_parse(argc, argv, "Conjugate gradients with a block-sparse matrix.", options);
    const double tolerance = pow(10.0, -(double)digits);
    make_system(&s);
    double norm_on_devices, norm_of_b;
    const size_t iterations = solve(&s, product == 1, most, tolerance, &norm_on_devices);
    const double error = residual(&s, &norm_of_b);
    printf("%zu tiles, %zu iterations\n", s.tiles, iterations);
    /* What the iteration calls its residual is the true one, but for rounding. */
    const bool agree = fabs(norm_on_devices / norm_of_b - error) <= 0.1 * tolerance;
    const int exit_code = example_verdict(s.x, s.rows * s.size, agree ? error : NAN, 1.1 * tolerance);
    free_system(&s);
    return exit_code;
}
