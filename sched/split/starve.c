/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * starve: global view by bottom levels (Morin et al., Scheduling recursive tasks, "Current results: global view").
 *
 * The parallelism that is left is estimated as the work left over the longest path from the task, transfers included.
 * Where that is less than the number of devices the task is split, to shorten the path and to make parallelism. Not in
 * the slides: only where all devices together end its children before one would end it, as small tasks are slow there;
 * and to the level where that is soonest.
 */
#include "sched/split/starve.h"

#include <stdlib.h>

bool od_split_starves(const od_split_view *view, od_split_task *task)
{
    const od_split_kind *kind = od_split_kind_of(view, task);
    double path = task->bottom_s + task->transfer_s;
    double spread = kind->spread_s[task->level];
    if (view->work_s >= path * view->ndevices || spread <= 0 || spread >= kind->device_s[task->level])
        return false;
    task->plan = (od_split_plan){.to = kind->spread_to[task->level]};
    return true;
}

static od_status create(const od_split_view *view, unsigned level, void **state, char *error, size_t size)
{
    (void)level, (void)error, (void)size;
    *state = (void *)(uintptr_t)view; /* only read */
    return OD_OK;
}

static void destroy(void *state)
{
    (void)state;
}

static od_split_answer decide(void *state, od_split_task *task)
{
    return od_split_starves(state, task) ? OD_SPLIT_SPLIT : OD_SPLIT_RUN;
}

static const od_split_ops starve = {.interface_version = OD_SPLIT_INTERFACE,
                                    .name = "starve",
                                    .description =
                                        "where the work left keeps devices busy for less than the longest path",
                                    .create = create,
                                    .destroy = destroy,
                                    .decide = decide};
OD_REGISTER_SPLIT(starve);
