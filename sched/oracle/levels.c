/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See levels.h. */
#include "sched/oracle/levels.h"

#include "sched/graph/levels.h"
#include "util/memory.h"

#include <stdlib.h>

static od_level *submit(od_levels *levels, const od_play_problem *problem, uint32_t t)
{
    od_level_use uses[OD_PLAY_MOST_USES];
    const od_play_task *task = &problem->tasks[t];
    uint32_t count = task->naccess < OD_PLAY_MOST_USES ? task->naccess : OD_PLAY_MOST_USES;
    for (uint32_t i = 0; i < count; i++) {
        const od_play_access *access = &problem->accesses[task->first_access + i];
        uses[i] = (od_level_use){.address = access->datum + (uintptr_t)1, .write = access->mode & OD_WRITE};
    }
    return od_levels_submit(levels, task->seconds, uses, count);
}

static bool fill(int32_t *priority, const od_play_problem *problem)
{
    od_levels *levels = od_levels_create();
    od_level **level = od_calloc(problem->ntasks + (size_t)1, sizeof *level);
    for (uint32_t t = 0; levels && level && t < problem->ntasks; t++)
        level[t] = submit(levels, problem, t);
    for (uint32_t t = 0; levels && level && t < problem->ntasks; t++)
        if (level[t])
            priority[t] = od_level_priority(od_levels_ready(levels, level[t]));
    bool filled = levels && level;
    od_levels_destroy(levels);
    free(level);
    return filled;
}

int32_t *od_play_levels(const od_play_problem *problem)
{
    int32_t *priority = od_calloc(problem->ntasks + (size_t)1, sizeof *priority);
    for (uint32_t t = 0; priority && problem->ranked && t < problem->ntasks; t++)
        priority[t] = problem->tasks[t].priority;
    if (problem->ranked)
        return priority;
    if (!priority || !problem->nafter || fill(priority, problem)) /* where nothing waits all are 0 */
        return priority;
    free(priority);
    return NULL;
}
