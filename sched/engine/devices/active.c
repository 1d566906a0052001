/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How many devices are active, and which; see active.h. */
#include "sched/engine/internal.h"
#include "util/memory.h"

#include <stdlib.h>

/* Active devices by name; none: so many. */
static od_placeset chosen_set(const od_engine *e)
{
    return od_placeset_intersection(od_placeset_minus(e->active.set, e->lost), od_placeset_below(e->config.ndevices));
}

static unsigned count_active(const od_engine *e)
{
    unsigned chosen = od_placeset_count(chosen_set(e));
    if (chosen)
        return chosen;
    unsigned left = e->config.ndevices - od_placeset_count(e->lost);
    unsigned count = e->active.count < left ? e->active.count : left;
    return count ? count : 1; /* plans of lost devices are carried out elsewhere */
}

/* A lost device is one, for what is planned for it waits until others have nothing else; unless all are lost. */
static bool idles(const od_engine *e, unsigned k)
{
    if (od_device_is_lost(e, (int)k) && !od_no_device_is_left(e))
        return true;
    od_placeset chosen = chosen_set(e);
    if (!od_placeset_is_empty(chosen))
        return !od_placeset_has(chosen, k);
    unsigned before =
        k - od_placeset_count(od_placeset_intersection(e->lost, od_placeset_below(k))); /* that are not lost */
    return before >= e->active.count;
}

void od_engine_settle_active(od_engine *e)
{
    e->nactive = count_active(e);
    e->working = OD_NO_PLACES;
    e->policy_moved = od_placeset_below(e->config.ndevices);
    for (unsigned k = 0; k < e->config.ndevices; k++)
        if (!idles(e, k))
            od_placeset_add(&e->working, k);
}

void od_engine_emit_active(od_engine *e, od_placeset before)
{
    od_placeset now = e->working, idle = od_placeset_minus(od_placeset_below(e->config.ndevices), now);
    /* Scores are numbers: sets of more devices than a word has are not told. */
    const od_score scores[] = {{"active_devices", od_placeset_count(now)},
                               {"before", od_placeset_count(before)},
                               {"devices", e->config.ndevices > 64 ? 0 : (double)now.word[0]}};
    if (od_placeset_equal(now, before) || !od_is_observed(e))
        return;
    od_emit(e,
            (od_event){.kind = OD_EVENT_DECISION,
                       .ns = od_engine_now(e),
                       .place = od_placeset_is_empty(idle) ? (int)e->config.ndevices - 1 : (int)od_placeset_first(idle),
                       .reason = OD_DECISION_IDLE,
                       OD_SCORES(scores)});
}

struct choice {
    od_background job;
    od_engine *e;
    od_active_estimate estimate;
};

static void find(od_background *job)
{
    od_active_find(&od_container_of(job, struct choice, job)->estimate);
}

static void emit(od_engine *e, const od_active_estimate *estimate, unsigned before)
{
    unsigned last = e->config.ndevices - 1, count = e->active.count;
    const od_score scores[] = {{"active_devices", count},
                               {"before", before},
                               {"finish_s", estimate->seconds},
                               {"known_tasks", (double)e->active.estimated},
                               {"work_s", estimate->work}};
    od_emit(e, (od_event){.kind = OD_EVENT_DECISION,
                          .ns = od_engine_now(e),
                          .place = (int)(count < last ? count : last),
                          .reason = OD_DECISION_IDLE,
                          OD_SCORES(scores)});
}

static void adopt(od_background *job, bool carried_out)
{
    struct choice *choice = od_container_of(job, struct choice, job);
    od_engine *e = choice->e;
    unsigned before = e->active.count;
    if (!carried_out)
        choice->estimate.count = 0;
    od_active_end(&e->active, &choice->estimate);
    od_engine_settle_active(e);
    if (e->active.count != before && od_is_observed(e))
        emit(e, &choice->estimate, before);
    free(choice);
}

enum { FEW = 4000 }; /* tasks: an estimate for fewer takes some milliseconds */

bool od_engine_choose_active(od_engine *e)
{
    struct choice *choice = od_active_is_due(&e->active, e->known) ? od_malloc(sizeof *choice) : NULL;
    if (choice && od_active_begin(&e->active, &e->env, e->known, &choice->estimate) == OD_OK) {
        choice->job = (od_background){.run = find, .done = adopt};
        choice->e = e;
        /* Tasks that are placed as they arrive cannot wait for the first one. */
        bool at_once = e->config.policy->places_at_arrival && e->active.first && e->known->open.count < FEW;
        od_engine_background(e, &choice->job, at_once ? 0 : e->known->open.count);
    } else {
        free(choice);
    }
    return !e->active.under_way || !e->active.first;
}
