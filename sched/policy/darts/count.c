/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Counting; see missing.h for the idea.
 *
 * Every change is one of four: a task enters or leaves the ready set (offer, take), a datum comes to a device or
 * leaves it (arrive, depart). A visit of one task by arrive or depart looks at where its other data are and touches
 * at most the counters of what it lacks of them, when that is two data or fewer. A task that enters or leaves the
 * ready set touches such counters on all devices, which are found together, as sets (memmgr/data/placeset.h); but for
 * tasks with two inputs, on devices that have neither (struct common).
 */
#include "sched/policy/darts/visit.h"

#include <assert.h>

/* --- sets and keys ------------------------------------------------------- */

static void set_remove(struct set *set, int32_t priority)
{
    assert(set->count > 0);
    set->count--;
    if (priority == set->top.priority)
        set->top.holders--;
}

/* A task with two inputs is counted with the datum's pairs, too. */
static inline void enter_s0(od_missing *missing, uint32_t id, unsigned k, const struct slot *slot)
{
    size_t place = place_of(missing, id, k);
    struct want *want = &missing->want[place];
    od_placeset_add(&missing->standing[id].freeing, k);
    set_add(&want->s0, slot->priority);
    want->s0_ns += slot->ns;
    if (slot->ninputs == 2)
        missing->s1[place]--;
}

static inline void leave_s0(od_missing *missing, uint32_t id, unsigned k, const struct slot *slot)
{
    size_t place = place_of(missing, id, k);
    struct want *want = &missing->want[place];
    set_remove(&want->s0, slot->priority);
    if (!want->s0.count)
        od_placeset_remove(&missing->standing[id].freeing, k);
    want->s0_ns -= slot->ns;
    if (slot->ninputs == 2)
        missing->s1[place]++;
}

/* The datum, which is absent, may have become a better choice: its key is looked at before the next one. Many tasks
 * that come or go between two choices cost its heap one step. */
static inline void raise(struct view *view, uint32_t id)
{
    struct standing *standing = &view->missing->standing[id];
    if (od_placeset_has(standing->raised, view->k))
        return;
    od_placeset_add(&standing->raised, view->k);
    view->raised[view->nraised++] = id;
}

/* Raises it on all devices where it may be chosen. With a threshold these are all where it is absent. */
static inline void raise_all(od_missing *missing, uint32_t id)
{
    const struct standing *standing = &missing->standing[id];
    od_placeset may = missing->rules.threshold ? missing->absent[id] : standing->freeing;
    for (od_placeset_walk at = od_placeset_begin(od_placeset_minus(may, standing->raised)); od_placeset_next(&at);)
        raise(&missing->views[at.place], id);
}

/* --- visits -------------------------------------------------------------- */

static void free_add(struct view *view, uint32_t number)
{
    uint32_t word = number / 64;
    view->free[word] |= UINT64_C(1) << number % 64;
    view->free_words[word / 64] |= UINT64_C(1) << word % 64;
    view->nfree++;
}

static void free_remove(struct view *view, uint32_t number)
{
    uint32_t word = number / 64;
    view->free[word] &= ~(UINT64_C(1) << number % 64);
    if (!view->free[word])
        view->free_words[word / 64] &= ~(UINT64_C(1) << word % 64);
    view->nfree--;
}

/* The task no longer lacks the datum, which counts as present and whose own sets are not touched. */
static void visit_arrival(struct view *view, const struct lacks *lacks, uint32_t id)
{
    const struct slot *slot = &view->missing->slots[lacks->number];
    (void)id;
    if (lacks->count == 0) {
        free_add(view, lacks->number);
    } else if (lacks->count == 1) {
        if (slot->ninputs > 2)
            --*own_s1(view, lacks->ids[0]);
        enter_s0(view->missing, lacks->ids[0], view->k, slot);
        raise(view, lacks->ids[0]);
    } else {
        for (int i = 0; i < 2; i++) { /* without an S0 it is no candidate before the others */
            ++*own_s1(view, lacks->ids[i]);
            if (od_placeset_has(view->missing->standing[lacks->ids[i]].freeing, view->k))
                raise(view, lacks->ids[i]);
        }
    }
}

/* Does so where tasks that lack nothing now are about to be planned. */
static void visit_load(struct view *view, const struct lacks *lacks, uint32_t id)
{
    if (lacks->count == 0)
        view->missing->taken[view->missing->ntaken++] = lacks->number;
    else
        visit_arrival(view, lacks, id);
}

