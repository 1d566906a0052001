/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The planner; see planner.h. */
#include "batch/plan/planner.h"

#include "batch/log/complete.h"
#include "batch/plan/offers.h"
#include "util/container/array.h"

#include <math.h>
#include <stdlib.h>

enum { LOOK_AGAIN = 16 }; /* placements until live shapes are looked at again */

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
    od_batch_shape **live_shapes;
    uint32_t nlive, live_room;
    uint64_t live; /* jobs of these, which the plan must still look at before it may end */
    od_batch_effort effort;
};

od_batch_planner *od_batch_planner_create(const od_batch_cluster *cluster, uint32_t files,
                                          const od_batch_settings *settings)
{
    od_batch_planner *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->settings = *settings;
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
    free(p->live_shapes);
    free(p);
}

/* --- the queue --------------------------------------------------------------------------- */

/* To a policy that does not look at files, sizes are alike that fit the same nodes: then it is those nodes' memory. */
static double size_that_matters(const od_batch_planner *p, const od_batch_job *job)
{
    double least = HUGE_VAL;
    const od_batch_cluster *cluster = p->nodes.cluster;
    for (uint32_t k = 0; k < cluster->count; k++)
        if (cluster->nodes[k].memory >= job->size)
            least = fmin(least, cluster->nodes[k].memory);
    return p->settings.policy->wants_files ? job->size : least;
}

/* Exact in windows; as a weight one of a few, so that there are few shapes. */
static double walltime_that_matters(const od_batch_planner *p, const od_batch_job *job)
{
    if (p->settings.backfill)
        return job->walltime;
    return p->settings.policy->wants_congestion ? od_batch_usual_walltime(job->walltime) : 0;
}

static od_batch_shape *find_shape(od_batch_planner *p, const od_batch_job *job)
{
    double walltime = walltime_that_matters(p, job), size = size_that_matters(p, job);
    od_list_each(it, &p->shapes)
        if (od_batch_shape_is(shape_of(it), job->cores, size, walltime))
            return shape_of(it);
    od_batch_shape *shape = od_batch_shape_create(&p->nodes, job->cores, size, walltime);
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
static bool is_live(const od_batch_planner *p, const od_batch_shape *shape)
{
    return shape->unplanned && od_batch_shape_can_start(shape, &p->nodes);
}

static od_status begin_plan(od_batch_planner *p, double now, double until)
{
    od_status status = od_batch_nodes_reset(&p->nodes);
    if (!od_array_reserve(&p->live_shapes, &p->live_room, p->shapes.count, sizeof(od_batch_shape *)))
        status = OD_ENOMEM;
    p->live = p->nlive = p->count = 0;
    od_batch_nodes_look_ahead(&p->nodes, now, until);
    od_list_each(it, &p->shapes) {
        od_batch_shape *shape = shape_of(it);
        shape->unplanned = shape->waiting;
        shape->live = is_live(p, shape);
        if (!shape->live || status)
            continue;
        p->live += shape->unplanned;
        p->live_shapes[p->nlive++] = shape;
    }
    return status;
}

static void look_again(od_batch_planner *p)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < p->nlive; i++) {
        od_batch_shape *shape = p->live_shapes[i];
        shape->live = is_live(p, shape);
        if (shape->live)
            p->live_shapes[kept++] = shape;
        else
            p->live -= shape->unplanned;
    }
    p->nlive = kept;
}

static od_status place(od_batch_planner *p, od_batch_waiting *waiting, const od_batch_offers *offers)
{
    od_batch_shape *shape = waiting->shape;
    const od_batch_policy_ops *policy = p->settings.policy;
    if (!od_array_reserve(&p->reservations, &p->room, (uint64_t)p->count + 1, sizeof *p->reservations))
        return OD_ENOMEM;
    od_batch_shape_refresh(shape, &p->nodes, offers->now, policy->wants_files);
    uint32_t k = od_batch_shape_choose(shape, &p->nodes, waiting->job->file, policy, *offers);
    od_batch_reservation *r = &p->reservations[p->count++];
    *r = (od_batch_reservation){.job = waiting->job, .node = k, .start = shape->start[k], .waiting = waiting};
    p->live -= shape->live;
    shape->unplanned--;
    return od_batch_nodes_reserve(&p->nodes, k, r->job, r->start, offers->now, &r->ready);
}

/* Jobs wait for cores where those before them ask for all that are free. */
static double congestion(const od_batch_planner *p)
{
    double sum = 0;
    uint64_t asked = p->nodes.taken;
    od_list_each(it, &p->queue) {
        const od_batch_job *job = waiting_of(it)->job;
        asked += job->cores;
        sum += asked > p->nodes.cores ? 1 / job->walltime : 0;
    }
    return sum / (double)p->nodes.cores;
}

od_status od_batch_planner_plan(od_batch_planner *p, double now, double until)
{
    od_batch_offers offers = {.now = now, .weight = p->settings.weight};
    offers.congestion = p->settings.policy->wants_congestion ? congestion(p) : 0;
    od_status status = begin_plan(p, now, until);
    for (od_node *at = p->queue.root.next; !status && p->live && at != &p->queue.root; at = at->next) {
        status = place(p, waiting_of(at), &offers);
        if (p->count % LOOK_AGAIN == 0)
            look_again(p);
    }
    p->effort.plans++;
    p->effort.placements += p->count;
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
