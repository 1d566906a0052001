/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * stationary: some data stay on a device, the others stream past them.
 *
 * A device that has nothing planned gets a phase: of all known tasks, ready or only submitted, those that hold and
 * stream (sched/phase/phase.h) finds to bring the most task time for each second of transfers, at most its share of
 * the work. They are its own from then on. A request takes the one of its ready tasks that lacks the fewest bytes,
 * among equals by the planned order (with several devices by priority, because others wait). Evicted is what the
 * planned order uses last (rule belady): so what was chosen to stay stays. Where tasks of other devices will wait for
 * those of a long phase, half a share is planned: the others begin sooner.
 *
 * Where several devices have nothing yet and tasks wait for each other, all of them may be planned jointly instead
 * (sched/phase/list.h), if that is expected to end sooner: then each device follows its part of that plan.
 *
 * The work is divided among the active devices; the others are idle (sched/phase/active.h).
 *
 * A device that has no ready task takes over what another one was going to do with one item, if no loads are under
 * way (then its own cost nothing) and the other has more to do than they take. Not published.
 */
#include "sched/policy/stationary/impl.h"
#include "util/memory.h"

#include <stdlib.h>

enum option { STEAL, OWNERS };

static const od_policy_option options[] = {
    [STEAL] = {"steal", "0: devices take nothing over from others", true, 1, 1},
    [OWNERS] = {"owners", "a device runs all tasks that write one datum, planned for all devices at once", false, 1, 0},
    {0},
};

/* --- life cycle ------------------------------------------------------------------ */

static od_status stationary_create(const od_policy_env *env, void **state)
{
    od_stationary *s = od_calloc(1, sizeof *s + env->ndevices * sizeof s->ready[0]);
    if (!s)
        return OD_ENOMEM;
    s->env = *env;
    s->steals = env->values[STEAL];
    s->owners = env->values[OWNERS];
    for (unsigned k = 0; k < env->ndevices; k++)
        od_plan_init(&s->ready[k], env, k);
    *state = s;
    return OD_OK;
}

/* --- arrival ------------------------------------------------------------------------ */

static od_status stationary_ready(void *state, od_task *task)
{
    od_stationary *s = state;
    if (task->known->place != OD_NOWHERE)
        od_plan_append(&s->ready[task->known->place], task);
    return OD_OK;
}

/* --- taking over ------------------------------------------------------------------------------- */

/* What the task writes, else its last item; NULL: it uses nothing. */
static const od_known_item *main_item(const od_known_task *task)
{
    for (uint32_t i = task->nuses; i-- > 0;)
        if (task->uses[i].mode & OD_WRITE)
            return task->uses[i].item;
    return task->nuses ? task->uses[task->nuses - 1].item : NULL;
}

static double lacking_seconds(const od_stationary *s, const od_task *task, unsigned k)
{
    double seconds = 0;
    for (uint32_t i = 0; i < task->naccess; i++)
        if ((task->access[i].mode & OD_READ) && !od_datum_is_expected(task->access[i].datum, k))
            seconds += s->env.transfer_time(s->env.engine, task->access[i].datum, k);
    return seconds * od_policy_active(&s->env) / od_policy_loading(&s->env); /* the others do not load */
}

static bool is_loading(const od_stationary *s)
{
    for (unsigned k = 0; k < s->env.ndevices; k++)
        if (s->env.load(s->env.engine, k).loads)
            return true;
    return false;
}

/* Seconds of what the device has been given and of its ready tasks, the first of which stand for all. */
static double backlog(const od_stationary *s, unsigned k)
{
    enum { LOOK_AT = 1024 };
    double seconds = 0;
    size_t seen = 0, count = s->ready[k].tasks.count;
    od_list_each(it, &s->ready[k].tasks) {
        if (seen == LOOK_AT)
            break;
        seconds += od_container_of(it, od_task, link)->duration;
        seen++;
    }
    return s->env.load(s->env.engine, k).seconds + (seen ? seconds * (double)count / (double)seen : 0);
}

/* The device with the largest backlog, or the thief itself: none has two ready tasks. */
static unsigned most_loaded(const od_stationary *s, unsigned thief, double *seconds)
{
    unsigned victim = thief;
    *seconds = 0;
    for (unsigned k = 0; k < s->env.ndevices; k++) {
        double here = k == thief || s->ready[k].tasks.count < 2 ? 0 : backlog(s, k);
        if (here > *seconds) {
            *seconds = here;
            victim = k;
        }
    }
    return victim;
}

/* Of the last ready tasks of the victim the one that lacks least on the thief. */
static od_task *cheapest_task(const od_stationary *s, unsigned victim, unsigned thief, double *least)
{
    enum { LOOK_AT = 64 };
    const od_node *root = &s->ready[victim].tasks.root;
    od_task *best = NULL;
    unsigned left = LOOK_AT;
    for (od_node *node = root->prev; node != root && left > 0; node = node->prev, left--) {
        od_task *task = od_container_of(node, od_task, link);
        double seconds = lacking_seconds(s, task, thief);
        if (!best || seconds < *least) {
            best = task;
            *least = seconds;
        }
    }
    return best;
}

/* The task and all that comes after it on the victim with the same main item. */
static void take_over(od_stationary *s, od_known_task *first, unsigned thief)
{
    const od_known_item *item = main_item(first);
    unsigned victim = (unsigned)first->place;
    uint64_t number = first->number;
    if (!item) {
        od_plan_remove(&s->ready[victim], first->task);
        od_stationary_claim(s, first, thief);
        return;
    }
    od_list_each(it, &item->claimed[victim]) {
        od_known_task *known = od_container_of(it, od_known_use, link)->user;
        if (main_item(known) != item || known->number < number)
            continue;
        if (known->task)
            od_plan_remove(&s->ready[victim], known->task);
        od_stationary_claim(s, known, thief);
    }
}