/* The datum counts as present on the view's device from now on. */
static void arrive(struct view *view, uint32_t id, visit_function *visit)
{
    od_placeset_remove(&view->missing->absent[id], view->k);
    od_missing_drop_candidate(view, id);
    od_placeset_remove(&view->missing->standing[id].freeing, view->k);
    want_of(view, id)->s0 = (struct set){0};
    want_of(view, id)->s0_ns = 0;
    *own_s1(view, id) = 0;
    visit_ready(view, id, visit);
}

/* The task lacks the datum again, which still counts as present. */
static void visit_departure(struct view *view, const struct lacks *lacks, uint32_t id)
{
    const struct slot *slot = &view->missing->slots[lacks->number];
    if (lacks->count == 0) {
        free_remove(view, lacks->number);
        enter_s0(view->missing, id, view->k, slot);
    } else if (lacks->count == 1) {
        leave_s0(view->missing, lacks->ids[0], view->k, slot);
        if (slot->ninputs > 2) {
            ++*own_s1(view, lacks->ids[0]);
            ++*own_s1(view, id);
        }
    } else {
        --*own_s1(view, lacks->ids[0]);
        --*own_s1(view, lacks->ids[1]);
    }
}

static void depart(struct view *view, uint32_t id)
{
    visit_ready(view, id, visit_departure);
    od_placeset_add(&view->missing->absent[id], view->k);
    if (view->missing->rules.in_turn)
        set_tie(view, id, INT32_MAX - view->evictions);
    raise(view, id);
}

/* Lets the datum depart where nothing holds or promises it any more. */
static void recheck(struct view *view, uint32_t id)
{
    const struct source *source = &view->missing->sources[id];
    if (!is_absent(view, id) && !od_placeset_has(view->missing->standing[id].resident, view->k) &&
        view->planned_reads[id] == 0 && source->datum->replica[view->k].buffered_uses == 0)
        depart(view, id);
}

/* --- the ready set ------------------------------------------------------- */

/* Devices where a task lacks no datum, exactly one, exactly two of more. */
struct lacking {
    od_placeset none, one, two;
};

static struct lacking lacking_of(const od_missing *missing, const struct slot *slot)
{
    const uint32_t *inputs = inputs_of(slot);
    const od_placeset all = od_placeset_below(missing->env.ndevices);
    struct lacking lacking;
    for (unsigned w = 0; w < OD_PLACE_WORDS; w++) {
        uint64_t any = 0, several = 0, many = 0;
        for (uint32_t i = 0; i < slot->ninputs; i++) {
            uint64_t absent = missing->absent[inputs[i]].word[w];
            many |= several & absent;
            several |= any & absent;
            any |= absent;
        }
        lacking.none.word[w] = all.word[w] & ~any;
        lacking.one.word[w] = any & ~several;
        lacking.two.word[w] = slot->ninputs > 2 ? several & ~many : 0;
    }
    return lacking;
}

/* Asks for the counters that count_in() and count_out() will touch. */
PREFETCH void prefetch_counters(const od_missing *missing, const struct slot *slot, const struct lacking *lacking)
{
    if (!missing->large)
        return;
    for (uint32_t i = 0; i < slot->ninputs; i++) {
        uint32_t id = inputs_of(slot)[i];
        const od_placeset *absent = &missing->absent[id];
        for (od_placeset_walk2 at = od_placeset_begin2(absent, &lacking->one); od_placeset_next2(&at);)
            __builtin_prefetch(&missing->want[place_of(missing, id, at.place)], 1);
        for (od_placeset_walk2 at = od_placeset_begin2(absent, &lacking->two); od_placeset_next2(&at);)
            __builtin_prefetch(&missing->s1[place_of(missing, id, at.place)], 1);
    }
}

/* Counts a new ready task on all devices; what it lacks may have become a better choice. */
static void count_in(od_missing *missing, const struct slot *slot, uint32_t number)
{
    const uint32_t *inputs = inputs_of(slot);
    const struct lacking lacking = lacking_of(missing, slot);
    prefetch_counters(missing, slot, &lacking);
    for (od_placeset_walk at = od_placeset_begin(lacking.none); od_placeset_next(&at);)
        free_add(&missing->views[at.place], number);
    for (uint32_t i = 0; i < slot->ninputs; i++) {
        uint32_t id = inputs[i];
        const od_placeset *absent = &missing->absent[id];
        missing->standing[id].left_ns += slot->ns;
        for (od_placeset_walk2 at = od_placeset_begin2(absent, &lacking.one); od_placeset_next2(&at);)
            enter_s0(missing, id, at.place, slot);
        for (od_placeset_walk2 at = od_placeset_begin2(absent, &lacking.two); od_placeset_next2(&at);)
            missing->s1[place_of(missing, id, at.place)]++;
        missing->pairs[id] += slot->ninputs == 2;
        raise_all(missing, id);
    }
}

