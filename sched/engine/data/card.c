/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The network card of a node: loads from other nodes that it takes at once.
 *
 * More at once bring no more bytes, and each takes longer, those for which a device waits, too. So a card that has
 * enough to do takes no further one (source.c); when one has ended, the load that is needed soonest begins: of
 * committed tasks, then of those at the heads of the task buffers, the most urgent first.
 */
#include "sched/engine/internal.h"

enum { MOST_WAITING = 64 };

/* A task with a load that waits; its device reaches it after `before` others. */
typedef struct waiting {
    od_task *task;
    unsigned k;
    size_t before;
} waiting;

static bool has_room(const od_engine *e, unsigned node)
{
    return e->far_loads[node] < e->card_loads[node];
}

static bool waits(const od_task *t, unsigned k)
{
    bool any = false;
    for (uint32_t i = 0; i < t->naccess; i++)
        any |= t->access[i].datum->replica[k].awaits_source;
    return any;
}

static bool is_sooner(const waiting *a, const waiting *b)
{
    return a->before != b->before ? a->before < b->before : a->task->priority > b->task->priority;
}

/* Sorted; what is needed last is left out where there are many. */
static void insert(waiting *all, size_t *count, waiting one)
{
    size_t at = *count;
    if (at == MOST_WAITING && !is_sooner(&one, &all[--at]))
        return;
    *count = at + 1;
    for (; at > 0 && is_sooner(&one, &all[at - 1]); at--)
        all[at] = all[at - 1];
    all[at] = one;
}

static void collect(const od_list *tasks, unsigned k, bool in_order, waiting *all, size_t *count)
{
    size_t before = 0;
    od_list_each(it, tasks) {
        od_task *t = od_container_of(it, od_task, link);
        before += in_order;
        if (waits(t, k))
            insert(all, count, (waiting){t, k, before});
    }
}

static void load_all(od_engine *e, unsigned k, const od_task *t)
{
    for (uint32_t i = 0; i < t->naccess; i++)
        if (t->access[i].datum->replica[k].awaits_source)
            od_memory_load(e, t->access[i].datum, k, t->state == OD_TASK_COMMITTED);
}

/* What no task on the device has asked for. */
static void load_others(od_engine *e, unsigned k)
{
    od_list_each(it, &e->device[k].resident) {
        const od_replica *r = od_container_of(it, od_replica, lru);
        if (r->awaits_source)
            od_memory_load(e, r->datum, k, true);
    }
}

void od_card_serve(od_engine *e, int from, int to)
{
    waiting all[MOST_WAITING];
    size_t count = 0;
    if (from >= OD_SPILL || to >= OD_SPILL || !od_engine_is_far(e, from, to))
        return;
    const unsigned *node_of = e->config.topology->node;
    unsigned node = node_of[to];
    for (od_placeset_walk at = od_placeset_begin(e->awaiting); od_placeset_next(&at);) {
        if (node_of[at.place] != node)
            continue;
        collect(&e->device[at.place].committed, at.place, false, all, &count);
        collect(&e->device[at.place].buffer, at.place, true, all, &count);
    }
    for (size_t i = 0; i < count && has_room(e, node); i++)
        load_all(e, all[i].k, all[i].task);
    for (od_placeset_walk at = od_placeset_begin(e->awaiting); !e->far_loads[node] && od_placeset_next(&at);)
        if (node_of[at.place] == node)
            load_others(e, at.place);
}
