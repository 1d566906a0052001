/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * dmda, dmdar, dmdas: each new task goes to the device that would complete it first (thesis, Algorithms 1 and 6).
 *
 * Completion on k = work already given to k + transfers of the inputs that k neither has nor has been asked for + the
 * task's own duration. Equation 4.1 leaves out the first term, without which one of several equal devices would get
 * all tasks; the text calls the sum a completion time, as HEFT does. Ties go to the lowest device.
 *
 * dmda gives tasks out in order of arrival. dmdar takes the first of those that need the fewest bytes (Ready, Algorithm
 * 2). dmdas sorts by priority, and Ready chooses among the most urgent. A task never changes its device.
 *
 * Not in the papers: `bus`, for devices that share the way from the host. What a task has to bring comes after all that
 * the tasks planned before it have to bring, on whatever device, and while other tasks compute; and as it takes the way
 * from others, it counts so many times more. Then ties, of devices that all wait for it, go to the one that is free
 * first.
 *
 * Not all devices are looked at for each task, but those that may be the one (sched/policy/earliest.h).
 */
#include "sched/policy.h"
#include "sched/policy/earliest.h"
#include "sched/policy/ready.h"
#include "util/container/array.h"
#include "util/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const od_policy_option options[] = {
    {"bus", "transfers of all devices share one way and count so many times; 0: as published", true, 4, 0},
    {0},
};

struct dmda_device {
    od_ready *ready;
    uint64_t planned_ns[OD_SPEED_CLASSES]; /* duration of its tasks, by speed class; whole, so that sums stay exact */
};

/* Where a datum may be in memory, or will be (is_in_memory): not elsewhere. */
struct whereabouts {
    const od_datum *datum; /* NULL: not known */
    od_placeset devices;
};

struct dmda {
    od_policy_env env;
    double bus;          /* option */
    unsigned classes;    /* speed classes of tasks so far are below */
    uint64_t planned_ns; /* that the shared way is busy with the loads of planned tasks */
    od_earliest earliest;
    od_placeset changed;             /* devices whose work has changed since `earliest` was told */
    od_placeset planned;             /* devices with tasks */
    struct whereabouts *whereabouts; /* by datum */
    uint32_t ndata;
    struct dmda_device device[];
};

/* --- life cycle ---------------------------------------------------------- */

static void dmda_destroy(void *state)
{
    struct dmda *dmda = state;
    for (unsigned k = 0; k < dmda->env.ndevices && dmda->device[k].ready; k++)
        od_ready_destroy(dmda->device[k].ready);
    od_earliest_free(&dmda->earliest);
    free(dmda->whereabouts);
    free(dmda);
}

static od_status create(const od_policy_env *env, od_ready_rules rules, void **state)
{
    struct dmda *dmda = od_calloc(1, sizeof *dmda + env->ndevices * sizeof dmda->device[0]);
    if (!dmda)
        return OD_ENOMEM;
    dmda->env = *env;
    dmda->bus = (double)env->values[0];
    dmda->classes = 1;
    for (unsigned k = 0; k < env->ndevices; k++) {
        dmda->device[k].ready = od_ready_create(env, k, rules);
        if (!dmda->device[k].ready) {
            dmda_destroy(dmda);
            return OD_ENOMEM;
        }
    }
    if (od_earliest_init(&dmda->earliest, &dmda->env)) {
        dmda_destroy(dmda);
        return OD_ENOMEM;
    }
    dmda->changed = od_placeset_below(env->ndevices);
    *state = dmda;
    return OD_OK;
}

static od_status dmda_create(const od_policy_env *env, void **state)
{
    return create(env, (od_ready_rules){0}, state);
}

static od_status dmdar_create(const od_policy_env *env, void **state)
{
    return create(env, (od_ready_rules){.by_data = true}, state);
}

static od_status dmdas_create(const od_policy_env *env, void **state)
{
    return create(env, (od_ready_rules){.by_data = true, .by_priority = true}, state);
}

/* --- arrival ------------------------------------------------------------- */

static uint64_t duration_ns(const od_task *task)
{
    return task->duration > 0 ? (uint64_t)(task->duration * 1e9) : 0;
}

