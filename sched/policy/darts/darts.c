/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * darts: Data-Aware Reactive Task Scheduling (Gonthier's thesis, section 5.2, Algorithm 12).
 *
 * A device that runs out of planned tasks is given the datum whose load buys it the most work, and all tasks that
 * become possible with that load. The counters behind the choice are kept by sched/policy/darts/count.c instead of
 * being recomputed at each request. New ready tasks that lack nothing on some device go straight into its plan. Options
 * select what is published: Algorithm 9 and 11 of chapter 4, 12 of chapter 5.
 *
 * Not in the paper: tasks that lack nothing because data came for other reasons are planned before
 * any datum is chosen; S0 is planned by priority, then order of arrival. And, unless switched off:
 *   choice    the shortest load for the number of tasks that it makes possible, then the most urgent of these; the load
 *             for the time of these, which the paper looks at first, comes third. A long task that lacks much would
 *             always come before a short urgent one; short tasks would be left over until nothing hides their loads
 *   affinity  a new task that lacks little of its input on some device, compared with what it finds there, goes there
 *   steal     a device that has nothing to do gets the later half of the longest plan to choose from. It takes a datum
 *             and its tasks only where these take longer than the load, or all where that holds for all; the rest goes
 *             back
 */
#include "sched/policy/darts/missing.h"
#include "util/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum option { ALG9, ALG11, ALG12, OPTI, THRESHOLD, AFFINITY, STEAL, RATIO };

static const od_policy_option options[] = {
    [ALG9] = {"alg9", "as published: thesis, Algorithm 9 (most tasks per load, else a random task)", false, 1, 0},
    [ALG11] = {"alg11", "as published: thesis, Algorithm 11 (3inputs: 9 for tasks with many inputs)", false, 1, 0},
    [ALG12] = {"alg12", "as published: thesis, Algorithm 12 (affinity=0,steal=0,ratio)", false, 1, 0},
    [OPTI] = {"opti", "any datum that frees a task instead of the best (thesis, 4.3.6)", false, 1, 0},
    [THRESHOLD] = {"threshold", "looks only at that many data (thesis, 4.4.3); 0: at all", true, 64, 0},
    [AFFINITY] = {"affinity", "new tasks go where they find so many times what they lack; 0: never", true, 10, 10},
    [STEAL] = {"steal", "idle devices take planned tasks from others; 0: never", true, 1, 1},
    [RATIO] = {"ratio", "the shortest load for the time of its tasks, as Algorithm 12, before priorities", false, 1, 0},
    {0},
};

/* A failed theft is not tried again before the plans have grown by a share of what was looked at. */
enum { MOST_STOLEN = 1024 };

struct darts_device {
    od_plan plan;
    uint64_t steal_at; /* of darts.planned: when stealing is tried again */
};

struct darts {
    od_policy_env env;
    od_missing *missing;
    bool sets_of_two;  /* where no datum frees a task, S1 is looked at */
    uint64_t affinity; /* option */
    bool steals;       /* option */
    uint64_t planned;  /* tasks that ever entered a plan, other than by theft */
    od_placeset filled;      /* devices whose plans are not empty */
    od_placeset vacant;      /* active devices that have nothing to do */
    od_placeset discouraged; /* where stealing is not tried yet, */
    uint64_t retry_at;       /* which is so on all of them while `planned` is less */
    struct darts_device device[];
};

/* --- which datum --------------------------------------------------------- */

/* One word of a rank from two numbers. */
static uint64_t pair(uint32_t high, uint32_t low)
{
    return (uint64_t)high << 32 | low;
}

/* The smaller the ratio, the greater the number. Ratios are not negative, so their bits are in their order. */
static uint64_t smallest_first(double ratio)
{
    uint64_t bits;
    memcpy(&bits, &ratio, sizeof bits);
    return ~bits;
}

static uint32_t highest_first(int32_t priority)
{
    return (uint32_t)priority ^ UINT32_C(1) << 31;
}

/* smallest_first() in half a word: float is enough to break ties. */
static uint32_t smallest_first_short(float ratio)
{
    uint32_t bits;
    memcpy(&bits, &ratio, sizeof bits);
    return ~bits;
}

/* The shortest load per task of S0, the highest priority, the smallest ratio, the largest S1, the most time left. */
static od_missing_rank load_per_task(const od_missing_key *key)
{
    double load = key->n0 > 0 ? key->load / key->n0 : (double)INFINITY;
    return (od_missing_rank){{smallest_first(load),
                              pair(highest_first(key->max_prio), smallest_first_short((float)key->ratio)),
                              pair(key->n1, (uint32_t)(key->left_ns >> 32)), key->left_ns << 32}};
}

/* Algorithm 12, line 6: the smallest ratio, the largest S0, the highest priority, the largest S1, the most time
 * left. */
static od_missing_rank algorithm_12(const od_missing_key *key)
{
    return (od_missing_rank){{smallest_first(key->ratio), pair(key->n0, highest_first(key->max_prio)),
                              pair(key->n1, (uint32_t)(key->left_ns >> 32)), key->left_ns << 32}};
}

/* Algorithms 9 and 11, line 4: the largest S0, the most time left; the latter's largest S1 where S0 is empty. */
static od_missing_rank algorithm_11(const od_missing_key *key)
{
    return (od_missing_rank){{key->n0, key->n0 > 0 ? key->left_ns : key->n1}};
}

/* All data with a non-empty S0 are equal: the first in random order is taken. */
static const od_missing_rank frees_a_task = {{UINT64_MAX}};

static od_missing_rank opti(const od_missing_key *key)
{
    return key->n0 > 0 ? frees_a_task : load_per_task(key);
}

static od_missing_rank opti_12(const od_missing_key *key)
{
    return key->n0 > 0 ? frees_a_task : algorithm_12(key);
}

static od_missing_rank opti_11(const od_missing_key *key)
{
    return key->n0 > 0 ? frees_a_task : algorithm_11(key);
}

/* --- life cycle ---------------------------------------------------------- */

static od_status darts_create(const od_policy_env *env, void **state)
{
    const uint64_t *values = env->values;
    bool first = values[ALG9] || values[ALG11], published = first || values[ALG12];
    od_missing_rules rules = {.random_tasks = first,
                              .in_turn = values[OPTI] || values[THRESHOLD],
                              .threshold = values[THRESHOLD] < UINT32_MAX ? (uint32_t)values[THRESHOLD] : 0};
    if (first)
        rules.order = values[OPTI] ? opti_11 : algorithm_11;
    else if (values[RATIO] || values[ALG12])
        rules.order = values[OPTI] ? opti_12 : algorithm_12;
    else
        rules.order = values[OPTI] ? opti : load_per_task;
    struct darts *darts = od_calloc(1, sizeof *darts + env->ndevices * sizeof darts->device[0]);
    if (!darts)
        return OD_ENOMEM;
    od_status status = od_missing_create(env, &rules, &darts->missing);
    if (status) {
        free(darts);
        return status;
    }
    darts->env = *env;
    darts->sets_of_two = !first || values[ALG11];
    darts->affinity = published ? 0 : values[AFFINITY];
    darts->steals = values[STEAL] && !published;
    darts->retry_at = UINT64_MAX;
    for (unsigned k = 0; k < env->ndevices; k++)
        od_plan_init(&darts->device[k].plan, env, k);
    *state = darts;
    return OD_OK;
}

static void darts_destroy(void *state)
{
    struct darts *darts = state;
    od_missing_destroy(darts->missing);
    free(darts);
}

/* --- plans --------------------------------------------------------------- */

/* The plan has become longer or shorter. */
static void note_plan(struct darts *darts, const od_plan *plan)
{
    if (plan->tasks.count)
        od_placeset_add(&darts->filled, plan->k);
    else
        od_placeset_remove(&darts->filled, plan->k);
}

/* --- arrival ------------------------------------------------------------- */

static size_t queued(const struct darts *darts, unsigned k)
{
    return darts->device[k].plan.tasks.count + darts->env.load(darts->env.engine, k).queued;
}

/* True where a task that lacks so many of so many bytes on a device goes there. */
static bool goes_there(const struct darts *darts, size_t lacking, size_t bytes)
{
    size_t wanted; /* what it must find there */
    if (lacking == 0 || !darts->affinity)
        return lacking == 0;
    return !__builtin_mul_overflow(lacking, darts->affinity, &wanted) && bytes - lacking >= wanted;
}

static void emit_place(const struct darts *darts, od_task *task, unsigned k, size_t lacking, size_t bytes)
{
    if (!darts->env.decided)
        return;
    const od_score scores[] = {{"lacking_bytes", (double)lacking},
                               {"input_bytes", (double)bytes},
                               {"queued_tasks", (double)queued(darts, k)},
                               {"priority", task->priority}};
    darts->env.decided(darts->env.engine, &(od_decision){OD_DECISION_PLACE, k, .task = task, OD_SCORES(scores)});
}

/* The device with the fewest queued tasks among those where the new task lacks nothing, or little with affinity;
 * NULL: there is none. */
static struct darts_device *direct_push(struct darts *darts, od_task *task)
{
    size_t lacking[OD_MAX_DEVICES], bytes, fewest = 0;
    struct darts_device *best = NULL;
    od_placeset_walk at = od_placeset_begin(od_missing_lacking(darts->missing, task, &bytes, lacking));
    while (od_placeset_next(&at)) {
        unsigned k = at.place;
        if (!goes_there(darts, lacking[k], bytes) || od_policy_is_idle(&darts->env, k))
            continue;
        size_t count = queued(darts, k);
        if (!best || count < fewest) {
            best = &darts->device[k];
            fewest = count;
        }
    }
    if (best)
        emit_place(darts, task, best->plan.k, lacking[best->plan.k], bytes);
    return best;
}

static od_status darts_ready(void *state, od_task *task)
{
    struct darts *darts = state;
    od_status status = od_missing_adopt(darts->missing, task);
    if (status)
        return status;
    struct darts_device *device = direct_push(darts, task);
    if (!device) {
        od_missing_offer(darts->missing, task);
        return OD_OK;
    }
    od_missing_plan(darts->missing, task, &device->plan);
    note_plan(darts, &device->plan);
    darts->planned++;
    return OD_OK;
}

/* --- request ------------------------------------------------------------- */

static void emit_choice(const struct darts *darts, const od_datum *datum, unsigned k, const od_missing_key *key)
{
    if (!darts->env.decided)
        return;
    double load = od_missing_seconds(darts->missing, datum, k);
    const od_score scores[] = {{"tasks_possible", key->n0},
                               {"tasks_lacking_one_more", key->n1},
                               {"load_s", load},
                               {"load_per_task_time", isinf(key->ratio) ? -1 : key->ratio},
                               {"priority", key->max_prio},
                               {"time_left_s", (double)key->left_ns * 1e-9}};
    darts->env.decided(darts->env.engine, &(od_decision){OD_DECISION_LOAD, k, .datum = datum, OD_SCORES(scores)});
}

/* Where no single datum makes a task possible. */
static void plan_urgent(struct darts *darts, od_task *task, od_plan *plan)
{
    size_t lacking[OD_MAX_DEVICES], bytes;
    if (darts->env.decided) {
        bool finds_some = od_placeset_has(od_missing_lacking(darts->missing, task, &bytes, lacking), plan->k);
        emit_place(darts, task, plan->k, finds_some ? lacking[plan->k] : bytes, bytes);
    }
    od_missing_plan(darts->missing, task, plan);
}

/* Algorithm 12, lines 2 to 17. */
static void refill(struct darts *darts, od_plan *plan)
{
    od_missing *missing = darts->missing;
    size_t before = plan->tasks.count;
    od_missing_key key;
    const od_datum *best = NULL;
    if (od_missing_plan_free(missing, NULL, plan) == 0) {
        best = od_missing_best(missing, plan->k, &key);
        if (best)
            emit_choice(darts, best, plan->k, &key);
        if (best && key.n0 > 0) {
            od_missing_plan_free(missing, best, plan);
        } else {
            od_task *task = od_missing_urgent(missing, darts->sets_of_two ? best : NULL, plan->k);
            if (task)
                plan_urgent(darts, task, plan);
        }
    }
    note_plan(darts, plan);
    darts->planned += plan->tasks.count - before;
}

/* There is one that is not empty. */
static od_plan *longest_plan(struct darts *darts)
{
    od_plan *longest = NULL;
    for (od_placeset_walk at = od_placeset_begin(darts->filled); od_placeset_next(&at);) {
        if (!longest || darts->device[at.place].plan.tasks.count > longest->tasks.count)
            longest = &darts->device[at.place].plan;
    }
    return longest;
}

/* Offers the last `count` tasks of the plan again; they come back in *tasks, latest first. */
static void offer_tail(struct darts *darts, od_plan *plan, size_t count, od_task **tasks)
{
    for (size_t i = 0; i < count; i++) {
        tasks[i] = od_container_of(plan->tasks.root.prev, od_task, link);
        od_missing_unplan(darts->missing, tasks[i], plan);
    }
}

/* Plans what takes longer than its loads, one datum after the other. Returns the seconds of the loads. */
static double take_worthwhile(struct darts *darts, od_plan *plan)
{
    double loads = 0;
    od_missing_key key;
    const od_datum *best;
    od_missing_plan_free(darts->missing, NULL, plan);
    while ((best = od_missing_best(darts->missing, plan->k, &key)) && key.ratio < 1) {
        emit_choice(darts, best, plan->k, &key);
        od_missing_plan_free(darts->missing, best, plan);
        loads += key.load;
    }
    return loads;
}

/* Plans all tasks, latest first in `tasks`, unless together they take less time than their loads. Returns the
 * seconds of the loads. */
static double take_all_if_worthwhile(struct darts *darts, od_plan *plan, od_task *const *tasks, size_t count)
{
    double work = 0, loads = 0;
    for (size_t i = count; i-- > 0;) {
        work += tasks[i]->duration;
        loads += od_missing_load_time(darts->missing, tasks[i], plan->k);
        od_missing_plan(darts->missing, tasks[i], plan);
    }
    for (size_t i = 0; loads >= work && i < count; i++)
        od_missing_unplan(darts->missing, tasks[i], plan);
    return loads;
}

/* Of so many tasks that were offered the thief has planned some. */
static void emit_theft(const struct darts *darts, const od_plan *thief, unsigned victim, size_t offered, double loads)
{
    const od_node *first = od_list_first(&thief->tasks);
    double work = 0;
    if (!darts->env.decided || !first)
        return;
    od_list_each(it, &thief->tasks)
        work += od_container_of(it, od_task, link)->duration;
    const od_score scores[] = {{"from", victim},
                               {"tasks", (double)thief->tasks.count},
                               {"offered_tasks", (double)offered},
                               {"work_s", work},
                               {"load_s", loads}};
    darts->env.decided(
        darts->env.engine,
        &(od_decision){OD_DECISION_STEAL, thief->k, .task = od_container_of(first, od_task, link), OD_SCORES(scores)});
}

/* It does not try again before so many tasks have been planned. */
static void discourage(struct darts *darts, struct darts_device *thief, uint64_t tasks)
{
    thief->steal_at = darts->planned + tasks;
    od_placeset_add(&darts->discouraged, thief->plan.k);
    darts->retry_at = thief->steal_at < darts->retry_at ? thief->steal_at : darts->retry_at;
}

/* Only called where no task is ready, but some are planned. */
static void steal(struct darts *darts, struct darts_device *thief)
{
    od_plan *victim = longest_plan(darts);
    size_t half = (victim->tasks.count + 1) / 2, count = half < MOST_STOLEN ? half : MOST_STOLEN;
    od_task *tasks[MOST_STOLEN];
    offer_tail(darts, victim, count, tasks);
    double loads = take_worthwhile(darts, &thief->plan);
    if (thief->plan.tasks.count == 0)
        loads = take_all_if_worthwhile(darts, &thief->plan, tasks, count);
    emit_theft(darts, &thief->plan, victim->k, count, loads);
    for (size_t i = count; i-- > 0;) {
        if (tasks[i]->state == OD_TASK_READY)
            od_missing_plan(darts->missing, tasks[i], victim);
    }
    note_plan(darts, victim);
    note_plan(darts, &thief->plan);
    if (thief->plan.tasks.count == 0)
        discourage(darts, thief, (count + 1) / 2);
}

static bool may_steal(const struct darts *darts, unsigned k)
{
    if (!darts->steals || darts->planned < darts->device[k].steal_at || od_missing_owned(darts->missing) == 0)
        return false;
    od_device_load load = darts->env.load(darts->env.engine, k);
    return load.queued + load.running == 0;
}

static void update_vacant(struct darts *darts)
{
    for (od_placeset_walk at = od_placeset_begin(od_policy_moved(&darts->env)); od_placeset_next(&at);) {
        od_device_load load = darts->env.load(darts->env.engine, at.place);
        if (load.queued + load.running == 0 && !od_policy_is_idle(&darts->env, at.place))
            od_placeset_add(&darts->vacant, at.place);
        else
            od_placeset_remove(&darts->vacant, at.place);
    }
}

static void update_discouraged(struct darts *darts)
{
    if (darts->planned < darts->retry_at)
        return;
    darts->retry_at = UINT64_MAX;
    for (od_placeset_walk at = od_placeset_begin(darts->discouraged); od_placeset_next(&at);) {
        uint64_t steal_at = darts->device[at.place].steal_at;
        if (steal_at <= darts->planned)
            od_placeset_remove(&darts->discouraged, at.place);
        else if (steal_at < darts->retry_at)
            darts->retry_at = steal_at;
    }
}

static od_placeset darts_offers(void *state)
{
    struct darts *darts = state;
    if (od_missing_ready(darts->missing))
        return od_placeset_below(darts->env.ndevices);
    if (!darts->steals || !od_missing_owned(darts->missing))
        return darts->filled;
    update_vacant(darts);
    update_discouraged(darts);
    return od_placeset_union(darts->filled, od_placeset_minus(darts->vacant, darts->discouraged));
}

static od_task *darts_pop(void *state, unsigned k)
{
    struct darts *darts = state;
    struct darts_device *device = &darts->device[k];
    bool works = !od_policy_is_idle(&darts->env, k);
    if (works && device->plan.tasks.count == 0)
        refill(darts, &device->plan);
    if (works && device->plan.tasks.count == 0 && may_steal(darts, k))
        steal(darts, device);
    od_task *task = od_missing_pop(darts->missing, &device->plan);
    note_plan(darts, &device->plan);
    return task;
}

/* --- what happens to data ------------------------------------------------ */

static void darts_incoming(void *state, od_datum *datum, unsigned k)
{
    struct darts *darts = state;
    od_missing_incoming(darts->missing, datum, k);
}

static void darts_evicted(void *state, od_datum *datum, unsigned k)
{
    struct darts *darts = state;
    od_missing_evicted(darts->missing, datum, k);
    od_missing_reclaim(darts->missing, datum, &darts->device[k].plan);
    note_plan(darts, &darts->device[k].plan);
}

static void darts_moved(void *state, od_task *task, unsigned k)
{
    struct darts *darts = state;
    (void)k;
    od_missing_moved(darts->missing, task);
}

static void darts_forget(void *state, od_datum *datum)
{
    struct darts *darts = state;
    od_missing_forget(darts->missing, datum);
}

static uint32_t darts_future_uses(void *state, const od_datum *datum)
{
    const struct darts *darts = state;
    return od_missing_uses(darts->missing, datum);
}

static bool darts_is_valid(void *state)
{
    const struct darts *darts = state;
    size_t planned = 0;
    for (unsigned k = 0; k < darts->env.ndevices; k++) {
        if (!od_plan_is_valid(&darts->device[k].plan) ||
            od_placeset_has(darts->filled, k) != (darts->device[k].plan.tasks.count > 0))
            return false;
        planned += darts->device[k].plan.tasks.count;
    }
    return planned + od_missing_ready(darts->missing) == od_missing_owned(darts->missing) &&
           od_missing_is_valid(darts->missing);
}

static const od_policy_ops darts_ops = {
    .interface_version = OD_POLICY_INTERFACE,
    .name = "darts",
    .description = "data first: load what frees the most work (thesis, Algorithm 12)",
    .default_evict = "luf",
    .ahead = 3,
    .options = options,
    .create = darts_create,
    .destroy = darts_destroy,
    .ready = darts_ready,
    .pop = darts_pop,
    .offers = darts_offers,
    .incoming = darts_incoming,
    .evicted = darts_evicted,
    .started = darts_moved,
    .done = darts_moved,
    .forget = darts_forget,
    .future_uses = darts_future_uses,
    .is_valid = darts_is_valid,
};

OD_REGISTER_POLICY(darts_ops)
