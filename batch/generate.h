/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Made-up logs: users submit bursts of jobs, each burst on one file of its own, with the same cores and walltime. The
 * same seed gives the same log.
 */
#ifndef OD_BATCH_GENERATE_H
#define OD_BATCH_GENERATE_H

#include "batch/log/log.h"

#include <stdio.h>

typedef struct od_batch_workload {
    uint32_t jobs, burst;  /* in all; at most in a burst */
    double load; /* what jobs ask for on average, loading included, relative to all cores; above 1: saturated */
    uint64_t seed;
} od_batch_workload;

/* Writes the log as CSV. */
void od_batch_generate(const od_batch_workload *workload, const od_batch_cluster *cluster, FILE *out);

#endif
