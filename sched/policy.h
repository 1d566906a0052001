/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Scheduling policies: which ready task goes to which device next.
 *
 * A policy is a constant table of functions and an opaque state. It sees tasks
 * and data, never a thread, a device handle or an OpenMP type.
 *
 * The contract, in the order of a task's life. All callbacks run under the engine's
 * lock: they must not block, and they must not call the engine back.
 *
 * 1. `ready(task)`: all dependences are satisfied. The policy now owns the task and
 *    may use task->link and task->policy_data. Tasks that only one device may run (task->bound, a datum that
 *    is being written there) and lone tasks are placed by the engine and never come here.
 * 2. `pop(k)`: device k has room in its task buffer. Return the next task for k,
 *    which the engine then owns, or NULL. Never starves: if the policy owns a task and every device asks,
 *    some device gets one. (A policy may keep tasks planned for one device as long as that device gets them when it
 *    asks.) A device that is lost asks, too: the engine asks for it, and runs what it is given elsewhere. So a policy
 *    need not know of lost devices. With many devices most have nothing to get: `offers` says which may.
 * 3. `incoming(datum, k)`: memory was taken for the datum on k and its contents are being loaded or will
 *    be written there; from now on it counts as being on k.
 * 4. `evicted(datum, k)`: it is no longer there. Tasks planned for k that use it may be taken
 *    back (LUF, Algorithm 10, line 8); tasks in k's task buffer are not the policy's any more, and
 *    `datum->replica[k].buffered_uses` counts them.
 * 5. `started(task, k)` and `done(task, k)`: information only; also for tasks that the engine placed itself, not for
 *    host versions.
 * 6. `forget(datum)`: the datum leaves the directory; no task uses it; its id will be reused.
 *
 * Tasks that are not ready yet: a policy that wants to plan ahead sets `wants_known` and finds them in env.known
 * (sched/graph/known.h).
 *
 * Which data count as inputs: accesses with OD_READ. A write-only access needs memory
 * but no load.
 *
 * The smallest policy is sched/policy/eager.c: one shared queue; `ready` appends, `pop`
 * takes the head whoever asks. Read it first.
 *
 * Registration: define a `const od_policy_ops` and put OD_REGISTER_POLICY(it) at the end of the
 * file. No central list is edited.
 */
#ifndef OD_SCHED_POLICY_H
#define OD_SCHED_POLICY_H

#include "memmgr/device/slowness.h"
#include "memmgr/device/topology.h"
#include "sched/alike.h"
#include "sched/background.h"
#include "sched/choice.h"
#include "sched/event.h"
#include "sched/task.h"
#include "util/container/registry.h"
#include "util/status.h"

enum {
    OD_POLICY_INTERFACE = 16 + 1000 * (OD_PLACE_WORDS - 1), /* sets of places of another size are another interface */
    OD_POLICY_OPTIONS_MAX = 16
};

#define OD_NEVER UINT64_MAX

/* What a user may write after the policy's name: OMPDARTS_SCHED=NAME:WORD,WORD=NUMBER. */
typedef struct od_policy_option {
    const char *name;
    const char *help; /* one line */
    bool number;      /* WORD=NUMBER is allowed */
    uint64_t bare;    /* the value of WORD alone */
    uint64_t omitted; /* the value where it is not named */
} od_policy_option;

/* The one that every policy has, besides those of its table: od_policy_choice.ahead. */
extern const od_policy_option od_policy_ahead;

/* What a device has been given and has not finished. */
typedef struct od_device_load {
    unsigned queued;  /* tasks in its task buffer, or waiting for their loads */
    unsigned running; /* tasks, but those whose thread waits for a task inside */
    unsigned loads;   /* under way to it */
    double seconds;   /* predicted duration of all of them there */
} od_device_load;

