/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Monte Carlo neutron transport, its innermost part: for each of many particles, the cross sections of a material at
 * the particle's energy, looked up by bisection in a table of energies and interpolated, for every nuclide of it.
 *
 * How data are named: one data region around all batches; the tables are read anywhere, each particle writes its own
 * sums. Kernels are synchronous and name nothing.
 *
 * Checked against the same lookups on the host.
 *
 * On all devices: OMPDARTS_SLICE=4 ompdarts run build/examples/transport
 */
#include "common.h"

#include <math.h>
#include <stdlib.h>

enum { KINDS = 5 }; /* of cross sections: total, elastic, absorption, fission, production */

typedef struct table {
    size_t nuclides, points, particles, batches;
    double *energy;  /* of the points, rising, the same for all nuclides */
    double *section; /* by nuclide, point and kind */
    double *sum;     /* by particle and kind */
} table;

static inline uint64_t next_random(uint64_t state)
{
    return state * 6364136223846793005u + 1442695040888963407u;
}

/* The last point below the energy, which lies between the first and the last one. */
static inline size_t find(const double *energy, size_t points, double wanted)
{
    size_t low = 0, high = points - 1;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (energy[middle] > wanted)
            high = middle;
        else
            low = middle;
    }
    return low;
}

static inline void look_up(const double *energy, const double *section, double *sum, size_t nuclides, size_t points,
                           size_t particle, size_t batch)
{
    const uint64_t random = next_random(next_random(particle * 1000003u + batch));
    const double wanted = (double)(random >> 11) * 0x1p-53;
    const size_t at = find(energy, points, wanted);
    const double part = (wanted - energy[at]) / (energy[at + 1] - energy[at]);
    for (size_t n = 0; n < nuclides; n++)
        for (size_t k = 0; k < KINDS; k++) {
            const double *low = &section[(n * points + at) * KINDS + k];
            sum[particle * KINDS + k] += low[0] + part * (low[KINDS] - low[0]);
        }
}

static void transport(const table *t)
{
    const double *energy = t->energy, *section = t->section;
    double *sum = t->sum;
    const size_t nuclides = t->nuclides, points = t->points, particles = t->particles;
#pragma omp target data map(to : energy[0:points], section[0:nuclides * points * KINDS])                               \
    map(tofrom : sum[0:particles * KINDS])
    for (size_t batch = 0; batch < t->batches; batch++) {
#pragma omp target teams distribute parallel for
        for (size_t particle = 0; particle < particles; particle++)
            look_up(energy, section, sum, nuclides, points, particle, batch);
    }
}

static void transport_on_host(const table *t)
{
    for (size_t batch = 0; batch < t->batches; batch++)
        for (size_t particle = 0; particle < t->particles; particle++)
            look_up(t->energy, t->section, t->sum, t->nuclides, t->points, particle, batch);
}

static void make(table *t)
{
    uint64_t random = 1;
    t->energy = example_doubles(t->points);
    t->section = example_doubles(t->nuclides * t->points * KINDS);
    t->sum = example_doubles(t->particles * KINDS);
    for (size_t i = 0; i < t->points; i++)
        t->energy[i] = pow((double)i / (double)(t->points - 1), 2);
    for (size_t i = 0; i < t->nuclides * t->points * KINDS; i++)
        t->section[i] = example_random(&random);
}

static double measure_error(const table *t, const double *expected)
{
    double error = 0;
    for (size_t i = 0; i < t->particles * KINDS; i++)
        error = fmax(error, fabs(t->sum[i] - expected[i]) / expected[i]);
    return error;
}

int main(int argc, char **argv)
{
    table t = {.nuclides = 8, .points = 4096, .particles = 100000, .batches = 8};
    const example_option options[] = {
        {"nuclides", &t.nuclides, 1, 1000, NULL, "nuclides of the material"},
        {"points", &t.points, 2, 10000000, NULL, "energies in the table"},
        {"particles", &t.particles, 1, 100000000, NULL, "particles"},
        {"batches", &t.batches, 1, 1000000, NULL, "lookups of each particle, one kernel each"},
        {0},
    };
    example_parse(argc, argv, "Cross-section lookups at random energies, synchronous kernels.", options);
    make(&t);
    transport(&t);
    double *sum = t.sum;
    t.sum = example_doubles(t.particles * KINDS);
    transport_on_host(&t);
    double *expected = t.sum;
    t.sum = sum;
    const int exit_code = example_verdict(sum, t.particles * KINDS, measure_error(&t, expected), 1e-12);
    free(expected);
    free(sum);
    free(t.section);
    free(t.energy);
    return exit_code;
}
