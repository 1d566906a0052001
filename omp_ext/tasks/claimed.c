/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Target tasks that libomp hands over: with the series in patches/ it asks who runs them, as
 * docs/rfc-offload-scheduler.md describes. It counts them, and its waits wait for them, so that nothing of detach.h is
 * needed for these tasks: no trampoline, no completions left with a team, no wait before libomp's.
 */
#include "omp_ext/tasks/tasks.h"

#include "omp_ext/libomp/ompt.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/libomp/thread.h"

static void *claim(const void *asked)
{
    (void)asked;
    return od_task_claims;
}

/* Where it has completed a task, a thread may hold anything, and a worker has other things to do: then a thread of the
 * team looks at what that has released, at the next point where libomp runs tasks. */
static int ready(void *task, void *own)
{
    od_record *record = own;
    if (od_detached_completing) {
        record->was_queued = od_detached_leaves = true;
        return 0;
    }
    od_task_table_take(task);
    od_task_begins(record);
    if (record->was_queued)
        od_detach_task_begins();
    od_target_task_begin(REAL(__kmpc_global_thread_num)(NULL), record);
    return 1;
}

static void discard(void *task, void *own)
{
    if (!od_task_table_take(task))
        return;
    od_libomp_count(&od_libomp_counted.complete);
    od_task_begins(own);
    od_target_task_discard(own);
}

static const od_scheduler scheduler = {.version = 1, .claim = claim, .ready = ready, .discard = discard};

const od_scheduler *ompx_start_scheduler(unsigned version, od_ompt_lookup lookup);
const od_scheduler *ompx_start_scheduler(unsigned version, od_ompt_lookup lookup)
{
    (void)version; /* all have what the first one has */
    od_ompt_find(lookup, "ompx_run_body", &od_offered_table.run_body);
    od_ompt_find(lookup, "ompx_complete", &od_offered_table.complete);
    return &scheduler;
}
