/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * How long the scheduler expects tasks to take: what they do take, or what it has learnt as the runtime does
 * (omp_ext/tasks/entry.h), a robust mean for each kernel. A kernel that has not run yet is expected to take what all
 * tasks so far took on average, and a millisecond before any has run.
 */
#include "sim/simulate_internal.h"

double sim_expected_seconds(const simulation *s, uint32_t t)
{
    static const double guess = 1e-3;
    if (!s->cost)
        return s->seconds[t];
    const od_cost *cost = &s->cost[s->graph->tasks[t].kernel];
    if (cost->runs)
        return cost->mean;
    return s->nmeasured ? s->measured_s / s->nmeasured : guess;
}

void sim_note_guess(const simulation *s, uint32_t t)
{
    if (s->cost)
        od_engine_guess(s->engine, s->task[t].kind, !s->cost[s->graph->tasks[t].kernel].runs);
}

void sim_measured(simulation *s, uint32_t t)
{
    if (!s->cost)
        return;
    od_cost_add(&s->cost[s->graph->tasks[t].kernel], s->seconds[t]);
    s->measured_s += s->seconds[t];
    s->nmeasured++;
    od_engine_expect(s->engine, s->task[t].kind, sim_expected_seconds(s, t));
}
