/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How many devices are active; see active.h. */
#include "sched/phase/active.h"

#include <math.h>

void od_active_init(od_active *a, const od_policy_env *env, int count, bool policy_chooses)
{
    bool chosen = count == OD_ACTIVE_CHOSEN || (count == OD_ACTIVE_AS_POLICY && policy_chooses);
    *a = (od_active){.chooses = chosen && env->ndevices > 1, .count = env->ndevices};
    if (count > 0 && (unsigned)count < env->ndevices)
        a->count = (unsigned)count;
}

/* What is shorter, loads or work, is not quite hidden behind the other. */
double od_active_finish(double work, double loads)
{
    static const double not_hidden = 0.6; /* over the factorisations and products of docs/performance.md */
    return fmax(work, loads) + not_hidden * fmin(work, loads);
}

double od_active_loads(const od_snapshot *snapshot, unsigned loading, unsigned nactive, double most)
{
    double loads;
    return od_phase_estimate(&snapshot->problem, nactive, most * loading, &loads) ? (double)INFINITY : loads / loading;
}

bool od_active_is_due(od_active *a, const od_known *known)
{
    if (!a->chooses || a->under_way)
        return false;
    if (a->batch != known->batches)
        a->estimated = 0;
    a->batch = known->batches;
    return known->open.count >= a->estimated + a->estimated / 2 + 8;
}

od_status od_active_begin(od_active *a, const od_policy_env *env, od_known *known, od_active_estimate *estimate)
{
    od_known_predict(known);
    *estimate = (od_active_estimate){.ndevices = env->ndevices,
                                     .seconds = (double)INFINITY,
                                     .work = known->open_seconds,
                                     .loading = od_policy_loading(env),
                                     .findings = known->findings};
    if (od_snapshot_create(&estimate->snapshot, known, env, 0))
        return OD_ENOMEM;
    estimate->speed[0] = 0;
    for (unsigned k = 0; k < env->ndevices; k++)
        estimate->speed[k + 1] = estimate->speed[k] + 1 / od_snapshot_slowness(&estimate->snapshot, env, k);
    a->first = !a->begun;
    a->begun = true;
    a->estimated = known->open.count;
    a->under_way = true;
    return OD_OK;
}

uint64_t od_active_loads_key(uint64_t snapshot, unsigned loading, unsigned nactive)
{
    return od_findings_mix(snapshot, OD_FINDINGS_LOADS, (unsigned[]){loading, nactive}, 2 * sizeof loading);
}

static void search(od_active_estimate *estimate, uint64_t key)
{
    static const double clearly = 0.97; /* one device more must bring that */
    static const double others = 0.05; /* so much longer each of the others makes it by what they wait for each other */
    double least = (double)INFINITY;
    estimate->snapshot.problem.memo = &estimate->memo;
    for (unsigned n = 1; n <= estimate->ndevices; n += 1 + n / 4) {
        double loads = od_active_loads(&estimate->snapshot, estimate->loading, n, (double)INFINITY);
        uint64_t own = od_active_loads_key(key, estimate->loading, n);
        od_findings_add(estimate->findings, &(od_finding){.key = own, .loads = loads}, 0);
        double seconds = od_active_finish(estimate->work / estimate->speed[n], loads);
        if (seconds * (1 + others * (n - 1)) >= clearly * least)
            continue;
        least = seconds * (1 + others * (n - 1));
        estimate->seconds = seconds;
        estimate->count = n;
    }
}

void od_active_find(od_active_estimate *estimate)
{
    uint64_t snapshot = estimate->findings ? od_findings_key(&estimate->snapshot) : 0, key = snapshot;
    key = od_findings_mix(key, OD_FINDINGS_ACTIVE, estimate->speed, (estimate->ndevices + 1) * sizeof *estimate->speed);
    key = od_findings_mix(key, OD_FINDINGS_ACTIVE, &estimate->work, sizeof estimate->work);
    const od_finding *found = od_findings_look_up(estimate->findings, key);
    if (!found) {
        search(estimate, snapshot);
        od_finding finding = {.key = key, .active = {estimate->count, estimate->seconds}};
        od_findings_add(estimate->findings, &finding, 0);
        return;
    }
    estimate->count = found->active.count;
    estimate->seconds = found->active.seconds;
}

void od_active_end(od_active *a, od_active_estimate *estimate)
{
    a->under_way = false;
    if (estimate->count)
        a->count = estimate->count;
    od_snapshot_free(&estimate->snapshot);
}
