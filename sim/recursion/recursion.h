/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A recursive workload as it unfolds: tasks, what each may still become, and what must come before what.
 *
 * Data are blocks of the last level; a task of a larger level uses all blocks of its tiles, so a tile and its parts
 * are one range. Each block lists its accesses in the order of the sequential program. A task may use a block where all
 * that conflicts has ended before it, and a split task's children take its place in the lists: so dependences follow
 * from overlap, and no child waits for a task as a whole.
 *
 * A task that may be split is decided on as soon as its first child could begin, or later as the rule says; one that is
 * to run as it is becomes ready when all of its blocks are. No engine, no clock: the driver sets view->now and the
 * number of idle CPU workers.
 */
#ifndef OD_SIM_RECURSION_RECURSION_H
#define OD_SIM_RECURSION_RECURSION_H

#include "sim/recursion/tables.h"

typedef struct sim_recursion sim_recursion;

typedef struct sim_recursive_task {
    sim_op op;
    unsigned level;
    uint32_t kernel;              /* of the graph */
    uint32_t row, column;         /* of the tile that it writes, in tiles of its level */
    double seconds, host_seconds; /* as in sim_recursion_config */
    double bottom_s;
    bool on_host; /* a CPU worker is to run it */
} sim_recursive_task;

/* NULL: one line in `error`. Ends the program when memory is short. */
sim_recursion *sim_recursion_create(const sim_recursion_config *config, char *error, size_t size);
void sim_recursion_destroy(sim_recursion *recursion);
od_split_view *sim_recursion_view(sim_recursion *recursion);

/* Decides what can be decided, and takes the next task that is ready. False: there is none now. */
bool sim_recursion_next(sim_recursion *recursion, uint32_t *task);
sim_recursive_task sim_recursion_task(const sim_recursion *recursion, uint32_t task);
/* What a task that has not ended uses: at most SIM_MOST_BLOCKS. */
uint32_t sim_recursion_uses(const sim_recursion *recursion, uint32_t task, sim_access *uses);
/* It has been run. */
void sim_recursion_done(sim_recursion *recursion, uint32_t task);
/* All have. */
bool sim_recursion_is_done(const sim_recursion *recursion);
/* Tasks that were split so far. */
uint32_t sim_recursion_splits(const sim_recursion *recursion);
/* Its lists are in order, and what is granted is what may be. For tests. */
bool sim_recursion_is_valid(const sim_recursion *recursion);

#endif
