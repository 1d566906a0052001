/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Random numbers of searches: Marsaglia, Xorshift RNGs, 2003. The same seed gives the same numbers. */
#ifndef OD_UTIL_RANDOM_H
#define OD_UTIL_RANDOM_H

#include <stdint.h>

/* The state must not be 0. */
static inline uint64_t od_random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static inline uint32_t od_random_below(uint64_t *state, uint32_t bound)
{
    return (uint32_t)(od_random_next(state) % bound);
}

/* In [0, 1). */
static inline double od_random_fraction(uint64_t *state)
{
    return (double)(od_random_next(state) >> 11) * 0x1p-53;
}

#endif
