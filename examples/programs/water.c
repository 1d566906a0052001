/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Waves in a closed basin: shallow-water equations by the Lax-Friedrichs method, three synchronous kernels per step.
 *
 * How data are named: six arrays (depth and momentum, now and next), each entered once; kernels map nothing and use
 * them through pointers that are swapped. The first kernel's reduction finds the largest wave speed, which the host
 * reads to choose the time step; the second computes the next state; the third one slows the water down in place.
 *
 * Checked against the same steps on the host, and by the volume of water, which stays the same.
 *
 * On all devices: OMPDARTS_SLICE=4 ompdarts run build/examples/water
 */
#include "common.h"

#include <math.h>
#include <stdlib.h>

#define GRAVITY 9.81
#define FRICTION 1e-3 /* part of the momentum that is lost in a step */

enum { DEPTH, EAST, NORTH, FIELDS };

typedef struct basin {
    size_t height, width, steps;
    double *now[FIELDS], *next[FIELDS];
} basin;

/* What flows through a side of a cell: of depth h, momentum p across the side, q along it. */
typedef struct flux {
    double mass, across, along;
} flux;

static inline flux flow(double h, double p, double q)
{
    return (flux){p, p * p / h + 0.5 * GRAVITY * h * h, p * q / h};
}

static inline double speed_of(double h, double p, double q)
{
    return (fabs(p) > fabs(q) ? fabs(p) : fabs(q)) / h + sqrt(GRAVITY * h);
}

/* A neighbour beyond the wall is the cell's mirror image: `sign` is -1 for the momentum towards the wall. */
static inline double beside(const double *field, size_t i, size_t neighbour, bool inside, double sign)
{
    return inside ? field[neighbour] : sign * field[i];
}

static inline void advance(const double *h, const double *p, const double *q, double *nh, double *np, double *nq,
                           size_t height, size_t width, size_t y, size_t x, double ratio)
{
    const size_t i = y * width + x;
    const size_t at[4] = {i + 1, i - 1, i + width, i - width};
    const bool inside[4] = {x + 1 < width, x > 0, y + 1 < height, y > 0};
    double mean_h = 0, mean_p = 0, mean_q = 0;
    flux side[4];
    for (int n = 0; n < 4; n++) {
        const double hn = beside(h, i, at[n], inside[n], 1), pn = beside(p, i, at[n], inside[n], n < 2 ? -1 : 1),
                     qn = beside(q, i, at[n], inside[n], n < 2 ? 1 : -1);
        side[n] = n < 2 ? flow(hn, pn, qn) : flow(hn, qn, pn);
        mean_h += 0.25 * hn;
        mean_p += 0.25 * pn;
        mean_q += 0.25 * qn;
    }
    nh[i] = mean_h - 0.5 * ratio * (side[0].mass - side[1].mass + side[2].mass - side[3].mass);
    np[i] = mean_p - 0.5 * ratio * (side[0].across - side[1].across + side[2].along - side[3].along);
    nq[i] = mean_q - 0.5 * ratio * (side[0].along - side[1].along + side[2].across - side[3].across);
}

static void swap(basin *b)
{
    for (int k = 0; k < FIELDS; k++) {
        double *old = b->now[k];
        b->now[k] = b->next[k];
        b->next[k] = old;
    }
}

/* Seconds per metre: half of what the fastest wave allows. */
static double ratio_for(double fastest)
{
    return 0.5 / fastest;
}

static void step_on_device(const basin *b)
{
    const double *h = b->now[DEPTH], *p = b->now[EAST], *q = b->now[NORTH];
    double *nh = b->next[DEPTH], *np = b->next[EAST], *nq = b->next[NORTH];
    const size_t height = b->height, width = b->width, cells = height * width;
    double fastest = 0;
#pragma omp target teams distribute parallel for reduction(max : fastest) map(tofrom : fastest)
    for (size_t i = 0; i < cells; i++) {
        const double speed = speed_of(h[i], p[i], q[i]);
        fastest = speed > fastest ? speed : fastest;
    }
    const double ratio = ratio_for(fastest);
#pragma omp target teams distribute parallel for collapse(2)
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++)
            advance(h, p, q, nh, np, nq, height, width, y, x, ratio);
