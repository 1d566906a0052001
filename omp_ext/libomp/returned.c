/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Target tasks that end before their code returns. See returned.h. */
#include "omp_ext/libomp/returned.h"

#include "omp_ext/libomp/real.h"

#include <stdatomic.h>

/* In part_id, which compiled code uses in untied tasks alone; libomp begins with 0. */
enum { RUNS, RETURNED, ENDED };

static _Atomic int32_t *phase_of(od_kmp_task *task)
{
    return (_Atomic int32_t *)&task->part_id;
}

/* The same each time, from the first one on. */
static void *event_of(od_kmp_task *task, int32_t gtid)
{
    return REAL(__kmpc_task_allow_completion_event)(NULL, gtid, task);
}

/* Either this sees the end, and then nobody else uses the task, or whoever ends it sees that there is an event. */
void od_task_returns(od_kmp_task *task, int32_t gtid)
{
    if (atomic_load(phase_of(task)) == ENDED)
        return;
    void *event = event_of(task, gtid);
    if (atomic_exchange(phase_of(task), RETURNED) == ENDED)
        REAL(omp_fulfill_event)(event);
}

void *od_task_ended(od_kmp_task *task)
{
    return atomic_exchange(phase_of(task), ENDED) == RETURNED ? event_of(task, 0) : NULL;
}
