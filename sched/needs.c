/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Counting and choosing; see needs.h for the idea.
 *
 * Every change is one of four: a task enters or leaves the ready set (offer, take), a datum
 * comes to a device or leaves it (arrive, depart). A visit of one task by arrive or depart
 * touches the task's two numbers and at most the counters of what it still lacks, when that is two
 * data or fewer.
 */
#include "sched/needs_impl.h"

#include <assert.h>

/* How far ahead of a visit its memory is asked for. */
enum { PREFETCH_AHEAD = 8 };

/* --- sets and keys ------------------------------------------------------- */

static void set_add(struct set *set, int32_t priority)
{
    if (set->count++ == 0 || priority > set->top.priority)
        set->top = (struct top){.priority = priority, .holders = 1};
    else if (priority == set->top.priority)
        set->top.holders++;
}

static void set_remove(struct set *set, int32_t priority)
{
    assert(set->count > 0);
    set->count--;
    if (priority == set->top.priority)
        set->top.holders--;
}

static void enter_s0(struct want *want, const struct slot *slot)
{
    set_add(&want->s0, slot->priority);
    want->s0_ns += slot->ns;
}

static void leave_s0(struct want *want, const struct slot *slot)
{
    set_remove(&want->s0, slot->priority);
    want->s0_ns -= slot->ns;
}

/* splitmix64 */
static uint32_t random_tie(od_needs *needs)
{
    uint64_t z = needs->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((z ^ (z >> 31)) >> 32);
}

static void store_key(struct view *view, uint32_t id, od_need_key key)
{
    key.tie = random_tie(view->needs);
    view->key[id] = key;
}

/* The datum may have become a better choice. */
static void raise(struct view *view, uint32_t id)
{
    const struct want *want = &view->want[id];
    if (want->present || want->s0.count + want->s1.count == 0)
        return;
    od_need_key key = key_of(view, id);
    if (!od_heap_contains(&view->candidates, id)) {
        store_key(view, id, key);
        od_heap_push(&view->candidates, id);
    } else if (view->needs->order(&key, &view->key[id]) < 0) {
        store_key(view, id, key);
        od_heap_raised(&view->candidates, id);
    }
}

/* --- visits -------------------------------------------------------------- */

static void free_add(struct view *view, uint32_t slot)
{
    lack_of(view, slot)->free = view->nfree;
    view->free[view->nfree++] = slot;
}

static void free_remove(struct view *view, uint32_t slot)
{
    uint32_t place = lack_of(view, slot)->free;
    uint32_t last = view->free[--view->nfree];
    view->free[place] = last;
    lack_of(view, last)->free = place;
}

static void enter_s1_of_absent(struct view *view, const struct slot *slot)
{
    const uint32_t *inputs = inputs_of(slot);
    for (uint32_t i = 0; i < slot->ninputs; i++) {
        uint32_t id = inputs[i];
        if (!view->want[id].present)
            set_add(&view->want[id].s1, slot->priority);
    }
}

static void leave_s1_of_absent(struct view *view, const struct slot *slot)
{
    const uint32_t *inputs = inputs_of(slot);
    for (uint32_t i = 0; i < slot->ninputs; i++) {
        uint32_t id = inputs[i];
        if (!view->want[id].present)
            set_remove(&view->want[id].s1, slot->priority);
    }
}

/* Raises what is absent: raise() leaves present data alone. */
static void raise_absent(struct view *view, const struct slot *slot)
{
    const uint32_t *inputs = inputs_of(slot);
    for (uint32_t i = 0; i < slot->ninputs; i++)
        raise(view, inputs[i]);
}

static void prefetch_visit(const struct view *view, const struct source *source, uint32_t i)
{
    if (i >= source->nlisted)
        return;
    __builtin_prefetch(lack_of(view, source->uses[i].slot), 1);
    __builtin_prefetch(&view->needs->slots[source->uses[i].slot]);
}

/* Calls visit(view, slot number, datum) for every ready task that reads the datum, in order of arrival, and
 * drops the uses that are out of date. The visit may take the task. */
static inline void visit_ready(struct view *view, uint32_t id, void (*visit)(struct view *, uint32_t, uint32_t))
{
    const od_needs *needs = view->needs;
    struct source *source = &view->needs->sources[id];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < source->nlisted; i++) {
        struct use use = source->uses[i];
        prefetch_visit(view, source, i + PREFETCH_AHEAD);
        if (!is_current(needs, use))
            continue;
        source->uses[kept++] = use;
        if (needs->slots[use.slot].ready)
            visit(view, use.slot, id);
    }
    source->nlisted = kept;
}

