/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Packages of tasks; see packages.h.
 *
 * A list of tasks is doubly linked without a direction: each task knows its two neighbours, not which comes
 * first. So a list is turned round by exchanging its head and its tail, whatever its length.
 */
#include "sched/policy/batch/order/packages.h"
#include "util/memory.h"

#include <stdlib.h>

/* --- making and unmaking --------------------------------------------------- */

static void make_singletons(od_packages *p)
{
    const od_batch *batch = p->batch;
    for (uint32_t t = 0; t < batch->ntasks; t++) {
        uint32_t first = batch->first[t], end = batch->first[t + 1];
        od_package *package = &p->package[t];
        *package = (od_package){t, t, 1, OD_NO_USE, OD_NO_USE, end - first, 0};
        p->rank[t] = t;
        p->link[t][0] = p->link[t][1] = OD_NO_TASK;
        if (first == end)
            continue;
        package->first_use = first;
        package->last_use = end - 1;
        for (uint32_t u = first; u < end; u++) {
            p->next_use[u] = u + 1 < end ? u + 1 : OD_NO_USE;
            package->weight += batch->size[batch->datum[u]];
        }
    }
    for (uint32_t d = 0; d < batch->ndata; d++)
        p->nholders[d] = p->holders.first[d + 1] - p->holders.first[d];
}

od_status od_packages_create(const od_batch *batch, od_packages *p)
{
    size_t ntasks = (size_t)batch->ntasks + 1, ndata = (size_t)batch->ndata + 1;
    *p = (od_packages){.batch = batch, .live = batch->ntasks};
    if (od_users_create(batch, &p->holders))
        return OD_ENOMEM;
    p->package = od_malloc(ntasks * sizeof *p->package);
    p->rank = od_malloc(ntasks * sizeof *p->rank);
    p->link = od_malloc(ntasks * sizeof *p->link);
    p->next_use = od_malloc(((size_t)batch->first[batch->ntasks] + 1) * sizeof *p->next_use);
    p->nholders = od_malloc(ndata * sizeof *p->nholders);
    p->neighbours = od_malloc(ntasks * sizeof *p->neighbours);
    p->shared = od_calloc(ntasks, sizeof *p->shared);
    p->ends = od_calloc(ndata, sizeof *p->ends);
    if (!p->package || !p->rank || !p->link || !p->next_use || !p->nholders || !p->neighbours || !p->shared ||
        !p->ends) {
        od_packages_free(p);
        return OD_ENOMEM;
    }
    make_singletons(p);
    return OD_OK;
}

void od_packages_free(od_packages *p)
{
    od_users_free(&p->holders);
    free(p->package);
    free(p->rank);
    free(p->link);
    free(p->next_use);
    free(p->nholders);
    free(p->neighbours);
    free(p->shared);
    free(p->ends);
    *p = (od_packages){0};
}

/* --- shared data ------------------------------------------------------------ */

uint32_t od_packages_neighbours(od_packages *p, uint32_t slot)
{
    uint32_t count = 0;
    for (uint32_t u = p->package[slot].first_use; u != OD_NO_USE; u = p->next_use[u]) {
        uint32_t d = p->batch->datum[u];
        const uint32_t *holder = p->holders.task + p->holders.first[d];
        uint64_t size = p->batch->size[d];
        for (uint32_t i = 0; i < p->nholders[d]; i++) {
            p->neighbours[count] = holder[i];
            count += p->shared[holder[i]] == 0 && holder[i] != slot;
            p->shared[holder[i]] += size;
        }
    }
    p->shared[slot] = 0;
    return count;
}

/* --- lists of tasks --------------------------------------------------------- */

/* The task after `task` in a walk that came from `previous`. */
static uint32_t next_task(const od_packages *p, uint32_t previous, uint32_t task)
{
    const uint32_t *link = p->link[task];
    return link[0] == previous ? link[1] : link[0];
}

static void turn(od_package *package)
{
    uint32_t head = package->head;
    package->head = package->tail;
    package->tail = head;
}

static void set_free_link(od_packages *p, uint32_t task, uint32_t neighbour)
{
    uint32_t *link = p->link[task];
    link[link[0] != OD_NO_TASK] = neighbour;
}

static void join_lists(od_packages *p, const od_package *a, const od_package *b)
{
    set_free_link(p, a->tail, b->head);
    set_free_link(p, b->head, a->tail);
}

uint32_t od_packages_list(const od_packages *p, uint32_t slot, uint32_t *order)
{
    uint32_t count = 0, previous = OD_NO_TASK;
    for (uint32_t task = p->package[slot].head; task != OD_NO_TASK;) {
        uint32_t next = next_task(p, previous, task);
        order[count++] = task;
        previous = task;
        task = next;
    }
    return count;
}

/* --- merging ------------------------------------------------------------------ */