static void count_out(od_missing *missing, const struct slot *slot, uint32_t number, const struct lacking *lacking)
{
    const uint32_t *inputs = inputs_of(slot);
    for (od_placeset_walk at = od_placeset_begin(lacking->none); od_placeset_next(&at);)
        free_remove(&missing->views[at.place], number);
    for (uint32_t i = 0; i < slot->ninputs; i++) {
        uint32_t id = inputs[i];
        const od_placeset *absent = &missing->absent[id];
        missing->standing[id].left_ns -= slot->ns;
        for (od_placeset_walk2 at = od_placeset_begin2(absent, &lacking->one); od_placeset_next2(&at);)
            leave_s0(missing, id, at.place, slot);
        for (od_placeset_walk2 at = od_placeset_begin2(absent, &lacking->two); od_placeset_next2(&at);)
            missing->s1[place_of(missing, id, at.place)]--;
        missing->pairs[id] -= slot->ninputs == 2;
    }
}

void od_missing_offer(od_missing *missing, od_task *task)
{
    uint32_t number = slot_of(task);
    struct slot *slot = &missing->slots[number];
    assert(!slot->ready);
    count_in(missing, slot, number);
    if (!od_heap_contains(&missing->urgent, number))
        od_heap_push(&missing->urgent, number);
    slot->ready = true;
    if (missing->nready++ == 0)
        missing->usual = slot->priority;
    missing->nunusual += slot->priority != missing->usual;
    task->state = OD_TASK_READY;
}

static void take(od_missing *missing, uint32_t number, const struct lacking *lacking)
{
    struct slot *slot = &missing->slots[number];
    count_out(missing, slot, number, lacking);
    slot->ready = false;
    missing->nready--;
    missing->nunusual -= slot->priority != missing->usual;
}

void od_missing_plan(od_missing *missing, od_task *task, od_plan *plan)
{
    const struct slot *slot = &missing->slots[slot_of(task)];
    const uint32_t *inputs = inputs_of(slot);
    struct view *view = &missing->views[plan->k];
    if (slot->ready) {
        struct lacking lacking = lacking_of(missing, slot);
        take(missing, slot_of(task), &lacking);
    }
    od_plan_append(plan, task);
    for (uint32_t i = 0; i < slot->ninputs; i++) {
        view->planned_reads[inputs[i]]++;
        if (is_absent(view, inputs[i]))
            arrive(view, inputs[i], visit_arrival);
    }
}

/* Where its first few data are said. */
PREFETCH void prefetch_accesses(const od_task *task)
{
    __builtin_prefetch(&task->access[0]);
    __builtin_prefetch(&task->access[2]);
}

PREFETCH void prefetch_counts(const od_task *task, unsigned k)
{
    for (uint32_t i = 0; i < task->naccess; i++)
        __builtin_prefetch(&task->access[i].datum->replica[k].buffered_uses, 1);
}

PREFETCH void prefetch_sources(const od_missing *missing, const struct slot *slot)
{
    const uint32_t *inputs = inputs_of(slot);
    for (uint32_t i = 0; i < slot->ninputs; i++)
        __builtin_prefetch(&missing->sources[inputs[i]], 1);
}

/* What the next pops from the plan will touch. */
PREFETCH void prefetch_pop(const od_missing *missing, const od_plan *plan)
{
    if (!missing->large)
        return;
    const od_node *node = plan->tasks.root.next;
    for (int i = 0; i < 3 && node != &plan->tasks.root; i++, node = node->next) {
        const od_task *task = od_container_of(node, od_task, link);
        const struct slot *slot = &missing->slots[slot_of(task)];
        if (i == 0) {
            prefetch_counts(task, plan->k);
            for (uint32_t j = 0; j < task->naccess; j++) /* od_missing_moved() compares it */
                __builtin_prefetch(&task->access[j].datum->valid);
            prefetch_sources(missing, slot);
        } else if (i == 1) {
            prefetch_accesses(task);
        }
        __builtin_prefetch(slot, 1);
        __builtin_prefetch(node->next, 1);
    }
}

/* What a task in the buffer only writes counts as present, too. */
static void arrive_written(struct view *view, const od_access *access)
{
    if (access->mode & OD_READ)
        return;
    const struct source *source = source_of(view->missing, access->datum);
    if (source && is_absent(view, access->datum->id))
        arrive(view, access->datum->id, visit_arrival);
}

