/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The planner: jobs wait in the order of their submission, and are planned in that order, each where the policy's score
 * is lowest (batch/policy.h). A resource manager, or a simulation of one, drives it:
 *
 *     submit(job)        it waits
 *     plan(now, until)   when something has happened that the plan did not foresee: a submission, an early end
 *     start(job, node)   at the time that the plan says
 *     end(job)
 *
 * A plan is made anew each time. Who only wants to know what is to be started until the next event says so by `until`:
 * planning ends where no job that is left could start by then. What is planned up to there is the same as in the whole
 * plan. It has no clock, no I/O, and does not look at durations: walltimes are what it knows.
 */
#ifndef OD_BATCH_PLAN_PLANNER_H
#define OD_BATCH_PLAN_PLANNER_H

#include "batch/log/log.h"
#include "batch/policy.h"

typedef struct od_batch_planner od_batch_planner;

typedef struct od_batch_settings {
    const od_batch_policy_ops *policy;
    bool backfill; /* conservative */
    double weight;
} od_batch_settings;

typedef struct od_batch_reservation {
    const od_batch_job *job;
    uint32_t node;
    double start, ready;              /* s: when it starts, when its file will be there */
    struct od_batch_waiting *waiting; /* the planner's */
} od_batch_reservation;

/* `files`: their numbers are below. Keeps the pointer to the cluster. NULL: out of memory. */
od_batch_planner *od_batch_planner_create(const od_batch_cluster *cluster, uint32_t files,
                                          const od_batch_settings *settings);
void od_batch_planner_destroy(od_batch_planner *planner);

/* Keeps the pointer until the job has ended. It must fit a node, and not be submitted before those that wait. */
od_status od_batch_planner_submit(od_batch_planner *planner, const od_batch_job *job);

/* Plans the waiting jobs. A job that could start by `until` is among the reservations. */
od_status od_batch_planner_plan(od_batch_planner *planner, double now, double until);

/* Those of the last plan, in the order of submission. Valid until the next plan. */
const od_batch_reservation *od_batch_planner_reservations(const od_batch_planner *planner, uint32_t *count);

/* A job starts as it was planned; when its file will be there is returned in `ready`. */
od_status od_batch_planner_start(od_batch_planner *planner, const od_batch_reservation *reservation, double now,
                                 double *ready);
void od_batch_planner_end(od_batch_planner *planner, const od_batch_job *job, uint32_t node, double now);

/* What the planner has done so far. */
typedef struct od_batch_effort {
    uint64_t plans, placements; /* a placement is a waiting job that a plan has given a node */
} od_batch_effort;
od_batch_effort od_batch_planner_effort(const od_batch_planner *planner);

bool od_batch_planner_is_valid(const od_batch_planner *planner);

#endif
