/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Hierarchical Fair Packing (Gonthier's thesis, Algorithm 5): the smallest packages merge with those that they share
 * the most data with, first while the data of both fit in memory together, then without that limit.
 *
 * The published algorithm computes what each smallest package shares with every other one, anew in each iteration.
 * Here each remembers its best partner and what it shares with it. That stays right until the partner is merged: then
 * the number is still a bound for all packages that have not changed, and those that have are compared with it at the
 * end of the iteration. A bound is made exact only once it is the largest. What a package shares with others is found
 * with an inverted index. The choices are those of the published algorithm.
 *
 * What Algorithm 5 leaves open: packages keep the order of their tasks in the batch, a merged one takes the place of
 * P_i, and ties go to the first; line 21 looks only at partners that line 22 would accept, else the algorithm may
 * never end; an iteration stops when K packages are left; with K > 1 the tasks without common data are one more
 * package, or, where there are K, the end of the shortest.
 */
#include "sched/policy/batch/order/order.h"
#include "sched/policy/batch/order/packages.h"
#include "util/container/heap.h"
#include "util/memory.h"

#include <stdlib.h>

#define UNBOUNDED UINT64_MAX

struct hfp {
    const od_batch *batch;
    const od_hfp_options *options;
    od_packages packages;
    bool limited; /* SizeLimit: a merged package must fit in memory */

    uint32_t *slots; /* of the packages, without the scattered one; refreshed when all smallest ones are done */
    uint32_t nslots;
    uint32_t scattered; /* P_non_connected: tasks that share nothing with others, or OD_NO_PACKAGE */

    od_heap smallest;   /* S: the largest bound first, then the lowest rank */
    uint64_t *bound;    /* by slot: bytes shared with `best`; where that is out of date, nothing shares more */
    uint32_t *best;     /* by slot, or OD_NO_PACKAGE */
    uint32_t *computed; /* by slot: from which round on `best` has been right; 0: never */
    uint32_t *changed;  /* by slot: the round in which it was merged last */
    uint32_t round;
    uint32_t *made; /* packages made in this round */
    uint32_t nmade;
};

static bool comes_first(const void *owner, uint32_t a, uint32_t b)
{
    const struct hfp *hfp = owner;
    if (hfp->bound[a] != hfp->bound[b])
        return hfp->bound[a] > hfp->bound[b];
    return hfp->packages.rank[a] < hfp->packages.rank[b];
}

/* --- partners ------------------------------------------------------------------ */

/* True where two packages that share so many bytes may merge. */
static bool may_merge(const struct hfp *hfp, uint32_t a, uint32_t b, uint64_t shared)
{
    const od_package *package = hfp->packages.package;
    return !hfp->limited || package[a].weight + package[b].weight - shared <= hfp->options->memory;
}

static bool is_exact(const struct hfp *hfp, uint32_t slot)
{
    uint32_t best = hfp->best[slot];
    return hfp->computed[slot] && (best == OD_NO_PACKAGE || hfp->changed[best] < hfp->computed[slot]);
}

/* Finds the best partner among those that have not been merged in this round. */
static void compute_best(struct hfp *hfp, uint32_t slot)
{
    od_packages *packages = &hfp->packages;
    const uint32_t *rank = packages->rank;
    uint32_t count = od_packages_neighbours(packages, slot);
    uint32_t best = OD_NO_PACKAGE;
    uint64_t most = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t other = packages->neighbours[i];
        uint64_t shared = packages->shared[other];
        packages->shared[other] = 0;
        if (shared < most || (shared == most && rank[other] > rank[best]))
            continue;
        if (hfp->changed[other] < hfp->round && may_merge(hfp, slot, other, shared)) {
            best = other;
            most = shared;
        }
    }
    hfp->bound[slot] = most;
    hfp->best[slot] = best;
    hfp->computed[slot] = hfp->round;
    od_heap_lowered(&hfp->smallest, slot);
}

