/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What is kept of graphs between runs: how long each took under which settings. Where and how is the driver's. */
#ifndef OD_SCHED_RECALL_H
#define OD_SCHED_RECALL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct od_recalled_graph {
    uint64_t beginning; /* of its shape (sched/graph/pattern.h) */
    bool first;         /* as the first of its process, which finds its data on the host */
} od_recalled_graph;

typedef struct od_recalled_row {
    const char *settings; /* one line (sched/auto/remember.h) */
    const char *schedule; /* that they follow, one line (sched/auto/schedule/schedule.h); NULL: none */
    uint64_t tasks;       /* of the whole graph */
    uint64_t count;       /* measurements; 0: to be tried */
    double seconds;       /* the last one */
} od_recalled_row;

typedef void od_recall_found(void *arg, const od_recalled_row *row);

#endif
