/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What counting (count.c) and choosing (choose.c) share: sets, and visits of the ready tasks that read a datum. */
#ifndef OD_SCHED_POLICY_DARTS_VISIT_H
#define OD_SCHED_POLICY_DARTS_VISIT_H

#include "sched/policy/darts/impl.h"

enum {
    PREFETCH_AHEAD = 12, /* how far ahead of a visit its memory is asked for */
    BATCH = 12,          /* tasks looked at before the first of them is counted */
};

/* To a compiler, a function that only asks for memory has no effect: gcc drops the calls unless it is inlined first. */
#define PREFETCH __attribute__((always_inline)) static inline

/* --- sets ---------------------------------------------------------------- */

static inline void set_add(struct set *set, int32_t priority)
{
    if (set->count++ == 0 || priority > set->top.priority)
        set->top = (struct top){.priority = priority, .holders = 1};
    else if (priority == set->top.priority)
        set->top.holders++;
}

/* --- visits -------------------------------------------------------------- */

/* What a task lacks on the device: how many data, MANY standing for all that are more than two, and which. */
enum { MANY = 3 };
struct lacks {
    uint32_t number; /* of the slot */
    uint32_t count;
    uint32_t ids[MANY];
};

static inline struct lacks lacks_of(const struct view *view, uint32_t number)
{
    const struct slot *slot = &view->missing->slots[number];
    const uint32_t *inputs = inputs_of(slot);
    struct lacks lacks = {.number = number};
    for (uint32_t i = 0; i < slot->ninputs && lacks.count < MANY; i++) {
        lacks.ids[lacks.count] = inputs[i];
        lacks.count += is_absent(view, inputs[i]);
    }
    return lacks;
}

typedef void visit_function(struct view *view, const struct lacks *lacks, uint32_t id);

/* Asks for the counters that the visit may touch. */
PREFETCH void prefetch_wants(const struct view *view, const struct lacks *lacks)
{
    if (!view->missing->large)
        return;
    if (lacks->count == 1)
        __builtin_prefetch(want_of(view, lacks->ids[0]), 1);
    for (uint32_t j = 0; j < lacks->count && lacks->count < MANY; j++)
        __builtin_prefetch(own_s1(view, lacks->ids[j]), 1);
}

/* Calls visit(view, what the task lacks, datum) for every ready task that reads the datum and lacks at most two data,
 * in order of arrival, and drops the uses that are out of date. A visit changes nothing in what other tasks lack, so
 * some are looked at before the first of them is visited: their memory comes meanwhile. */
static inline void visit_ready(struct view *view, uint32_t id, visit_function *visit)
{
    const od_missing *missing = view->missing;
    struct source *source = &view->missing->sources[id];
    struct lacks batch[BATCH];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < source->nlisted && i < PREFETCH_AHEAD; i++)
        __builtin_prefetch(&missing->slots[source->uses[i].slot]);
    for (uint32_t i = 0; i < source->nlisted;) {
        uint32_t count = 0;
        for (; i < source->nlisted && count < BATCH; i++) {
            struct use use = source->uses[i];
            if (i + PREFETCH_AHEAD < source->nlisted)
                __builtin_prefetch(&missing->slots[source->uses[i + PREFETCH_AHEAD].slot]);
            if (!is_current(missing, use))
                continue;
            source->uses[kept++] = use;
            if (!missing->slots[use.slot].ready)
                continue;
            batch[count] = lacks_of(view, use.slot);
            prefetch_wants(view, &batch[count]);
            count += batch[count].count < MANY;
        }
        for (uint32_t j = 0; j < count; j++)
            visit(view, &batch[j], id);
    }
    source->nlisted = kept;
}

#endif
