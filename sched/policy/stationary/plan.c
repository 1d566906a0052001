/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What stationary assigns to each device: a phase, or its part of a joint plan. See stationary.c. */
#include "sched/phase/list.h"
#include "sched/phase/active.h"
#include "sched/policy/stationary/impl.h"
#include "util/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void od_stationary_claim(od_stationary *s, od_known_task *known, unsigned k)
{
    od_known_claim(s->env.known, known, k);
    if (known->task)
        od_plan_append(&s->ready[k], known->task);
}

/* --- phases ---------------------------------------------------------------------------------- */

/* What all active devices do at once of these tasks, in devices. */
static double speed_of_active(const od_policy_env *env, const od_snapshot *tasks)
{
    double speed = 0;
    for (unsigned k = 0; k < env->ndevices; k++)
        speed += od_policy_is_idle(env, k) ? 0 : 1 / od_snapshot_slowness(tasks, env, k);
    return speed > 0 ? speed : od_policy_active(env);
}

/* True where tasks outside the phase wait for tasks in it. */
static bool is_awaited(const od_phase_problem *p, const od_phase_result *phase)
{
    bool *inside = od_calloc(p->ntasks + 1, 1), awaited = false;
    for (uint32_t i = 0; inside && i < phase->ntasks; i++)
        inside[phase->order[i]] = true;
    for (uint32_t i = 0; inside && !awaited && i < phase->ntasks; i++) {
        uint32_t t = phase->order[i];
        for (uint32_t e = p->first_successor[t]; e < p->first_successor[t + 1]; e++)
            awaited |= !inside[p->successor[e]];
    }
    free(inside);
    return awaited;
}

struct planning {
    od_background job;
    od_stationary *s;
    unsigned k;
    unsigned ndevices, active, loading;
    unsigned which[OD_MAX_DEVICES]; /* the active devices */
    bool jointly; /* what all devices do may be planned together; then: it has been */
    double work;  /* seconds of all tasks */
    od_slowness slowness; /* as it was */
    double speed; /* of the active devices, in devices */
    od_snapshot snapshot;
    od_phase_result phase;
    od_phase_habit habit;
    od_list_plan list;
    od_findings *findings; /* or NULL */
    uint64_t key;          /* of the snapshot, where there are findings */
    od_status status;
};

static uint64_t key_of_phase(const struct planning *planning)
{
    const od_phase_habit *habit = &planning->habit;
    const double about[] = {
        planning->snapshot.problem.share, habit->role, habit->of, habit->left, habit->worth, habit->seconds};
    return od_findings_mix(planning->key, OD_FINDINGS_PHASE, about, sizeof about);
}

/* As od_phase_plan(). */
static od_status plan_phase(struct planning *planning)
{
    const od_phase_problem *p = &planning->snapshot.problem;
    od_phase_result *phase = &planning->phase;
    uint64_t key = key_of_phase(planning);
    const od_finding *found = od_findings_look_up(planning->findings, key);
    if (found) {
        uint32_t *order = phase->order;
        memcpy(order, found->order, found->phase.ntasks * sizeof *order);
        *phase = found->phase;
        phase->order = order;
        planning->habit = found->habit;
        return OD_OK;
    }
    od_status status = od_phase_plan(p, phase);
    if (!status)
        od_findings_add(planning->findings,
                        &(od_finding){.key = key, .phase = *phase, .habit = planning->habit, .order = phase->order},
                        phase->ntasks);
    return status;
}

/* Half a share where others will wait for what they need, unless memory has made the phase as short as that. */
static od_status find_phase(struct planning *planning)
{
    od_phase_problem *p = &planning->snapshot.problem;
    od_phase_result *phase = &planning->phase;
    od_status status = plan_phase(planning);
    if (status || planning->active == 1 || phase->seconds <= p->share / 2 || !is_awaited(p, phase))
        return status;
    p->share /= 2;
    return plan_phase(planning);
}

/* As od_active_loads(). */
static double find_loads(const struct planning *planning, double most)
{
    uint64_t key = od_active_loads_key(planning->key, planning->loading, planning->active);
    uint64_t bounded = od_findings_mix(key, OD_FINDINGS_LOADS, &most, sizeof most);
    const od_finding *found = od_findings_look_up(planning->findings, key);
    if (!found)
        found = od_findings_look_up(planning->findings, bounded);
    if (found)
        return found->loads;
    double loads = od_active_loads(&planning->snapshot, planning->loading, planning->active, most);
    od_findings_add(planning->findings, &(od_finding){.key = loads > most ? bounded : key, .loads = loads}, 0);
    return loads;
}

