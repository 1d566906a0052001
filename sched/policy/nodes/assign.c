/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Data are assigned to nodes; see assign.h. */
#include "sched/policy/nodes/assign.h"

#include "sched/phase/impl.h"
#include "sched/phase/owners.h"
#include "sched/phase/snapshot.h"
#include "util/container/array.h"
#include "util/memory.h"

#include <stdlib.h>

void od_assign_init(od_assign *a, const od_policy_env *env, unsigned nnodes, const unsigned *node_of, double card)
{
    *a = (od_assign){.env = env, .nnodes = nnodes, .node_of = node_of, .card = card};
}

void od_assign_free(od_assign *a)
{
    free(a->node);
}

/* --- one by one ------------------------------------------------------------------------------ */

const od_datum *od_assign_main(const od_task *task)
{
    for (uint32_t i = task->naccess; i-- > 0;)
        if (task->access[i].mode & OD_WRITE)
            return task->access[i].datum;
    return NULL;
}

uint32_t od_assign_node(const od_assign *a, const od_datum *datum)
{
    unsigned node = datum->id < a->ndata ? a->node[datum->id] : 0;
    if (!node) { /* it was not there yet when its tasks were known */
        const od_known_item *item = od_known_find(a->env->known, datum->base);
        node = item ? item->node : 0;
    }
    return node ? node - 1 : OD_NO_NODE;
}

od_status od_assign_set(od_assign *a, const od_datum *datum, unsigned node)
{
    if (!od_array_reserve(&a->node, &a->ndata, (uint64_t)datum->id + 1, sizeof *a->node))
        return OD_ENOMEM;
    a->node[datum->id] = node + 1;
    return OD_OK;
}

void od_assign_forget(od_assign *a, const od_datum *datum)
{
    if (datum->id < a->ndata)
        a->node[datum->id] = 0;
}

/* --- all together ---------------------------------------------------------------------------- */

struct planning {
    od_background job;
    od_assign *assign;
    od_snapshot snapshot;
    unsigned which[OD_MAX_DEVICES];
    od_slowness slowness; /* of nodes */
    uint32_t *given;      /* by item */
    uint32_t *node;       /* by task */
    od_status status;
    unsigned nnodes;
};

static void find_nodes(od_background *job)
{
    enum { EFFORT = 1000 };
    struct planning *p = od_container_of(job, struct planning, job);
    od_phase_graph graph = {.p = &p->snapshot.problem};
    od_owners_problem problem = {.graph = &graph,
                                 .devices = p->nnodes,
                                 .which = p->which,
                                 .slowness = &p->slowness,
                                 .share_of_load = 1,
                                 .effort = EFFORT,
                                 .nearby = true,
                                 .given = p->given,
                                 .findings = p->assign->env->known->findings};
    p->status =
        od_phase_make_graph(&graph) && od_phase_list_users(&graph) ? od_owners_find(&problem, p->node) : OD_ENOMEM;
    od_phase_free_graph(&graph);
}

/* What the task writes, the last of it. */
static od_known_item *main_item(const od_known_task *task)
{
    for (uint32_t i = task->nuses; i-- > 0;)
        if (task->uses[i].mode & OD_WRITE)
            return task->uses[i].item;
    return NULL;
}

static void free_planning(struct planning *p)
{
    od_snapshot_free(&p->snapshot);
    free(p->given);
    free(p->node);
    free(p);
}

/* Tasks that are no longer open have gone where their data were. */
static void end_planning(od_background *job, bool carried_out)
{
    struct planning *p = od_container_of(job, struct planning, job);
    od_assign *a = p->assign;
    a->plans = false;
    for (uint32_t t = 0; carried_out && !p->status && t < p->snapshot.problem.ntasks; t++) {
        const od_known_task *task = p->snapshot.task[t];
        od_known_item *item = od_known_is_open(task) ? main_item(task) : NULL;
        if (!item || p->node[t] == OD_NO_OWNER)
            continue;
        item->node = p->node[t] + 1;
        if (item->datum)
            od_assign_set(a, item->datum, p->node[t]);
    }
    free_planning(p);
}

/* A node is as fast as its devices are together. */
static void find_slowness(const od_assign *a, od_slowness *nodes)
{
    const od_slowness *devices = a->env->slowness;
    od_slowness_init(nodes);
    nodes->classes = devices ? devices->classes : 1;
    for (unsigned c = 0; c < nodes->classes; c++) {
        double speed[OD_MAX_DEVICES] = {0};
        for (unsigned k = 0; k < a->env->ndevices; k++)
            speed[a->node_of[k]] += 1 / od_policy_slowness(a->env, c, k);
        for (unsigned node = 0; node < OD_MAX_DEVICES; node++)
            nodes->times[c][node] = speed[node] > 0 ? 1 / speed[node] : 1;
    }
}

static bool fill(struct planning *p)
{
    const od_assign *a = p->assign;
    const od_phase_problem *problem = &p->snapshot.problem;
    p->given = od_malloc((problem->nitems + 1) * sizeof *p->given);
    p->node = od_malloc((problem->ntasks + 1) * sizeof *p->node);
    if (!p->given || !p->node)
        return false;
    for (uint32_t i = 0; i < problem->nitems; i++)
        p->snapshot.load[i] = problem->size[i] / a->card;
    for (uint32_t t = 0; t < problem->ntasks; t++) {
        const od_known_task *task = p->snapshot.task[t];
        for (uint32_t i = 0; i < task->nuses; i++) {
            const od_datum *datum = task->uses[i].item->datum;
            p->given[problem->use[problem->first_use[t] + i]] = datum ? od_assign_node(a, datum) : OD_NO_NODE;
        }
    }
    for (unsigned node = 0; node < a->nnodes; node++)
        p->which[node] = node;
    p->nnodes = a->nnodes;
    find_slowness(a, &p->slowness);
    return true;
}

void od_assign_plan(od_assign *a)
{
    enum { FEWEST = 4 }; /* tasks for each node */
    od_known *known = a->env->known;
    if (a->plans || a->nnodes == 1 || known->submitted < a->planned + a->wanted ||
        known->open.count < FEWEST * (size_t)a->nnodes)
        return;
    a->planned = known->submitted;
    a->wanted = known->open.count;
    struct planning *p = od_calloc(1, sizeof *p);
    od_known_predict(known);
    if (!p || od_snapshot_create(&p->snapshot, known, a->env, 0)) {
        free(p);
        return;
    }
    p->assign = a;
    p->job = (od_background){.run = find_nodes, .done = end_planning};
    if (!fill(p)) {
        free_planning(p);
        return;
    }
    a->plans = true;
    od_policy_background(a->env, &p->job, known->open.count);
}