/* The datum leaves `from`; true where `into` did not have it. */
static bool hand_over(od_packages *p, uint32_t d, uint32_t from, uint32_t into)
{
    uint32_t *holder = p->holders.task + p->holders.first[d];
    uint32_t from_at = 0;
    bool known = false;
    for (uint32_t i = 0; i < p->nholders[d]; i++) {
        if (holder[i] == from)
            from_at = i;
        else if (holder[i] == into)
            known = true;
    }
    holder[from_at] = known ? holder[--p->nholders[d]] : into;
    return !known;
}

static void append_use(od_packages *p, od_package *package, uint32_t use)
{
    if (package->first_use == OD_NO_USE)
        package->first_use = use;
    else
        p->next_use[package->last_use] = use;
    package->last_use = use;
    p->next_use[use] = OD_NO_USE;
    package->ndata++;
    package->weight += p->batch->size[p->batch->datum[use]];
}

static void move_data(od_packages *p, uint32_t from, uint32_t into)
{
    uint32_t next;
    for (uint32_t use = p->package[from].first_use; use != OD_NO_USE; use = next) {
        next = p->next_use[use];
        if (hand_over(p, p->batch->datum[use], from, into))
            append_use(p, &p->package[into], use);
    }
}

uint32_t od_packages_merge(od_packages *p, uint32_t into, uint32_t from)
{
    od_package a = p->package[into], b = p->package[from];
    bool keep_first = a.ndata >= b.ndata;
    uint32_t survivor = keep_first ? into : from;
    join_lists(p, &a, &b);
    move_data(p, keep_first ? from : into, survivor);
    p->package[into].ntasks = p->package[from].ntasks = 0;
    p->package[survivor].head = a.head;
    p->package[survivor].tail = b.tail;
    p->package[survivor].ntasks = a.ntasks + b.ntasks;
    p->rank[survivor] = p->rank[into];
    p->live--;
    return survivor;
}

void od_packages_append(od_packages *p, uint32_t into, uint32_t from)
{
    join_lists(p, &p->package[into], &p->package[from]);
    p->package[into].tail = p->package[from].tail;
    p->package[into].ntasks += p->package[from].ntasks;
    p->package[from].ntasks = 0;
    p->live--;
}

/* --- flipping ------------------------------------------------------------------ */

enum { START_A = 1, END_A = 2, START_B = 4, END_B = 8 };

/* Marks the data that the task has and the end lacks. False, with nothing marked: it does not fit any more. */
static bool mark_task(od_packages *p, uint32_t task, unsigned end, uint64_t *room)
{
    const od_batch *batch = p->batch;
    uint64_t more = 0;
    for (uint32_t u = batch->first[task]; u < batch->first[task + 1]; u++) {
        if (!(p->ends[batch->datum[u]] & end))
            more += batch->size[batch->datum[u]];
    }
    if (more > *room)
        return false;
    *room -= more;
    for (uint32_t u = batch->first[task]; u < batch->first[task + 1]; u++)
        p->ends[batch->datum[u]] |= (unsigned char)end;
    return true;
}

static void mark_end(od_packages *p, uint32_t from, unsigned end, uint64_t room)
{
    uint32_t previous = OD_NO_TASK;
    for (uint32_t task = from; task != OD_NO_TASK && mark_task(p, task, end, &room);) {
        uint32_t next = next_task(p, previous, task);
        previous = task;
        task = next;
    }
}

/* Bytes that are in all of the given ends, among the data of one package. */
static uint64_t common(const od_packages *p, const od_package *package, unsigned ends)
{
    uint64_t bytes = 0;
    for (uint32_t u = package->first_use; u != OD_NO_USE; u = p->next_use[u]) {
        uint32_t d = p->batch->datum[u];
        bytes += (p->ends[d] & ends) == ends ? p->batch->size[d] : 0;
    }
    return bytes;
}

static void forget_ends(od_packages *p, const od_package *package)
{
    for (uint32_t u = package->first_use; u != OD_NO_USE; u = p->next_use[u])
        p->ends[p->batch->datum[u]] = 0;
}

void od_packages_meet(od_packages *p, uint32_t a, uint32_t b, uint64_t memory)
{
    /* Without a turn the end of a meets the start of b; a tie goes to the pair that comes first here. */
    static const unsigned pairs[4] = {END_A | START_B, END_A | END_B, START_A | START_B, START_A | END_B};
    od_package *first = &p->package[a], *second = &p->package[b];
    if (first->weight <= memory && second->weight <= memory)
        return; /* all ends are whole packages */
    mark_end(p, first->head, START_A, memory);
    mark_end(p, first->tail, END_A, memory);
    mark_end(p, second->head, START_B, memory);
    mark_end(p, second->tail, END_B, memory);
    unsigned best = pairs[0];
    uint64_t most = common(p, first, pairs[0]);
    for (unsigned i = 1; i < 4; i++) {
        uint64_t bytes = common(p, first, pairs[i]);
        if (bytes > most) {
            best = pairs[i];
            most = bytes;
        }
    }
    forget_ends(p, first);
    forget_ends(p, second);
    if (best & START_A)
        turn(first);
    if (best & END_B)
        turn(second);
}