#pragma omp target teams distribute parallel for
    for (size_t i = 0; i < cells; i++) {
        np[i] *= 1 - FRICTION;
        nq[i] *= 1 - FRICTION;
    }
}

static void simulate(basin *b)
{
    const size_t cells = b->height * b->width;
    double *h = b->now[DEPTH], *p = b->now[EAST], *q = b->now[NORTH];
    double *nh = b->next[DEPTH], *np = b->next[EAST], *nq = b->next[NORTH];
#pragma omp target enter data map(to : h[0:cells], p[0:cells], q[0:cells])
#pragma omp target enter data map(to : nh[0:cells], np[0:cells], nq[0:cells])
    for (size_t step = 0; step < b->steps; step++) {
        step_on_device(b);
        swap(b);
    }
#pragma omp target exit data map(from : h[0:cells], p[0:cells], q[0:cells])
#pragma omp target exit data map(from : nh[0:cells], np[0:cells], nq[0:cells])
}

static void simulate_on_host(basin *b)
{
    const size_t cells = b->height * b->width;
    for (size_t step = 0; step < b->steps; step++) {
        double fastest = 0;
        for (size_t i = 0; i < cells; i++)
            fastest = fmax(fastest, speed_of(b->now[DEPTH][i], b->now[EAST][i], b->now[NORTH][i]));
        const double ratio = ratio_for(fastest);
        for (size_t i = 0; i < cells; i++)
            advance(b->now[DEPTH], b->now[EAST], b->now[NORTH], b->next[DEPTH], b->next[EAST], b->next[NORTH],
                    b->height, b->width, i / b->width, i % b->width, ratio);
        for (size_t i = 0; i < cells; i++) {
            b->next[EAST][i] *= 1 - FRICTION;
            b->next[NORTH][i] *= 1 - FRICTION;
        }
        swap(b);
    }
}

/* A hill of water in one corner. */
static void make(basin *b)
{
    for (int k = 0; k < FIELDS; k++) {
        b->now[k] = example_doubles(b->height * b->width);
        b->next[k] = example_doubles(b->height * b->width);
    }
    for (size_t y = 0; y < b->height; y++)
        for (size_t x = 0; x < b->width; x++) {
            const double far = (double)y / (double)b->height + (double)x / (double)b->width;
            b->now[DEPTH][y * b->width + x] = 1 + exp(-20 * far * far);
        }
}

static void destroy(const basin *b)
{
    for (int k = 0; k < FIELDS; k++) {
        free(b->now[k]);
        free(b->next[k]);
    }
}

static double volume(const basin *b)
{
    double sum = 0;
    for (size_t i = 0; i < b->height * b->width; i++)
        sum += b->now[DEPTH][i];
    return sum;
}

/* Largest deviation of a field, and of the volume from that at the start, relative to a depth of 1. */
static double measure_error(const basin *b, const basin *expected, double start)
{
    double error = fabs(volume(b) - start) / start;
    for (int k = 0; k < FIELDS; k++)
        for (size_t i = 0; i < b->height * b->width; i++)
            error = fmax(error, fabs(b->now[k][i] - expected->now[k][i]));
    return error;
}

int main(int argc, char **argv)
{
    basin b = {.height = 512, .width = 512, .steps = 20};
    const example_option options[] = {
        {"height", &b.height, 2, 100000, NULL, "rows of cells"},
        {"width", &b.width, 2, 100000, NULL, "cells of a row"},
        {"steps", &b.steps, 1, 1000000, NULL, "time steps"},
        {0},
    };
    example_parse(argc, argv, "Shallow water in a basin, three synchronous kernels per step.", options);
    basin expected = b;
    make(&b);
    make(&expected);
    const double start = volume(&b);
    simulate(&b);
    simulate_on_host(&expected);
    const int exit_code =
        example_verdict(b.now[DEPTH], b.height * b.width, measure_error(&b, &expected, start), 1e-11);
    destroy(&b);
    destroy(&expected);
    return exit_code;
}
