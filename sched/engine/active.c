/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How many devices are active, and which; see active.h. */
#include "sched/engine/internal.h"
#include "util/memory.h"

#include <stdlib.h>

static uint64_t bits_below(unsigned k)
{
    return OD_BIT(k) - 1;
}

/* Active devices by name; 0: so many. */
static uint64_t chosen_set(const od_engine *e)
{
    return e->active.set & ~e->lost & bits_below(e->config.ndevices);
}

unsigned od_engine_active(const od_engine *e)
{
    if (chosen_set(e))
        return (unsigned)__builtin_popcountll(chosen_set(e));
    unsigned left = e->config.ndevices - (unsigned)__builtin_popcountll(e->lost);
    unsigned count = e->active.count < left ? e->active.count : left;
    return count ? count : 1; /* plans of lost devices are carried out elsewhere */
}

/* A lost device is one, for what is planned for it waits until others have nothing else; unless all are lost. */
bool od_engine_idles(const od_engine *e, unsigned k)
{
    if (od_device_is_lost(e, (int)k) && !od_no_device_is_left(e))
        return true;
    if (chosen_set(e))
        return !(chosen_set(e) & OD_BIT(k));
    unsigned before = k - (unsigned)__builtin_popcountll(e->lost & bits_below(k)); /* that are not lost */
    return before >= e->active.count;
}

uint64_t od_engine_active_set(const od_engine *e)
{
    uint64_t set = 0;
    for (unsigned k = 0; k < e->config.ndevices; k++)
        set |= od_engine_idles(e, k) ? 0 : OD_BIT(k);
    return set;
}

void od_engine_emit_active(od_engine *e, uint64_t before)
{
    uint64_t now = od_engine_active_set(e), idle = ~now & bits_below(e->config.ndevices);
    const od_score scores[] = {{"active_devices", __builtin_popcountll(now)},
                               {"before", __builtin_popcountll(before)},
                               {"devices", (double)now}};
    if (now == before || !od_is_observed(e))
        return;
    od_emit(e, (od_event){.kind = OD_EVENT_DECISION,
                          .ns = od_engine_now(e),
                          .place = idle ? __builtin_ctzll(idle) : (int)e->config.ndevices - 1,
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
