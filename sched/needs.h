/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Needs: for every device, which data the ready tasks still lack there, and
 * which absent datum would serve best. The incremental core of DARTS.
 *
 * The papers define, for a device k and a datum D that is not there,
 *   S0(D)  ready tasks that lack only D on k,
 *   S1(D)  ready tasks that lack D and exactly one more datum on k,
 * and recompute both for all data whenever k asks for work. Here their sizes, total
 * time and highest priority are counters, changed when a datum comes to k or leaves it and when a
 * task enters or leaves the ready set. A task's only missing datum is known
 * without looking at its data: each (task, k) keeps the exclusive or of the missing ids.
 *
 * The candidates of each device are in a heap whose stored keys are upper bounds:
 * a change for the better moves a datum up at once, a change for the worse is noticed when
 * it reaches the top. So taking a task costs no heap operation at all. The highest
 * priority of a set is a bound too once its last holder has left; it is made exact, from the list
 * of the datum's tasks, when the datum is on top. What od_needs_best() returns is exact.
 *
 * A datum is present on k when it holds memory there, when a task planned for k reads it
 * (loading it is decided), or when a task in k's buffer uses it. Write-only accesses are no needs.
 * Tasks that only one device may run are not for this structure; the engine places them itself.
 *
 * Life of a task here: adopt -> (offer -> take)* -> plan -> pop, or reclaim back to offered.
 * Uses od_task.policy_data; od_datum.id is the index of a datum.
 */
#ifndef OD_SCHED_NEEDS_H
#define OD_SCHED_NEEDS_H

#include "sched/plan.h"
#include "sched/policy.h"

typedef struct od_needs od_needs;

/* What is known of an absent datum on one device; the published criteria in their order. */
typedef struct od_need_key {
    double ratio;     /* transfer duration over the time of S0; infinite when S0 is empty */
    uint64_t left_ns; /* task_left: time of all ready tasks that read it */
    uint32_t n0, n1;  /* |S0|, |S1| */
    int32_t max_prio; /* highest priority in S0, or in S1 when S0 is empty */
    uint32_t tie;     /* random; breaks ties, not to be looked at by the order below */
} od_need_key;

/* Negative: a is the better choice. Fewer tasks, lower priority or less time must never make a key better. */
typedef int (*od_need_order)(const od_need_key *a, const od_need_key *b);

od_status od_needs_create(const od_policy_env *env, od_need_order order, od_needs **needs);
/* Tasks still owned are forgotten, data are not looked at. */
void od_needs_destroy(od_needs *needs);

/* --- tasks --------------------------------------------------------------- */

/* Makes room for everything this task will ever need; nothing later can fail. It is not yet offered. */
od_status od_needs_adopt(od_needs *needs, od_task *task);
/* Puts an adopted task into the ready set. */
void od_needs_offer(od_needs *needs, od_task *task);
/* Appends a task to a plan, out of the ready set where it is offered; its data count as present there from now on. */
void od_needs_plan(od_needs *needs, od_task *task, od_plan *plan);
/* The head of the plan, which is no longer ours, or NULL. */
od_task *od_needs_pop(od_needs *needs, od_plan *plan);
/* Takes all tasks that read the datum out of the plan and offers them again (Algorithm 10, line 8). */
void od_needs_reclaim(od_needs *needs, const od_datum *datum, od_plan *plan);

/* True where the task lacks nothing on device k. */
bool od_needs_is_free(const od_needs *needs, const od_task *task, unsigned k);
uint32_t od_needs_ready(const od_needs *needs); /* tasks in the ready set */
uint32_t od_needs_owned(const od_needs *needs); /* tasks adopted and not popped */

/* --- data ---------------------------------------------------------------- */

void od_needs_incoming(od_needs *needs, const od_datum *datum, unsigned k);
void od_needs_evicted(od_needs *needs, const od_datum *datum, unsigned k);
/* The task started or is done: looks again where its data are. */
void od_needs_moved(od_needs *needs, const od_task *task);
void od_needs_forget(od_needs *needs, const od_datum *datum);
uint32_t od_needs_uses(const od_needs *needs, const od_datum *datum); /* owned tasks that read it */

/* --- choices ------------------------------------------------------------- */

/* The best absent datum among those with a non-empty S0 or S1, its key in `*key`; NULL: there is none. */
const od_datum *od_needs_best(od_needs *needs, unsigned k, od_need_key *key);
/* Plans S0 of the datum, or (NULL) all ready tasks that lack nothing; highest priority first, then
 * in order of arrival. Returns how many. */
uint32_t od_needs_plan_free(od_needs *needs, const od_datum *datum, od_plan *plan);
/* The first by priority, then arrival, of S1 of the datum on k, or (NULL) of all ready tasks; NULL: none. */
od_task *od_needs_urgent(od_needs *needs, const od_datum *datum, unsigned k);

/* Compares all counters with a recount. */
bool od_needs_is_valid(const od_needs *needs);

#endif
