/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How many devices work, and which; see working.h. */
#include "sched/engine_internal.h"

static uint64_t bits_below(unsigned k)
{
    return k < OD_MAX_DEVICES ? OD_BIT(k) - 1 : UINT64_MAX;
}

unsigned od_engine_working(const od_engine *e)
{
    unsigned left = e->config.ndevices - (unsigned)__builtin_popcountll(e->lost);
    unsigned count = e->working.count < left ? e->working.count : left;
    return count ? count : 1; /* plans of lost devices are carried out elsewhere */
}

bool od_engine_rests(const od_engine *e, unsigned k)
{
    unsigned before = k - (unsigned)__builtin_popcountll(e->lost & bits_below(k)); /* that are not lost */
    return before >= e->working.count;
}

void od_engine_choose_working(od_engine *e)
{
    double seconds;
    unsigned before = e->working.count;
    if (!e->working.chooses || !od_working_update(&e->working, &e->env, e->known, &seconds) ||
        e->working.count == before || !od_is_told(e))
        return;
    unsigned last = e->config.ndevices - 1, count = e->working.count;
    const od_score scores[] = {{"working_devices", count},
                               {"before", before},
                               {"finish_s", seconds},
                               {"known_tasks", (double)e->working.estimated},
                               {"work_s", e->known->open_seconds}};
    od_tell(e, (od_event){.kind = OD_EVENT_DECISION,
                          .ns = od_engine_now(e),
                          .place = (int)(count < last ? count : last),
                          .reason = OD_DECISION_REST,
                          OD_SCORES(scores)});
}