/* True where a package made in this round is a better partner, and surely the best. */
static bool is_better(const struct hfp *hfp, uint32_t slot, uint32_t made, uint64_t shared)
{
    if (shared != hfp->bound[slot])
        return shared > hfp->bound[slot];
    return is_exact(hfp, slot) && hfp->packages.rank[made] < hfp->packages.rank[hfp->best[slot]];
}

/* Compares a package made in this round with the best partners of all smallest packages near it. */
static void offer(struct hfp *hfp, uint32_t made)
{
    od_packages *packages = &hfp->packages;
    uint32_t count = od_packages_neighbours(packages, made);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t slot = packages->neighbours[i];
        uint64_t shared = packages->shared[slot];
        packages->shared[slot] = 0;
        if (!od_heap_contains(&hfp->smallest, slot) || !is_better(hfp, slot, made, shared) ||
            !may_merge(hfp, slot, made, shared))
            continue;
        hfp->bound[slot] = shared;
        hfp->best[slot] = made;
        hfp->computed[slot] = hfp->round + 1;
        od_heap_raised(&hfp->smallest, slot);
    }
}

static void forget_best(struct hfp *hfp, uint32_t slot)
{
    hfp->bound[slot] = UNBOUNDED;
    hfp->computed[slot] = 0;
}

static void forget_all_best(struct hfp *hfp)
{
    for (uint32_t i = 0; i < hfp->nslots; i++) {
        if (!od_heap_contains(&hfp->smallest, hfp->slots[i]))
            continue;
        forget_best(hfp, hfp->slots[i]);
        od_heap_raised(&hfp->smallest, hfp->slots[i]);
    }
}

/* --- one iteration ---------------------------------------------------------------- */

static void merge(struct hfp *hfp, uint32_t into, uint32_t from)
{
    od_packages *packages = &hfp->packages;
    if (!hfp->limited && hfp->options->flip)
        od_packages_meet(packages, into, from, hfp->options->memory);
    hfp->changed[into] = hfp->changed[from] = hfp->round;
    hfp->made[hfp->nmade++] = od_packages_merge(packages, into, from);
}

/* Lines 20 to 24 for all smallest packages that share `most` bytes with another. */
static void merge_pairs(struct hfp *hfp, uint64_t most)
{
    uint32_t slot;
    while (hfp->packages.live > hfp->options->parts && (slot = od_heap_first(&hfp->smallest)) != OD_HEAP_NONE &&
           hfp->bound[slot] == most) {
        if (!is_exact(hfp, slot)) {
            compute_best(hfp, slot);
            continue;
        }
        uint32_t partner = hfp->best[slot];
        od_heap_remove(&hfp->smallest, slot);
        if (od_heap_contains(&hfp->smallest, partner))
            od_heap_remove(&hfp->smallest, partner);
        merge(hfp, slot, partner);
    }
}

/* Lines 16 to 18: no smallest package shares anything with another. */
static void set_aside(struct hfp *hfp)
{
    uint32_t slot;
    while ((slot = od_heap_first(&hfp->smallest)) != OD_HEAP_NONE) {
        od_heap_remove(&hfp->smallest, slot);
        if (hfp->scattered == OD_NO_PACKAGE) {
            hfp->scattered = slot;
            hfp->packages.live--;
        } else {
            od_packages_append(&hfp->packages, hfp->scattered, slot);
        }
    }
}

static void iterate(struct hfp *hfp)
{
    hfp->round++;
    hfp->nmade = 0;
    uint32_t slot;
    while (!is_exact(hfp, slot = od_heap_first(&hfp->smallest)))
        compute_best(hfp, slot);
    uint64_t most = hfp->bound[slot];
    if (most > 0) {
        merge_pairs(hfp, most);
    } else if (hfp->limited) {
        hfp->limited = false;
        forget_all_best(hfp);
    } else {
        set_aside(hfp);
    }
    if (hfp->smallest.count < hfp->nmade)
        forget_all_best(hfp); /* dearer to keep than to compute */
    else
        for (uint32_t i = 0; i < hfp->nmade; i++)
            offer(hfp, hfp->made[i]);
}

