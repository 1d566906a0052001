/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Random numbers that are the same on every machine: SplitMix64 (Steele, Lea, Flood 2014). */
#ifndef BENCH_COMMON_RANDOM_H
#define BENCH_COMMON_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* A stream that depends on nothing but (seed, stream). */
typedef struct bench_random {
    uint64_t state;
} bench_random;

bench_random bench_random_start(uint64_t seed, uint64_t stream);

/* Leaves out `count` numbers. */
void bench_random_skip(bench_random *random, uint64_t count);

/* The next number, uniform in [-0.5, 0.5). */
double bench_random_next(bench_random *random);

/* `count` random numbers: the vector of a check. bench_alloc'ed, free() it. */
double *bench_random_vector(uint64_t seed, size_t count);

#endif
