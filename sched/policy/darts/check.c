/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* od_missing_is_valid(): recounts everything from the tasks and compares. */
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
    uint32_t lacked = 0;
    for (uint32_t i = 0; i < slot->ninputs; i++)
        lacked += is_absent(view, inputs_of(slot)[i]);
    return lacked;
}

/* True where the stored key is no upper bound of the true one, or missing. */
static bool key_is_low(const struct view *view, uint32_t id)
{
    const struct standing *standing = &view->missing->standing[id];
    if (od_placeset_has(standing->raised, view->k) || !belongs_first(view, id))
        return false;
    if (view->missing->rules.threshold)
        return !od_heap_contains(&view->first, id);
    od_missing_key key = key_of(view, id);
    od_missing_rank now = rank_of(view, id, &key);
    return !od_heap_contains(&view->first, id) || is_greater(&now, &want_of(view, id)->rank);
}

static bool want_is_valid(const struct view *view, uint32_t id)
{
    const od_missing *missing = view->missing;
    const struct want *want = want_of(view, id);
    const struct source *source = &missing->sources[id];
    bool resident = od_placeset_has(missing->standing[id].resident, view->k);
    struct set s0 = {0};
    uint64_t ns = 0;
    uint32_t planned = 0, n1 = 0;
    for (uint32_t i = 0; i < source->nlisted; i++) {
        const struct slot *slot = &missing->slots[source->uses[i].slot];
        if (!is_current(missing, source->uses[i]))
            continue;
        uint32_t lacked = count_missing(view, slot);
        planned += slot->task->state == OD_TASK_PLANNED && slot->task->place == (int)view->k;
        if (!is_absent(view, id) || !slot->ready)
            continue;
        if (lacked == 1)
            set_count(&s0, slot->priority);
        n1 += lacked == 2;
        ns += lacked == 1 ? slot->ns : 0;
    }
    bool counted = is_absent(view, id) ? s1_count(view, id) == n1 : *own_s1(view, id) == 0;
    bool noted = od_placeset_has(missing->standing[id].freeing, view->k) == (s0.count > 0);
    return set_is_valid(&want->s0, &s0) && want->s0_ns == ns && counted && noted &&
           view->planned_reads[id] == planned && (!is_absent(view, id) || (!resident && !planned)) &&
           !key_is_low(view, id);
}

/* The bits of a device's free tasks, counted on two levels. */
static bool free_is_valid(const struct view *view)
{
    uint32_t count = 0;
    for (uint32_t number = 0; number < view->missing->nslots; number++) {
        const struct slot *slot = &view->missing->slots[number];
        bool lacks_nothing = slot->ready && count_missing(view, slot) == 0;
        bool listed = view->free[number / 64] & (UINT64_C(1) << number % 64);
        bool found = view->free_words[number / 4096] & (UINT64_C(1) << number / 64 % 64);
        if (listed != lacks_nothing || (found != (view->free[number / 64] != 0)))
            return false;
        count += listed;
    }
    return count == view->nfree;
}

static bool is_listed(const od_missing *missing, uint32_t id, uint32_t number)
{
    const struct source *source = &missing->sources[id];
    for (uint32_t i = 0; i < source->nlisted; i++) {
        if (source->uses[i].slot == number && is_current(missing, source->uses[i]))
            return true;
    }
    return false;
}

static bool task_is_valid(const od_missing *missing, uint32_t number)
{
    const struct slot *slot = &missing->slots[number];
    for (uint32_t i = 0; i < slot->ninputs; i++) {
        if (!is_listed(missing, inputs_of(slot)[i], number))
            return false;
    }
    return slot_of(slot->task) == number && (!slot->ready || od_heap_contains(&missing->urgent, number));
}

static bool source_is_valid(const od_missing *missing, uint32_t id)
{
    const struct source *source = &missing->sources[id];
    uint64_t left = 0;
    uint32_t uses = 0, pairs = 0;
    if (!source->datum)
        return source->nlisted == 0;
    for (uint32_t i = 0; i < source->nlisted; i++) {
        const struct slot *slot = &missing->slots[source->uses[i].slot];
        bool current = is_current(missing, source->uses[i]);
        uses += current;
        left += current && slot->ready ? slot->ns : 0;
        pairs += current && slot->ready && slot->ninputs == 2;
    }
    if (source->datum->id != id || left != missing->standing[id].left_ns || uses != source->nuses ||
        pairs != missing->pairs[id])
        return false;
    for (unsigned k = 0; k < missing->env.ndevices; k++) {
        if (!want_is_valid(&missing->views[k], id))
            return false;
    }
    return true;
}

static bool view_is_valid(const struct view *view)
{
    return od_heap_is_valid(&view->first) && free_is_valid(view);
}

bool od_missing_is_valid(const od_missing *missing)
{
    uint32_t owned = 0, ready = 0, unusual = 0;
    for (uint32_t number = 0; number < missing->nslots; number++) {
        if (!missing->slots[number].task)
            continue;
        owned++;
        ready += missing->slots[number].ready;
        unusual += missing->slots[number].ready && missing->slots[number].priority != missing->usual;
        if (!task_is_valid(missing, number))
            return false;
    }
    for (uint32_t id = 0; id < missing->ndata; id++) {
        if (!source_is_valid(missing, id))
            return false;
    }
    for (unsigned k = 0; k < missing->env.ndevices; k++) {
        if (!view_is_valid(&missing->views[k]))
            return false;
    }
    return owned == missing->nowned && ready == missing->nready && unusual == missing->nunusual &&
           owned + missing->nfree_slots == missing->nslots && od_heap_is_valid(&missing->urgent);
}
