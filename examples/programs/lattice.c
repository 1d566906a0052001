/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A flow on a periodic square lattice by the lattice Boltzmann method: nine populations per cell (D2Q9) are relaxed
 * towards equilibrium (BGK) and moved to the neighbours, in one kernel per step.
 *
 * How data are named: two arrays, all populations of a field one after the other in each, in one data region. Kernels
 * are synchronous and name nothing; they use the arrays through pointers that are swapped.
 *
 * Checked against the same steps on the host, and by the mass, which stays the same.
 *
 * On all devices: OMPDARTS_SLICE=4 ompdarts run build/examples/lattice
 */
#include "common.h"

#include <math.h>
#include <stdlib.h>

enum { POPULATIONS = 9 };
#define RELAXATION 0.9 /* per step; stable below 2 */

typedef struct lattice {
    size_t height, width, steps;
    double *now, *next; /* by population, row and column */
} lattice;

static size_t cells_of(const lattice *l)
{
    return l->height * l->width;
}

/* The cell's populations after one step: from its neighbours, then towards equilibrium. */
static inline void relax(const double *now, double *next, size_t height, size_t width, size_t cell)
{
    const int dx[POPULATIONS] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, dy[POPULATIONS] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
    const double weight[POPULATIONS] = {4.0 / 9, 1.0 / 9,  1.0 / 9,  1.0 / 9, 1.0 / 9,
                                        1.0 / 36, 1.0 / 36, 1.0 / 36, 1.0 / 36};
    const size_t cells = height * width, y = cell / width, x = cell % width;
    double f[POPULATIONS], density = 0, u = 0, v = 0;
    for (size_t q = 0; q < POPULATIONS; q++) {
        const size_t row = (y + height - (size_t)dy[q]) % height, column = (x + width - (size_t)dx[q]) % width;
        f[q] = now[q * cells + row * width + column];
        density += f[q];
        u += dx[q] * f[q];
        v += dy[q] * f[q];
    }
    u /= density;
    v /= density;
    for (size_t q = 0; q < POPULATIONS; q++) {
        const double along = dx[q] * u + dy[q] * v;
        const double rest = weight[q] * density * (1 + 3 * along + 4.5 * along * along - 1.5 * (u * u + v * v));
        next[q * cells + cell] = f[q] + RELAXATION * (rest - f[q]);
    }
}

static void swap(lattice *l)
{
    double *old = l->now;
    l->now = l->next;
    l->next = old;
}

static void simulate(lattice *l)
{
    double *one = l->now, *other = l->next;
    const size_t cells = cells_of(l), height = l->height, width = l->width, all = POPULATIONS * cells;
#pragma omp target data map(tofrom : one[0:all], other[0:all])
    for (size_t step = 0; step < l->steps; step++) {
        const double *now = l->now;
        double *next = l->next;
#pragma omp target teams distribute parallel for
        for (size_t cell = 0; cell < cells; cell++)
            relax(now, next, height, width, cell);
        swap(l);
    }
}

static void simulate_on_host(lattice *l)
{
    for (size_t step = 0; step < l->steps; step++) {
        for (size_t cell = 0; cell < cells_of(l); cell++)
            relax(l->now, l->next, l->height, l->width, cell);
        swap(l);
    }
}

static void make(lattice *l)
{
    uint64_t random = 1;
    l->now = example_doubles(POPULATIONS * cells_of(l));
    l->next = example_doubles(POPULATIONS * cells_of(l));
    for (size_t i = 0; i < POPULATIONS * cells_of(l); i++)
        l->now[i] = (i < cells_of(l) ? 4.0 : 1.0) / 9 + 0.01 * example_random(&random);
}

static void destroy(const lattice *l)
{
    free(l->now);
    free(l->next);
}

static double mass(const lattice *l)
{
    double sum = 0;
    for (size_t i = 0; i < POPULATIONS * cells_of(l); i++)
        sum += l->now[i];
    return sum;
}

/* Largest relative deviation of a population, and of the mass from that at the start. */
static double measure_error(const lattice *l, const lattice *expected, double start)
{
    double error = fabs(mass(l) - start) / start;
    for (size_t i = 0; i < POPULATIONS * cells_of(l); i++)
        error = fmax(error, fabs(l->now[i] - expected->now[i]) / fabs(expected->now[i]));
    return error;
}

int main(int argc, char **argv)
{
    lattice l = {.height = 256, .width = 512, .steps = 20};
    const example_option options[] = {
        {"height", &l.height, 3, 100000, NULL, "rows of cells"},
        {"width", &l.width, 3, 100000, NULL, "cells of a row"},
        {"steps", &l.steps, 1, 1000000, NULL, "time steps"},
        {0},
    };
    example_parse(argc, argv, "Lattice Boltzmann flow (D2Q9), one synchronous kernel per step.", options);
    lattice expected = l;
    make(&l);
    make(&expected);
    const double start = mass(&l);
    simulate(&l);
    simulate_on_host(&expected);
    const int exit_code =
        example_verdict(l.now, POPULATIONS * cells_of(&l), measure_error(&l, &expected, start), 1e-11);
    destroy(&l);
    destroy(&expected);
    return exit_code;
}