/* The task no longer lacks the datum, whose own sets are not touched. */
static void visit_arrival(struct view *view, uint32_t number, uint32_t id)
{
    struct lack *lack = lack_of(view, number);
    const struct slot *slot = &view->needs->slots[number];
    lack->ids ^= id;
    switch (--lack->missing) {
    case 0:
        free_add(view, number);
        break;
    case 1:
        set_remove(&view->want[lack->ids].s1, slot->priority);
        enter_s0(&view->want[lack->ids], slot);
        raise(view, lack->ids);
        break;
    case 2:
        enter_s1_of_absent(view, slot);
        raise_absent(view, slot);
        break;
    default:
        break;
    }
}

/* The datum counts as present on the view's device from now on. */
static void arrive(struct view *view, uint32_t id)
{
    struct want *want = &view->want[id];
    want->present = true;
    want->s0 = want->s1 = (struct set){0};
    want->s0_ns = 0;
    if (od_heap_contains(&view->candidates, id))
        od_heap_remove(&view->candidates, id);
    visit_ready(view, id, visit_arrival);
}

/* The task lacks the datum again, which still counts as present. */
static void visit_departure(struct view *view, uint32_t number, uint32_t id)
{
    struct lack *lack = lack_of(view, number);
    const struct slot *slot = &view->needs->slots[number];
    switch (lack->missing++) {
    case 0:
        free_remove(view, number);
        lack->ids = 0;
        enter_s0(&view->want[id], slot);
        break;
    case 1:
        leave_s0(&view->want[lack->ids], slot);
        set_add(&view->want[lack->ids].s1, slot->priority);
        set_add(&view->want[id].s1, slot->priority);
        break;
    case 2:
        leave_s1_of_absent(view, slot);
        break;
    default:
        break;
    }
    lack->ids ^= id;
}

static void depart(struct view *view, uint32_t id)
{
    visit_ready(view, id, visit_departure);
    view->want[id].present = false;
    raise(view, id);
}

/* Lets the datum depart where nothing holds or promises it any more. */
static void recheck(struct view *view, uint32_t id)
{
    const struct want *want = &view->want[id];
    if (want->present && !want->resident && want->planned_reads == 0 &&
        view->needs->sources[id].datum->replica[view->k].buffered_uses == 0)
        depart(view, id);
}

/* --- the ready set ------------------------------------------------------- */

/* Counts a new ready task on one device. */
static void count_in(struct view *view, const struct slot *slot, uint32_t number)
{
    const uint32_t *inputs = inputs_of(slot);
    struct lack lack = {0};
    for (uint32_t i = 0; i < slot->ninputs; i++) {
        if (view->want[inputs[i]].present)
            continue;
        lack.missing++;
        lack.ids ^= inputs[i];
    }
    *lack_of(view, number) = lack;
    if (lack.missing == 0)
        free_add(view, number);
    else if (lack.missing == 1)
        enter_s0(&view->want[lack.ids], slot);
    else if (lack.missing == 2)
        enter_s1_of_absent(view, slot);
    raise_absent(view, slot);
}

static void count_out(struct view *view, const struct slot *slot, uint32_t number)
{
    const struct lack *lack = lack_of(view, number);
    if (lack->missing == 0)
        free_remove(view, number);
    else if (lack->missing == 1)
        leave_s0(&view->want[lack->ids], slot);
    else if (lack->missing == 2)
        leave_s1_of_absent(view, slot);
}

void od_needs_offer(od_needs *needs, od_task *task)
{
    uint32_t number = slot_of(task);
    struct slot *slot = &needs->slots[number];
    const uint32_t *inputs = inputs_of(slot);
    assert(!slot->ready);
    for (uint32_t i = 0; i < slot->ninputs; i++)
        needs->sources[inputs[i]].left_ns += slot->ns;
    for (unsigned k = 0; k < needs->env.ndevices; k++)
        count_in(&needs->views[k], slot, number);
    if (!od_heap_contains(&needs->urgent, number))
        od_heap_push(&needs->urgent, number);
    slot->ready = true;
    needs->nready++;
    task->state = OD_TASK_READY;
}

static void take(od_needs *needs, uint32_t number)
{
    struct slot *slot = &needs->slots[number];
    const uint32_t *inputs = inputs_of(slot);
    for (unsigned k = 0; k < needs->env.ndevices; k++)
        count_out(&needs->views[k], slot, number);
    for (uint32_t i = 0; i < slot->ninputs; i++)
        needs->sources[inputs[i]].left_ns -= slot->ns;
    slot->ready = false;
    needs->nready--;
}

