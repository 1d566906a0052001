/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Depth-first and breadth-first. */
#include "dag/order/order.h"

#include <stdlib.h>

/* Behind order[done], the ready tasks: a queue, or a stack whose top is at the end. */
static od_status run_ready(const od_dag *dag, uint32_t *order, bool stack)
{
    uint32_t *waiting = malloc(((size_t)dag->ntasks + 1) * sizeof *waiting),
             *ready = malloc(((size_t)dag->ntasks + 1) * sizeof *ready);
    uint32_t first = 0, end = 0, done = 0;
    for (uint32_t t = 0; waiting && ready && t < dag->ntasks; t++) {
        uint32_t mirrored = stack ? dag->ntasks - 1 - t : t; /* the first task is on top */
        waiting[mirrored] = od_dag_count(&dag->before, mirrored);
        if (!waiting[mirrored])
            ready[end++] = mirrored;
    }
    while (waiting && ready && first < end) {
        uint32_t t = stack ? ready[--end] : ready[first++];
        order[done++] = t;
        for (uint32_t i = dag->after.first[t]; i < dag->after.first[t + 1]; i++)
            if (--waiting[dag->after.items[i]] == 0)
                ready[end++] = dag->after.items[i];
    }
    od_status status = waiting && ready ? OD_OK : OD_ENOMEM;
    free(waiting);
    free(ready);
    return status;
}

od_status od_dag_depth_first(const od_dag *dag, uint32_t *order)
{
    return run_ready(dag, order, true);
}

od_status od_dag_breadth_first(const od_dag *dag, uint32_t *order)
{
    return run_ready(dag, order, false);
}
