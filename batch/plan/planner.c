/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The planner; see planner.h. */
#include "batch/plan/planner.h"

#include "batch/plan/offers.h"
#include "util/container/array.h"

#include <math.h>
#include <stdlib.h>

enum {
    LOOK_AGAIN = 16, /* placements until live shapes are looked at again */
    FOLLOW = 600,    /* s that a candidate is followed */
};

typedef struct od_batch_waiting {
    od_node link; /* in the queue */
    const od_batch_job *job;
    od_batch_shape *shape;
} od_batch_waiting;

struct od_batch_planner {
    od_batch_settings settings;
    od_batch_nodes nodes;
    od_list queue;  /* of od_batch_waiting, by submission */
    od_list shapes; /* of od_batch_shape */
    od_batch_reservation *reservations;
    uint32_t count, room;
    uint64_t live; /* jobs that the plan must still look at before it may end */
    const od_batch_policy_ops *followed; /* the policy, or one of its candidates */
    double followed_until;               /* s */
    bool overloaded;
    od_batch_effort effort;
};

od_batch_planner *od_batch_planner_create(const od_batch_cluster *cluster, uint32_t files,
                                          const od_batch_settings *settings)
{
    od_batch_planner *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->settings = *settings;
    p->followed = settings->policy;
    p->followed_until = -HUGE_VAL;
    od_list_init(&p->queue);
    od_list_init(&p->shapes);
    if (od_batch_nodes_init(&p->nodes, cluster, files, settings->backfill)) {
        od_batch_planner_destroy(p);
        return NULL;
    }
    return p;
}

static od_batch_waiting *waiting_of(od_node *node)
{
    return od_container_of(node, od_batch_waiting, link);
}

static od_batch_shape *shape_of(od_node *node)
{
    return od_container_of(node, od_batch_shape, link);
}

void od_batch_planner_destroy(od_batch_planner *p)
{
    if (!p)
        return;
    od_list_each(it, &p->queue)
        free(waiting_of(it));
    od_list_each(it, &p->shapes)
        od_batch_shape_free(shape_of(it));
    od_batch_nodes_free(&p->nodes);
    free(p->reservations);
    free(p);
}

/* --- the queue --------------------------------------------------------------------------- */

static od_batch_shape *find_shape(od_batch_planner *p, const od_batch_job *job)
{
    double walltime = p->settings.backfill ? job->walltime : 0;
    od_list_each(it, &p->shapes)
        if (od_batch_shape_suits(shape_of(it), job, walltime))
            return shape_of(it);
    od_batch_shape *shape = od_batch_shape_create(&p->nodes, job, walltime);
    if (shape)
        od_list_push_back(&p->shapes, &shape->link);
    return shape;
}

od_status od_batch_planner_submit(od_batch_planner *p, const od_batch_job *job)
{
    od_batch_waiting *waiting = calloc(1, sizeof *waiting);
    od_batch_shape *shape = waiting ? find_shape(p, job) : NULL;
    if (!shape) {
        free(waiting);
        return OD_ENOMEM;
    }
    shape->waiting++;
    waiting->job = job;
    waiting->shape = shape;
    p->nodes.file_size[job->file] = job->size;
    od_list_push_back(&p->queue, &waiting->link);
    return OD_OK;
}

static void leave_queue(od_batch_planner *p, od_batch_waiting *waiting)
{
    od_batch_shape *shape = waiting->shape;
    od_list_remove(&p->queue, &waiting->link);
    free(waiting);
    if (--shape->waiting)
        return;
    od_list_remove(&p->shapes, &shape->link);
    od_batch_shape_free(shape);
}

/* --- the plan ------------------------------------------------------------------------------ */

/* Reservations only ever make starts later, so that a shape that is not live any more stays so. */
static void look_at(od_batch_planner *p, od_batch_shape *shape, double now, double until)
{
    od_batch_shape_refresh(shape, &p->nodes, now, p->settings.policy->wants_files);
    bool live = shape->unplanned && od_batch_shape_can_start(shape, &p->nodes, until);
    if (shape->live && !live)
        p->live -= shape->unplanned;
    shape->live = live;
}

static void begin_plan(od_batch_planner *p, double now, double until)
{
    p->live = p->queue.count;
    od_list_each(it, &p->shapes) {
        od_batch_shape *shape = shape_of(it);
        shape->unplanned = shape->waiting;
        shape->live = true;
        look_at(p, shape, now, until);
    }
}

static void look_again(od_batch_planner *p, double now, double until)
{
    od_list_each(it, &p->shapes)
        if (shape_of(it)->live)
            look_at(p, shape_of(it), now, until);
}