static uint64_t key_of_list(const struct planning *planning, double limit)
{
    unsigned about[] = {planning->loading, planning->active, planning->s->owners};
    uint64_t key = od_findings_mix(planning->key, OD_FINDINGS_LIST, about, sizeof about);
    key = od_findings_mix(key, OD_FINDINGS_LIST, &limit, sizeof limit);
    return od_findings_mix(key, OD_FINDINGS_LIST, planning->which, planning->active * sizeof *planning->which);
}

/* True: there is one, which takes less than so many seconds. */
static bool find_list(struct planning *planning, double limit)
{
    const od_list_problem problem = {&planning->snapshot.problem,
                                     planning->snapshot.copies,
                                     &planning->slowness,
                                     planning->which,
                                     planning->loading,
                                     planning->s->owners,
                                     limit,
                                     planning->findings};
    uint32_t ntasks = problem.tasks->ntasks;
    od_list_plan *list = &planning->list;
    uint64_t key = key_of_list(planning, limit);
    const od_finding *found = od_findings_look_up(planning->findings, key);
    if (found) {
        memcpy(list->order, found->order, ntasks * sizeof *list->order);
        memcpy(list->place, found->place, ntasks * sizeof *list->place);
        list->seconds = found->finish;
        return list->seconds < limit;
    }
    if (od_list_plan_best(&problem, planning->active, list))
        return false;
    od_findings_add(planning->findings,
                    &(od_finding){.key = key, .finish = list->seconds, .order = list->order, .place = list->place},
                    ntasks);
    return list->seconds < limit;
}

/* Long chains of tasks that need each other's results: all devices would wait for those of one phase. A few devices
 * do so only where loads take little time beside work; else phases are better, which load less. */
static bool find_joint_plan(struct planning *planning)
{
    static const double little = 0.5; /* as the next, over the factorisations of docs/performance.md */
    enum { FEW = 3 };
    if (planning->s->owners)
        return find_list(planning, (double)INFINITY);
    double work = planning->work / planning->speed;
    double most = planning->active <= FEW ? little * work : (double)INFINITY, loads = find_loads(planning, most);
    if (loads > most)
        return false;
    return find_list(planning, od_active_finish(work, loads));
}

static void find_plan(od_background *job)
{
    struct planning *planning = od_container_of(job, struct planning, job);
    planning->key = planning->findings ? od_findings_key(&planning->snapshot) : 0;
    planning->jointly = planning->jointly && find_joint_plan(planning);
    planning->status = planning->jointly ? OD_OK : find_phase(planning);
}

static void emit_plan(const struct planning *planning, od_task *first, unsigned k)
{
    const od_phase_result *phase = &planning->phase;
    const od_policy_env *env = &planning->s->env;
    const od_score joint[] = {{"tasks", planning->snapshot.problem.ntasks}, {"finish_s", planning->list.seconds}};
    const od_score own[] = {{"tasks", phase->ntasks},
                            {"work_s", phase->seconds},
                            {"load_s", phase->loads},
                            {"store_s", phase->stores},
                            {"held_bytes", phase->held}};
    if (!env->decided || !first)
        return;
    if (planning->jointly)
        env->decided(env->engine, &(od_decision){OD_DECISION_PLAN, k, .task = first, OD_SCORES(joint)});
    else
        env->decided(env->engine, &(od_decision){OD_DECISION_PLAN, k, .task = first, OD_SCORES(own)});
}

/* The tasks that are still open; those that are not have been placed by the engine meanwhile, or are gone. False:
 * none is. */
static bool claim_plan(struct planning *planning)
{
    od_stationary *s = planning->s;
    uint32_t count = planning->jointly ? planning->snapshot.problem.ntasks : planning->phase.ntasks;
    od_task *first[OD_MAX_DEVICES] = {NULL};
    bool any = false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t t = planning->jointly ? planning->list.order[i] : planning->phase.order[i];
        unsigned k = planning->jointly ? planning->list.place[t] : planning->k;
        od_known_task *known = planning->snapshot.task[t];
        if (!od_known_is_open(known))
            continue;
        first[k] = first[k] ? first[k] : known->task;
        od_stationary_claim(s, known, k);
        any = true;
    }
    s->in_order = planning->jointly;
    for (unsigned k = 0; k < planning->ndevices; k++)
        emit_plan(planning, first[k], k);
    return any;
}

