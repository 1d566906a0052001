/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Two-dimensional block-cyclic distribution: a yardstick for policies.
 *
 * Tile (i, j) belongs to node (i mod P, j mod Q) of a grid of P x Q, and there to device (i / P mod p, j / Q mod q) of
 * a grid of p x q that is as square as the number of devices allows, p at most q. Tasks run where the tile is that they
 * write (owner computes), as in a program for ScaLAPACK, or with device(owner(i, j)) in all target constructs.
 */
#ifndef OD_SIM_GRAPH_GRID_H
#define OD_SIM_GRAPH_GRID_H

#include "sim/graph/graph.h"
#include "util/status.h"

#define SIM_GRID_ALLOWED "PxQ or PxQ:first, whole numbers from 1 to 1024"

typedef struct sim_grid {
    uint32_t rows, columns; /* of nodes */
    bool first;             /* only tasks that write their tile without having read it have a device clause */
} sim_grid;

/* Reads PxQ[:first]. */
od_status sim_grid_parse(const char *text, sim_grid *grid);
/* Gives the tasks of a workload their device clauses; nodes have so many devices each. */
void sim_grid_distribute(const sim_grid *grid, uint32_t devices, sim_graph *graph);

#endif