void od_needs_plan(od_needs *needs, od_task *task, od_plan *plan)
{
    const struct slot *slot = &needs->slots[slot_of(task)];
    const uint32_t *inputs = inputs_of(slot);
    struct view *view = &needs->views[plan->k];
    if (slot->ready)
        take(needs, slot_of(task));
    od_plan_append(plan, task);
    for (uint32_t i = 0; i < slot->ninputs; i++) {
        view->want[inputs[i]].planned_reads++;
        if (!view->want[inputs[i]].present)
            arrive(view, inputs[i]);
    }
}

od_task *od_needs_pop(od_needs *needs, od_plan *plan)
{
    od_task *task = od_plan_pop(plan);
    if (!task)
        return NULL;
    struct view *view = &needs->views[plan->k];
    for (uint32_t i = 0; i < task->naccess; i++) {
        const struct source *source = source_of(needs, task->access[i].datum);
        if (!source)
            continue;
        struct want *want = &view->want[source->datum->id];
        want->planned_reads -= (task->access[i].mode & OD_READ) != 0;
        if (!want->present)
            arrive(view, source->datum->id);
    }
    od_needs_drop_task(needs, task);
    return task;
}

static void take_back(od_needs *needs, od_task *task, od_plan *plan)
{
    struct view *view = &needs->views[plan->k];
    const struct slot *slot = &needs->slots[slot_of(task)];
    const uint32_t *inputs = inputs_of(slot);
    od_plan_remove(plan, task);
    for (uint32_t i = 0; i < slot->ninputs; i++)
        view->want[inputs[i]].planned_reads--;
    for (uint32_t i = 0; i < slot->ninputs; i++)
        recheck(view, inputs[i]);
    od_needs_offer(needs, task);
}

void od_needs_reclaim(od_needs *needs, const od_datum *datum, od_plan *plan)
{
    const struct source *source = source_of(needs, datum);
    const struct want *want = source ? &needs->views[plan->k].want[datum->id] : NULL;
    if (!want || want->planned_reads == 0)
        return;
    /* The datum departs with its last planned reader and not before, so the list stays as it is. */
    for (uint32_t i = 0; want->planned_reads > 0; i++) {
        od_task *task = needs->slots[source->uses[i].slot].task;
        if (is_current(needs, source->uses[i]) && task->state == OD_TASK_PLANNED && task->place == (int)plan->k)
            take_back(needs, task, plan);
    }
}

bool od_needs_is_free(const od_needs *needs, const od_task *task, unsigned k)
{
    const struct slot *slot = &needs->slots[slot_of(task)];
    for (uint32_t i = 0; i < slot->ninputs; i++) {
        if (!needs->views[k].want[inputs_of(slot)[i]].present)
            return false;
    }
    return true;
}

uint32_t od_needs_ready(const od_needs *needs)
{
    return needs->nready;
}

uint32_t od_needs_owned(const od_needs *needs)
{
    return needs->nowned;
}

/* --- data ---------------------------------------------------------------- */

/* Asks again for the transfer times where other places than before hold the datum. */
static void update_transfer(od_needs *needs, const struct source *source)
{
    if (source->datum->valid == source->valid)
        return;
    uint32_t id = source->datum->id;
    od_needs_ask_transfer(needs, id);
    for (unsigned k = 0; k < needs->env.ndevices; k++)
        raise(&needs->views[k], id);
}

void od_needs_incoming(od_needs *needs, const od_datum *datum, unsigned k)
{
    const struct source *source = source_of(needs, datum);
    if (!source)
        return;
    needs->views[k].want[datum->id].resident = true;
    if (!needs->views[k].want[datum->id].present)
        arrive(&needs->views[k], datum->id);
    update_transfer(needs, source);
}

void od_needs_evicted(od_needs *needs, const od_datum *datum, unsigned k)
{
    const struct source *source = source_of(needs, datum);
    if (!source)
        return;
    needs->views[k].want[datum->id].resident = false;
    recheck(&needs->views[k], datum->id);
    update_transfer(needs, source);
}

void od_needs_moved(od_needs *needs, const od_task *task)
{
    for (uint32_t i = 0; i < task->naccess; i++) {
        const struct source *source = source_of(needs, task->access[i].datum);
        if (source)
            update_transfer(needs, source);
    }
}

uint32_t od_needs_uses(const od_needs *needs, const od_datum *datum)
{
    const struct source *source = source_of(needs, datum);
    return source ? source->nuses : 0;
}

/* --- choices ------------------------------------------------------------- */

static void recount_s0(struct view *view, uint32_t number, uint32_t id)
{
    if (lack_of(view, number)->missing == 1)
        set_add(&view->want[id].s0, view->needs->slots[number].priority);
}

