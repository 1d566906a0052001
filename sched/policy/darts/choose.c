/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Choosing; see missing.h for the idea.
 *
 * What has been raised or parked since the last choice is ranked first. Then the top of the heap is made exact, until
 * what is on top stays there.
 */
#include "sched/policy/darts/visit.h"

/* --- ranks --------------------------------------------------------------- */

/* Brings the datum into the heap, out of the other one. */
static void update_rank(struct view *view, od_heap *heap, od_heap *other, uint32_t id)
{
    od_missing_key key = key_of(view, id);
    od_missing_rank rank = rank_of(view, id, &key);
    if (!od_heap_contains(heap, id)) {
        if (od_heap_contains(other, id))
            od_heap_remove(other, id);
        view->rank[id] = rank;
        od_heap_push(heap, id);
    } else if (is_greater(&rank, &view->rank[id])) {
        view->rank[id] = rank;
        od_heap_raised(heap, id);
    }
}

static inline void park_if_second(struct view *view, uint32_t id)
{
    if (belongs_second(view, id))
        park(view, id);
}

/* Asks for what the datum's key is made of. */
PREFETCH void prefetch_key(const struct view *view, const od_heap *heap, uint32_t id)
{
    __builtin_prefetch(want_of(view, id));
    __builtin_prefetch(&view->rank[id], 1);
    __builtin_prefetch(&view->transfer[id]);
    __builtin_prefetch(&heap->position[id]);
    __builtin_prefetch(&view->missing->standing[id], 1);
    __builtin_prefetch(&view->missing->common[id]);
}

/* Asks for that of one of the data in a list, and for what one before it is compared with first. */
PREFETCH void prefetch_listed(const struct view *view, const od_heap *heap, const uint32_t *ids, uint32_t count,
                              uint32_t i)
{
    if (!view->missing->large)
        return;
    if (i < count)
        prefetch_key(view, heap, ids[i]);
    if (i >= PREFETCH_AHEAD / 2 && i - PREFETCH_AHEAD / 2 < count) {
        uint32_t position = heap->position[ids[i - PREFETCH_AHEAD / 2]]; /* from 1 */
        if (position > 1)
            __builtin_prefetch(&view->rank[heap->items[position / 2 - 1]]);
    }
}

/* With a threshold, where nothing but the place in the order counts. */
static void push_in_order(struct view *view, uint32_t id)
{
    set_tie(view, id, tie_of(view, id));
    od_heap_push(&view->first, id);
}

static void update_first(struct view *view)
{
    for (uint32_t i = 0; i < PREFETCH_AHEAD; i++)
        prefetch_listed(view, &view->first, view->raised, view->nraised, i);
    for (uint32_t i = 0; i < view->nraised; i++) {
        uint32_t id = view->raised[i];
        prefetch_listed(view, &view->first, view->raised, view->nraised, i + PREFETCH_AHEAD);
        od_placeset_remove(&view->missing->standing[id].raised, view->k);
        if (!belongs_first(view, id))
            park_if_second(view, id);
        else if (!view->missing->rules.threshold)
            update_rank(view, &view->first, &view->second, id);
        else if (!od_heap_contains(&view->first, id))
            push_in_order(view, id);
    }
    view->nraised = 0;
}

/* What has been parked, and what has become better for all since. */
static void update_second(struct view *view)
{
    od_missing *missing = view->missing;
    for (uint32_t i = 0; i < PREFETCH_AHEAD; i++)
        prefetch_listed(view, &view->second, view->parked, view->nparked, i);
    for (uint32_t i = 0; i < view->nparked; i++) {
        uint32_t id = view->parked[i];
        prefetch_listed(view, &view->second, view->parked, view->nparked, i + PREFETCH_AHEAD);
        od_placeset_remove(&missing->standing[id].parked, view->k);
        if (belongs_second(view, id))
            update_rank(view, &view->second, &view->first, id);
    }
    view->nparked = 0;
    for (uint32_t id, next = missing->newest; next && missing->common[next - 1].stamp > view->seen;) {
        id = next - 1;
        next = missing->common[id].older;
        if (missing->common[id].s1.count && belongs_second(view, id))
            update_rank(view, &view->second, &view->first, id);
    }
    view->seen = missing->looked_at = missing->stamps;
}

/* --- data ---------------------------------------------------------------- */

static void recount_s0(struct view *view, const struct lacks *lacks, uint32_t id)
{
    if (lacks->count == 1)
        set_add(&want_of(view, id)->s0, view->missing->slots[lacks->number].priority);
}

