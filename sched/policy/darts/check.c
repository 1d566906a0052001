/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* od_needs_is_valid(): recounts everything from the tasks and compares. */
#include "sched/policy/darts/impl.h"

static bool set_is_valid(const struct set *set, const struct set *recount)
{
    if (set->count != recount->count)
        return false;
    if (set->count == 0)
        return true;
    if (set->top.holders == 0)
        return set->top.priority > recount->top.priority;
    return set->top.priority == recount->top.priority && set->top.holders == recount->top.holders;
}

static void set_count(struct set *set, int32_t priority)
{
    if (set->count == 0 || priority > set->top.priority)
        set->top = (struct top){.priority = priority};
    set->top.holders += priority == set->top.priority;
    set->count++;
}

/* How many data the task lacks. */
static uint32_t count_missing(const struct view *view, const struct slot *slot)
{
    uint32_t missing = 0;
    for (uint32_t i = 0; i < slot->ninputs; i++)
        missing += is_absent(view, inputs_of(slot)[i]);
    return missing;
}

/* True where the stored key is no upper bound of the true one, or missing. */
static bool key_is_low(const struct view *view, uint32_t id)
{
    const struct standing *standing = &view->needs->standing[id];
    bool first = belongs_first(view, id), parked = standing->parked & OD_BIT(view->k);
    bool waits = parked || od_heap_contains(&view->first, id); /* it is found there when no datum has an S0 */
    if (standing->raised & OD_BIT(view->k) || (!first && (waits || !belongs_second(view, id))))
        return false;
    const od_heap *heap = first ? &view->first : &view->second;
    if (view->needs->rules.threshold)
        return first && !od_heap_contains(heap, id);
    od_need_key key = key_of(view, id);
    od_need_rank now = rank_of(view, id, &key);
    return !od_heap_contains(heap, id) || is_greater(&now, &view->rank[id]);
}

static bool want_is_valid(const struct view *view, uint32_t id)
{
    const od_needs *needs = view->needs;
    const struct want *want = want_of(view, id);
    const struct source *source = &needs->sources[id];
    bool resident = needs->standing[id].resident & OD_BIT(view->k);
    struct set s0 = {0}, s1 = {0};
    uint64_t ns = 0;
    uint32_t planned = 0;
    for (uint32_t i = 0; i < source->nlisted; i++) {
        const struct slot *slot = &needs->slots[source->uses[i].slot];
        if (!is_current(needs, source->uses[i]))
            continue;
        uint32_t missing = count_missing(view, slot);
        planned += slot->task->state == OD_TASK_PLANNED && slot->task->place == (int)view->k;
        if (!is_absent(view, id) || !slot->ready)
            continue;
        if (missing == 1)
            set_count(&s0, slot->priority);
        if (missing == 2)
            set_count(&s1, slot->priority);
        ns += missing == 1 ? slot->ns : 0;
    }
    return set_is_valid(&want->s0, &s0) && set_is_valid(&want->s1, &s1) && want->s0_ns == ns &&
           view->planned_reads[id] == planned && (!is_absent(view, id) || (!resident && !planned)) &&
           !key_is_low(view, id);
}

/* The bits of a device's free tasks, counted on two levels. */
static bool free_is_valid(const struct view *view)
{
    uint32_t count = 0;
    for (uint32_t number = 0; number < view->needs->nslots; number++) {
        const struct slot *slot = &view->needs->slots[number];
        bool lacks_nothing = slot->ready && count_missing(view, slot) == 0;
        bool listed = view->free[number / 64] & OD_BIT(number % 64);
        bool found = view->free_words[number / 4096] & OD_BIT(number / 64 % 64);
        if (listed != lacks_nothing || (found != (view->free[number / 64] != 0)))
            return false;
        count += listed;
    }
    return count == view->nfree;
}

static bool is_listed(const od_needs *needs, uint32_t id, uint32_t number)
{
    const struct source *source = &needs->sources[id];
    for (uint32_t i = 0; i < source->nlisted; i++) {
        if (source->uses[i].slot == number && is_current(needs, source->uses[i]))
            return true;
    }
    return false;
}

static bool task_is_valid(const od_needs *needs, uint32_t number)
{
    const struct slot *slot = &needs->slots[number];
    for (uint32_t i = 0; i < slot->ninputs; i++) {
        if (!is_listed(needs, inputs_of(slot)[i], number))
            return false;
    }
    return slot_of(slot->task) == number && (!slot->ready || od_heap_contains(&needs->urgent, number));
}

static bool source_is_valid(const od_needs *needs, uint32_t id)
{
    const struct source *source = &needs->sources[id];
    uint64_t left = 0;
    uint32_t uses = 0;
    if (!source->datum)
        return source->nlisted == 0;
    for (uint32_t i = 0; i < source->nlisted; i++) {
        const struct slot *slot = &needs->slots[source->uses[i].slot];
        bool current = is_current(needs, source->uses[i]);
        uses += current;
        left += current && slot->ready ? slot->ns : 0;
    }
    if (source->datum->id != id || left != needs->standing[id].left_ns || uses != source->nuses)
        return false;
    for (unsigned k = 0; k < needs->env.ndevices; k++) {
        if (!want_is_valid(&needs->views[k], id))
            return false;
    }
    return true;
}

static bool view_is_valid(const struct view *view)
{
    return od_heap_is_valid(&view->first) && od_heap_is_valid(&view->second) && free_is_valid(view);
}

bool od_needs_is_valid(const od_needs *needs)
{
    uint32_t owned = 0, ready = 0;
    for (uint32_t number = 0; number < needs->nslots; number++) {
        if (!needs->slots[number].task)
            continue;
        owned++;
        ready += needs->slots[number].ready;
        if (!task_is_valid(needs, number))
            return false;
    }
    for (uint32_t id = 0; id < needs->ndata; id++) {
        if (!source_is_valid(needs, id))
            return false;
    }
    for (unsigned k = 0; k < needs->env.ndevices; k++) {
        if (!view_is_valid(&needs->views[k]))
            return false;
    }
    return owned == needs->nowned && ready == needs->nready && owned + needs->nfree_slots == needs->nslots &&
           od_heap_is_valid(&needs->urgent);
}