/* InMem of the papers: there, or asked for by a task that was placed there. */
static bool is_in_memory(const od_datum *datum, unsigned k)
{
    return od_datum_is_expected(datum, k) || datum->replica[k].planned_uses > 0;
}

/* What the task has to bring to k: seconds on its own, bytes. */
struct loads {
    double seconds;
    size_t bytes;
};

static struct loads loads_of(const struct dmda *dmda, const od_task *task, unsigned k)
{
    struct loads loads = {0};
    for (uint32_t i = 0; i < task->naccess; i++) {
        const od_datum *datum = task->access[i].datum;
        if (!(task->access[i].mode & OD_READ) || is_in_memory(datum, k))
            continue;
        loads.seconds += dmda->env.transfer_time(dmda->env.engine, datum, k);
        loads.bytes += datum->size;
    }
    return loads;
}

/* Seconds that the way which all devices share is busy with them. */
static double on_the_bus(const struct dmda *dmda, struct loads loads)
{
    double seconds = (double)loads.bytes / dmda->env.inbound;
    return seconds < loads.seconds ? seconds : loads.seconds;
}

/* Seconds of work that k has been given, or will be. */
static double given(const struct dmda *dmda, unsigned k)
{
    double seconds = dmda->env.load(dmda->env.engine, k).seconds;
    for (unsigned c = 0; c < dmda->classes; c++)
        seconds += 1e-9 * (double)dmda->device[k].planned_ns[c] * od_policy_slowness(&dmda->env, c, k);
    return seconds;
}

static od_status update_earliest(struct dmda *dmda)
{
    dmda->changed = od_placeset_union(dmda->changed, od_policy_moved(&dmda->env));
    if (od_earliest_is_outdated(&dmda->earliest)) {
        dmda->changed = od_placeset_below(dmda->env.ndevices);
        if (od_earliest_init(&dmda->earliest, &dmda->env))
            return OD_ENOMEM;
    }
    for (od_placeset_walk at = od_placeset_begin(dmda->changed); od_placeset_next(&at);) {
        bool idle = od_policy_is_idle(&dmda->env, at.place);
        od_earliest_set(&dmda->earliest, at.place, idle ? (double)INFINITY : given(dmda, at.place));
    }
    dmda->changed = OD_NO_PLACES;
    return OD_OK;
}

static double completion(const struct dmda *dmda, const od_task *task, unsigned k)
{
    double computed = dmda->earliest.free_at[k], seconds = od_policy_seconds(&dmda->env, task, k);
    struct loads loads = loads_of(dmda, task, k);
    if (dmda->bus <= 0 || loads.bytes == 0)
        return computed + loads.seconds + seconds;
    double own = on_the_bus(dmda, loads), loaded = 1e-9 * (double)dmda->planned_ns + own;
    return (loaded > computed ? loaded : computed) + dmda->bus * own + seconds;
}

/* --- which device -------------------------------------------------------- */

/* A datum that is met for the first time is looked for everywhere. */
static od_status meet(struct dmda *dmda, const od_datum *datum)
{
    if (!od_array_reserve(&dmda->whereabouts, &dmda->ndata, (uint64_t)datum->id + 1, sizeof *dmda->whereabouts))
        return OD_ENOMEM;
    struct whereabouts *known = &dmda->whereabouts[datum->id];
    if (known->datum == datum)
        return OD_OK;
    *known = (struct whereabouts){.datum = datum};
    for (unsigned k = 0; k < dmda->env.ndevices; k++)
        if (is_in_memory(datum, k))
            od_placeset_add(&known->devices, k);
    return OD_OK;
}

/* The datum comes to k. */
static void note(struct dmda *dmda, const od_datum *datum, unsigned k)
{
    if (datum->id < dmda->ndata && dmda->whereabouts[datum->id].datum == datum)
        od_placeset_add(&dmda->whereabouts[datum->id].devices, k);
}

static od_placeset holders_of(struct dmda *dmda, const od_datum *datum)
{
    struct whereabouts *known = &dmda->whereabouts[datum->id];
    for (od_placeset_walk at = od_placeset_begin(known->devices); od_placeset_next(&at);)
        if (!is_in_memory(datum, at.place))
            od_placeset_remove(&known->devices, at.place);
    return known->devices;
}

