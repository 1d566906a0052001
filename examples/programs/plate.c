/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Heat in an insulated plate, as stencil.c computes it, on two plain arrays: each is entered once and given whole to
 * every kernel. A task computes a band of rows.
 *
 * How data are named: the depend clauses alone say which part of an array a task works on. What a band writes is named
 * as three sections, its first row, its last row and those between, so that a neighbour waits for, and needs, no more
 * than the one row that it reads.
 *
 * Checked against the same steps on the host, and by the heat, which stays the same.
 *
 * Out of core: the default needs 16.8 MB, so
 *     ompdarts run --mem 2M build/examples/plate
 */
#include "common.h"

#include <math.h>
#include <stdlib.h>

/* Part of the temperature difference that flows in one step; stable below a quarter. */
#define FLOW 0.2

typedef struct plate {
    size_t bands, rows, width, steps; /* of so many rows each; cells per row */
    double *now, *next;
} plate;

static size_t cells_of(const plate *p)
{
    return p->bands * p->rows * p->width;
}

/* Rows begin .. end - 1 of `next`; a row beyond the plate is the one at its rim, so that no heat flows out. */
static void flow_on_host(const double *now, double *next, size_t begin, size_t end, size_t width, size_t height)
{
    for (size_t i = begin; i < end; i++) {
        const double *here = now + i * width, *up = i > 0 ? here - width : here,
                     *down = i + 1 < height ? here + width : here;
        for (size_t j = 0; j < width; j++) {
            const double left = here[j > 0 ? j - 1 : j], right = here[j + 1 < width ? j + 1 : j];
            next[i * width + j] = here[j] + FLOW * (up[j] + down[j] + left + right - 4.0 * here[j]);
        }
    }
}

static void flow(const plate *p, size_t band)
{
    const double *now = p->now;
    double *next = p->next;
    const size_t w = p->width, height = p->bands * p->rows, all = height * w;
    const size_t begin = band * p->rows, end = begin + p->rows, last = end - 1;
    const size_t above = begin > 0 ? begin - 1 : begin, below = end < height ? end : last;
    const size_t inner = begin + 1, inner_cells = (p->rows - 2) * w;
#pragma omp target teams distribute parallel for nowait map(to                                                         \
                                                            : now [0:all]) map(tofrom                                  \
                                                                               : next [0:all])                         \
    depend(in                                                                                                          \
           : now [begin * w:w], now [inner * w:inner_cells], now [last * w:w])                                         \
        depend(in                                                                                                      \
               : now [above * w:w], now [below * w:w])                                                                 \
            depend(out                                                                                                 \
                   : next [begin * w:w], next [inner * w:inner_cells], next [last * w:w])
    for (size_t i = begin; i < end; i++) {
        const double *here = now + i * w, *up = i > 0 ? here - w : here, *down = i + 1 < height ? here + w : here;
        for (size_t j = 0; j < w; j++) {
            const double left = here[j > 0 ? j - 1 : j], right = here[j + 1 < w ? j + 1 : j];
            next[i * w + j] = here[j] + FLOW * (up[j] + down[j] + left + right - 4.0 * here[j]);
        }
    }
}

static void swap(plate *p)
{
    double *old = p->now;
    p->now = p->next;
    p->next = old;
}

static void simulate(plate *p)
{
    double *now = p->now, *next = p->next;
    const size_t all = cells_of(p);
#pragma omp target enter data map(to : now [0:all]) map(alloc : next [0:all])
#pragma omp parallel
#pragma omp single
    for (size_t step = 0; step < p->steps; step++) {
        for (size_t band = 0; band < p->bands; band++) {
            flow(p, band);
        }
        swap(p);
    }
    const double *result = p->now;
#pragma omp target update from(result [0:all])
#pragma omp target exit data map(release : now [0:all], next [0:all])
}

static void simulate_on_host(plate *p)
{
    for (size_t step = 0; step < p->steps; step++) {
        flow_on_host(p->now, p->next, 0, p->bands * p->rows, p->width, p->bands * p->rows);
        swap(p);
    }
}

static void make(plate *p)
{
    uint64_t random = 1;
    p->now = example_doubles(cells_of(p));
    p->next = example_doubles(cells_of(p));
    for (size_t i = 0; i < cells_of(p); i++) {
        p->now[i] = 20.0 + 60.0 * example_random(&random);
    }
}

static void destroy(const plate *p)
{
    free(p->now);
    free(p->next);
}

static double heat(const plate *p)
{
    double sum = 0.0;
    for (size_t i = 0; i < cells_of(p); i++) {
        sum += p->now[i];
    }
    return sum;
}

/* Largest relative deviation of a cell, and of the heat from that at the start. */
static double measure_error(const plate *p, const plate *expected, double start)
{
    double error = fabs(heat(p) - start) / start;
    for (size_t i = 0; i < cells_of(p); i++) {
        error = fmax(error, fabs(p->now[i] - expected->now[i]) / expected->now[i]);
    }
    return error;
}

int main(int argc, char **argv)
{
    plate p = {.bands = 16, .rows = 64, .width = 1024, .steps = 20};
    const example_option options[] = {
        {"bands", &p.bands, 1, 10000, NULL, "bands of the plate, one task each in a step"},
        {"rows", &p.rows, 3, 10000, NULL, "rows of a band"},
        {"width", &p.width, 1, 100000, NULL, "cells of a row; sections below a page (512 cells) name no data"},
        {"steps", &p.steps, 1, 1000000, NULL, "time steps"},
        {0},
    };
    example_parse(argc, argv, "Heat equation on two whole arrays, bands ordered by sections of rows.", options);
    plate expected = p;
    make(&p);
    make(&expected);
    const double start = heat(&p);
    simulate(&p);
    simulate_on_host(&expected);
    const int exit_code = example_verdict(p.now, cells_of(&p), measure_error(&p, &expected, start), 1e-12);
    destroy(&p);
    destroy(&expected);
    return exit_code;
}
