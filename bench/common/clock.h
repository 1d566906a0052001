/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef BENCH_COMMON_CLOCK_H
#define BENCH_COMMON_CLOCK_H

#include <time.h>

static inline double bench_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Monotonic time in seconds. */
static inline double bench_now(void)
{
    return bench_clock(CLOCK_MONOTONIC);
}

#endif
