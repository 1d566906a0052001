/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How many devices work; see working.h. */
#include "sched/phase/working.h"

#include <math.h>

void od_working_init(od_working *w, const od_policy_env *env, int count, bool policy_chooses)
{
    bool chosen = count == OD_WORKING_CHOSEN || (count == OD_WORKING_AS_POLICY && policy_chooses);
    *w = (od_working){.chooses = chosen && env->ndevices > 1, .count = env->ndevices};
    if (count > 0 && (unsigned)count < env->ndevices)
        w->count = (unsigned)count;
}

/* What is shorter, loads or work, is not quite hidden behind the other. */
double od_working_finish(double work, double loads)
{
    static const double not_hidden = 0.6; /* over the factorisations and products of docs/performance.md */
    return fmax(work, loads) + not_hidden * fmin(work, loads);
}

double od_working_loads(const od_snapshot *snapshot, unsigned ndevices, unsigned working)
{
    double loads;
    return od_phase_estimate(&snapshot->problem, working, &loads) ? (double)INFINITY : loads / ndevices;
}

bool od_working_is_due(od_working *w, const od_known *known)
{
    if (!w->chooses || w->under_way)
        return false;
    if (w->batch != known->batches)
        w->estimated = 0;
    w->batch = known->batches;
    return known->open.count >= w->estimated + w->estimated / 4 + 8;
}

od_status od_working_begin(od_working *w, const od_policy_env *env, od_known *known, od_working_estimate *estimate)
{
    od_known_predict(known);
    *estimate =
        (od_working_estimate){.ndevices = env->ndevices, .seconds = (double)INFINITY, .work = known->open_seconds};
    if (od_snapshot_create(&estimate->snapshot, known, env, 0))
        return OD_ENOMEM;
    w->first = !w->begun;
    w->begun = true;
    w->estimated = known->open.count;
    w->under_way = true;
    return OD_OK;
}

void od_working_find(od_working_estimate *estimate)
{
    static const double clearly = 0.97; /* one device more must bring that */
    static const double others = 0.05; /* so much longer each of the others makes it by what they wait for each other */
    double least = (double)INFINITY;
    estimate->snapshot.problem.memo = &estimate->memo;
    for (unsigned n = 1; n <= estimate->ndevices; n += 1 + n / 4) {
        double loads = od_working_loads(&estimate->snapshot, estimate->ndevices, n);
        double seconds = od_working_finish(estimate->work / n, loads);
        if (seconds * (1 + others * (n - 1)) >= clearly * least)
            continue;
        least = seconds * (1 + others * (n - 1));
        estimate->seconds = seconds;
        estimate->count = n;
    }
}

void od_working_end(od_working *w, od_working_estimate *estimate)
{
    w->under_way = false;
    if (estimate->count)
        w->count = estimate->count;
    od_snapshot_free(&estimate->snapshot);
}
