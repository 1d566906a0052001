/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* never, level=L: the same for all tasks. */
#include "sched/split/split.h"
#include "util/memory.h"

#include <stdio.h>
#include <stdlib.h>

static od_status never_create(const od_split_view *view, unsigned level, void **state, char *error, size_t size)
{
    (void)view, (void)level, (void)error, (void)size;
    *state = NULL;
    return OD_OK;
}

static od_status level_create(const od_split_view *view, unsigned level, void **state, char *error, size_t size)
{
    if (level >= view->nlevels) {
        snprintf(error, size, "the program has no level %u: its levels are 0 to %u", level, view->nlevels - 1);
        return OD_EINVAL;
    }
    unsigned *own = od_malloc(sizeof *own);
    if (!own) {
        snprintf(error, size, "out of memory");
        return OD_ENOMEM;
    }
    *own = level;
    *state = own;
    return OD_OK;
}

static od_split_answer never_decide(void *state, od_split_task *task)
{
    (void)state, (void)task;
    return OD_SPLIT_RUN;
}

static od_split_answer level_decide(void *state, od_split_task *task)
{
    return task->level < *(const unsigned *)state ? OD_SPLIT_SPLIT : OD_SPLIT_RUN;
}

static const od_split_ops never = {.interface_version = OD_SPLIT_INTERFACE,
                                   .name = "never",
                                   .description = "tasks run as they are",
                                   .splits_nothing = true,
                                   .create = never_create,
                                   .destroy = free,
                                   .decide = never_decide};
static const od_split_ops level = {.interface_version = OD_SPLIT_INTERFACE,
                                   .name = "level",
                                   .description = "all tasks are split down to level=L",
                                   .takes_level = true,
                                   .create = level_create,
                                   .destroy = free,
                                   .decide = level_decide};
OD_REGISTER_SPLIT(never);
OD_REGISTER_SPLIT(level);