od_task *od_missing_pop(od_missing *missing, od_plan *plan)
{
    od_task *task = od_plan_pop(plan);
    if (!task)
        return NULL;
    prefetch_pop(missing, plan);
    struct view *view = &missing->views[plan->k];
    const struct slot *slot = &missing->slots[slot_of(task)];
    const uint32_t *inputs = inputs_of(slot);
    for (uint32_t i = 0; i < slot->ninputs; i++)
        view->planned_reads[inputs[i]]--; /* it stays present: the task in the buffer uses it */
    for (uint32_t i = 0; i < task->naccess; i++)
        arrive_written(view, &task->access[i]);
    od_missing_drop_task(missing, task);
    return task;
}

void od_missing_unplan(od_missing *missing, od_task *task, od_plan *plan)
{
    struct view *view = &missing->views[plan->k];
    const struct slot *slot = &missing->slots[slot_of(task)];
    const uint32_t *inputs = inputs_of(slot);
    od_plan_remove(plan, task);
    for (uint32_t i = 0; i < slot->ninputs; i++)
        view->planned_reads[inputs[i]]--;
    for (uint32_t i = 0; i < slot->ninputs; i++)
        recheck(view, inputs[i]);
    od_missing_offer(missing, task);
}

void od_missing_reclaim(od_missing *missing, const od_datum *datum, od_plan *plan)
{
    const struct source *source = source_of(missing, datum);
    if (!source)
        return;
    const uint32_t *planned_reads = &missing->views[plan->k].planned_reads[datum->id];
    /* The datum departs with its last planned reader and not before, so the list stays as it is. */
    for (uint32_t i = 0; *planned_reads > 0; i++) {
        od_task *task = missing->slots[source->uses[i].slot].task;
        if (is_current(missing, source->uses[i]) && task->state == OD_TASK_PLANNED && task->place == (int)plan->k)
            od_missing_unplan(missing, task, plan);
    }
}

od_placeset od_missing_lacking(const od_missing *missing, const od_task *task, size_t *bytes, size_t *lacking)
{
    const struct slot *slot = &missing->slots[slot_of(task)];
    const uint32_t *inputs = inputs_of(slot);
    od_placeset all = od_placeset_below(missing->env.ndevices), some = OD_NO_PLACES;
    *bytes = 0;
    for (uint32_t i = 0; i < slot->ninputs; i++) {
        *bytes += missing->sources[inputs[i]].size;
        for (unsigned w = 0; w < OD_PLACE_WORDS; w++)
            some.word[w] |= all.word[w] & ~missing->absent[inputs[i]].word[w];
    }
    if (*bytes == 0)
        some = all;
    for (od_placeset_walk at = od_placeset_begin(some); od_placeset_next(&at);)
        lacking[at.place] = 0;
    for (uint32_t i = 0; !od_placeset_is_empty(some) && i < slot->ninputs; i++) {
        od_placeset_walk2 at = od_placeset_begin2(&some, &missing->absent[inputs[i]]);
        while (od_placeset_next2(&at))
            lacking[at.place] += missing->sources[inputs[i]].size;
    }
    return some;
}

double od_missing_seconds(const od_missing *missing, const od_datum *datum, unsigned k)
{
    return transfer_of(&missing->views[k], datum->id);
}

double od_missing_load_time(const od_missing *missing, const od_task *task, unsigned k)
{
    const struct slot *slot = &missing->slots[slot_of(task)];
    const struct view *view = &missing->views[k];
    const uint32_t *inputs = inputs_of(slot);
    double seconds = 0;
    for (uint32_t i = 0; i < slot->ninputs; i++)
        seconds += is_absent(view, inputs[i]) ? transfer_of(view, inputs[i]) : 0;
    return seconds;
}

uint32_t od_missing_ready(const od_missing *missing)
{
    return missing->nready;
}

uint32_t od_missing_owned(const od_missing *missing)
{
    return missing->nowned;
}

/* --- data ---------------------------------------------------------------- */

/* Transfer times are asked for again where other places than before hold the datum. */
static void update_transfer(od_missing *missing, struct source *source)
{
    if (od_placeset_equal(source->datum->valid, source->valid))
        return;
    uint32_t id = source->datum->id;
    source->valid = source->datum->valid;
    missing->standing[id].version++;
    raise_all(missing, id);
}

void od_missing_incoming(od_missing *missing, const od_datum *datum, unsigned k)
{
    struct source *source = source_of(missing, datum);
    if (!source)
        return;
    od_placeset_add(&missing->standing[datum->id].resident, k);
    if (is_absent(&missing->views[k], datum->id))
        arrive(&missing->views[k], datum->id, visit_arrival);
    update_transfer(missing, source);
}

