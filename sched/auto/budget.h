/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Processor time that `auto` may take for its choices: a hundredth of what the run has had, and will have.
 *
 * All times are in nanoseconds of processor time. A driver that has no such clock gives as much as one likes.
 */
#ifndef OD_SCHED_AUTO_BUDGET_H
#define OD_SCHED_AUTO_BUDGET_H

#include "sched/auto/trial.h"

enum { OD_BUDGET_SOME = 8 }; /* plays that say which kind of policies is best */

typedef struct od_budget {
    od_engine *engine;
    uint64_t created_ns, created_processor_ns;
    double copy_ns, play_ns; /* of a task, as last measured */
} od_budget;

void od_budget_init(od_budget *budget, od_engine *engine);
/* What may be spent now, where `spent_ns` have been; infinite: as much as one likes. */
double od_budget_left(const od_budget *budget, uint64_t now_ns, uint64_t spent_ns);
/* Of what is `left`, what may be spent on a choice about so many tasks that is to count for the rest of the run. A
 * choice counts once it is made: the first one is to end while nearly all is still to be done, each that follows has
 * twice the time of the one before (`longer`: so many have come before). But some settings are played in any case. */
double od_budget_soon(const od_budget *budget, uint64_t tasks, double left, unsigned longer);
/* What a choice takes that plays so many settings. */
double od_budget_cost(const od_budget *budget, uint64_t tasks, unsigned plays);
/* Of how many tasks, the first ones, settings are played: where there is no time to play some settings with all of
 * them, these stand for all. */
uint64_t od_budget_window(const od_budget *budget, uint64_t tasks, double left);
/* To copy so many tasks has taken so long. */
void od_budget_note_copy(od_budget *budget, uint64_t tasks, uint64_t cost_ns);
void od_budget_note_plays(od_budget *budget, const od_trial *trial);

#endif
