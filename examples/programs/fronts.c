/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Sparse Cholesky in the manner of a multifrontal code, and sums of products of made-up matrices in the manner of a
 * tensor contraction: task graphs whose temporaries live on devices only.
 *
 *   --graph tree          an assembly tree. A front is a dense matrix: it gets entries of its own and its children's
 *                         contribution blocks, some pivots are eliminated, and what is left is its own contribution
 *                         block. Front and block are made on a device and die there; the diagonal comes home.
 *   --graph contraction   C = A B by tiles, where a tile of A or B is made when it is needed, for one product, and then
 *                         forgotten, as integrals are in quantum chemistry. C is on the host between tasks.
 *
 * How data are named: temporaries are entered with `map(alloc:)` and left with `map(release:)`, by data constructs that
 * are tasks themselves, and a depend item names their first element. All leaves of the tree, and all tiles, may be
 * made at once: a scheduler that makes as many as it can needs many times the memory of one that follows the program.
 *
 * Checked against the same operations on the host, in the order of the program.
 *
 * Out of core: the default tree's temporaries are 6.7 MB, of which the program's order needs 0.3 MB at a time, so
 *     OMPDARTS_GUARD=auto ompdarts run --mem 400k build/examples/fronts
 */
#include "common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHILDREN = 2 };

typedef struct front {
    double *matrix, *block, *diagonal; /* of the order of the front; of what is left; of the pivots */
    struct front *child[CHILDREN];     /* NULL: a leaf */
    size_t number;
} front;

typedef struct problem {
    size_t depth, order, pivots, grid, inner; /* of the tree; tiles along each side of C, and along a row of A */
    front *fronts;
    size_t count;
    double *result; /* all diagonals, or C */
} problem;

/* --- what is computed ------------------------------------------------------------------------------- */

#pragma omp begin declare target
/* Entries of a front or of a tile, and enough on the diagonal. */
static double entry(size_t number, size_t i, size_t j, size_t n)
{
    const size_t low = i < j ? i : j, high = i < j ? j : i;
    const double value = (double)((number * 31 + low * 17 + high * 7) % 101) / 101.0;
    return i == j ? value + 2.0 * (double)n : value;
}

static void fill(double *matrix, size_t number, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            matrix[i * n + j] = entry(number, i, j, n);
        }
    }
}

/* Adds a child's block, every row and column of which belongs to one of the front. */
static void extend_add(double *matrix, const double *block, size_t n, size_t m)
{
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < m; j++) {
            matrix[(i * n / m) * n + j * n / m] += block[i * m + j];
        }
    }
}

/* Eliminates the first p pivots; the rest is the block. */
static void eliminate(double *matrix, double *block, double *diagonal, size_t n, size_t p)
{
    const size_t m = n - p;
    for (size_t k = 0; k < p; k++) {
        const double pivot = matrix[k * n + k];
        diagonal[k] = pivot;
        for (size_t i = k + 1; i < n; i++) {
            const double factor = matrix[i * n + k] / pivot;
            for (size_t j = k + 1; j < n; j++) {
                matrix[i * n + j] -= factor * matrix[k * n + j];
            }
        }
    }
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < m; j++) {
            block[i * m + j] = matrix[(p + i) * n + p + j];
        }
    }
}

static void multiply_add(double *c, const double *a, const double *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < n; k++) {
            for (size_t j = 0; j < n; j++) {
                c[i * n + j] += a[i * n + k] * b[k * n + j];
            }
        }
    }
}
#pragma omp end declare target

/* --- the tree -------------------------------------------------------------------------------------- */

static void enter(double *data, size_t count)
{
#pragma omp target enter data map(alloc : data[0 : count]) nowait depend(out : data[0])
}

static void leave(double *data, size_t count)
{
#pragma omp target exit data map(release : data[0 : count]) nowait depend(inout : data[0])
}

static void fill_on_device(double *matrix, size_t number, size_t n)
{
    enter(matrix, n * n);
#pragma omp target nowait depend(out : matrix[0]) map(from : matrix[0 : n * n])
    fill(matrix, number, n);
}

static void create_front(const problem *p, front *f)
{
    const size_t n = p->order, pivots = p->pivots, m = n - pivots;
    for (size_t c = 0; c < CHILDREN && f->child[c] != NULL; c++) {
        create_front(p, f->child[c]);
    }
    double *matrix = f->matrix, *block = f->block, *diagonal = f->diagonal;
    fill_on_device(matrix, f->number, n);
    for (size_t c = 0; c < CHILDREN && f->child[c] != NULL; c++) {
        double *theirs = f->child[c]->block;
#pragma omp target nowait depend(in : theirs[0]) depend(inout : matrix[0]) map(to : theirs[0 : m * m])                 \
    map(tofrom : matrix[0 : n * n])
        extend_add(matrix, theirs, n, m);
        leave(theirs, m * m);
    }
    enter(block, m * m);
#pragma omp target nowait depend(inout : matrix[0]) depend(out : block[0], diagonal[0])                                \
    map(tofrom : matrix[0 : n * n]) map(from : block[0 : m * m], diagonal[0 : pivots])
    eliminate(matrix, block, diagonal, n, pivots);
    leave(matrix, n * n);
}

