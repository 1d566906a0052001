/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * lp: splitting ratios of a linear program (program.h), solved anew every 50 tasks. Of the tasks of a kind and level
 * every so many are split that the ratio is kept, and of those that run so many do on CPU workers, as long as
 * they are expected to end there before they would on a device: the slides leave that to the scheduler (dmdar).
 */
#include "sched/split/program.h"
#include "util/memory.h"

#include <math.h>
#include <stdlib.h>

enum { EVERY = 50 };                 /* tasks */
static const double least_tasks = 1; /* of each unit */

struct lp {
    const od_split_view *view;
    od_split_solver *solver;
    od_split_ratios ratios;
    double split[OD_SPLIT_KINDS][OD_SPLIT_LEVELS]; /* credit of the next task to be split: 1 is enough */
    double host[OD_SPLIT_KINDS][OD_SPLIT_LEVELS];  /* likewise, to run on a CPU worker */
    unsigned asked;                                /* so far */
};

static void destroy(void *state)
{
    struct lp *lp = state;
    od_split_solver_destroy(lp->solver);
    free(lp);
}

static od_status create(const od_split_view *view, unsigned level, void **state, char *error, size_t size)
{
    (void)level;
    struct lp *lp = od_calloc(1, sizeof *lp);
    od_split_solver *solver = NULL;
    od_status status = od_split_solver_create(&solver, error, size);
    if (!lp || status) {
        od_split_solver_destroy(solver);
        free(lp);
        return status ? status : OD_ENOMEM;
    }
    lp->view = view;
    lp->solver = solver;
    *state = lp;
    return OD_OK;
}

/* Every so often that the ratio is kept. */
static bool pay(double *credit, double ratio)
{
    *credit += ratio;
    if (*credit < 1 - 1e-9)
        return false;
    *credit -= 1;
    return true;
}

static od_split_answer decide(void *state, od_split_task *task)
{
    struct lp *lp = state;
    if (lp->asked++ % EVERY == 0)
        od_split_solve(lp->solver, lp->view, least_tasks, &lp->ratios); /* where there is none the last one holds */
    bool splits = pay(&lp->split[task->kind][task->level], lp->ratios.ratio[task->kind][task->level]);
    return splits ? OD_SPLIT_SPLIT : OD_SPLIT_RUN;
}

static bool on_host(void *state, const od_split_task *task)
{
    struct lp *lp = state;
    const od_split_kind *kind = od_split_kind_of(lp->view, task);
    double ahead = lp->view->ndevices ? task->ahead_s / lp->view->ndevices : (double)INFINITY;
    return kind->host_s[task->level] < kind->device_s[task->level] + ahead &&
           pay(&lp->host[task->kind][task->level], lp->ratios.host[task->kind][task->level]);
}

static const od_split_ops lp = {.interface_version = OD_SPLIT_INTERFACE,
                                .name = "lp",
                                .description = "so many of each kind and level as a linear program says (needs GLPK)",
                                .create = create,
                                .destroy = destroy,
                                .decide = decide,
                                .on_host = on_host};
OD_REGISTER_SPLIT(lp);
