/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "sim/graph/workload.h"

#include "util/nearest.h"
#include "util/options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- random numbers ------------------------------------------------------------ */

/* splitmix64 */
static uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static uint32_t random_below(uint64_t *state, uint32_t limit)
{
    return (uint32_t)((double)(next_random(state) >> 11) * 0x1p-53 * limit);
}

/* --- parts ----------------------------------------------------------------------- */

typedef struct builder {
    const sim_workload *workload;
    sim_graph *graph;
    double flops; /* of b^3, b being the order of a tile */
} builder;

static size_t datum_bytes(const builder *b, double tiles)
{
    return b->workload->unit ? 1 : (size_t)(tiles * b->workload->tile * b->workload->tile * b->workload->element);
}

/* A matrix of rows x columns data; the index of its first one. */
static uint32_t add_matrix(const builder *b, const char *name, uint32_t rows, uint32_t columns, double tiles)
{
    uint32_t first = b->graph->ndata, matrix = sim_graph_matrix(b->graph, name);
    for (uint32_t i = 0; i < rows; i++)
        for (uint32_t j = 0; j < columns; j++)
            sim_graph_datum(b->graph,
                            &(sim_datum){.bytes = datum_bytes(b, tiles), .matrix = matrix, .row = i, .column = j});
    return first;
}

/* The lower triangle of a matrix of n x n tiles. */
static uint32_t add_triangle(const builder *b, const char *name, uint32_t n)
{
    uint32_t first = b->graph->ndata, matrix = sim_graph_matrix(b->graph, name);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j <= i; j++)
            sim_graph_datum(b->graph,
                            &(sim_datum){.bytes = datum_bytes(b, 1), .matrix = matrix, .row = i, .column = j});
    return first;
}

/* A kernel of so many times b^3 operations. */
static uint32_t add_kernel(const builder *b, const char *name, double flops, uint32_t calls)
{
    uint32_t kernel = sim_graph_kernel(b->graph, name, b->workload->tile, flops * b->flops * calls);
    b->graph->kernels[kernel].calls = calls;
    return kernel;
}

static void add_task(const builder *b, uint32_t kernel, uint32_t row, uint32_t column, uint32_t layer)
{
    sim_graph_task(
        b->graph,
        &(sim_task){.kernel = kernel, .coordinate = {row, column, layer}, .seconds = b->workload->unit ? 1 : 0});
}

/* The data from `first` on, so many tiles of a matrix, are made by tasks, or are there. */
static void generate(const builder *b, uint32_t first, uint32_t count)
{
    sim_graph *g = b->graph;
    if (!b->workload->generate)
        return;
    uint32_t kernel = add_kernel(b, "generate", 0, 1);
    for (uint32_t d = first; d < first + count; d++) {
        add_task(b, kernel, g->data[d].row, g->data[d].column, 0);
        sim_graph_access(g, d, OD_WRITE);
    }
}

/* --- products ---------------------------------------------------------------------- */

static void shuffle(uint32_t *items, uint32_t count, uint64_t seed)
{
    uint64_t state = seed;
    for (uint32_t i = count; i > 1; i--) {
        uint32_t other = random_below(&state, i), kept = items[i - 1];
        items[i - 1] = items[other];
        items[other] = kept;
    }
}

static uint32_t *identity(uint32_t count)
{
    uint32_t *order = sim_checked(malloc(count * sizeof *order));
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    return order;
}

struct product {
    const builder *b;
    uint32_t a, bt, kernel; /* first block row of A, first block column of B */
};

static struct product make_product(const builder *b)
{
    const sim_workload *w = b->workload;
    return (struct product){.b = b,
                            .a = add_matrix(b, "A", w->n, 1, w->depth),
                            .bt = add_matrix(b, "B", 1, w->n, w->depth),
                            .kernel = add_kernel(b, "gemm", 2, w->depth)};
}

static void add_product_task(const struct product *p, uint32_t row, uint32_t column)
{
    add_task(p->b, p->kernel, row, column, 0);
    sim_graph_access(p->b->graph, p->a + row, OD_READ);
    sim_graph_access(p->b->graph, p->bt + column, OD_READ);
}