static void claim_first(od_stationary *s, unsigned k)
{
    const od_list *open = &s->env.known->open;
    if (open->count)
        od_stationary_claim(s, od_container_of(od_list_first(open), od_known_task, link), k);
}

static void free_planning(struct planning *planning)
{
    od_snapshot_free(&planning->snapshot);
    free(planning->phase.order);
    free(planning->list.order);
    free(planning->list.place);
    free(planning);
}

static void end_planning(od_background *job, bool carried_out)
{
    struct planning *planning = od_container_of(job, struct planning, job);
    od_stationary *s = planning->s;
    s->plans = false;
    s->planning_seconds = job->seconds;
    s->habit = planning->habit;
    if (carried_out && (planning->status || !claim_plan(planning)))
        claim_first(s, planning->k);
    free_planning(planning);
}

/* Several devices that have nothing yet, tasks that wait for each other or that not all devices are as good at, and
 * not more than can be simulated some dozen times. */
static bool may_plan_jointly(const od_stationary *s, const od_phase_problem *p)
{
    enum { MOST_TASKS = 32768 };
    bool mixed = s->env.slowness && od_slowness_is_mixed(s->env.slowness, s->env.ndevices);
    size_t claimed = 0;
    for (unsigned k = 0; k < s->env.ndevices; k++)
        claimed += s->env.known->claimed[k].count;
    return od_policy_active(&s->env) > 1 && !claimed && (p->first_successor[p->ntasks] || mixed) &&
           p->ntasks <= MOST_TASKS;
}

/* Returns how many there are. */
static unsigned list_active(const od_policy_env *env, unsigned *which)
{
    unsigned count = 0;
    for (unsigned k = 0; k < env->ndevices; k++)
        if (!od_policy_is_idle(env, k))
            which[count++] = k;
    return count;
}

/* Seconds of tasks, as they are named, for a device that has none yet, so that all are busy equally long with such
 * tasks. */
static double share_of(const struct planning *planning)
{
    const od_stationary *s = planning->s;
    const od_known *known = s->env.known;
    double total = known->open_seconds + known->taken_seconds;
    for (unsigned i = 0; i < s->env.ndevices; i++)
        total += known->claimed_seconds[i];
    return total / planning->speed / od_snapshot_slowness(&planning->snapshot, &s->env, planning->k);
}

static struct planning *make_planning(od_stationary *s, unsigned k)
{
    struct planning *planning = od_calloc(1, sizeof *planning);
    od_known_predict(s->env.known);
    if (!planning || od_snapshot_create(&planning->snapshot, s->env.known, &s->env, k)) {
        free(planning);
        return NULL;
    }
    od_phase_problem *p = &planning->snapshot.problem;
    planning->job = (od_background){.run = find_plan, .done = end_planning};
    planning->s = s;
    planning->k = k;
    planning->ndevices = s->env.ndevices;
    planning->active = list_active(&s->env, planning->which);
    planning->loading = od_policy_loading(&s->env);
    if (s->env.slowness)
        planning->slowness = *s->env.slowness;
    else
        od_slowness_init(&planning->slowness);
    planning->jointly = may_plan_jointly(s, p);
    planning->findings = s->env.known->findings;
    planning->work = s->env.known->open_seconds;
    planning->habit = s->habit;
    p->habit = &planning->habit;
    planning->phase.order = od_malloc((p->ntasks + 1) * sizeof *planning->phase.order);
    planning->speed = speed_of_active(&s->env, &planning->snapshot);
    p->share = share_of(planning);
    size_t listed = planning->jointly ? p->ntasks + 1 : 1;
    planning->list.order = od_malloc(listed * sizeof *planning->list.order);
    planning->list.place = od_malloc(listed * sizeof *planning->list.place);
    if (planning->phase.order && planning->list.order && planning->list.place)
        return planning;
    free_planning(planning);
    return NULL;
}

void od_stationary_plan(od_stationary *s, unsigned k)
{
    struct planning *planning = make_planning(s, k);
    s->plans = planning != NULL;
    if (planning)
        od_policy_background(&s->env, &planning->job, s->env.known->open.count);
    else
        claim_first(s, k);
}
