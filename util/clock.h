/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The clock of the library: CLOCK_MONOTONIC, in nanoseconds. And clocks of processor time.
 */
#ifndef OD_UTIL_CLOCK_H
#define OD_UTIL_CLOCK_H

#include <errno.h>
#include <stdint.h>
#include <time.h>

#define OD_NS_PER_S UINT64_C(1000000000)

static inline uint64_t od_clock_read(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * OD_NS_PER_S + (uint64_t)now.tv_nsec;
}

static inline uint64_t od_clock_ns(void)
{
    return od_clock_read(CLOCK_MONOTONIC);
}

/* What the calling thread has had of a processor. */
static inline uint64_t od_clock_thread_ns(void)
{
    return od_clock_read(CLOCK_THREAD_CPUTIME_ID);
}

/* Likewise all threads of the process. */
static inline uint64_t od_clock_process_ns(void)
{
    return od_clock_read(CLOCK_PROCESS_CPUTIME_ID);
}

static inline struct timespec od_clock_time(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / OD_NS_PER_S), .tv_nsec = (long)(ns % OD_NS_PER_S)};
}

/* Sleeps until the clock shows `end_ns`; returns at once where it does already. */
static inline void od_clock_sleep_until(uint64_t end_ns)
{
    struct timespec end = od_clock_time(end_ns);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR)
        continue;
}

#endif