/* Drops from `slots` what is no package any more; returns the size of the smallest one. */
static uint32_t refresh_slots(struct hfp *hfp)
{
    const od_package *package = hfp->packages.package;
    uint32_t nslots = 0, least = UINT32_MAX;
    for (uint32_t i = 0; i < hfp->nslots; i++) {
        uint32_t slot = hfp->slots[i];
        if (!package[slot].ntasks || slot == hfp->scattered)
            continue;
        hfp->slots[nslots++] = slot;
        least = package[slot].ntasks < least ? package[slot].ntasks : least;
    }
    hfp->nslots = nslots;
    return least;
}

/* S of line 5. */
static void gather_smallest(struct hfp *hfp)
{
    const od_package *package = hfp->packages.package;
    uint32_t least = refresh_slots(hfp);
    for (uint32_t i = 0; i < hfp->nslots; i++) {
        if (package[hfp->slots[i]].ntasks != least)
            continue;
        forget_best(hfp, hfp->slots[i]);
        od_heap_push(&hfp->smallest, hfp->slots[i]);
    }
}

/* --- fast start --------------------------------------------------------------------- */

/* The first task after `task` that uses the datum and has no mate. */
static uint32_t next_user(const struct hfp *hfp, uint32_t d, uint32_t task, const uint32_t *mate, uint32_t *cursor)
{
    const od_users *users = &hfp->packages.holders;
    while (cursor[d] < users->first[d + 1]) {
        uint32_t user = users->task[cursor[d]];
        if (user > task && mate[user] == OD_NO_TASK)
            return user;
        cursor[d]++;
    }
    return OD_NO_TASK;
}

static bool fit_together(struct hfp *hfp, uint32_t a, uint32_t b)
{
    const od_batch *batch = hfp->batch;
    uint64_t bytes = hfp->packages.package[a].weight + hfp->packages.package[b].weight;
    for (uint32_t u = batch->first[a]; u < batch->first[a + 1]; u++)
        for (uint32_t v = batch->first[b]; v < batch->first[b + 1]; v++)
            bytes -= batch->datum[u] == batch->datum[v] ? batch->size[batch->datum[u]] : 0;
    return bytes <= hfp->options->memory;
}

/* For each datum of a task its next user, of these the first that fits beside the task. `mate`: all OD_NO_TASK. */
static void choose_mates(struct hfp *hfp, uint32_t *mate, uint32_t *cursor)
{
    const od_batch *batch = hfp->batch;
    uint32_t left = batch->ntasks;
    for (uint32_t d = 0; d < batch->ndata; d++)
        cursor[d] = hfp->packages.holders.first[d];
    for (uint32_t t = 0; t < batch->ntasks && left > hfp->options->parts; t++) {
        uint32_t best = OD_NO_TASK;
        for (uint32_t u = batch->first[t]; mate[t] == OD_NO_TASK && u < batch->first[t + 1]; u++) {
            uint32_t user = next_user(hfp, batch->datum[u], t, mate, cursor);
            if (user < best && fit_together(hfp, t, user))
                best = user;
        }
        if (best == OD_NO_TASK)
            continue;
        mate[t] = best;
        mate[best] = t;
        left--;
    }
}

static od_status fast_start(struct hfp *hfp)
{
    uint32_t ntasks = hfp->batch->ntasks;
    uint32_t *mate = od_malloc(((size_t)ntasks + 1) * sizeof *mate);
    uint32_t *cursor = od_malloc(((size_t)hfp->batch->ndata + 1) * sizeof *cursor);
    od_status status = mate && cursor ? OD_OK : OD_ENOMEM;
    if (!status) {
        for (uint32_t t = 0; t < ntasks; t++)
            mate[t] = OD_NO_TASK;
        choose_mates(hfp, mate, cursor);
        for (uint32_t t = 0; t < ntasks; t++) {
            if (mate[t] != OD_NO_TASK && mate[t] > t)
                od_packages_merge(&hfp->packages, t, mate[t]);
        }
    }
    free(mate);
    free(cursor);
    return status;
}

/* --- the result ---------------------------------------------------------------------- */

static double load(const od_batch *batch, const uint32_t *order, uint32_t count)
{
    double seconds = 0;
    for (uint32_t i = 0; i < count; i++)
        seconds += batch->duration[order[i]];
    return seconds;
}

