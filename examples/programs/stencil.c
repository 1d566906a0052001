/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Heat in an insulated plate: explicit Euler steps of the five-point stencil on a grid of square tiles, in the
 * manner of a halo-exchange code. A tile owns two arrays, swapped after each step, and four edge buffers. Per step
 * each tile first packs its outermost cells into its edges; then it computes its next state from its own cells and
 * the facing edges of its neighbours (at the rim: its own edge, so that no heat flows out). Every few steps the
 * heat in each tile is read out.
 *
 * How data are named: the tasks' order hangs on *tokens*, two bytes per tile that are no data of any task. The map
 * lists alone say which arrays a task uses. --map region enters all buffers once and swaps pointers on the host;
 * --map task maps each task's arrays for itself (to what it reads, from what it writes).
 *
 * Checked against the same steps on one plain array, and by the heat, which stays the same.
 *
 * Out of core: the default needs 8.4 MB, so
 *     ompdarts run --mem 1M build/examples/stencil
 */
#include "common.h"

#include <math.h>
#include <stdlib.h>

enum { NORTH, SOUTH, WEST, EAST, EDGES };

/* Part of the temperature difference that flows in one step; stable below a quarter. */
#define FLOW 0.2

typedef struct tile {
    double *now, *next, *edge[EDGES];
    struct tile *neighbour[EDGES]; /* NULL at the rim */
    double *heat;                  /* one reading after the other */
    char state, edges;             /* tokens: what is in now; what is in edge */
} tile;

typedef struct plate {
    size_t grid, size, steps, every, in_region; /* tiles per side, cells per side of a tile */
    size_t readings;
    tile *tiles;
} plate;

static void pack_edges(tile *t, size_t n)
{
    const double *now = t->now;
    double *north = t->edge[NORTH], *south = t->edge[SOUTH], *west = t->edge[WEST], *east = t->edge[EAST];
#pragma omp target teams distribute parallel for nowait depend(in : t->state) depend(out : t -> edges)                 \
    map(to : now[0 : n * n]) map(from : north[0 : n], south[0 : n], west[0 : n], east[0 : n])
    for (size_t k = 0; k < n; k++) {
        north[k] = now[k];
        south[k] = now[(n - 1) * n + k];
        west[k] = now[k * n];
        east[k] = now[k * n + n - 1];
    }
}

/* The buffer that holds the cells beyond a tile's side. */
static const double *beyond(const tile *t, unsigned side)
{
    static const unsigned facing[EDGES] = {SOUTH, NORTH, EAST, WEST};
    return t->neighbour[side] ? t->neighbour[side]->edge[facing[side]] : t->edge[side];
}

static char *edge_token(tile *t, unsigned side)
{
    return t->neighbour[side] ? &t->neighbour[side]->edges : &t->edges;
}

static void flow(tile *t, size_t n)
{
    const double *now = t->now, *north = beyond(t, NORTH), *south = beyond(t, SOUTH), *west = beyond(t, WEST),
                 *east = beyond(t, EAST);
    double *next = t->next;
    char *north_token = edge_token(t, NORTH), *south_token = edge_token(t, SOUTH), *west_token = edge_token(t, WEST),
         *east_token = edge_token(t, EAST);
#pragma omp target teams distribute parallel for nowait depend(inout : t->state)                                       \
    depend(in : *north_token, *south_token, *west_token, *east_token)                                                  \
    map(to : now[0 : n * n], north[0 : n], south[0 : n], west[0 : n], east[0 : n]) map(from : next[0 : n * n])
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            const double here = now[i * n + j];
            const double up = i > 0 ? now[(i - 1) * n + j] : north[j],
                         down = i + 1 < n ? now[(i + 1) * n + j] : south[j];
            const double left = j > 0 ? now[i * n + j - 1] : west[i], right = j + 1 < n ? now[i * n + j + 1] : east[i];
            next[i * n + j] = here + FLOW * (up + down + left + right - 4.0 * here);
        }
    }
    t->now = next;
    t->next = (double *)now;
}

/* The heat in a tile, summed by a host task; in a region the host's copy is brought up to date first. */
static void read_heat(tile *t, size_t n, bool in_region, double *heat)
{
    const double *now = t->now;
    if (in_region) {
#pragma omp target update from(now[0 : n * n]) nowait depend(inout : t -> state)
    }
#pragma omp task depend(in : t->state)
    {
        double sum = 0.0;
        for (size_t i = 0; i < n * n; i++) {
            sum += now[i];
        }
        *heat = sum;
    }
}

static void create_tasks(plate *p)
{
    const size_t count = p->grid * p->grid;
    for (size_t step = 0, reading = 0; step < p->steps; step++) {
        for (size_t i = 0; i < count; i++) {
            pack_edges(&p->tiles[i], p->size);
        }
        for (size_t i = 0; i < count; i++) {
            flow(&p->tiles[i], p->size);
        }
        if ((step + 1) % p->every == 0) {
            for (size_t i = 0; i < count; i++) {
                read_heat(&p->tiles[i], p->size, p->in_region, &p->tiles[i].heat[reading]);
            }
            reading++;
        }
    }
}

static void enter(const tile *t, size_t n)
{
    double *now = t->now, *next = t->next;
#pragma omp target enter data map(to : now[0 : n * n]) map(alloc : next[0 : n * n])
    for (unsigned side = 0; side < EDGES; side++) {
        double *edge = t->edge[side];
#pragma omp target enter data map(alloc : edge[0 : n])
    }
}

