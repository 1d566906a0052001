/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The index of missing inputs: for every device, which data the ready tasks still lack there, and
 * which absent datum would serve best. The incremental core of DARTS.
 *
 * The papers define, for a device k and a datum D that is not there,
 *   S0(D)  ready tasks that lack only D on k,
 *   S1(D)  ready tasks that lack D and exactly one more datum on k,
 * and recompute both for all data whenever k asks for work. Here their sizes, and total time and highest priority of
 * S0, are counters, changed when a datum comes to k or leaves it and when a task enters or leaves the ready set. What a
 * task lacks follows from its inputs and, for each datum, a word that says on which devices it is absent: nothing is
 * kept for a task and a device but one bit, whether it lacks nothing there.
 *
 * Each device's candidates with an S0 are in a heap. The stored keys are upper bounds: a change for the better moves a
 * datum up at once, a change for the worse is noticed when it reaches the top. So taking a task costs no heap operation
 * at all. The highest priority of S0 is a bound too once its last holder has left; it is made exact, from the list of
 * the datum's tasks, when the datum is on top. What od_missing_best() returns is exact.
 *
 * Where no datum has an S0, which is rare while many tasks are ready, nothing is kept but the sizes of S1: the best
 * datum is found among those that the most urgent tasks lack, or, where many tasks are equally urgent, by its |S1|.
 *
 * Random choices are orders drawn once: each device has its own random order of the data, which breaks ties, and there
 * is one of the tasks (od_missing_tie()). So a plain reference can follow them. Rules that take the first datum that
 * will do need another order, or they would take the one that they have just evicted (od_missing_rules.in_turn).
 *
 * A datum is present on k when it holds memory there, when a task planned for k reads it
 * (loading it is decided), or when a task in k's buffer uses it. Write-only accesses are no inputs.
 * Tasks that only one device may run are not for this structure; the engine places them itself.
 *
 * Life of a task here: adopt -> (offer -> take)* -> plan -> pop, or reclaim back to offered.
 * Uses od_task.policy_data; od_datum.id is the index of a datum.
 */
#ifndef OD_SCHED_POLICY_DARTS_MISSING_H
#define OD_SCHED_POLICY_DARTS_MISSING_H

#include "sched/policy.h"
#include "sched/policy/plan.h"

typedef struct od_missing od_missing;

/* What is known of an absent datum on one device; the published criteria. */
typedef struct od_missing_key {
    double load;      /* transfer duration, seconds; 0 when S0 is empty, where nothing looks at it */
    double ratio;     /* transfer duration over the time of S0; infinite when S0 is empty */
    uint64_t left_ns; /* task_left: time of all ready tasks that read it */
    uint32_t n0, n1;  /* |S0|, |S1| */
    int32_t max_prio; /* highest priority in S0, or in S1 when S0 is empty */
} od_missing_key;

/* A key as numbers that are compared one after the other: the greater is the better choice. Keys are compared far
 * more often than they change. The lower half of the last word is for the datum's place in the device's order. */
typedef struct od_missing_rank {
    uint64_t word[4];
} od_missing_rank;

/* What the words are, the lower half of the last one zero. Fewer tasks, lower priority or less time must never make a
 * rank greater, and that of a key with an S0 is always greater than one of a key without. Without an S0 the highest
 * priority comes first, then |S1|. */
typedef od_missing_rank (*od_missing_order)(const od_missing_key *key);

typedef struct od_missing_rules {
    od_missing_order order;
    bool random_tasks;  /* priorities are ignored, and the last resort is a random task instead of the most urgent */
    bool in_turn;       /* a datum that was evicted goes to the end of the device's order */
    uint32_t threshold; /* a choice looks at that many data that ready tasks lack, in that order; 0: at all */
} od_missing_rules;

/* The place of a datum (by its id) in the order of device k (its highest bit is set), or of a task (id) in that of
 * tasks (k = ndevices). */
static inline uint32_t od_missing_tie(uint64_t seed, unsigned k, uint64_t id)
{
    uint64_t z = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15) + id * UINT64_C(0xd1342543de82ef95) + k; /* splitmix64 */
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((z ^ (z >> 31)) >> 32);
}

od_status od_missing_create(const od_policy_env *env, const od_missing_rules *rules, od_missing **missing);
/* Tasks still owned are forgotten, data are not looked at. */
void od_missing_destroy(od_missing *missing);

/* --- tasks --------------------------------------------------------------- */

/* Makes room for everything this task will ever need; nothing later can fail. It is not yet offered. */
od_status od_missing_adopt(od_missing *missing, od_task *task);
/* Puts an adopted task into the ready set. */
void od_missing_offer(od_missing *missing, od_task *task);
/* Appends a task to a plan, out of the ready set where it is offered; its data count as present there from now on. */
void od_missing_plan(od_missing *missing, od_task *task, od_plan *plan);
/* The head of the plan, which is no longer ours, or NULL. */
od_task *od_missing_pop(od_missing *missing, od_plan *plan);
/* Takes a task out of the plan and offers it again. */
void od_missing_unplan(od_missing *missing, od_task *task, od_plan *plan);
/* Does so with all tasks that read the datum (Algorithm 10, line 8). */
void od_missing_reclaim(od_missing *missing, const od_datum *datum, od_plan *plan);

/* The devices where an adopted task finds some of its input, or all where it reads no bytes. In `*bytes` how
 * many it reads, in `lacking`, by such device, how many of them are not there. */
od_placeset od_missing_lacking(const od_missing *missing, const od_task *task, size_t *bytes, size_t *lacking);
/* Seconds to bring a datum that an adopted task reads. */
double od_missing_seconds(const od_missing *missing, const od_datum *datum, unsigned k);
/* Seconds to bring what it lacks. */
double od_missing_load_time(const od_missing *missing, const od_task *task, unsigned k);
uint32_t od_missing_ready(const od_missing *missing); /* tasks in the ready set */
uint32_t od_missing_owned(const od_missing *missing); /* tasks adopted and not popped */

/* --- data ---------------------------------------------------------------- */

void od_missing_incoming(od_missing *missing, const od_datum *datum, unsigned k);
void od_missing_evicted(od_missing *missing, const od_datum *datum, unsigned k);
/* The task started or is done: looks again where its data are. */
void od_missing_moved(od_missing *missing, const od_task *task);
void od_missing_forget(od_missing *missing, const od_datum *datum);
uint32_t od_missing_uses(const od_missing *missing, const od_datum *datum); /* owned tasks that read it */

/* --- choices ------------------------------------------------------------- */

/* The best absent datum among those with a non-empty S0 or S1 (with a threshold, among those looked at), its key in
 * `*key`; NULL: there is none. */
const od_datum *od_missing_best(od_missing *missing, unsigned k, od_missing_key *key);
/* Plans S0 of the datum, or (NULL) all ready tasks that lack nothing; highest priority first, then
 * in order of arrival. Returns how many. */
uint32_t od_missing_plan_free(od_missing *missing, const od_datum *datum, od_plan *plan);
/* The first of S1 of the datum on k by priority, then arrival, or (NULL) the last resort; NULL: none. */
od_task *od_missing_urgent(od_missing *missing, const od_datum *datum, unsigned k);

/* Compares all counters with a recount. */
bool od_missing_is_valid(const od_missing *missing);

#endif