void od_missing_evicted(od_missing *missing, const od_datum *datum, unsigned k)
{
    missing->views[k].evictions++;
    struct source *source = source_of(missing, datum);
    if (!source)
        return;
    od_placeset_remove(&missing->standing[datum->id].resident, k);
    recheck(&missing->views[k], datum->id);
    update_transfer(missing, source);
}

void od_missing_moved(od_missing *missing, const od_task *task)
{
    for (uint32_t i = 0; i < task->naccess; i++) {
        struct source *source = source_of(missing, task->access[i].datum);
        if (source)
            update_transfer(missing, source);
    }
}

uint32_t od_missing_uses(const od_missing *missing, const od_datum *datum)
{
    const struct source *source = source_of(missing, datum);
    return source ? source->nuses : 0;
}

/* --- planning what lacks nothing --------------------------------------------- */

/* Finds the tasks of the free bits. */
static void find_free(struct view *view)
{
    od_missing *missing = view->missing;
    for (uint32_t i = 0; view->nfree > 0; i++) {
        while (view->free_words[i]) {
            uint32_t word = i * 64 + (uint32_t)__builtin_ctzll(view->free_words[i]);
            uint32_t number = word * 64 + (uint32_t)__builtin_ctzll(view->free[word]);
            free_remove(view, number);
            missing->taken[missing->ntaken++] = number;
        }
    }
}

/* Takes those that were found out of the ready set, some at a time: their memory is asked for before it is needed. */
static void take_found(struct view *view)
{
    od_missing *missing = view->missing;
    struct lacking lacking[BATCH];
    for (uint32_t i = 0; i < missing->ntaken; i += BATCH) {
        const uint32_t *taken = &missing->taken[i];
        uint32_t count = missing->ntaken - i < BATCH ? missing->ntaken - i : BATCH;
        for (uint32_t j = 0; j < count; j++) {
            const struct slot *slot = &missing->slots[taken[j]];
            __builtin_prefetch(slot->task, 1);
            __builtin_prefetch(&slot->task->access);
            lacking[j] = lacking_of(missing, slot);
            od_placeset_remove(&lacking[j].none, view->k);
            prefetch_counters(missing, slot, &lacking[j]);
        }
        for (uint32_t j = 0; j < count; j++)
            take(missing, taken[j], &lacking[j]);
    }
}

/* Moves the task at `at` down to where no task below it belongs behind it; the last comes to the top. */
static void sink(const od_missing *missing, uint32_t at, uint32_t count)
{
    uint32_t *taken = missing->taken;
    for (uint32_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && is_before(missing, taken[child], taken[child + 1]))
            child++;
        if (!is_before(missing, taken[at], taken[child]))
            return;
        uint32_t kept = taken[at];
        taken[at] = taken[child];
        taken[child] = kept;
    }
}

/* The tasks of a datum come in order of arrival, so that most often nothing is to be done; else heap sort. */
static void sort_taken(od_missing *missing)
{
    uint32_t *taken = missing->taken, i = 1;
    while (i < missing->ntaken && is_before(missing, taken[i - 1], taken[i]))
        i++;
    if (i >= missing->ntaken)
        return;
    for (i = missing->ntaken / 2; i-- > 0;)
        sink(missing, i, missing->ntaken);
    for (i = missing->ntaken; i-- > 1;) {
        uint32_t last = taken[0];
        taken[0] = taken[i];
        taken[i] = last;
        sink(missing, 0, i);
    }
}

/* Of large ones in three steps: the task's accesses, the counts of its data, the plan. */
static void plan_taken(od_missing *missing, od_plan *plan)
{
    enum { AHEAD = 4 };
    uint32_t ahead = missing->large ? AHEAD : 0;
    for (uint32_t i = 0; i < missing->ntaken + 2 * ahead; i++) {
        if (ahead && i < missing->ntaken)
            prefetch_accesses(missing->slots[missing->taken[i]].task);
        if (ahead && i >= ahead && i - ahead < missing->ntaken)
            prefetch_counts(missing->slots[missing->taken[i - ahead]].task, plan->k);
        if (i >= 2 * ahead)
            od_missing_plan(missing, missing->slots[missing->taken[i - 2 * ahead]].task, plan);
    }
}

uint32_t od_missing_plan_free(od_missing *missing, const od_datum *datum, od_plan *plan)
{
    struct view *view = &missing->views[plan->k];
    missing->ntaken = 0;
    if (datum) /* loading it is decided: its S0 is what lacks nothing now */
        arrive(view, datum->id, visit_load);
    find_free(view);
    take_found(view);
    sort_taken(missing);
    plan_taken(missing, plan);
    return missing->ntaken;
}
