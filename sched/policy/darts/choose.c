/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Choosing; see missing.h for the idea.
 *
 * What has been raised or parked since the last choice is ranked first. Then the top of the heap is made exact, until
 * what is on top stays there.
 */
#include "sched/policy/darts/visit.h"

/* --- ranks --------------------------------------------------------------- */

/* Brings the datum, which has an S0, to its place in the heap. */
static void update_rank(struct view *view, uint32_t id)
{
    od_missing_key key = key_of(view, id);
    od_missing_rank rank = rank_of(view, id, &key);
    if (!od_heap_contains(&view->first, id)) {
        want_of(view, id)->rank = rank;
        od_heap_push(&view->first, id);
    } else if (is_greater(&rank, &want_of(view, id)->rank)) {
        want_of(view, id)->rank = rank;
        od_heap_raised(&view->first, id);
    }
}

/* Asks for what the key of one of the data in the list is made of, and what one before it is compared with first. */
PREFETCH void prefetch_raised(const struct view *view, uint32_t i)
{
    const od_heap *heap = &view->first;
    if (!view->missing->large)
        return;
    if (i < view->nraised) {
        uint32_t id = view->raised[i];
        __builtin_prefetch(want_of(view, id), 1);
        __builtin_prefetch(own_s1(view, id));
        __builtin_prefetch(&heap->position[id]);
        __builtin_prefetch(&view->missing->standing[id], 1);
    }
    if (i >= PREFETCH_AHEAD / 2 && i - PREFETCH_AHEAD / 2 < view->nraised) {
        uint32_t position = heap->position[view->raised[i - PREFETCH_AHEAD / 2]]; /* from 1 */
        if (position > 1)
            __builtin_prefetch(&want_of(view, heap->items[position / 2 - 1])->rank);
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
        prefetch_raised(view, i);
    for (uint32_t i = 0; i < view->nraised; i++) {
        uint32_t id = view->raised[i];
        prefetch_raised(view, i + PREFETCH_AHEAD);
        od_placeset_remove(&view->missing->standing[id].raised, view->k);
        if (!belongs_first(view, id))
            continue;
        if (!view->missing->rules.threshold)
            update_rank(view, id);
        else if (!od_heap_contains(&view->first, id))
            push_in_order(view, id);
    }
    view->nraised = 0;
}

/* --- data ---------------------------------------------------------------- */

static void recount_s0(struct view *view, const struct lacks *lacks, uint32_t id)
{
    if (lacks->count == 1)
        set_add(&want_of(view, id)->s0, view->missing->slots[lacks->number].priority);
}

/* Makes the highest priority of S0 exact, where it is only a bound. */
static void settle(struct view *view, uint32_t id)
{
    struct set *s0 = &want_of(view, id)->s0;
    if (s0->count == 0 || s0->top.holders > 0)
        return;
    s0->count = 0;
    visit_ready(view, id, recount_s0);
}

/* The best of those with an S0, made exact. */
static const od_datum *best_of_first(struct view *view, od_missing_key *key)
{
    uint32_t id;
    while ((id = od_heap_first(&view->first)) != OD_HEAP_NONE) {
        if (!belongs_first(view, id)) {
            od_heap_remove(&view->first, id);
            continue;
        }
        settle(view, id);
        *key = key_of(view, id);
        od_missing_rank rank = rank_of(view, id, key);
        if (!is_greater(&want_of(view, id)->rank, &rank))
            return view->missing->sources[id].datum;
        want_of(view, id)->rank = rank;
        od_heap_lowered(&view->first, id);
    }
    return NULL;
}

/* --- without an S0 -------------------------------------------------------- */

struct best {
    uint32_t id;
    od_missing_key key; /* n1 is 0: none yet */
    od_missing_rank rank;
};

/* The datum, whose S0 is empty, is the best one where it comes before the best so far. */
static inline void compare(struct best *best, const struct view *view, uint32_t id, int32_t priority)
{
    od_missing_key key = key_without_s0(view, id, priority);
    if (key.n1 < best->key.n1)
        return;
    od_missing_rank rank = view->missing->rules.order(&key), least = best->rank;
    least.word[3] &= ~(uint64_t)UINT32_MAX;
    if (best->key.n1 && is_greater(&least, &rank))
        return;
    rank.word[3] |= tie_of(view, id);
    if (best->key.n1 == 0 || is_greater_or(&rank, &best->rank, id < best->id))
        *best = (struct best){.id = id, .key = key, .rank = rank};
}

/* True where |S1| of one of the data from `id` on may be so large: most often none is. */
static inline bool any_reaches(const struct view *view, uint32_t id, uint32_t n1)
{
    const uint32_t *own = &view->s1[id], *pairs = &view->missing->pairs[id];
    int reached = 0;
    if (view->stride > 1)
        return true;
    for (int i = 0; i < DATA_AT_ONCE; i++)
        reached |= (int32_t)(own[i] + pairs[i]) >= (int32_t)n1;
    return reached;
}

/* The largest |S1|. */
static uint32_t most_in_s1(const struct view *view)
{
    uint32_t most = 0;
    for (uint32_t first = 0; first < view->missing->ndata; first += DATA_AT_ONCE) {
        if (!any_reaches(view, first, most + 1))
            continue;
        for (uint32_t id = first; id < first + DATA_AT_ONCE; id++)
            if (s1_count(view, id) > most && is_absent(view, id))
                most = s1_count(view, id);
    }
    return most;
}

/* Where all ready tasks have the same priority. Only those of the largest |S1| are compared, which are many. */
static struct best best_by_count(const struct view *view)
{
    const od_missing *missing = view->missing;
    struct best best = {0};
    uint32_t most = most_in_s1(view);
    for (uint32_t first = 0; most && first < missing->ndata; first += DATA_AT_ONCE) {
        if (!any_reaches(view, first, most))
            continue;
        for (uint32_t id = first; id < first + DATA_AT_ONCE; id++)
            if (s1_count(view, id) == most && is_absent(view, id))
                compare(&best, view, id, missing->usual);
    }
    return best;
}

/* Finds the tasks of the highest priority that lack two data. */
static int32_t find_most_urgent(const struct view *view)
{
    od_missing *missing = view->missing;
    const od_heap *heap = &missing->urgent;
    uint32_t pending[2 * 32], npending = 0; /* places in the heap: of each level that is left one other child */
    int32_t priority = INT32_MIN;
    missing->ntaken = 0;
    for (uint32_t at = 0;; at = 2 * at + 1) {
        while (at >= heap->count || missing->slots[heap->items[at]].priority < priority) { /* so are those below it */
            if (npending == 0)
                return priority;
            at = pending[--npending];
        }
        pending[npending++] = 2 * at + 2;
        const struct slot *slot = &missing->slots[heap->items[at]];
        if (!slot->ready || lacks_of(view, heap->items[at]).count != 2)
            continue;
        if (slot->priority > priority)
            missing->ntaken = 0;
        priority = slot->priority;
        missing->taken[missing->ntaken++] = heap->items[at];
    }
}

static struct best best_of_most_urgent(const struct view *view)
{
    const od_missing *missing = view->missing;
    struct best best = {0};
    int32_t priority = find_most_urgent(view);
    for (uint32_t i = 0; i < missing->ntaken; i++) {
        struct lacks lacks = lacks_of(view, missing->taken[i]);
        compare(&best, view, lacks.ids[0], priority);
        compare(&best, view, lacks.ids[1], priority);
    }
    return best;
}

/* Those that are no longer ready are not looked at again and again. */
static bool is_ready(const void *owner, uint32_t number)
{
    return ((const od_missing *)owner)->slots[number].ready;
}

/* The best of those with an S1 alone. */
static const od_datum *best_of_second(struct view *view, od_missing_key *key)
{
    enum { SOME = 64, DATA_FOR_A_TASK = 16 }; /* so many are looked at in the same time */
    od_missing *missing = view->missing;
    if (missing->nready == 0)
        return NULL;
    if (missing->urgent.count / 2 > missing->nready + SOME)
        od_heap_keep(&missing->urgent, is_ready);
    bool by_count = missing->nunusual == 0 && missing->nready > missing->ndata / DATA_FOR_A_TASK;
    struct best best = by_count ? best_by_count(view) : best_of_most_urgent(view);
    *key = best.key;
    return best.key.n1 ? missing->sources[best.id].datum : NULL;
}

/* --- with a threshold ------------------------------------------------------- */

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

/* The datum's key, exact. */
static od_missing_key exact_key(struct view *view, uint32_t id)
{
    const od_missing *missing = view->missing;
    settle(view, id);
    if (want_of(view, id)->s0.count)
        return key_of(view, id);
    uint32_t urgent = s1_count(view, id) ? most_urgent_in_s1(view, &missing->sources[id]) : OD_HEAP_NONE;
    return key_without_s0(view, id, urgent == OD_HEAP_NONE ? 0 : missing->slots[urgent].priority);
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
        od_missing_key key = exact_key(view, id);
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
    const od_datum *datum = best_of_first(view, key);
    return datum ? datum : best_of_second(view, key);
}

/* --- tasks --------------------------------------------------------------- */

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
