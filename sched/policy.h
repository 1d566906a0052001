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
 *    which the engine then owns, or NULL. Duty: never starve. When any task
 *    is owned by the policy and every device asks, some device must be given one.
 *    (A policy may keep tasks planned for one device as long as that device gets them when it asks.)
 * 3. `incoming(datum, k)`: memory was taken for the datum on k and its contents are being loaded or will
 *    be written there; from now on it counts as being on k.
 * 4. `evicted(datum, k)`: it is no longer there. Tasks planned for k that use it may be taken
 *    back (LUF, Algorithm 10, line 8); tasks in k's task buffer are not the policy's any more, and
 *    `datum->replica[k].buffered_uses` counts them.
 * 5. `started(task, k)` and `done(task, k)`: information only; also for tasks that the engine placed itself, not for
 *    host versions.
 * 6. `forget(datum)`: the datum leaves the directory; no task uses it; its id will be reused.
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

#include "sched/task.h"
#include "util/status.h"

enum { OD_POLICY_INTERFACE = 1 };

/* What the engine offers to a policy. */
typedef struct od_policy_env {
    unsigned ndevices;
    uint64_t seed; /* of the policy's random choices */
    void *engine;  /* passed back to the functions below */
    /* Seconds to bring the datum to device k from the cheapest place that holds it, or
     * would have to once contents exist; never 0. */
    double (*transfer_time)(void *engine, const od_datum *datum, unsigned k);
} od_policy_env;

typedef struct od_policy_ops {
    unsigned interface_version; /* OD_POLICY_INTERFACE */
    const char *name;           /* value of OMPDARTS_SCHED */
    const char *description;    /* one line */
    const char *default_evict;  /* what OMPDARTS_EVICT=auto means with this policy */

    od_status (*create)(const od_policy_env *env, void **state);
    void (*destroy)(void *state);
    od_status (*ready)(void *state, od_task *task); /* OD_ENOMEM: the task stays the caller's, which runs it anyhow */
    od_task *(*pop)(void *state, unsigned k);
    void (*incoming)(void *state, od_datum *datum, unsigned k);
    void (*evicted)(void *state, od_datum *datum, unsigned k);
    void (*started)(void *state, od_task *task, unsigned k); /* may be NULL */
    void (*done)(void *state, od_task *task, unsigned k);    /* may be NULL */
    void (*forget)(void *state, od_datum *datum);            /* may be NULL */

    /* How many ready or planned tasks that the policy owns read the datum (0 where it does not know): lets
     * an eviction rule tell data without a future. May be NULL. */
    uint32_t (*future_uses)(void *state, const od_datum *datum);

    /* Checks every invariant of its structures; tests and debug builds call it after every event. May be NULL. */
    bool (*is_valid)(void *state);
} od_policy_ops;

void od_policy_register(const od_policy_ops *ops);
const od_policy_ops *od_policy_find(const char *name); /* NULL: unknown */
const char *const *od_policy_names(void);              /* sorted, NULL-terminated */

#define OD_REGISTER_POLICY(ops)                                                                                        \
    __attribute__((constructor(1000))) static void od_register_##ops(void)                                             \
    {                                                                                                                  \
        od_policy_register(&(ops));                                                                                    \
    }

#endif