/* Devices one of which would complete the task first: those that are free first, and those that hold data of it. A
 * device that a datum is about to leave would have to get it again, so that no other is like it: where it is one of the
 * first, any other may be better. */
static od_status find_candidates(struct dmda *dmda, const od_task *task, od_placeset *firsts, od_placeset *holding)
{
    od_placeset sources = OD_NO_PLACES, left = OD_NO_PLACES;
    *holding = OD_NO_PLACES;
    for (uint32_t i = 0; i < task->naccess; i++) {
        const od_datum *datum = task->access[i].datum;
        if (!(task->access[i].mode & OD_READ))
            continue;
        if (meet(dmda, datum))
            return OD_ENOMEM;
        od_placeset holders = holders_of(dmda, datum);
        *holding = od_placeset_union(*holding, holders);
        sources = od_placeset_union(sources, datum->valid);
        left = od_placeset_union(left, od_placeset_minus(datum->valid, holders));
    }
    *firsts = od_earliest_candidates(&dmda->earliest, od_placeset_devices(sources));
    if (od_placeset_intersect(*firsts, left))
        *firsts = od_placeset_below(dmda->env.ndevices);
    *holding = od_placeset_minus(*holding, *firsts);
    return OD_OK;
}

struct choice {
    unsigned k;
    double seconds; /* of its completion */
    double free_at; /* 0 where it does not matter */
};

static bool is_better(const struct choice *a, const struct choice *b)
{
    if (a->seconds < b->seconds || a->seconds > b->seconds)
        return a->seconds < b->seconds;
    return a->free_at < b->free_at || (a->free_at <= b->free_at && a->k < b->k);
}

static void look_at(const struct dmda *dmda, const od_task *task, od_placeset devices, struct choice *best)
{
    for (od_placeset_walk at = od_placeset_begin(devices); od_placeset_next(&at);) {
        unsigned k = at.place;
        if (dmda->earliest.free_at[k] + od_policy_seconds(&dmda->env, task, k) > best->seconds)
            continue; /* without any loads */
        struct choice choice = {k, completion(dmda, task, k), dmda->bus > 0 ? dmda->earliest.free_at[k] : 0};
        if (is_better(&choice, best))
            *best = choice;
    }
}

/* Beside the device that would complete it next. */
static void emit_place(const struct dmda *dmda, od_task *task, unsigned k, double seconds)
{
    unsigned other = k;
    double next = 0;
    if (!dmda->env.decided)
        return;
    for (unsigned j = 0; j < dmda->env.ndevices; j++) {
        if (j == k || od_policy_is_idle(&dmda->env, j))
            continue;
        double later = completion(dmda, task, j);
        if (other == k || later < next) {
            other = j;
            next = later;
        }
    }
    if (other == k)
        return;
    struct loads loads = loads_of(dmda, task, k);
    const od_score scores[] = {{"completion_s", seconds},    {"other", other},
                               {"other_completion_s", next}, {"given_s", dmda->earliest.free_at[k]},
                               {"load_s", loads.seconds},    {"load_bytes", (double)loads.bytes}};
    dmda->env.decided(dmda->env.engine, &(od_decision){OD_DECISION_PLACE, k, .task = task, OD_SCORES(scores)});
}

static void plan(struct dmda *dmda, const od_task *task, unsigned k, uint64_t bus_ns)
{
    dmda->device[k].planned_ns[task->speed_class] += duration_ns(task);
    dmda->classes = dmda->classes > task->speed_class ? dmda->classes : task->speed_class + 1;
    dmda->planned_ns += bus_ns;
    od_placeset_add(&dmda->changed, k);
    od_placeset_add(&dmda->planned, k);
    for (uint32_t i = 0; i < task->naccess; i++)
        note(dmda, task->access[i].datum, k);
}

