/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Devices by the rank of an MPI job that they are of (docs/cluster.md). */
#ifndef OD_SCHED_REPORT_RANKS_H
#define OD_SCHED_REPORT_RANKS_H

#include "memmgr/data/datum.h"

typedef struct od_ranks {
    unsigned count;
    unsigned number[OD_MAX_DEVICES]; /* of each rank that has devices, ascending */
    unsigned index[OD_MAX_DEVICES];  /* in `number`, by device */
} od_ranks;

/* `rank_of`: the rank's number, by device. */
void od_ranks_find(od_ranks *ranks, const unsigned *rank_of, unsigned ndevices);

#endif
