/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See rounds.h. */
#include "sched/auto/schedule/rounds.h"

#include "sched/oracle/play.h"
#include "util/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

od_status od_rounds_init(od_rounds *r, const od_play_problem *first)
{
    size_t room = first->ndata * (size_t)first->ndevices + 1;
    *r = (od_rounds){.problem = *first,
                     .tasks = od_malloc((first->ntasks + (size_t)1) * sizeof *r->tasks),
                     .data = od_malloc((first->ndata + (size_t)1) * sizeof *r->data),
                     .resident = od_malloc(room * sizeof *r->resident),
                     .nresident = od_calloc(first->ndevices + (size_t)1, sizeof *r->nresident),
                     .valid = od_malloc((first->ndata + (size_t)1) * sizeof *r->valid)};
    if (r->tasks && r->data && r->resident && r->nresident && r->valid)
        return OD_OK;
    od_rounds_free(r);
    return OD_ENOMEM;
}

void od_rounds_free(od_rounds *r)
{
    free(r->tasks);
    free(r->data);
    free(r->resident);
    free(r->nresident);
    free(r->valid);
    *r = (od_rounds){0};
}

/* What devices have been given they have done. */
static void begin_tasks(od_rounds *r)
{
    memmove(r->tasks, r->problem.tasks, r->problem.ntasks * sizeof *r->tasks);
    for (od_play_task *task = r->tasks; task < r->tasks + r->problem.ntasks; task++) {
        *(task->bound == OD_HOST ? &task->host_seconds : &task->seconds) += task->passed;
        task->passed = 0;
        task->bound = task->given ? OD_NOWHERE : task->bound;
        task->given = false;
    }
    r->problem.tasks = r->tasks;
}

static void begin_next(od_rounds *r)
{
    memmove(r->data, r->problem.data, r->problem.ndata * sizeof *r->data);
    for (uint32_t d = 0; d < r->problem.ndata; d++)
        r->data[d].valid = r->valid[d];
    r->problem.data = r->data;
    r->problem.resident = r->resident;
    r->problem.nresident = r->nresident;
    r->problem.loading = NULL;
    r->problem.arrives = true;
    if (r->problem.tasks != r->tasks)
        begin_tasks(r);
}

od_status od_rounds_play(od_rounds *r, const od_settings *settings, double limit, od_play_result *result)
{
    const od_play_left left = {r->valid, r->resident, r->nresident};
    result->left = &left;
    od_status status = od_play(&r->problem, settings, limit, result);
    result->left = NULL;
    if (!status && isfinite(result->seconds))
        begin_next(r);
    return status;
}