static od_status dmda_ready(void *state, od_task *task)
{
    struct dmda *dmda = state;
    struct choice best = {.seconds = (double)INFINITY, .free_at = (double)INFINITY};
    od_placeset firsts, holding;
    if (update_earliest(dmda) || find_candidates(dmda, task, &firsts, &holding))
        return OD_ENOMEM;
    look_at(dmda, task, firsts, &best);
    look_at(dmda, task, holding, &best);
    emit_place(dmda, task, best.k, best.seconds);
    uint64_t bus_ns = (uint64_t)(on_the_bus(dmda, loads_of(dmda, task, best.k)) * 1e9);
    od_status status = od_ready_push(dmda->device[best.k].ready, task, bus_ns);
    if (!status)
        plan(dmda, task, best.k, bus_ns);
    return status;
}

/* --- request ------------------------------------------------------------- */

static od_task *dmda_pop(void *state, unsigned k)
{
    struct dmda *dmda = state;
    uint64_t bus_ns;
    od_task *task = od_ready_pop(dmda->device[k].ready, &bus_ns);
    if (!task)
        return NULL;
    dmda->device[k].planned_ns[task->speed_class] -= duration_ns(task);
    dmda->planned_ns -= bus_ns;
    od_placeset_add(&dmda->changed, k);
    if (od_ready_plan(dmda->device[k].ready)->tasks.count == 0)
        od_placeset_remove(&dmda->planned, k);
    return task;
}

static od_placeset dmda_offers(void *state)
{
    return ((const struct dmda *)state)->planned;
}

/* --- what happens to data ------------------------------------------------ */

static void dmda_incoming(void *state, od_datum *datum, unsigned k)
{
    struct dmda *dmda = state;
    note(dmda, datum, k);
    od_ready_incoming(dmda->device[k].ready, datum);
}

static void dmda_evicted(void *state, od_datum *datum, unsigned k)
{
    struct dmda *dmda = state;
    od_ready_evicted(dmda->device[k].ready, datum);
}

static void dmda_forget(void *state, od_datum *datum)
{
    struct dmda *dmda = state;
    for (unsigned k = 0; k < dmda->env.ndevices; k++)
        od_ready_forget(dmda->device[k].ready, datum);
    if (datum->id < dmda->ndata)
        dmda->whereabouts[datum->id].datum = NULL;
}

static bool dmda_is_valid(void *state)
{
    const struct dmda *dmda = state;
    if (!od_earliest_is_valid(&dmda->earliest))
        return false;
    for (unsigned k = 0; k < dmda->env.ndevices; k++) {
        uint64_t planned_ns[OD_SPEED_CLASSES] = {0};
        od_list_each(it, &od_ready_plan(dmda->device[k].ready)->tasks) {
            const od_task *task = od_container_of(it, od_task, link);
            planned_ns[task->speed_class] += duration_ns(task);
        }
        if (memcmp(planned_ns, dmda->device[k].planned_ns, sizeof planned_ns) != 0 ||
            od_placeset_has(dmda->planned, k) != (od_ready_plan(dmda->device[k].ready)->tasks.count > 0) ||
            !od_ready_is_valid(dmda->device[k].ready))
            return false;
    }
    return true;
}

#define DMDA_OPS(policy_name, text, creator, lookahead)                                                                \
    {                                                                                                                  \
        .interface_version = OD_POLICY_INTERFACE, .name = policy_name, .description = text, .default_evict = "lru",    \
        .ahead = (lookahead), .places_at_arrival = true, .options = options, .create = creator,                        \
        .destroy = dmda_destroy, .ready = dmda_ready, .pop = dmda_pop, .offers = dmda_offers,                          \
        .incoming = dmda_incoming, .evicted = dmda_evicted, .forget = dmda_forget, .is_valid = dmda_is_valid,          \
    }

static const od_policy_ops dmda_ops =
    DMDA_OPS("dmda", "earliest expected completion, in order of arrival", dmda_create, 12);
static const od_policy_ops dmdar_ops =
    DMDA_OPS("dmdar", "dmda; each device takes the task that needs the fewest bytes", dmdar_create, 3);
static const od_policy_ops dmdas_ops =
    DMDA_OPS("dmdas", "dmda; each device takes the most urgent task, of these the one that needs the fewest bytes",
             dmdas_create, 0);

OD_REGISTER_POLICY(dmda_ops)
OD_REGISTER_POLICY(dmdar_ops)
OD_REGISTER_POLICY(dmdas_ops)