/* S0 is empty: a task with two inputs lacks both. */
static void recount_s1(struct view *view, const struct lacks *lacks, uint32_t id)
{
    const struct slot *slot = &view->missing->slots[lacks->number];
    if (slot->ninputs == 2)
        set_add(&view->missing->common[id].s1, slot->priority);
    else if (lacks->count == 2)
        s1_add(want_of(view, id), slot->priority);
}

/* Its highest priority is only a bound. */
static bool is_open(const struct set *set)
{
    return set->count > 0 && set->top.holders == 0;
}

/* Makes the highest priority of the set that leads the datum's key exact. */
static void settle(struct view *view, uint32_t id)
{
    struct want *want = want_of(view, id);
    struct set *common = &view->missing->common[id].s1;
    if (want->s0.count > 0 && is_open(&want->s0)) {
        want->s0.count = 0;
        visit_ready(view, id, recount_s0);
    } else if (want->s0.count == 0 && (is_open(&want->s1) || is_open(common))) {
        want->s1.count = common->count = 0;
        visit_ready(view, id, recount_s1);
    }
}

/* The best of a heap, made exact. */
static const od_datum *best_of(struct view *view, od_heap *heap, bool (*belongs)(const struct view *, uint32_t),
                               od_missing_key *key)
{
    uint32_t id;
    while ((id = od_heap_first(heap)) != OD_HEAP_NONE) {
        if (!belongs(view, id)) {
            od_heap_remove(heap, id);
            park_if_second(view, id);
            continue;
        }
        settle(view, id);
        *key = key_of(view, id);
        od_missing_rank rank = rank_of(view, id, key);
        if (!is_greater(&view->rank[id], &rank))
            return view->missing->sources[id].datum;
        view->rank[id] = rank;
        od_heap_lowered(heap, id);
    }
    return NULL;
}

/* Takes the first data in the random order out of the heap; returns how many. */
static uint32_t look_at_some(struct view *view)
{
    od_missing *missing = view->missing;
    uint32_t id, count = 0;
    while (count < missing->rules.threshold && (id = od_heap_first(&view->first)) != OD_HEAP_NONE) {
        od_heap_remove(&view->first, id);
        if (belongs_first(view, id))
            missing->looked[count++] = id;
    }
    return count;
}

static const od_datum *best_of_some(struct view *view, od_missing_key *best)
{
    const od_missing *missing = view->missing;
    const od_datum *datum = NULL;
    od_missing_rank greatest;
    uint32_t count = look_at_some(view);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t id = missing->looked[i];
        settle(view, id);
        od_missing_key key = key_of(view, id);
        od_missing_rank rank = rank_of(view, id, &key);
        if (key.n0 + key.n1 > 0 && (!datum || is_greater(&rank, &greatest))) {
            *best = key;
            greatest = rank;
            datum = missing->sources[id].datum;
        }
        od_heap_push(&view->first, id);
    }
    return datum;
}

const od_datum *od_missing_best(od_missing *missing, unsigned k, od_missing_key *key)
{
    struct view *view = &missing->views[k];
    update_first(view);
    if (missing->rules.threshold)
        return best_of_some(view, key);
    const od_datum *datum = best_of(view, &view->first, belongs_first, key);
    if (datum)
        return datum;
    update_second(view);
    return best_of(view, &view->second, belongs_second, key);
}

/* --- tasks --------------------------------------------------------------- */

static uint32_t most_urgent_in_s1(const struct view *view, const struct source *source)
{
    const od_missing *missing = view->missing;
    uint32_t best = OD_HEAP_NONE;
    for (uint32_t i = 0; i < source->nlisted; i++) {
        struct use use = source->uses[i];
        if (i + PREFETCH_AHEAD < source->nlisted)
            __builtin_prefetch(&missing->slots[source->uses[i + PREFETCH_AHEAD].slot]);
        if (!is_current(missing, use) || !missing->slots[use.slot].ready || lacks_of(view, use.slot).count != 2)
            continue;
        if (best == OD_HEAP_NONE || is_before(missing, use.slot, best))
            best = use.slot;
    }
    return best;
}

static uint32_t most_urgent(od_missing *missing)
{
    uint32_t number;
    if (missing->nready == 0)
        od_heap_clear(&missing->urgent);
    while ((number = od_heap_first(&missing->urgent)) != OD_HEAP_NONE && !missing->slots[number].ready)
        od_heap_remove(&missing->urgent, number);
    return number;
}

od_task *od_missing_urgent(od_missing *missing, const od_datum *datum, unsigned k)
{
    uint32_t best = datum ? most_urgent_in_s1(&missing->views[k], &missing->sources[datum->id]) : most_urgent(missing);
    return best == OD_HEAP_NONE ? NULL : missing->slots[best].task;
}
