/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A problem that comes again and again: each round finds data where the one before has left them. So the same settings
 * may take longer in the second round than in the first, or less.
 */
#ifndef OD_SCHED_AUTO_ROUNDS_H
#define OD_SCHED_AUTO_ROUNDS_H

#include "sched/oracle/problem.h"

typedef struct od_rounds {
    od_play_problem problem; /* as the next round finds it; what is not below is the first problem's */
    od_play_task *tasks;     /* once a round has been played */
    od_play_datum *data;
    uint32_t *resident, *nresident;
    od_placeset *valid;
} od_rounds;

/* Before the first round, which is this problem; it stays with the caller, for as long as there are rounds. OD_ENOMEM:
 * nothing is to be freed. */
od_status od_rounds_init(od_rounds *rounds, const od_play_problem *first);
void od_rounds_free(od_rounds *rounds);
/* As od_play(). A round that has not been played to its end is none. */
od_status od_rounds_play(od_rounds *rounds, const od_settings *settings, double limit, od_play_result *result);

#endif