static void make_gemm2d(const builder *b)
{
    struct product p = make_product(b);
    uint32_t n = b->workload->n;
    for (uint32_t t = 0; t < n * n; t++)
        add_product_task(&p, t / n, t % n);
}

static void make_gemm2d_random(const builder *b)
{
    struct product p = make_product(b);
    uint32_t n = b->workload->n, *order = identity(n * n);
    shuffle(order, n * n, b->workload->seed);
    for (uint32_t t = 0; t < n * n; t++)
        add_product_task(&p, order[t] / n, order[t] % n);
    free(order);
}

static void make_pairs(const builder *b)
{
    struct product p = make_product(b);
    uint32_t n = b->workload->n;
    uint64_t state = b->workload->seed;
    for (uint32_t t = 0; t < n * n; t++) {
        uint32_t row = random_below(&state, n);
        add_product_task(&p, row, random_below(&state, n));
    }
}

static void make_sparse2d(const builder *b)
{
    struct product p = make_product(b);
    uint32_t n = b->workload->n, *order = identity(n * n);
    bool *kept = sim_checked(calloc(n * n, sizeof *kept));
    uint32_t count = (uint32_t)(b->workload->density * n * n + 0.5);
    shuffle(order, n * n, b->workload->seed);
    for (uint32_t t = 0; t < count; t++)
        kept[order[t]] = true;
    for (uint32_t t = 0; t < n * n; t++)
        if (kept[t])
            add_product_task(&p, t / n, t % n);
    free(kept);
    free(order);
}

static void make_gemm3d_tasks(const builder *b)
{
    uint32_t n = b->workload->n;
    uint32_t a = add_matrix(b, "A", n, n, 1), bt = add_matrix(b, "B", n, n, 1), c = add_matrix(b, "C", n, n, 1);
    uint32_t kernel = add_kernel(b, "gemm", 2, 1);
    generate(b, a, 2 * n * n);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++)
            for (uint32_t l = 0; l < n; l++) {
                add_task(b, kernel, i, j, l);
                sim_graph_access(b->graph, a + i * n + l, OD_READ);
                sim_graph_access(b->graph, bt + l * n + j, OD_READ);
                sim_graph_access(b->graph, c + i * n + j, l == 0 ? OD_WRITE : OD_READ_WRITE);
            }
}

static void make_gemm3d(const builder *b)
{
    make_gemm3d_tasks(b);
    sim_graph_depend(b->graph);
}

/* Without dependences writing would still be exclusive: these tasks only read, as the papers count them. */
static void forget_writes(sim_graph *graph)
{
    for (uint32_t a = 0; a < graph->naccesses; a++)
        graph->accesses[a].mode = OD_READ;
}

static void make_gemm3d_set(const builder *b)
{
    make_gemm3d_tasks(b);
    forget_writes(b->graph);
}

/* --- factorisations ------------------------------------------------------------------ */

static uint32_t lower(uint32_t first, uint32_t i, uint32_t j)
{
    return first + i * (i + 1) / 2 + j;
}

static void make_cholesky_tasks(const builder *b)
{
    sim_graph *g = b->graph;
    uint32_t n = b->workload->n, a = add_triangle(b, "A", n);
    uint32_t potrf = add_kernel(b, "potrf", 1. / 3, 1), trsm = add_kernel(b, "trsm", 1, 1);
    uint32_t syrk = add_kernel(b, "syrk", 1, 1), gemm = add_kernel(b, "gemm", 2, 1);
    generate(b, a, n * (n + 1) / 2);
    for (uint32_t k = 0; k < n; k++) {
        add_task(b, potrf, k, k, k);
        sim_graph_access(g, lower(a, k, k), OD_READ_WRITE);
        for (uint32_t i = k + 1; i < n; i++) {
            add_task(b, trsm, i, k, k);
            sim_graph_access(g, lower(a, k, k), OD_READ);
            sim_graph_access(g, lower(a, i, k), OD_READ_WRITE);
        }
        for (uint32_t i = k + 1; i < n; i++) {
            add_task(b, syrk, i, i, k);
            sim_graph_access(g, lower(a, i, k), OD_READ);
            sim_graph_access(g, lower(a, i, i), OD_READ_WRITE);
            for (uint32_t j = k + 1; j < i; j++) {
                add_task(b, gemm, i, j, k);
                sim_graph_access(g, lower(a, i, k), OD_READ);
                sim_graph_access(g, lower(a, j, k), OD_READ);
                sim_graph_access(g, lower(a, i, j), OD_READ_WRITE);
            }
        }
    }
}