static od_status place(od_batch_planner *p, od_batch_waiting *waiting, const od_batch_policy_ops *policy, double now)
{
    od_batch_shape *shape = waiting->shape;
    if (!od_array_reserve(&p->reservations, &p->room, (uint64_t)p->count + 1, sizeof *p->reservations))
        return OD_ENOMEM;
    od_batch_shape_refresh(shape, &p->nodes, now, policy->wants_files);
    uint32_t k = od_batch_shape_choose(shape, &p->nodes, waiting->job, policy, now, p->settings.weight);
    od_batch_reservation *r = &p->reservations[p->count++];
    *r = (od_batch_reservation){.job = waiting->job, .node = k, .start = shape->start[k], .waiting = waiting};
    p->live -= shape->live;
    shape->unplanned--;
    return od_batch_nodes_reserve(&p->nodes, k, r->job, r->start, now, &r->ready);
}

static od_status plan_with(od_batch_planner *p, const od_batch_policy_ops *policy, double now, double until)
{
    od_status status = od_batch_nodes_reset(&p->nodes);
    p->count = 0;
    begin_plan(p, now, until);
    for (od_node *at = p->queue.root.next; !status && p->live && at != &p->queue.root; at = at->next) {
        status = place(p, waiting_of(at), policy, now);
        if (p->count % LOOK_AGAIN == 0)
            look_again(p, now, until);
    }
    p->effort.plans++;
    p->effort.placements += p->count;
    return status;
}

/* The sum of the stretches in the plan, if all jobs took their walltimes. */
static double sum_of_stretches(const od_batch_planner *p)
{
    double sum = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        const od_batch_reservation *r = &p->reservations[i];
        const od_batch_node *node = &p->nodes.cluster->nodes[r->node];
        double saved = od_batch_load(r->job->size, node) - (r->ready - r->start);
        sum += (r->start - saved - r->job->submit) / r->job->walltime + 1;
    }
    return sum;
}

/* Of candidates that are equally good, the first. */
/* A switch back and forth would spoil both: what is there of files, and the order. */
static bool is_overloaded(const od_batch_planner *p)
{
    const od_batch_cluster *cluster = p->nodes.cluster;
    const od_batch_policy_ops *policy = p->settings.policy;
    double asked = 0, cores = 0;
    od_list_each(it, &p->shapes)
        asked += (double)shape_of(it)->cores * shape_of(it)->waiting;
    for (uint32_t k = 0; k < cluster->count; k++)
        cores += cluster->nodes[k].cores;
    return asked > (p->overloaded ? policy->relief : policy->overload) * cores;
}

static od_status follow_best(od_batch_planner *p, double now)
{
    double best = HUGE_VAL;
    od_status status = OD_OK;
    for (const char *const *name = p->settings.policy->candidates; *name && !status; name++) {
        const od_batch_policy_ops *policy = od_batch_policy_find(*name);
        status = plan_with(p, policy, now, HUGE_VAL);
        double sum = sum_of_stretches(p);
        if (sum < best)
            p->followed = policy;
        best = fmin(sum, best);
    }
    p->followed_until = now + FOLLOW;
    return status;
}

od_status od_batch_planner_plan(od_batch_planner *p, double now, double until)
{
    const od_batch_policy_ops *policy = p->settings.policy;
    bool choose = policy->candidates && p->queue.count && now >= p->followed_until;
    od_status status = OD_OK;
    if (choose)
        p->overloaded = is_overloaded(p);
    if (choose && p->overloaded) {
        p->followed = od_batch_policy_find(policy->overloaded);
        p->followed_until = now + FOLLOW;
    } else if (choose) {
        status = follow_best(p, now);
    }
    if (!status && p->followed->score)
        status = plan_with(p, p->followed, now, until);
    return status;
}

const od_batch_reservation *od_batch_planner_reservations(const od_batch_planner *p, uint32_t *count)
{
    *count = p->count;
    return p->reservations;
}

od_status od_batch_planner_start(od_batch_planner *p, const od_batch_reservation *r, double now, double *ready)
{
    leave_queue(p, r->waiting);
    return od_batch_nodes_start(&p->nodes, r->node, r->job, now, ready);
}

void od_batch_planner_end(od_batch_planner *p, const od_batch_job *job, uint32_t node, double now)
{
    od_batch_nodes_end(&p->nodes, node, job, now);
}

od_batch_effort od_batch_planner_effort(const od_batch_planner *p)
{
    return p->effort;
}

bool od_batch_planner_is_valid(const od_batch_planner *p)
{
    uint64_t waiting = 0;
    od_list_each(it, &p->shapes)
        waiting += shape_of(it)->waiting;
    return waiting == p->queue.count && od_batch_nodes_is_valid(&p->nodes);
}
