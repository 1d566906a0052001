/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Gravity among all pairs of bodies, leapfrog steps. The bodies are cut into blocks; one task adds the pull of one
 * block on another, one task per block moves its bodies. Half way the host takes one body to another place. Every
 * few steps positions and velocities come to the host, which notes each block's momentum.
 *
 * How data are named: three whole arrays are entered once, for all blocks. Kernels map *sections* of them, blocks
 * of bodies, and `target update` fetches or sends sections, down to one body. Depend clauses name the first
 * element of a section.
 *
 * Checked against the same sums on the host, and by the momentum of all bodies, which does not change with time.
 *
 * Out of core: the default needs 164 kB, of which
 *     ompdarts run --mem 40k build/examples/nbody
 * leaves a quarter on each device.
 */
#include "common.h"

#include <math.h>
#include <stdlib.h>

/* Numbers per body: x, y, z and mass; velocity; acceleration. */
enum { POSITION = 4, VELOCITY = 3, ACCELERATION = 3 };

#define SOFTENING 1e-2
#define TIME_STEP 1e-3
#define DISPLACEMENT 0.25

typedef struct bodies {
    size_t blocks, block, steps, every; /* bodies per block */
    size_t count, readings;
    double *position, *velocity, *acceleration;
    double *momentum; /* per reading and block: x, y, z */
} bodies;

#pragma omp begin declare target
/* The pull of `other` on the bodies of `own` with numbers in [from, to), added to `sum`. */
static inline void pull(size_t from, size_t to, const double *own, size_t others, const double *other, double *sum)
{
    for (size_t i = from; i < to; i++) {
        double ax = 0.0, ay = 0.0, az = 0.0;
        for (size_t j = 0; j < others; j++) {
            const double *o = other + j * POSITION, *b = own + i * POSITION;
            const double dx = o[0] - b[0], dy = o[1] - b[1], dz = o[2] - b[2];
            const double distance2 = dx * dx + dy * dy + dz * dz + SOFTENING;
            const double weight = o[3] / (distance2 * sqrt(distance2));
            ax += weight * dx;
            ay += weight * dy;
            az += weight * dz;
        }
        sum[i * ACCELERATION] += ax;
        sum[i * ACCELERATION + 1] += ay;
        sum[i * ACCELERATION + 2] += az;
    }
}

/* One body moves by one step; its acceleration starts again from 0. */
static inline void move(double *x, double *v, double *a)
{
    for (unsigned k = 0; k < 3; k++) {
        v[k] += TIME_STEP * a[k];
        x[k] += TIME_STEP * v[k];
        a[k] = 0.0;
    }
}
#pragma omp end declare target

static void attract(const bodies *b, size_t i, size_t j)
{
    const size_t n = b->block;
    const double *own = b->position + i * n * POSITION, *other = b->position + j * n * POSITION;
    double *sum = b->acceleration + i * n * ACCELERATION;
#pragma omp target teams distribute parallel for nowait depend(in : own[0], other[0]) depend(inout : sum[0])           \
    map(to : own[0 : n * POSITION], other[0 : n * POSITION]) map(tofrom : sum[0 : n * ACCELERATION])
    for (size_t k = 0; k < n; k++) {
        pull(k, k + 1, own, n, other, sum);
    }
}

static void advance(const bodies *b, size_t i)
{
    const size_t n = b->block;
    double *x = b->position + i * n * POSITION, *v = b->velocity + i * n * VELOCITY;
    double *a = b->acceleration + i * n * ACCELERATION;
#pragma omp target teams distribute parallel for nowait depend(inout : x[0], v[0], a[0])                               \
    map(tofrom : x[0 : n * POSITION], v[0 : n * VELOCITY], a[0 : n * ACCELERATION])
    for (size_t k = 0; k < n; k++) {
        move(x + k * POSITION, v + k * VELOCITY, a + k * ACCELERATION);
    }
}

/* Mass times velocity of one block, noted by a host task after an update of its sections. */
static void note_momentum(const bodies *b, size_t i, double *momentum)
{
    const size_t n = b->block;
    const double *x = b->position + i * n * POSITION, *v = b->velocity + i * n * VELOCITY;
#pragma omp target update from(x[0 : n * POSITION], v[0 : n * VELOCITY]) nowait depend(inout : x[0], v[0])
#pragma omp task depend(in : x[0], v[0])
    for (size_t k = 0; k < n; k++) {
        for (size_t c = 0; c < 3; c++) {
            momentum[c] += x[k * POSITION + 3] * v[k * VELOCITY + c];
        }
    }
}

/* The host takes one body, moves it, gives it back. */
static void displace_body(const bodies *b)
{
    double *body = b->position + b->count / 2 * POSITION;
#pragma omp taskwait
#pragma omp target update from(body[0 : POSITION])
    body[0] += DISPLACEMENT;
#pragma omp target update to(body[0 : POSITION])
}