static void steal(od_stationary *s, unsigned thief)
{
    static const double times = 2; /* what the victim has to do must take so much longer than the loads */
    double seconds, loads = 0;
    unsigned victim = is_loading(s) ? thief : most_loaded(s, thief, &seconds);
    if (victim == thief)
        return;
    od_task *task = cheapest_task(s, victim, thief, &loads);
    if (seconds < times * loads)
        return;
    if (s->env.decided) {
        const od_score scores[] = {{"from", victim}, {"backlog_s", seconds}, {"load_s", loads}};
        s->env.decided(s->env.engine, &(od_decision){OD_DECISION_STEAL, thief, .task = task, OD_SCORES(scores)});
    }
    take_over(s, task->known, thief);
}

/* --- request -------------------------------------------------------------------------------------- */

static bool is_idle(const od_stationary *s, unsigned k)
{
    od_device_load load = s->env.load(s->env.engine, k);
    return load.queued + load.running == 0;
}

/* Of two tasks that lack equally much. */
static bool comes_before(const od_stationary *s, const od_task *a, const od_task *b)
{
    if (!s->in_order && od_policy_active(&s->env) > 1 && a->priority != b->priority)
        return a->priority > b->priority;
    return a->known->number < b->known->number;
}

/* The task that is next in the planned order, if it is ready and lacks nothing: none is better then. */
static od_task *next_in_order(const od_stationary *s, unsigned k)
{
    const od_node *first = od_policy_active(&s->env) == 1 ? od_list_first(&s->env.known->claimed[k]) : NULL;
    od_task *task = first ? od_container_of(first, od_known_task, link)->task : NULL;
    return task && od_plan_lacking(task, k) == 0 ? task : NULL;
}

/* The ready task that lacks the fewest bytes, of those that became ready first; NULL: there is none. */
static od_task *choose(const od_stationary *s, unsigned k)
{
    enum { LOOK_AT = 256 };
    od_task *best = next_in_order(s, k);
    size_t fewest = SIZE_MAX;
    unsigned left = LOOK_AT;
    if (best)
        return best;
    od_list_each(it, &s->ready[k].tasks) {
        od_task *task = od_container_of(it, od_task, link);
        size_t bytes = s->in_order ? 0 : od_plan_lacking_within(task, k, fewest);
        if (!best || bytes < fewest || (bytes == fewest && comes_before(s, task, best))) {
            best = task;
            fewest = bytes;
        }
        if (--left == 0)
            break;
    }
    return best;
}

/* No ready task is left without a device: one that has nothing to do plans until it has one. */
static bool needs_phase(const od_stationary *s, unsigned k)
{
    if (s->ready[k].tasks.count || !s->env.known->open.count)
        return false;
    return !s->env.known->claimed[k].count || (s->env.known->open_ready && is_idle(s, k));
}

/* What the device has left to do takes little longer than planning: the next phase is planned meanwhile. */
static bool runs_out(const od_stationary *s, unsigned k)
{
    static const double times = 2;
    double left = s->env.known->claimed_seconds[k] + s->env.load(s->env.engine, k).seconds;
    return s->env.known->open.count && left < times * s->planning_seconds;
}

static od_task *stationary_pop(void *state, unsigned k)
{
    od_stationary *s = state;
    bool works = !od_policy_is_idle(&s->env, k);
    while (works && !s->plans && needs_phase(s, k))
        od_stationary_plan(s, k);
    if (works && !s->plans && runs_out(s, k))
        od_stationary_plan(s, k);
    if (works && !s->plans && !s->in_order && !s->ready[k].tasks.count && s->steals)
        steal(s, k);
    od_task *task = choose(s, k);
    if (!task)
        return NULL;
    od_plan_remove(&s->ready[k], task);
    return task;
}

/* --- what eviction rules ask ------------------------------------------------------------------ */

static uint32_t stationary_future_uses(void *state, const od_datum *datum)
{
    const od_stationary *s = state;
    const od_known_item *item = od_known_find(s->env.known, datum->base);
    size_t uses = item ? item->open.count : 0;
    for (unsigned k = 0; item && k < s->env.ndevices; k++)
        uses += item->claimed[k].count;
    return (uint32_t)uses;
}

static uint64_t stationary_next_use(void *state, const od_datum *datum, unsigned k)
{
    const od_stationary *s = state;
    const od_known_item *item = od_known_find(s->env.known, datum->base);
    const od_node *first = item ? od_list_first(&item->claimed[k]) : NULL;
    return first ? od_container_of(first, od_known_use, link)->user->number : OD_NEVER;
}

static bool stationary_is_valid(void *state)
{
    enum { LONG = 64 }; /* the check of a plan takes the square of its length */
    const od_stationary *s = state;
    for (unsigned k = 0; k < s->env.ndevices; k++)
        if (s->ready[k].tasks.count < LONG && !od_plan_is_valid(&s->ready[k]))
            return false;
    return true;
}

static const od_policy_ops stationary_ops = {
    .interface_version = OD_POLICY_INTERFACE,
    .name = "stationary",
    .description = "some data stay, the others stream past them: phases planned over all known tasks",
    .default_evict = "belady",
    .ahead = 12,
    .wants_known = true,
    .chooses_active = true,
    .options = options,
    .create = stationary_create,
    .destroy = free,
    .ready = stationary_ready,
    .pop = stationary_pop,
    .future_uses = stationary_future_uses,
    .next_use = stationary_next_use,
    .is_valid = stationary_is_valid,
};

OD_REGISTER_POLICY(stationary_ops)