static void leave(const tile *t, size_t n)
{
    double *now = t->now, *next = t->next;
#pragma omp target exit data map(from : now[0 : n * n]) map(release : next[0 : n * n])
    for (unsigned side = 0; side < EDGES; side++) {
        double *edge = t->edge[side];
#pragma omp target exit data map(release : edge[0 : n])
    }
}

static void simulate(plate *p)
{
    const size_t count = p->grid * p->grid;
    for (size_t i = 0; i < count && p->in_region; i++) {
        enter(&p->tiles[i], p->size);
    }
#pragma omp parallel
#pragma omp single
    create_tasks(p);
    for (size_t i = 0; i < count && p->in_region; i++) {
        leave(&p->tiles[i], p->size);
    }
}

static void make_tiles(plate *p)
{
    const size_t g = p->grid, n = p->size;
    uint64_t random = 1;
    p->tiles = calloc(g * g, sizeof *p->tiles);
    if (p->tiles == NULL) {
        example_fail("no memory for the tiles");
    }
    for (size_t i = 0; i < g * g; i++) {
        tile *t = &p->tiles[i];
        t->now = example_doubles(n * n);
        t->next = example_doubles(n * n);
        t->heat = example_doubles(p->readings + 1);
        for (unsigned side = 0; side < EDGES; side++) {
            t->edge[side] = example_doubles(n);
        }
        for (size_t k = 0; k < n * n; k++) {
            t->now[k] = 20.0 + 60.0 * example_random(&random);
        }
        t->neighbour[NORTH] = i >= g ? t - g : NULL;
        t->neighbour[SOUTH] = i + g < g * g ? t + g : NULL;
        t->neighbour[WEST] = i % g > 0 ? t - 1 : NULL;
        t->neighbour[EAST] = i % g + 1 < g ? t + 1 : NULL;
    }
}

static void free_tiles(plate *p)
{
    for (size_t i = 0; i < p->grid * p->grid; i++) {
        free(p->tiles[i].now);
        free(p->tiles[i].next);
        free(p->tiles[i].heat);
        for (unsigned side = 0; side < EDGES; side++) {
            free(p->tiles[i].edge[side]);
        }
    }
    free(p->tiles);
}

/* All tiles as one array of rows. malloc'ed. */
static double *gather(const plate *p)
{
    const size_t n = p->size, width = p->grid * n;
    double *cells = example_doubles(width * width);
    for (size_t i = 0; i < width; i++) {
        for (size_t j = 0; j < width; j++) {
            cells[i * width + j] = p->tiles[i / n * p->grid + j / n].now[i % n * n + j % n];
        }
    }
    return cells;
}

/* The same steps on one array, which is replaced. */
static void simulate_plainly(double **cells, size_t width, size_t steps)
{
    double *now = *cells, *next = example_doubles(width * width);
    for (size_t step = 0; step < steps; step++) {
        for (size_t i = 0; i < width; i++) {
            for (size_t j = 0; j < width; j++) {
                const double here = now[i * width + j];
                const double up = i > 0 ? now[(i - 1) * width + j] : here,
                             down = i + 1 < width ? now[(i + 1) * width + j] : here;
                const double left = j > 0 ? now[i * width + j - 1] : here,
                             right = j + 1 < width ? now[i * width + j + 1] : here;
                next[i * width + j] = here + FLOW * (up + down + left + right - 4.0 * here);
            }
        }
        double *old = now;
        now = next;
        next = old;
    }
    free(next);
    *cells = now;
}

/* Largest relative deviation of a cell from the plain computation, or of a reading from the heat at the start. */
static double measure_error(const plate *p, const double *cells, const double *expected)
{
    const size_t count = p->grid * p->grid, all = count * p->size * p->size;
    double error = 0.0, start = 0.0;
    for (size_t i = 0; i < all; i++) {
        error = fmax(error, fabs(cells[i] - expected[i]) / expected[i]);
        start += expected[i]; /* no heat is lost there */
    }
    for (size_t reading = 0; reading < p->readings; reading++) {
        double heat = 0.0;
        for (size_t i = 0; i < count; i++) {
            heat += p->tiles[i].heat[reading];
        }
        error = fmax(error, fabs(heat - start) / start);
    }
    return error;
}

int main(int argc, char **argv)
{
    static const char *const maps[] = {"region", "task", NULL};
    plate p = {.grid = 6, .size = 120, .steps = 40, .every = 10};
    size_t map = 0;
    const example_option options[] = {
        {"grid", &p.grid, 1, 1000, NULL, "tiles along each side of the plate"},
        {"size", &p.size, 1, 10000, NULL, "cells along each side of a tile"},
        {"steps", &p.steps, 1, 1000000, NULL, "time steps"},
        {"every", &p.every, 1, 1000000, NULL, "steps from one reading of the heat to the next"},
        {"map", &map, 0, 0, maps, "where the arrays are mapped: once, or by each task"},
        {0},
    };
    example_parse(argc, argv, "Heat equation on tiles with halo exchange, ordered by tokens.", options);
    p.in_region = map == 0;
    p.readings = p.steps / p.every;
    make_tiles(&p);
    double *expected = gather(&p);
    simulate(&p);
    double *cells = gather(&p);
    simulate_plainly(&expected, p.grid * p.size, p.steps);
    const double error = measure_error(&p, cells, expected);
    const int exit_code = example_verdict(cells, p.grid * p.grid * p.size * p.size, error, 1e-12);
    free(cells);
    free(expected);
    free_tiles(&p);
    return exit_code;
}
