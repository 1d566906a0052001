/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "bench/common/random.h"

#include "bench/common/memory.h"

#define MIX_STEP UINT64_C(0x9e3779b97f4a7c15)

static uint64_t mix(uint64_t *state)
{
    uint64_t z = *state += MIX_STEP;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

bench_random bench_random_start(uint64_t seed, uint64_t stream)
{
    uint64_t state = seed;
    state = mix(&state) ^ stream;
    return (bench_random){.state = mix(&state)};
}

void bench_random_skip(bench_random *random, uint64_t count)
{
    random->state += count * MIX_STEP;
}

double bench_random_next(bench_random *random)
{
    return (double)(mix(&random->state) >> 11) * 0x1p-53 - 0.5;
}

double *bench_random_vector(uint64_t seed, size_t count)
{
    double *vector = bench_alloc(count, sizeof *vector);
    bench_random random = bench_random_start(seed, UINT64_MAX);
    for (size_t i = 0; i < count; i++) {
        vector[i] = bench_random_next(&random);
    }
    return vector;
}
