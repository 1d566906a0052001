/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See problem.h. */
#include "tests/unit/policy/problem.h"

#include "tests/unit/random.h"

#include <string.h>

static void add_uses(struct problem *q, uint32_t t, uint64_t *random)
{
    uint32_t first = q->first_use[t], end = first, n = (uint32_t)random_below(random, USES + 1);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t item = (uint32_t)random_below(random, ITEMS);
        bool again = false;
        for (uint32_t u = first; u < end; u++)
            again |= q->use[u] == item;
        if (again)
            continue;
        q->use[end] = item;
        q->writes[end++] = random_below(random, 4) == 0;
    }
    q->first_use[t + 1] = end;
}

void make_problem(struct problem *q, uint64_t *random)
{
    uint32_t edges = 0, ntasks = (uint32_t)random_below(random, TASKS + 1);
    bool depend = random_below(random, 2);
    memset(q, 0, sizeof *q);
    for (uint32_t t = 0; t < ntasks; t++) {
        q->seconds[t] = 1 + (double)random_below(random, 5);
        q->kind[t] = (uint32_t)random_below(random, 3);
        add_uses(q, t, random);
        for (int i = 0; depend && i < 2 && t + 1 < ntasks && random_below(random, 2); i++)
            q->successor[edges++] = t + 1 + (uint32_t)random_below(random, ntasks - t - 1);
        q->first_successor[t + 1] = edges;
    }
    for (uint32_t i = 0; i < ITEMS; i++) {
        q->size[i] = 1 + (double)random_below(random, 3);
        q->load[i] = 0.1 + (double)random_below(random, 10);
        q->resident[i] = random_below(random, 3) == 0;
        q->fresh[i] = random_below(random, 5) == 0;
    }
    q->p = (od_phase_problem){.ntasks = ntasks,
                              .nitems = ITEMS,
                              .nkinds = 3,
                              .seconds = q->seconds,
                              .kind = q->kind,
                              .first_use = q->first_use,
                              .use = q->use,
                              .writes = q->writes,
                              .first_successor = q->first_successor,
                              .successor = q->successor,
                              .size = q->size,
                              .load = q->load,
                              .resident = q->resident,
                              .fresh = q->fresh,
                              .memory = (double)random_below(random, 60),
                              .window = (uint32_t)random_below(random, 8),
                              .share = random_below(random, 2) ? 1e30 : 1 + (double)random_below(random, 50)};
}