static void recount_s1(struct view *view, uint32_t number, uint32_t id)
{
    if (lack_of(view, number)->missing == 2)
        set_add(&view->want[id].s1, view->needs->slots[number].priority);
}

/* Makes the highest priority of the set that leads the datum's key exact. */
static void settle(struct view *view, uint32_t id)
{
    struct want *want = &view->want[id];
    struct set *leading = want->s0.count ? &want->s0 : &want->s1;
    if (leading->top.holders > 0)
        return;
    leading->count = 0;
    visit_ready(view, id, leading == &want->s0 ? recount_s0 : recount_s1);
}

const od_datum *od_needs_best(od_needs *needs, unsigned k, od_need_key *key)
{
    struct view *view = &needs->views[k];
    uint32_t id;
    while ((id = od_heap_first(&view->candidates)) != OD_HEAP_NONE) {
        const struct want *want = &view->want[id];
        if (want->s0.count + want->s1.count == 0) {
            od_heap_remove(&view->candidates, id);
            continue;
        }
        settle(view, id);
        *key = key_of(view, id);
        if (needs->order(key, &view->key[id]) == 0)
            return needs->sources[id].datum;
        store_key(view, id, *key);
        od_heap_lowered(&view->candidates, id);
    }
    return NULL;
}

static void take_if_s0(struct view *view, uint32_t number, uint32_t id)
{
    (void)id;
    if (lack_of(view, number)->missing != 1)
        return;
    take(view->needs, number);
    view->needs->taken[view->needs->ntaken++] = number;
}

static void take_free(struct view *view)
{
    while (view->nfree > 0) {
        uint32_t number = view->free[view->nfree - 1];
        take(view->needs, number);
        view->needs->taken[view->needs->ntaken++] = number;
    }
}

/* The tasks of a datum come in order of arrival, so that most often nothing is to be done. */
static void sort_taken(od_needs *needs)
{
    uint32_t i = 1;
    while (i < needs->ntaken && needs->urgent.before(needs, needs->taken[i - 1], needs->taken[i]))
        i++;
    if (i >= needs->ntaken)
        return;
    for (i = 0; i < needs->ntaken; i++)
        od_heap_push(&needs->sorter, needs->taken[i]);
    for (i = 0; i < needs->ntaken; i++) {
        needs->taken[i] = od_heap_first(&needs->sorter);
        od_heap_remove(&needs->sorter, needs->taken[i]);
    }
}

static void prefetch_plan(const od_needs *needs, uint32_t i)
{
    if (i < needs->ntaken)
        __builtin_prefetch(needs->slots[needs->taken[i]].task, 1);
    if (i - PREFETCH_AHEAD / 2 < needs->ntaken)
        __builtin_prefetch(needs->slots[needs->taken[i - PREFETCH_AHEAD / 2]].task->access);
}

uint32_t od_needs_plan_free(od_needs *needs, const od_datum *datum, od_plan *plan)
{
    needs->ntaken = 0;
    if (datum)
        visit_ready(&needs->views[plan->k], datum->id, take_if_s0);
    else
        take_free(&needs->views[plan->k]);
    sort_taken(needs);
    for (uint32_t i = 0; i < needs->ntaken; i++) {
        prefetch_plan(needs, i + PREFETCH_AHEAD);
        od_needs_plan(needs, needs->slots[needs->taken[i]].task, plan);
    }
    return needs->ntaken;
}

static uint32_t most_urgent_in_s1(const struct view *view, const struct source *source)
{
    const od_needs *needs = view->needs;
    uint32_t best = OD_HEAP_NONE;
    for (uint32_t i = 0; i < source->nlisted; i++) {
        struct use use = source->uses[i];
        prefetch_visit(view, source, i + PREFETCH_AHEAD);
        if (!is_current(needs, use) || !needs->slots[use.slot].ready || lack_of(view, use.slot)->missing != 2)
            continue;
        if (best == OD_HEAP_NONE || needs->urgent.before(needs, use.slot, best))
            best = use.slot;
    }
    return best;
}

static uint32_t most_urgent(od_needs *needs)
{
    uint32_t number;
    while ((number = od_heap_first(&needs->urgent)) != OD_HEAP_NONE && !needs->slots[number].ready)
        od_heap_remove(&needs->urgent, number);
    return number;
}

od_task *od_needs_urgent(od_needs *needs, const od_datum *datum, unsigned k)
{
    uint32_t best = datum ? most_urgent_in_s1(&needs->views[k], &needs->sources[datum->id]) : most_urgent(needs);
    return best == OD_HEAP_NONE ? NULL : needs->slots[best].task;
}
