/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * auto: both views at once. A task is split where devices starve (starve.c); otherwise where idle cores take work off
 * devices (gaspp.c).
 */
#include "sched/split/gaspp.h"
#include "sched/split/starve.h"
#include "util/memory.h"

#include <stdio.h>
#include <stdlib.h>

struct both {
    const od_split_view *view;
    od_gaspp *gaspp;
};

static void destroy(void *state)
{
    struct both *both = state;
    od_gaspp_destroy(both->gaspp);
    free(both);
}

static od_status create(const od_split_view *view, unsigned level, void **state, char *error, size_t size)
{
    (void)level;
    struct both *both = od_calloc(1, sizeof *both);
    od_gaspp *gaspp = od_gaspp_create(view);
    if (!both || !gaspp) {
        od_gaspp_destroy(gaspp);
        free(both);
        snprintf(error, size, "out of memory");
        return OD_ENOMEM;
    }
    *both = (struct both){view, gaspp};
    *state = both;
    return OD_OK;
}

static od_split_answer decide(void *state, od_split_task *task)
{
    struct both *both = state;
    return od_split_starves(both->view, task) ? OD_SPLIT_SPLIT : od_gaspp_decide(both->gaspp, task);
}

static const od_split_ops automatic = {.interface_version = OD_SPLIT_INTERFACE,
                                       .name = "auto",
                                       .description = "where devices starve, and as gaspp",
                                       .holds = true,
                                       .create = create,
                                       .destroy = destroy,
                                       .decide = decide};
OD_REGISTER_SPLIT(automatic);
