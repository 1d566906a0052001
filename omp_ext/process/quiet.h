/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Whether the threads of this process have anything left to do, however loaded the machine is.
 *
 * "Nothing has happened for a second" is true of a program that hangs, and of one that has not got a processor for so
 * long. The kernel tells them apart: a thread that sleeps goes on only when another one wakes it, and one that has run
 * for a while since nothing happened spins. Any other has still to run (/proc/self/task/TID/stat, schedstat).
 */
#ifndef OD_OMP_EXT_QUIET_H
#define OD_OMP_EXT_QUIET_H

#include <stdbool.h>
#include <stdint.h>

typedef struct od_quiet_thread {
    long id;
    uint64_t ran_ns;
    bool sleeps;
} od_quiet_thread;

typedef struct od_quiet {
    od_quiet_thread *threads; /* as they were at the beginning; NULL: not known */
    uint32_t count, room;
} od_quiet;

#define OD_QUIET_SPIN_NS UINT64_C(100000000) /* who has run for so long does the same again and again */

/* From now on. Zeroed before the first time. */
void od_quiet_begin(od_quiet *quiet);
/* True: every thread but the caller sleeps, or has run for OD_QUIET_SPIN_NS since od_quiet_begin(). Also where the
 * kernel does not tell. What sleeps until a time or for a device is not told from what waits for another thread. */
bool od_quiet_lasts(const od_quiet *quiet);
void od_quiet_end(od_quiet *quiet);

#endif
