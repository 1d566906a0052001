/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The papers' workloads as task graphs.
 *
 *   gemm2d         C = A B, one task per tile of C reads a block row of A and a block column of B; C is not counted as
 * data.
 *                  N^2 independent tasks, row by row (thesis 3.4)
 *   gemm2d-random  the same tasks in random order
 *   pairs          the same data, each task reads a random block row and a random block column
 *   sparse2d       gemm2d of which only a random part of the tasks is kept (density=)
 *   gemm3d         C = A B by tiles, N^3 tasks of three tiles; the N updates of a tile of C form a chain, the first
 * only writes
 *   gemm3d-set     the same tasks without dependences
 *   cholesky-set   the tasks of the tiled Cholesky factorisation without dependences (thesis 3.4)
 *   cholesky, lu   right-looking tiled factorisations, LU without pivoting
 *   qr             tiled QR with a flat tree (Buttari et al., Parallel Computing 35, 2009)
 *
 * With generate=1 the matrices of gemm3d, cholesky, lu and qr that are there at first are made by a task for each tile,
 * where that runs; otherwise they are in the program's memory.
 *
 * With levels= gemm3d, cholesky and lu are recursive: sim/recursion/recursion.h.
 */
#ifndef OD_SIM_GRAPH_WORKLOAD_H
#define OD_SIM_GRAPH_WORKLOAD_H

#include "sim/graph/graph.h"
#include "util/status.h"

enum { SIM_MOST_LEVELS = 8,
       SIM_MOST_PARTS = 8, /* blocks of the last level per side of a tile of the first */
       SIM_MOST_RECURSIVE = 256 }; /* tiles per side of a recursive workload */

typedef struct sim_workload {
    char name[32];
    uint32_t n;     /* matrices of n x n tiles */
    uint32_t tile;  /* order of a tile */
    uint32_t depth; /* tiles in a block row of A (gemm2d and its kind) */
    double density; /* part of the tasks that is kept (sparse2d) */
    uint32_t element; /* bytes of a number */
    bool generate;    /* a first task makes each datum of the matrices that are read before they are written */
    bool unit;      /* every datum is one byte, every task takes one second: the papers' model */
    uint64_t seed;  /* of what is random */
    uint32_t level[SIM_MOST_LEVELS]; /* orders of tiles, the first is `tile`; each divides the one before */
    unsigned nlevels;                /* 0: not recursive */
} sim_workload;

enum { SIM_ELEMENT = 4 }; /* bytes, where nothing else is said: single precision */

/* Reads NAME[:ARGUMENT=VALUE,...] over the defaults. OD_EINVAL with one line in `error`. */
od_status sim_workload_parse(const char *text, sim_workload *workload, char *error, size_t size);
/* One line per workload: name and description, in pairs, up to NULL. */
const char *const *sim_workload_help(void);
/* Ends the program when memory is short. */
void sim_workload_make(const sim_workload *workload, sim_graph *graph);

#endif
