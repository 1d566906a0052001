/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The one place where the engine calls its policy and its eviction rule. What they take counts as scheduling, and
 * with it what is kept for them: the graph of all known tasks, and the choice of the devices that work.
 */
#include "sched/engine/internal.h"

static void count(od_engine *e, uint64_t begin_ns)
{
    e->stats.sched_ns += od_engine_cost_clock(e) - begin_ns;
}

od_known_task *od_hook_submitted(od_engine *e, const void *kind, unsigned speed_class, double seconds,
                                 const od_level_use *uses, uint32_t nuses)
{
    if (!e->known)
        return NULL;
    uint64_t begin = od_engine_cost_clock(e);
    od_known_task *known = od_known_submit(e->known, kind, speed_class, seconds, uses, nuses);
    if (known)
        od_known_follow_new(e->known, known);
    count(e, begin);
    return known;
}

od_status od_hook_ready(od_engine *e, od_task *t)
{
    const od_policy_ops *policy = e->config.policy;
    uint64_t begin = od_engine_cost_clock(e);
    od_status status = od_known_follow_ready(e->known, t);
    if (t->submission)
        t->submission->known = t->known;
    if (!status && policy->places_at_arrival)
        od_engine_choose_active(e);
    if (!status)
        status = policy->ready(e->policy_state, t);
    count(e, begin);
    return status;
}

void od_hook_forced(od_engine *e, od_task *t)
{
    uint64_t begin = od_engine_cost_clock(e);
    if (!t->known || !t->known->task)
        od_known_follow_ready(e->known, t); /* out of memory: it counts as submitted */
    if (t->submission)
        t->submission->known = t->known;
    od_known_follow_taken(e->known, t);
    count(e, begin);
}

bool od_hook_consider(od_engine *e)
{
    uint64_t begin = od_engine_cost_clock(e);
    e->adopted = false;
    if (e->chooser)
        e->chooser_ops->consider(e->chooser);
    count(e, begin);
    return e->adopted;
}

od_task *od_hook_pop(od_engine *e, unsigned k)
{
    uint64_t begin = od_engine_cost_clock(e);
    if (e->chooser)
        e->chooser_ops->consider(e->chooser);
    const od_policy_ops *policy = e->config.policy;
    bool chosen = policy->places_at_arrival || od_engine_choose_active(e);
    od_task *t = chosen ? policy->pop(e->policy_state, k) : NULL;
    if (t)
        od_known_follow_taken(e->known, t);
    count(e, begin);
    return t;
}

void od_hook_incoming(od_engine *e, od_datum *d, unsigned k)
{
    if (!e->config.policy->incoming)
        return;
    uint64_t begin = od_engine_cost_clock(e);
    e->config.policy->incoming(e->policy_state, d, k);
    count(e, begin);
}

void od_hook_evicted(od_engine *e, od_datum *d, unsigned k)
{
    if (!e->config.policy->evicted)
        return;
    uint64_t begin = od_engine_cost_clock(e);
    e->config.policy->evicted(e->policy_state, d, k);
    count(e, begin);
}

void od_hook_started(od_engine *e, od_task *t, unsigned k)
{
    od_known_follow_taken(e->known, t);
    if (!e->config.policy->started)
        return;
    uint64_t begin = od_engine_cost_clock(e);
    e->config.policy->started(e->policy_state, t, k);
    count(e, begin);
}

void od_hook_done(od_engine *e, od_task *t, unsigned k)
{
    if (!e->config.policy->done)
        return;
    uint64_t begin = od_engine_cost_clock(e);
    e->config.policy->done(e->policy_state, t, k);
    count(e, begin);
}

void od_hook_forget(od_engine *e, od_datum *d)
{
    if (!e->config.policy->forget && !e->known)
        return;
    uint64_t begin = od_engine_cost_clock(e);
    if (e->config.policy->forget)
        e->config.policy->forget(e->policy_state, d);
    if (e->known)
        od_known_forget(e->known, d);
    count(e, begin);
}

void od_hook_background_done(od_engine *e, od_background *job)
{
    uint64_t begin = od_engine_cost_clock(e);
    od_background_finish(e, job, true);
    count(e, begin);
}

od_replica *od_hook_victim(od_engine *e, const od_evict_query *query)
{
    uint64_t begin = od_engine_cost_clock(e);
    od_replica *victim = e->config.evict->victim(query);
    count(e, begin);
    return victim;
}
