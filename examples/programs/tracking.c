/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A particle filter: where something is that moves along a line and is seen through noise, from a cloud of particles in
 * islands. Two synchronous kernels per step: particles move and are weighed, with reductions for the estimate; each
 * island draws its next particles from those that it has, and from some of the island before it, by their weights.
 *
 * How data are named: six arrays in one data region, kernels use them through pointers that are swapped and map nothing
 * but what they reduce to. Sums are of whole numbers, so they do not depend on the order in which they are added up.
 *
 * Checked against the same steps on the host, and by where the thing has been.
 *
 * On all devices: OMPDARTS_SLICE=4 ompdarts run build/examples/tracking
 */
#include "common.h"

#include <math.h>
#include <stdlib.h>

#define NOISE 0.5
#define SCALE 0x1p30 /* of weights as whole numbers */

enum { NOW, NEXT };

typedef struct cloud {
    size_t islands, size, exchanged, steps; /* particles of an island, and those that come from the one before it */
    double *place[2], *speed[2], *weight, *sum;
} cloud;

/* What a step finds. */
typedef struct estimate {
    int64_t weight, moment; /* of all particles, scaled */
} estimate;

static inline double noise(uint64_t particle, uint64_t step)
{
    uint64_t z = (particle * 1000003u + step + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53 - 0.5;
}

/* Where the thing is, and what is seen of it. */
static double truth(size_t step)
{
    return 0.7 * (double)step + 3 * sin(0.2 * (double)step);
}

static double seen(size_t step)
{
    return truth(step) + NOISE * noise(12345, step);
}

static inline double move(double *place, double *speed, size_t i, size_t step, double sight)
{
    speed[i] += 0.3 * noise(2 * i, step);
    place[i] += speed[i] + 0.3 * noise(2 * i + 1, step);
    const double off = (place[i] - sight) / NOISE;
    return exp(-0.5 * off * off) + 1e-6;
}

/* An island's next particles: evenly spaced through the weights of those that it draws from. */
static inline void draw(const cloud *c, const double *place, const double *speed, const double *weight, double *sum,
                        double *to_place, double *to_speed, size_t island)
{
    const size_t all = c->islands * c->size, first = (island * c->size + all - c->exchanged) % all, own = island * c->size;
    double total = 0;
    for (size_t k = 0; k < c->size; k++) {
        total += weight[(first + k) % all];
        sum[own + k] = total;
    }
    for (size_t k = 0, from = 0; k < c->size; k++) {
        while (from + 1 < c->size && sum[own + from] < total * ((double)k + 0.5) / (double)c->size)
            from++;
        to_place[own + k] = place[(first + from) % all];
        to_speed[own + k] = speed[(first + from) % all];
    }
}

static estimate step_on_device(const cloud *c, size_t step)
{
    const cloud shape = *c;
    double *place = c->place[NOW], *speed = c->speed[NOW], *weight = c->weight, *sum = c->sum;
    double *to_place = c->place[NEXT], *to_speed = c->speed[NEXT];
    const size_t particles = c->islands * c->size, islands = c->islands;
    const double sight = seen(step);
    int64_t weights = 0, moments = 0;
#pragma omp target teams distribute parallel for reduction(+ : weights, moments)
    for (size_t i = 0; i < particles; i++) {
        weight[i] = move(place, speed, i, step, sight);
        weights += (int64_t)(weight[i] * SCALE);
        moments += (int64_t)(weight[i] * (place[i] - sight) * SCALE);
    }
#pragma omp target teams distribute parallel for firstprivate(shape)
    for (size_t island = 0; island < islands; island++)
        draw(&shape, place, speed, weight, sum, to_place, to_speed, island);
    return (estimate){weights, moments};
}

static estimate step_on_host(const cloud *c, size_t step)
{
    estimate e = {0};
    for (size_t i = 0; i < c->islands * c->size; i++) {
        c->weight[i] = move(c->place[NOW], c->speed[NOW], i, step, seen(step));
        e.weight += (int64_t)(c->weight[i] * SCALE);
        e.moment += (int64_t)(c->weight[i] * (c->place[NOW][i] - seen(step)) * SCALE);
    }
    for (size_t island = 0; island < c->islands; island++)
        draw(c, c->place[NOW], c->speed[NOW], c->weight, c->sum, c->place[NEXT], c->speed[NEXT], island);
    return e;
}

static void swap(double *pair[2])
{
    double *old = pair[NOW];
    pair[NOW] = pair[NEXT];
    pair[NEXT] = old;
}

static void track(cloud *c, double *path, estimate (*step_on)(const cloud *, size_t))
{
    for (size_t step = 0; step < c->steps; step++) {
        const estimate e = step_on(c, step);
        path[step] = seen(step) + (double)e.moment / (double)e.weight;
        swap(c->place);
        swap(c->speed);
    }
}

static void track_on_device(cloud *c, double *path)
{
    const size_t n = c->islands * c->size;
    double *place = c->place[NOW], *other_place = c->place[NEXT], *speed = c->speed[NOW], *other_speed = c->speed[NEXT];
    double *weight = c->weight, *sum = c->sum;
#pragma omp target data map(tofrom : place[0:n], speed[0:n], other_place[0:n], other_speed[0:n])                       \
    map(alloc : weight[0:n], sum[0:n])
    track(c, path, step_on_device);
}

static void make(cloud *c)
{
    const size_t n = c->islands * c->size;
    for (int k = NOW; k <= NEXT; k++) {
        c->place[k] = example_doubles(n);
        c->speed[k] = example_doubles(n);
    }
    c->weight = example_doubles(n);
    c->sum = example_doubles(n);
    for (size_t i = 0; i < n; i++) {
        c->place[NOW][i] = 8 * noise(i, 1000001);
        c->speed[NOW][i] = 2 * noise(i, 1000002);
    }
}

static void destroy(const cloud *c)
{
    for (int k = NOW; k <= NEXT; k++) {
        free(c->place[k]);
        free(c->speed[k]);
    }
    free(c->weight);
    free(c->sum);
}

/* Largest difference to the host's path, and how far beyond the noise the path is from where the thing has been. */
static double measure_error(const double *path, const double *expected, size_t steps)
{
    double error = 0;
    for (size_t step = 0; step < steps; step++) {
        error = fmax(error, fabs(path[step] - expected[step]));
        error = fmax(error, step < 3 ? 0 : fabs(path[step] - truth(step)) - 2 * NOISE);
    }
    return error;
}

int main(int argc, char **argv)
{
    cloud c = {.islands = 16, .size = 16384, .exchanged = 8192, .steps = 20};
    const example_option options[] = {
        {"islands", &c.islands, 1, 100000, NULL, "islands"},
        {"size", &c.size, 2, 10000000, NULL, "particles of an island"},
        {"exchanged", &c.exchanged, 0, 10000000, NULL, "of them, drawn from the island before"},
        {"steps", &c.steps, 1, 1000000, NULL, "steps in time"},
        {0},
    };
    example_parse(argc, argv, "A particle filter in islands, two synchronous kernels per step.", options);
    if (c.exchanged > c.size)
        example_fail("--exchanged is more than --size");
    cloud on_host = c;
    double *path = example_doubles(c.steps), *expected = example_doubles(c.steps);
    make(&c);
    make(&on_host);
    track_on_device(&c, path);
    track(&on_host, expected, step_on_host);
    const int exit_code = example_verdict(path, c.steps, measure_error(path, expected, c.steps), 1e-9);
    destroy(&c);
    destroy(&on_host);
    free(path);
    free(expected);
    return exit_code;
}
