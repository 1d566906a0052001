/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The cores of CPU workers: each has a group of its own, of cores that are neighbours in the machine (hwloc's logical
 * order: those that share caches come first, then those of a package), and of each core one hardware thread as long as
 * there are enough of them.
 */
#ifndef OD_OMP_EXT_CPU_GROUPS_H
#define OD_OMP_EXT_CPU_GROUPS_H

#ifndef _GNU_SOURCE
#error "cpu_set_t is GNU's"
#endif

#include <sched.h>

/* The processors of worker number `index`, out of those that are allowed; `own` is empty where there are not enough. */
void od_cpu_group(const cpu_set_t *allowed, unsigned workers, unsigned cores, unsigned index, cpu_set_t *own);

#endif
