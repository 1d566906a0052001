/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What is known, played forward under settings one after the other: those of now, then the candidates, then what is
 * near the best of them, and other policies with what is best of all else, until nothing there is better; then all
 * other combinations, and if one of those is the best, what is near it. Where there are CPU workers all of it is done
 * with them, then without.
 *
 * Where the graph comes again, and nearly all of it is known, it is played as the next iteration will find it: once the
 * settings of now have done what is known. A schedule is improved (schedule/improve.h) as long as there is time; and
 * those that are expected to be the fastest then are played several times in succession, since each time finds data
 * where the one before has left them.
 */
#ifndef OD_SCHED_AUTO_TRIAL_H
#define OD_SCHED_AUTO_TRIAL_H

#include "sched/auto/tries.h"

/* Of what the engine knows, at most so many tasks, with its present settings; what the user has given stays. NULL: out
 * of memory, or no device is left. */
od_trial *od_trial_create(od_engine *engine, uint64_t most, const od_settings *given, const od_candidate *now);
void od_trial_destroy(od_trial *trial);
/* Touches nothing but the trial. At most so many nanoseconds of the thread's processor time, and no more once `hurry`
 * is true. */
void od_trial_run(od_trial *trial, uint64_t most_ns, const atomic_bool *hurry);
/* The best of those that are not the best of all, not what is now, and have been played far enough to be compared;
 * NULL: there is none. */
const od_prediction *od_trial_second(const od_trial *trial);
/* As it is told; nothing where there is none (NULL). */
od_outlook od_prediction_outlook(const od_prediction *prediction);

#endif