/* The scattered tasks become one more package, or the end of the shortest. `order` is used as scratch. */
static void take_back_scattered(struct hfp *hfp, uint32_t *order)
{
    if (hfp->scattered == OD_NO_PACKAGE)
        return;
    if (hfp->nslots < hfp->options->parts) {
        hfp->slots[hfp->nslots++] = hfp->scattered;
        return;
    }
    uint32_t shortest = OD_NO_PACKAGE;
    double least = 0;
    for (uint32_t i = 0; i < hfp->nslots; i++) {
        double seconds = load(hfp->batch, order, od_packages_list(&hfp->packages, hfp->slots[i], order));
        if (shortest == OD_NO_PACKAGE || seconds < least) {
            shortest = hfp->slots[i];
            least = seconds;
        }
    }
    od_packages_append(&hfp->packages, shortest, hfp->scattered);
}

static void write_parts(struct hfp *hfp, uint32_t *order, uint32_t *begin)
{
    refresh_slots(hfp);
    for (uint32_t i = 1; i < hfp->nslots; i++) { /* by rank; nearly in order */
        uint32_t slot = hfp->slots[i], at = i;
        for (; at > 0 && hfp->packages.rank[hfp->slots[at - 1]] > hfp->packages.rank[slot]; at--)
            hfp->slots[at] = hfp->slots[at - 1];
        hfp->slots[at] = slot;
    }
    take_back_scattered(hfp, order);
    begin[0] = 0;
    for (uint32_t part = 0; part < hfp->options->parts; part++) {
        uint32_t count =
            part < hfp->nslots ? od_packages_list(&hfp->packages, hfp->slots[part], order + begin[part]) : 0;
        begin[part + 1] = begin[part] + count;
    }
}

/* --- all of it ------------------------------------------------------------------------- */

static od_status hfp_create(struct hfp *hfp, const od_batch *batch, const od_hfp_options *options)
{
    size_t ntasks = (size_t)batch->ntasks + 1;
    *hfp = (struct hfp){.batch = batch, .options = options, .limited = true, .scattered = OD_NO_PACKAGE};
    od_heap_init(&hfp->smallest, comes_first, hfp);
    if (od_packages_create(batch, &hfp->packages) || od_heap_reserve(&hfp->smallest, batch->ntasks))
        return OD_ENOMEM;
    hfp->slots = od_malloc(ntasks * sizeof *hfp->slots);
    hfp->bound = od_malloc(ntasks * sizeof *hfp->bound);
    hfp->best = od_malloc(ntasks * sizeof *hfp->best);
    hfp->computed = od_calloc(ntasks, sizeof *hfp->computed);
    hfp->changed = od_calloc(ntasks, sizeof *hfp->changed);
    hfp->made = od_malloc(ntasks * sizeof *hfp->made);
    if (!hfp->slots || !hfp->bound || !hfp->best || !hfp->computed || !hfp->changed || !hfp->made)
        return OD_ENOMEM;
    for (uint32_t t = 0; t < batch->ntasks; t++)
        hfp->slots[t] = t;
    hfp->nslots = batch->ntasks;
    return OD_OK;
}

static void hfp_free(struct hfp *hfp)
{
    od_packages_free(&hfp->packages);
    od_heap_free(&hfp->smallest);
    free(hfp->slots);
    free(hfp->bound);
    free(hfp->best);
    free(hfp->computed);
    free(hfp->changed);
    free(hfp->made);
}

od_status od_order_hfp(const od_batch *batch, const od_hfp_options *options, uint32_t *order, uint32_t *begin)
{
    struct hfp hfp;
    od_status status = hfp_create(&hfp, batch, options);
    if (!status && options->fast_start)
        status = fast_start(&hfp);
    if (!status) {
        while (hfp.packages.live > options->parts) {
            gather_smallest(&hfp);
            while (hfp.smallest.count && hfp.packages.live > options->parts)
                iterate(&hfp);
        }
        write_parts(&hfp, order, begin);
    }
    hfp_free(&hfp);
    return status;
}
