/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Random tasks to plan phases of (sched/phase/phase.h). */
#ifndef OD_TESTS_UNIT_POLICY_PROBLEM_H
#define OD_TESTS_UNIT_POLICY_PROBLEM_H

#include "sched/phase/phase.h"

enum { TASKS = 60, ITEMS = 20, USES = 4 };

struct problem {
    od_phase_problem p;
    double seconds[TASKS], size[ITEMS], load[ITEMS];
    uint32_t kind[TASKS], first_use[TASKS + 1], use[TASKS * USES], first_successor[TASKS + 1], successor[TASKS * 2];
    bool writes[TASKS * USES], resident[ITEMS], fresh[ITEMS];
};

void make_problem(struct problem *q, uint64_t *random);

#endif
