/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Time that a process has had: how long it would have taken on this machine if no other process had wanted a processor.
 *
 * A limit in seconds says "it does not go on" of a program that only waits its turn on a machine with too much to do.
 * The kernel counts per thread how long it ran and how long it was ready to run and did not
 * (/proc/PID/task/TID/schedstat). Where the process got a tenth of what it could have used, a second counts as a tenth
 * of one; where it slept, as a second.
 */
#ifndef OD_UTIL_FAIR_H
#define OD_UTIL_FAIR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Of `elapsed_ns` in which threads ran for `ran_ns` and were kept waiting for `waited_ns`, in sum, on `cpus`
 * processors. */
uint64_t od_fair_part(uint64_t elapsed_ns, uint64_t ran_ns, uint64_t waited_ns, unsigned cpus);

typedef struct od_fair {
    uint64_t clock_ns, ran_ns, waited_ns; /* when last read */
    pid_t process;                        /* 0: the caller's */
    bool with_children;
} od_fair;

/* From now on; `with_children` also counts the processes that it starts. */
void od_fair_begin(od_fair *fair, pid_t process, bool with_children);
/* The process's own time since od_fair_begin() or the last call, ns; the clock's where the kernel does not count. */
uint64_t od_fair_lap(od_fair *fair);

#endif