static void create_tasks(const bodies *b)
{
    for (size_t step = 0, reading = 0; step < b->steps; step++) {
        if (step == b->steps / 2) {
            displace_body(b);
        }
        for (size_t i = 0; i < b->blocks; i++) {
            for (size_t j = 0; j < b->blocks; j++) {
                attract(b, i, j);
            }
        }
        for (size_t i = 0; i < b->blocks; i++) {
            advance(b, i);
        }
        for (size_t i = 0; (step + 1) % b->every == 0 && i < b->blocks; i++) {
            note_momentum(b, i, b->momentum + (reading * b->blocks + i) * 3);
        }
        reading += (step + 1) % b->every == 0;
    }
}

static void simulate(const bodies *b)
{
    const size_t n = b->count;
    double *position = b->position, *velocity = b->velocity, *acceleration = b->acceleration;
#pragma omp target enter data map(to : position[0 : n * POSITION], velocity[0 : n * VELOCITY],                         \
                                      acceleration[0 : n * ACCELERATION])
#pragma omp parallel
#pragma omp single
    create_tasks(b);
#pragma omp target exit data map(from : position[0 : n * POSITION], velocity[0 : n * VELOCITY])                        \
    map(release : acceleration[0 : n * ACCELERATION])
}

/* The same without tasks and devices, block by block, so that sums have the same order. */
static void simulate_plainly(const bodies *b)
{
    const size_t n = b->block;
    for (size_t step = 0; step < b->steps; step++) {
        b->position[b->count / 2 * POSITION] += step == b->steps / 2 ? DISPLACEMENT : 0.0;
        for (size_t j = 0; j < b->blocks; j++) {
            pull(0, b->count, b->position, n, b->position + j * n * POSITION, b->acceleration);
        }
        for (size_t k = 0; k < b->count; k++) {
            move(b->position + k * POSITION, b->velocity + k * VELOCITY, b->acceleration + k * ACCELERATION);
        }
    }
}

/* Largest momentum of all bodies at a reading: at rest at the start, they keep none. */
static double largest_momentum(const bodies *b)
{
    double largest = 0.0;
    for (size_t reading = 0; reading < b->readings; reading++) {
        double sum[3] = {0.0};
        for (size_t i = 0; i < b->blocks * 3; i++) {
            sum[i % 3] += b->momentum[reading * b->blocks * 3 + i];
        }
        largest = fmax(largest, fmax(fabs(sum[0]), fmax(fabs(sum[1]), fabs(sum[2]))));
    }
    return largest;
}

static bodies make_bodies(const bodies *config)
{
    bodies b = *config;
    uint64_t random = 1;
    b.count = b.blocks * b.block;
    b.readings = b.steps / b.every;
    b.position = example_doubles(b.count * POSITION);
    b.velocity = example_doubles(b.count * VELOCITY);
    b.acceleration = example_doubles(b.count * ACCELERATION);
    b.momentum = example_doubles((b.readings + 1) * b.blocks * 3);
    for (size_t i = 0; i < b.count; i++) {
        for (size_t k = 0; k < 3; k++) {
            b.position[i * POSITION + k] = example_random(&random) - 0.5;
        }
        b.position[i * POSITION + 3] = (0.5 + example_random(&random)) / (double)b.count;
    }
    return b;
}

static void free_bodies(const bodies *b)
{
    free(b->position);
    free(b->velocity);
    free(b->acceleration);
    free(b->momentum);
}

int main(int argc, char **argv)
{
    bodies config = {.blocks = 16, .block = 128, .steps = 6, .every = 2};
    const example_option options[] = {
        {"blocks", &config.blocks, 1, 10000, NULL, "blocks of bodies"},
        {"block", &config.block, 1, 1000000, NULL, "bodies in a block"},
        {"steps", &config.steps, 1, 1000000, NULL, "time steps"},
        {"every", &config.every, 1, 1000000, NULL, "steps from one reading of the momentum to the next"},
        {0},
    };
    example_parse(argc, argv, "All-pairs gravity; whole arrays entered once, sections computed on.", options);
    const bodies b = make_bodies(&config), expected = make_bodies(&config);
    simulate(&b);
    simulate_plainly(&expected);
    double error = largest_momentum(&b);
    for (size_t i = 0; i < b.count * POSITION; i++) {
        error = fmax(error, fabs(b.position[i] - expected.position[i]));
    }
    for (size_t i = 0; i < b.count * VELOCITY; i++) {
        error = fmax(error, fabs(b.velocity[i] - expected.velocity[i]));
    }
    const int exit_code = example_verdict(b.position, b.count * POSITION, error, 1e-10);
    free_bodies(&b);
    free_bodies(&expected);
    return exit_code;
}