/* What the engine offers to a policy. */
typedef struct od_policy_env {
    unsigned ndevices;
    unsigned buffer;        /* tasks per task buffer */
    const size_t *memory;   /* bytes of each device's pool; they may become fewer */
    uint64_t seed;          /* of the policy's random choices */
    const uint64_t *values; /* of the policy's options, in the order of its table; only to be read by `create` */
    void *engine;           /* passed back to the functions below */
    /* Seconds to bring the datum to device k from the cheapest place that holds it, or
     * would have to once contents exist; never 0. */
    double (*transfer_time)(void *engine, const od_datum *datum, unsigned k);
    od_device_load (*load)(void *engine, unsigned k);
    /* Devices of which `load`, but for the loads under way, or whether they are idle may have changed since the policy
     * took them out of this set (od_policy_moved). NULL: any may have. */
    od_placeset *moved;
    const od_slowness *slowness; /* times that tasks take their `duration`; may change; NULL: once everywhere */
    const od_topology *topology; /* of these devices, perhaps of more, with the node of each; NULL: not known */
    const od_alike *alike;       /* by what `transfer_time` says; NULL: no two devices are */
    double inbound; /* bytes/s from the host into all devices together, when all that may load do so at once */
    unsigned loading; /* how many these are, here and in transfer_time(); 0: all */
    /* All tasks that the engine knows of and that are not done (sched/graph/known.h); NULL unless the policy
     * asks for it. The engine adds, takes and removes tasks; the policy may claim them for devices. */
    struct od_known *known;
    /* How many devices are to be active (OMPDARTS_DEVICES), and whether k is an idle one: of it nothing new is asked.
     * `ready` plans nothing for it, and `pop` gives it only what had been planned for it before. NULL: all are
     * active. */
    unsigned (*active)(void *engine);
    bool (*is_idle)(void *engine, unsigned k);
    /* Runs the job in the background, then `done` under the lock, and every device asks again; at once, `done`
     * included, where it is about few tasks or there is no thread. NULL: use od_policy_background(). */
    void (*background)(void *engine, od_background *job, size_t tasks);
    /* NULL where events are not observed (sched/event.h). A task has been planned for k; od_plan_append() emits it. */
    void (*planned)(void *engine, od_task *task, unsigned k);
    /* Likewise: the policy has made a choice, because of these numbers. They are not worked out where this is NULL. */
    void (*decided)(void *engine, const od_decision *decision);
    /* As transfer_time(), if these places had held the datum: for who has been told so, and asks later. */
    double (*transfer_time_from)(void *engine, const od_datum *datum, od_placeset places, unsigned k);
} od_policy_env;

/* Settings of a run chosen as it goes (sched/policy/auto.c), by an object of each engine. */
typedef struct od_chooser_ops {
    void *(*create)(void *engine); /* NULL: out of memory */
    void (*destroy)(void *chooser);
    /* Before a device asks the policy for a task; may call od_engine_adopt(). */
    void (*consider)(void *chooser);
    void (*end)(void *chooser);      /* all that was known has been done */
    const od_choices *(*choices)(const void *chooser); /* so far */
    void (*keep)(const void *chooser); /* what it has found is to be kept for other runs; may be NULL */
} od_chooser_ops;

typedef struct od_policy_ops {
    unsigned interface_version; /* OD_POLICY_INTERFACE; stays the first member in all versions */
    const char *name;           /* value of OMPDARTS_SCHED */
    const char *description;    /* one line */
    const char *default_evict;  /* what OMPDARTS_EVICT=auto means with this policy */
    bool places_at_arrival; /* `ready` decides on a task's device for good: no device takes what another might run */
    bool wants_known;       /* env.known */
    bool chooses_active;   /* unless the user says otherwise devices are idle where fewer would finish sooner */
    uint64_t ahead; /* lookahead, where the user does not say: as in od_policy_choice */
    const od_policy_option *options; /* up to a row without a name, at most OD_POLICY_OPTIONS_MAX; NULL: none */

    od_status (*create)(const od_policy_env *env, void **state);
    void (*destroy)(void *state);
    od_status (*ready)(void *state, od_task *task); /* OD_ENOMEM: the task stays the caller's, which runs it anyhow */
    od_task *(*pop)(void *state, unsigned k);
    /* The devices to which `pop` would give a task now, and perhaps others: no others are asked. Asked for before every
     * pop, so that it must cost little. NULL: all devices, whenever the policy has a task. */
    od_placeset (*offers)(void *state);
    void (*incoming)(void *state, od_datum *datum, unsigned k); /* may be NULL */
    void (*evicted)(void *state, od_datum *datum, unsigned k);  /* may be NULL */
    void (*started)(void *state, od_task *task, unsigned k);    /* may be NULL */
    void (*done)(void *state, od_task *task, unsigned k);       /* may be NULL */
    void (*forget)(void *state, od_datum *datum);               /* may be NULL */

    /* How many ready or planned tasks that the policy owns read the datum (0 where it does not know): lets
     * an eviction rule recognise data without a future. May be NULL. */
    uint32_t (*future_uses)(void *state, const od_datum *datum);

    /* Where in the planned order of device k the first task is that uses the datum, of those that the policy still
     * owns; OD_NEVER: none, or not known. Only for comparing data on one device: follows every change of the order
     * (tasks taken out of turn, stolen, added). Lets an eviction rule follow Belady. May be NULL. */
    uint64_t (*next_use)(void *state, const od_datum *datum, unsigned k);

    /* The policy is only what a run begins with. NULL: it stays. */
    const od_chooser_ops *chooser;

    /* Checks every invariant of its structures; tests and debug builds call it after every event. May be NULL. */
    bool (*is_valid)(void *state);
} od_policy_ops;

