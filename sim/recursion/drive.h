/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A recursive workload in a simulation: its tasks are made for the engine when they are ready. */
#ifndef OD_SIM_RECURSION_DRIVE_H
#define OD_SIM_RECURSION_DRIVE_H

#include "sim/simulate_internal.h"

/* With data and engine made. */
od_status sim_recursive_create(simulation *s);
void sim_recursive_destroy(simulation *s);

/* sim_advance: hands over what has become ready. */
void sim_recursive_advance(simulation *s);
/* From the engine's commands. */
command *sim_recursive_command(od_task *task);
void sim_recursive_completed(simulation *s, od_task *task);
/* It begins, or ends, to run on a CPU worker. */
void sim_recursive_runs(simulation *s, int more);

bool sim_recursive_is_done(const simulation *s);
/* Tasks that were split so far. */
uint32_t sim_recursive_splits(const simulation *s);
/* Seconds that all takes at least, as in sim_result. */
double sim_recursive_bound(const simulation *s);
/* Blocks of one tile that wait beside each other, for one way, move as one. */
bool sim_recursive_is_one_copy(const simulation *s, const od_transfer *a, const od_transfer *b);

#endif
