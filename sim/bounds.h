/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What no schedule can beat.
 *
 * Bytes to load into devices, from the host or from each other: the papers' formulas for their workloads with the
 * memory of one device (thesis 3.5.1, 3.5.2, 5.4, 5.5), never less than what is read before it is written. Time: work
 * over devices, the longest path, and what must come from the host, where all devices together count as one with K
 * times the memory. With CPU workers the work is that of the best division of all tasks, in parts if need be, between
 * devices and them (the area bound), and nothing need be loaded.
 */
#ifndef OD_SIM_BOUNDS_H
#define OD_SIM_BOUNDS_H

#include "sim/graph/graph.h"
#include "sim/graph/workload.h"
#include "sim/simulate.h"

typedef struct sim_bounds {
    double load_bytes;      /* h2d and d2d */
    double compute_s;       /* all tasks, on all devices and slots, and CPU workers */
    double critical_path_s; /* the longest chain of tasks */
    double bus_s;           /* what must come from the host over the bandwidth into all devices together */
    double time_s;          /* the largest of the three */
} sim_bounds;

/* What must be loaded by a workload with so many bytes of memory in all; 0: no formula. Sources: gemm2d thesis 3.5.1,
 * gemm3d 3.5.2 (Smith et al.), cholesky 5.4 (Beaumont et al.), lu 5.5 (Olivry et al.). */
double sim_bound_formula(const sim_workload *workload, double memory);
/* Bytes of all data that some task reads before any task has written them. */
double sim_bound_compulsory(const sim_graph *graph);
/* workload NULL: a recorded graph. */
sim_bounds sim_bounds_of(const sim_graph *graph, const sim_workload *workload, const sim_machine *machine);

#endif
