/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Every registered policy, under its own eviction rule and under every other one, on random graphs: memory for just the
 * largest task, one byte less, and plenty; one to four devices; with CPU workers and without; every run with events in a random order and all
 * invariants checked after each (engine_world.h). A new policy or rule is tested the day it exists.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/engine/engine_world.h"
#include "tests/unit/random.h"

#include <stdlib.h>

enum { GRAPHS = 60 };

static uint64_t reruns, taken;

static unsigned below(uint64_t *seed, unsigned limit)
{
    return (unsigned)random_below(seed, limit);
}

static unsigned pick(void *seed, unsigned n)
{
    return below(seed, n);
}

static void add_use(w_task *task, int datum, od_mode mode)
{
    for (int u = 0; u < task->nuses; u++) {
        if (task->use[u].datum == datum)
            return;
    }
    task->use[task->nuses++] = (w_use){datum, mode};
}

static w_graph random_graph(uint64_t *seed)
{
    w_graph graph = {.ntasks = W_TASKS, .ndata = 2 + (int)below(seed, W_DATA - 1), .host_reads = -1};
    bool independent = below(seed, 2);
    graph.keep = below(seed, 4) > 0;
    graph.region = below(seed, 2);
    graph.host_reads = (int)below(seed, 3 * (unsigned)graph.ndata);
    if (graph.host_reads >= graph.ndata)
        graph.host_reads = -1;
    for (int d = 0; d < graph.ndata; d++)
        graph.size[d] = 1 + below(seed, 3);
    for (int t = 0; t < graph.ntasks; t++) {
        for (unsigned wanted = 1 + below(seed, 4); wanted > 0; wanted--) {
            od_mode mode = independent ? OD_READ : (od_mode)(1 + below(seed, 3));
            add_use(&graph.task[t], (int)below(seed, (unsigned)graph.ndata), mode);
        }
    }
    w_add_dependences(&graph);
    return graph;
}

static size_t largest_task(const w_graph *graph)
{
    size_t most = 0;
    for (int t = 0; t < graph->ntasks; t++) {
        size_t bytes = 0;
        for (int u = 0; u < graph->task[t].nuses; u++)
            bytes += graph->size[graph->task[t].use[u].datum];
        most = bytes > most ? bytes : most;
    }
    return most;
}

static void run_graph(const char *policy, const char *rule, uint64_t seed)
{
    w_graph graph = random_graph(&seed);
    size_t enough = largest_task(&graph);
    const size_t memories[3] = {enough, enough - 1, 100};
    for (unsigned i = 0; i < 3; i++) {
        for (unsigned ndevices = 1; ndevices <= W_PLACES - 2; ndevices++) {
            w_machine machine = {.ndevices = ndevices,
                                 .memory = memories[i] ? memories[i] : 1,
                                 .buffer = 1 + below(&seed, 5),
                                 .ahead = below(&seed, 4),
                                 .early = below(&seed, 2),
                                 .slots = 1 + below(&seed, 2),
                                 .peer = below(&seed, 2),
                                 .recompute = (od_recompute)below(&seed, 3),
                                 .reruns = &reruns,
                                 .cpus = below(&seed, 3),
                                 .in_process = below(&seed, 2),
                                 .taken = &taken,
                                 .policy = policy,
                                 .evict = rule,
                                 .failing_task = below(&seed, 8) ? -1 : 0};
            if (!w_run(&graph, &machine, pick, &seed))
                fail_msg("policy %s, rule %s, %u devices, memory %zu", policy, rule, ndevices, memories[i]);
        }
    }
}

static void every_policy_under_every_rule(void **state)
{
    (void)state;
    for (const char *const *policy = od_policy_names(); *policy; policy++) {
        for (const char *const *rule = od_evict_names(); *rule; rule++) {
            for (uint64_t seed = 1; seed <= GRAPHS; seed++)
                run_graph(*policy, *rule, seed);
        }
    }
    assert_true(reruns > 0);
    assert_true(taken > 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_policy_under_every_rule)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
