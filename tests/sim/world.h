/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What the simulator's tests share. SimGrid has one simulation per process, so each runs in a child.
 */
#ifndef OD_TESTS_SIM_WORLD_H
#define OD_TESTS_SIM_WORLD_H

#include "sim/bounds.h"
#include "sim/simulate.h"

/* cmocka.h wants these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct world_setting {
    const char *platform, *policy, *evict; /* evict NULL: the policy's */
    unsigned devices, buffer, cpus;
    int active; /* as in sim_machine */
    size_t memory;
    uint64_t seed;
} world_setting;

typedef struct world_outcome {
    od_status status;
    char error[256];
    sim_result result;
    sim_bounds bounds;
} world_outcome;

/* Runs the graph; bounds without a formula, or with the workload's. */
world_outcome world_run(const sim_graph *graph, const sim_workload *workload, const world_setting *setting);

/* Calls function(argument) in a child; true where it returns true there. */
bool world_in_child(bool (*function)(void *argument), void *argument);

/* Fails where they are further apart. */
void world_near(double value, double expected, double tolerance);

sim_graph world_workload(const char *text, uint64_t seed, sim_workload *workload);

#endif
