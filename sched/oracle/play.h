/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The oracle: how long known tasks will take under given settings, played in virtual time.
 *
 * What is played is the engine itself with the policy and the eviction rule of the settings, an instance of its own,
 * over a model of the machine: kernels take their predicted durations, transfers share the links of the topology
 * (sched/oracle/network.h). As in the runtime each device has a queue of transfers for each direction, one transfer
 * at a time, demanded ones first, and as many kernels at once as it has slots, or queued where they take turns. No
 * threads, no I/O, no clock; the same problem gives the same answer.
 */
#ifndef OD_SCHED_ORACLE_PLAY_H
#define OD_SCHED_ORACLE_PLAY_H

#include "sched/oracle/problem.h"

/* Stops as soon as it is clear that it will take more than `limit` seconds. OD_ENOMEM: out of memory; OD_EINVAL: the
 * settings cannot run it (a task fits on no device). */
od_status od_play(const od_play_problem *problem, const od_settings *settings, double limit, od_play_result *result);

/* Seconds that it takes at least, whatever is to be loaded. */
double od_play_least(const od_play_problem *problem);

#endif
