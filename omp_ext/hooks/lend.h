/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Constructs of the virtual device that pass through, beside data of regions.
 *
 * libomptarget knows nothing of our regions, and would map the program's memory, which is the host's own. So for the
 * time of its call our replicas are lent to it: they are associated with the regions' addresses, and it finds the
 * contents present, as if the regions were its own. Data that are on no device, or on another one, are lent as a copy.
 */
#ifndef OD_OMP_EXT_LEND_H
#define OD_OMP_EXT_LEND_H

#include "omp_ext/runtime/work.h"

#include <stdbool.h>

typedef struct od_lent od_lent;

/* Lends what the expanded list names of our regions to libomptarget's calls for OpenMP's device. Blocks until the data
 * are there and nothing else is lent. NULL: it names nothing of them. `stays`: what the list maps is libomptarget's
 * from now on. Not locked. */
od_lent *od_lend(const od_map_args *args, int device, bool stays);
/* The call has returned. */
void od_lend_end(od_lent *lent); /* may be NULL */

/* Passes a launch through to libomptarget as written. */
int od_pass_through(const od_kernel_call *call, int64_t device);

#endif