static void factorise(problem *p)
{
    const size_t m = p->order - p->pivots;
#pragma omp parallel
#pragma omp single
    {
        create_front(p, &p->fronts[0]);
        leave(p->fronts[0].block, m * m);
    }
}

static void factorise_plainly(const problem *p, front *f, double *result)
{
    const size_t n = p->order, m = n - p->pivots;
    for (size_t c = 0; c < CHILDREN && f->child[c] != NULL; c++) {
        factorise_plainly(p, f->child[c], result);
    }
    fill(f->matrix, f->number, n);
    for (size_t c = 0; c < CHILDREN && f->child[c] != NULL; c++) {
        extend_add(f->matrix, f->child[c]->block, n, m);
    }
    eliminate(f->matrix, f->block, result + f->number * p->pivots, n, p->pivots);
}

/* --- the contraction --------------------------------------------------------------------------------- */

static void contract(problem *p)
{
    const size_t n = p->order, tiles = p->grid * p->grid;
#pragma omp parallel
#pragma omp single
    for (size_t t = 0; t < tiles; t++) {
        double *c = p->result + t * n * n;
        for (size_t k = 0; k < p->inner; k++) {
            front *both = &p->fronts[t * p->inner + k];
            double *a = both->matrix, *b = both->block;
            fill_on_device(a, t / p->grid * p->inner + k, n);
            fill_on_device(b, k * p->grid + t % p->grid + 1, n);
#pragma omp target nowait depend(in : a[0], b[0]) depend(inout : c[0]) map(to : a[0 : n * n], b[0 : n * n])            \
    map(tofrom : c[0 : n * n])
            multiply_add(c, a, b, n);
            leave(a, n * n);
            leave(b, n * n);
        }
    }
}

static void contract_plainly(const problem *p, double *result)
{
    const size_t n = p->order;
    double *a = example_doubles(n * n), *b = example_doubles(n * n);
    for (size_t t = 0; t < p->grid * p->grid; t++) {
        for (size_t k = 0; k < p->inner; k++) {
            fill(a, t / p->grid * p->inner + k, n);
            fill(b, k * p->grid + t % p->grid + 1, n);
            multiply_add(result + t * n * n, a, b, n);
        }
    }
    free(a);
    free(b);
}

/* --- all together ------------------------------------------------------------------------------------ */

static void make_fronts(problem *p, size_t block_order)
{
    p->fronts = calloc(p->count, sizeof *p->fronts);
    if (p->fronts == NULL) {
        example_fail("no memory for the fronts");
    }
    for (size_t i = 0; i < p->count; i++) {
        front *f = &p->fronts[i];
        f->number = i;
        f->matrix = example_doubles(p->order * p->order);
        f->block = example_doubles(block_order * block_order);
        f->diagonal = p->result + i * p->pivots;
        for (size_t c = 0; c < CHILDREN && CHILDREN * i + CHILDREN < p->count; c++) {
            f->child[c] = &p->fronts[CHILDREN * i + 1 + c];
        }
    }
}

static void free_fronts(problem *p)
{
    for (size_t i = 0; i < p->count; i++) {
        free(p->fronts[i].matrix);
        free(p->fronts[i].block);
    }
    free(p->fronts);
}

static double measure_error(const double *result, const double *expected, size_t count)
{
    double error = 0.0;
    for (size_t i = 0; i < count; i++) {
        error = fmax(error, fabs(result[i] - expected[i]) / fmax(fabs(expected[i]), 1.0));
    }
    return error;
}

int main(int argc, char **argv)
{
    static const char *const graphs[] = {"tree", "contraction", NULL};
    problem p = {.depth = 6, .order = 96, .pivots = 32, .grid = 6, .inner = 6};
    size_t graph = 0;
    const example_option options[] = {
        {"graph", &graph, 0, 0, graphs, "what is computed"},
        {"order", &p.order, 2, 10000, NULL, "of a front, or of a tile"},
        {"depth", &p.depth, 1, 20, NULL, "tree: levels of fronts"},
        {"pivots", &p.pivots, 1, 9999, NULL, "tree: eliminated in each front, fewer than its order"},
        {"grid", &p.grid, 1, 1000, NULL, "contraction: tiles along each side of C"},
        {"inner", &p.inner, 1, 1000, NULL, "contraction: tiles along a row of A"},
        {0},
    };
    example_parse(argc, argv, "Fronts of a sparse factorisation, or a contraction: temporaries on devices.", options);
    const bool tree = graph == 0;
    if (tree && p.pivots >= p.order) {
        example_fail("--pivots %zu: not fewer than --order %zu", p.pivots, p.order);
    }
    p.count = tree ? ((size_t)1 << p.depth) - 1 : p.grid * p.grid * p.inner;
    const size_t size = tree ? p.count * p.pivots : p.grid * p.grid * p.order * p.order;
    p.result = example_doubles(size);
    double *expected = example_doubles(size);
    make_fronts(&p, tree ? p.order - p.pivots : p.order);
    if (tree) {
        factorise(&p);
        factorise_plainly(&p, &p.fronts[0], expected);
    } else {
        contract(&p);
        contract_plainly(&p, expected);
    }
    const int exit_code = example_verdict(p.result, size, measure_error(p.result, expected, size), 1e-12);
    free_fronts(&p);
    free(expected);
    free(p.result);
    return exit_code;
}