static void make_cholesky(const builder *b)
{
    make_cholesky_tasks(b);
    sim_graph_depend(b->graph);
}

static void make_cholesky_set(const builder *b)
{
    make_cholesky_tasks(b);
    forget_writes(b->graph);
}

static void make_lu(const builder *b)
{
    sim_graph *g = b->graph;
    uint32_t n = b->workload->n, a = add_matrix(b, "A", n, n, 1);
    uint32_t getrf = add_kernel(b, "getrf", 2. / 3, 1), trsm = add_kernel(b, "trsm", 1, 1);
    uint32_t gemm = add_kernel(b, "gemm", 2, 1);
    generate(b, a, n * n);
    for (uint32_t k = 0; k < n; k++) {
        add_task(b, getrf, k, k, k);
        sim_graph_access(g, a + k * n + k, OD_READ_WRITE);
        for (uint32_t i = k + 1; i < n; i++) {
            add_task(b, trsm, k, i, k);
            sim_graph_access(g, a + k * n + k, OD_READ);
            sim_graph_access(g, a + k * n + i, OD_READ_WRITE);
        }
        for (uint32_t i = k + 1; i < n; i++) {
            add_task(b, trsm, i, k, k);
            sim_graph_access(g, a + k * n + k, OD_READ);
            sim_graph_access(g, a + i * n + k, OD_READ_WRITE);
        }
        for (uint32_t i = k + 1; i < n; i++)
            for (uint32_t j = k + 1; j < n; j++) {
                add_task(b, gemm, i, j, k);
                sim_graph_access(g, a + i * n + k, OD_READ);
                sim_graph_access(g, a + k * n + j, OD_READ);
                sim_graph_access(g, a + i * n + j, OD_READ_WRITE);
            }
    }
    sim_graph_depend(g);
}

enum { QR_INNER = 64 }; /* rows of the small triangular factors */

static void make_qr(const builder *b)
{
    sim_graph *g = b->graph;
    uint32_t n = b->workload->n, a = add_matrix(b, "A", n, n, 1);
    uint32_t factors = add_matrix(b, "T", n, n, (double)QR_INNER / b->workload->tile);
    uint32_t geqrt = add_kernel(b, "geqrt", 4. / 3, 1), unmqr = add_kernel(b, "unmqr", 2, 1);
    uint32_t tsqrt = add_kernel(b, "tsqrt", 2, 1), tsmqr = add_kernel(b, "tsmqr", 4, 1);
    generate(b, a, n * n);
    for (uint32_t k = 0; k < n; k++) {
        add_task(b, geqrt, k, k, k);
        sim_graph_access(g, a + k * n + k, OD_READ_WRITE);
        sim_graph_access(g, factors + k * n + k, OD_WRITE);
        for (uint32_t j = k + 1; j < n; j++) {
            add_task(b, unmqr, k, j, k);
            sim_graph_access(g, a + k * n + k, OD_READ);
            sim_graph_access(g, factors + k * n + k, OD_READ);
            sim_graph_access(g, a + k * n + j, OD_READ_WRITE);
        }
        for (uint32_t i = k + 1; i < n; i++) {
            add_task(b, tsqrt, i, k, k);
            sim_graph_access(g, a + k * n + k, OD_READ_WRITE);
            sim_graph_access(g, a + i * n + k, OD_READ_WRITE);
            sim_graph_access(g, factors + i * n + k, OD_WRITE);
            for (uint32_t j = k + 1; j < n; j++) {
                add_task(b, tsmqr, i, j, k);
                sim_graph_access(g, a + i * n + k, OD_READ);
                sim_graph_access(g, factors + i * n + k, OD_READ);
                sim_graph_access(g, a + k * n + j, OD_READ_WRITE);
                sim_graph_access(g, a + i * n + j, OD_READ_WRITE);
            }
        }
    }
    sim_graph_depend(g);
}

