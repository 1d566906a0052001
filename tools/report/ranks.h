/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Devices of several ranks of a job: sums of their figures. */
#ifndef OD_TOOLS_REPORT_RANKS_H
#define OD_TOOLS_REPORT_RANKS_H

#include "tools/report/analysis.h"

typedef struct run_rank {
    const trace_rank *about;
    unsigned ndevices;
    run_device sum; /* but peak_bytes is the largest */
} run_rank;

typedef struct run_ranks {
    run_rank *at; /* in the order of their numbers */
    unsigned count;
} run_ranks;

/* None where the trace names no ranks. OD_ENOMEM */
od_status run_sum_ranks(const trace_file *trace, const run_figures *figures, run_ranks *ranks);
void run_ranks_free(run_ranks *ranks);

#endif