static inline unsigned od_policy_loading(const od_policy_env *env)
{
    return env->loading ? env->loading : env->ndevices;
}

/* Times that tasks of the class take on device k what is predicted for them. */
static inline double od_policy_slowness(const od_policy_env *env, unsigned speed_class, unsigned k)
{
    return env->slowness ? od_slowness_of(env->slowness, speed_class, k) : 1;
}

/* Predicted seconds of the task on device k. */
static inline double od_policy_seconds(const od_policy_env *env, const od_task *task, unsigned k)
{
    return task->duration * od_policy_slowness(env, task->speed_class, k);
}

/* The devices whose load has to be looked at again. */
static inline od_placeset od_policy_moved(const od_policy_env *env)
{
    od_placeset moved = env->moved ? *env->moved : od_placeset_below(env->ndevices);
    if (env->moved)
        *env->moved = OD_NO_PLACES;
    return moved;
}

static inline bool od_policy_is_idle(const od_policy_env *env, unsigned k)
{
    return env->is_idle && env->is_idle(env->engine, k);
}

static inline void od_policy_background(const od_policy_env *env, od_background *job, size_t tasks)
{
    if (env->background) {
        env->background(env->engine, job, tasks);
        return;
    }
    job->run(job);
    job->done(job, true);
}

static inline unsigned od_policy_active(const od_policy_env *env)
{
    return env->active ? env->active(env->engine) : env->ndevices;
}

/* For those who call a policy: callbacks that may be missing. */
static inline void od_policy_incoming(const od_policy_ops *ops, void *state, od_datum *datum, unsigned k)
{
    if (ops->incoming)
        ops->incoming(state, datum, k);
}

static inline void od_policy_evicted(const od_policy_ops *ops, void *state, od_datum *datum, unsigned k)
{
    if (ops->evicted)
        ops->evicted(state, datum, k);
}

void od_policy_register(const od_policy_ops *ops);
const od_policy_ops *od_policy_find(const char *name); /* NULL: unknown */
const char *const *od_policy_names(void);              /* sorted, NULL-terminated */

/* A policy with the values of its options. */
typedef struct od_policy_choice {
    const od_policy_ops *ops;
    uint64_t values[OD_POLICY_OPTIONS_MAX];
    uint64_t ahead; /* lookahead (option ahead=N of every policy): work that a task buffer may hold while nothing is
                     * being loaded, in mean durations of a task; 0: `buffer` tasks */
} od_policy_choice;

/* Reads a value of OMPDARTS_SCHED: NAME[:OPTION,...], or plugin:FILE[:OPTION,...] for a policy that the shared object
 * FILE holds as `const od_policy_ops ompdarts_policy`. On failure OD_EINVAL and in `error` what is
 * wrong, and what is allowed: the caller says of what. */
od_status od_policy_choose(const char *text, od_policy_choice *choice, char *error, size_t size);
/* Creates the policy; env->values NULL: all options as if omitted. */
od_status od_policy_create(const od_policy_ops *ops, const od_policy_env *env, void **state);

#define OD_REGISTER_POLICY(ops) OD_REGISTER(od_policies, od_policy_ops, ops)

#endif