/* --- by name ------------------------------------------------------------------------ */

static const struct kind {
    const char *name, *help;
    void (*make)(const builder *b);
    uint32_t n, tile, depth;
    double density;
    bool recursive; /* it may have levels= */
    bool generates; /* and generate= */
} kinds[] = {
    {"gemm2d", "2D product: n*n tasks read a block row and a block column", make_gemm2d, 40, 960, 4, 0, false, false},
    {"gemm2d-random", "the same in random order", make_gemm2d_random, 40, 960, 4, 0, false, false},
    {"pairs", "each task reads a random block row and block column", make_pairs, 40, 960, 4, 0, false, false},
    {"sparse2d", "2D product of which a random part of the tasks is kept", make_sparse2d, 40, 960, 4, 0.02, false,
     false},
    {"gemm3d", "3D product: n*n*n tasks of three tiles, a chain of updates per tile", make_gemm3d, 12, 960, 0, 0, true,
     true},
    {"gemm3d-set", "the same without dependences", make_gemm3d_set, 12, 960, 0, 0, false, false},
    {"cholesky-set", "the tasks of the Cholesky factorisation alone", make_cholesky_set, 20, 960, 0, 0, false, false},
    {"cholesky", "tiled Cholesky factorisation", make_cholesky, 20, 1920, 0, 0, true, true},
    {"lu", "tiled LU factorisation without pivoting", make_lu, 20, 1920, 0, 0, true, true},
    {"qr", "tiled QR factorisation, flat tree", make_qr, 20, 1920, 0, 0, false, true},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

const char *const *sim_workload_help(void)
{
    static const char *lines[2 * KINDS + 1];
    for (size_t i = 0; i < KINDS; i++) {
        lines[2 * i] = kinds[i].name;
        lines[2 * i + 1] = kinds[i].help;
    }
    return lines;
}

static const struct kind *find_kind(const char *name)
{
    for (size_t i = 0; i < KINDS; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
}

static od_status unknown_kind(const char *name, char *error, size_t size)
{
    const char *names[KINDS + 1] = {NULL};
    for (size_t i = 0; i < KINDS; i++)
        names[i] = kinds[i].name;
    const char *nearest = od_nearest_name(name, names);
    int length = snprintf(error, size, "unknown workload '%s'%s%s%s", name,
                          nearest ? ", did you mean '" : "; there are:", nearest ? nearest : "", nearest ? "'?" : "");
    for (size_t i = 0; !nearest && i < KINDS && length > 0 && (size_t)length < size; i++)
        length += snprintf(error + length, size - (size_t)length, " %s", names[i]);
    return OD_EINVAL;
}

/* A number from 1 (0 for `unit`) to the limit. */
static bool parse_whole(const char *text, uint32_t least, uint32_t most, uint32_t *value)
{
    char *end;
    errno = 0;
    unsigned long number = strtoul(text, &end, 10);
    if (errno || end == text || *end || *text == '-' || number < least || number > most)
        return false;
    *value = (uint32_t)number;
    return true;
}

static bool parse_fraction(const char *text, double *value)
{
    char *end;
    *value = strtod(text, &end);
    if (end != text && strcmp(end, "%") == 0) {
        *value /= 100;
        end++;
    }
    return end != text && !*end && *value > 0 && *value <= 1;
}

/* Orders of tiles, each of which divides the one before. */
static bool parse_levels(const char *text, sim_workload *w)
{
    char copy[128], *rest = copy;
    w->nlevels = 0;
    if ((size_t)snprintf(copy, sizeof copy, "%s", text) >= sizeof copy)
        return false;
    for (char *order; (order = strsep(&rest, "/")); w->nlevels++) {
        uint32_t *level = &w->level[w->nlevels];
        if (w->nlevels == SIM_MOST_LEVELS || !parse_whole(order, 1, 65536, level))
            return false;
        if (w->nlevels > 0 && (*level >= level[-1] || level[-1] % *level != 0))
            return false;
    }
    w->tile = w->level[0];
    return w->level[0] / w->level[w->nlevels - 1] <= SIM_MOST_PARTS;
}

static od_status check_levels(const sim_workload *w, char *error, size_t size)
{
    bool plain = w->tile == w->level[0] && !w->unit && !w->generate;
    if (!w->nlevels || (plain && w->n <= SIM_MOST_RECURSIVE))
        return OD_OK;
    snprintf(error, size,
             "workload %s: levels= goes with neither tile=, unit=1, generate=1 nor more than %d tiles per side",
             w->name, SIM_MOST_RECURSIVE);
    return OD_EINVAL;
}

static od_status parse_argument(const struct kind *kind, const char *name, const char *value, sim_workload *w,
                                char *error, size_t size)
{
    enum { MOST_TILES = 4096, MOST_ORDER = 65536 };
    uint32_t flag;
    const char *allowed = NULL;
    if (strcmp(name, "n") == 0) {
        if (!parse_whole(value, 1, MOST_TILES, &w->n))
            allowed = "a whole number from 1 to 4096";
    } else if (strcmp(name, "tile") == 0) {
        if (!parse_whole(value, 1, MOST_ORDER, &w->tile))
            allowed = "a whole number from 1 to 65536";
    } else if (strcmp(name, "depth") == 0 && kind->depth) {
        if (!parse_whole(value, 1, MOST_TILES, &w->depth))
            allowed = "a whole number from 1 to 4096";
    } else if (strcmp(name, "density") == 0 && kind->density > 0) {
        if (!parse_fraction(value, &w->density))
            allowed = "a number above 0 and up to 1, or percent";
    } else if (strcmp(name, "levels") == 0 && kind->recursive) {
        if (!parse_levels(value, w))
            allowed = "orders of tiles such as 3840/1920/480, each of which divides the one before, down to an eighth";
    } else if (strcmp(name, "element") == 0) {
        if (!parse_whole(value, 1, 16, &w->element))
            allowed = "a whole number from 1 to 16";
    } else if (strcmp(name, "unit") == 0) {
        if (!parse_whole(value, 0, 1, &flag))
            allowed = "0 or 1";
        else
            w->unit = flag;
    } else if (strcmp(name, "generate") == 0 && kind->generates) {
        if (!parse_whole(value, 0, 1, &flag))
            allowed = "0 or 1";
        else
            w->generate = flag;
    } else {
        snprintf(error, size, "workload %s has no argument '%s'; it has n=, tile=%s%s%s%s, element=, unit=", kind->name,
                 name, kind->depth ? ", depth=" : "", kind->density > 0 ? ", density=" : "",
                 kind->recursive ? ", levels=" : "", kind->generates ? ", generate=" : "");
        return OD_EINVAL;
    }
    if (!allowed)
        return OD_OK;
    snprintf(error, size, "workload %s: %s=%s is not %s", kind->name, name, value, allowed);
    return OD_EINVAL;
}

od_status sim_workload_parse(const char *text, sim_workload *workload, char *error, size_t size)
{
    char copy[256];
    if ((size_t)snprintf(copy, sizeof copy, "%s", text) >= sizeof copy) {
        snprintf(error, size, "the workload's description is too long");
        return OD_EINVAL;
    }
    char *rest = copy, *name = strsep(&rest, ":");
    const struct kind *kind = find_kind(name);
    if (!kind)
        return unknown_kind(name, error, size);
    *workload = (sim_workload){.n = kind->n,
                               .tile = kind->tile,
                               .depth = kind->depth,
                               .density = kind->density,
                               .element = SIM_ELEMENT,
                               .seed = workload->seed};
    snprintf(workload->name, sizeof workload->name, "%s", name);
    od_status status = OD_OK;
    for (char *argument; !status && (argument = strsep(&rest, ","));) {
        char *value = strchr(argument, '=');
        if (value)
            *value++ = '\0';
        status = parse_argument(kind, argument, value ? value : "", workload, error, size);
    }
    return status ? status : check_levels(workload, error, size);
}

void sim_workload_make(const sim_workload *workload, sim_graph *graph)
{
    double order = workload->tile;
    builder b = {.workload = workload, .graph = graph, .flops = order * order * order};
    *graph = (sim_graph){0};
    find_kind(workload->name)->make(&b);
}
