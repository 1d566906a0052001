/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Graphs between runs: with which settings each was carried out, how long that took, and what is to be tried next. So a
 * program that submits its graph once begins as its last run ended, or chooses anew where that was faster. Of its
 * schedules the one is kept that was best, or is to be tried, or else that is being improved; not beyond 65,536 tasks.
 */
#ifndef OD_SCHED_AUTO_REMEMBER_H
#define OD_SCHED_AUTO_REMEMBER_H

#include "sched/auto/iterations.h"

/* Settings as one line, and back; `schedule` is what they follow if they follow one, or NULL. False: they are none, or
 * not what the user has given. */
bool od_candidate_write(const od_candidate *candidate, char *line, size_t size);
bool od_candidate_read(const char *line, const od_schedule *schedule, const od_settings *given,
                       od_candidate *candidate);

/* What earlier runs have found of the graph that begins so, as the first of its process or a later one. False: nothing.
 * `plain`: what follows no schedule, as long as nothing better is known. Schedules are added to the list, which owns
 * them; `nschedules` numbers them. */
bool od_iteration_recall(od_engine *engine, const od_pattern *pattern, bool first, const od_settings *given,
                         const od_candidate *plain, od_schedule **schedules, unsigned *nschedules,
                         od_iteration *iteration);
void od_iteration_keep(const od_engine *engine, const od_iteration *iteration, bool first);

#endif
