/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Task graphs for the simulator: data, tasks in order of submission, what each accesses, which must end before it.
 *
 * Made by a named workload (workload.h) or read from a recorded run (graph_file.h).
 */
#ifndef OD_SIM_GRAPH_GRAPH_H
#define OD_SIM_GRAPH_GRAPH_H

#include "sched/task.h"

typedef struct sim_datum {
    size_t bytes;
    uintptr_t base;  /* address in the recorded run, else 0: the simulator gives one */
    uint32_t matrix; /* index in sim_graph.matrix */
    uint32_t row, column;
} sim_datum;

typedef struct sim_access {
    uint32_t datum;
    od_mode mode;
} sim_access;

typedef struct sim_task {
    uint32_t kernel;        /* index in sim_graph.kernel */
    uint32_t coordinate[3]; /* row, column, layer: for pictures */
    uint32_t first_access, naccess;
    uint32_t first_before, nbefore; /* tasks that must end before it begins */
    int32_t priority;               /* of the clause */
    double seconds;                 /* its duration, 0: what the platform says of the kernel */
    uint32_t device;                /* of its device clause, plus one; 0: it has none */
} sim_task;

typedef struct sim_kernel {
    char name[64];
    uint32_t tile;  /* order of its tiles, 0: unknown */
    double flops;   /* floating-point operations of one task */
    uint32_t calls; /* of the tile kernel in one task */
} sim_kernel;

enum { SIM_MATRICES = 8 };

typedef struct sim_graph {
    sim_datum *data;
    sim_task *tasks;
    sim_access *accesses;
    uint32_t *before; /* numbers of tasks, all lower than that of the task itself */
    sim_kernel *kernels;
    uint32_t ndata, ntasks, naccesses, nbefore, nkernels;
    uint32_t data_capacity, tasks_capacity, accesses_capacity, before_capacity, kernels_capacity;
    char matrix[SIM_MATRICES][16];
    uint32_t nmatrices;
    bool has_priorities; /* some task has one: bottom levels are not used */
} sim_graph;

void sim_graph_free(sim_graph *graph);

/* All of these append and return the index; they end the program when memory is short. */
uint32_t sim_graph_matrix(sim_graph *graph, const char *name);
uint32_t sim_graph_datum(sim_graph *graph, const sim_datum *datum);
uint32_t sim_graph_kernel(sim_graph *graph, const char *name, uint32_t tile, double flops);
/* Accesses and predecessors belong to the task that is added last. */
uint32_t sim_graph_task(sim_graph *graph, const sim_task *task);
void sim_graph_access(sim_graph *graph, uint32_t datum, od_mode mode);
void sim_graph_before(sim_graph *graph, uint32_t task);

/* Gives all tasks the dependences that follow from their accesses in order of submission, as `depend` clauses on the
 * same data would: readers after the last writer, a writer after it and all readers since. */
void sim_graph_depend(sim_graph *graph);

/* Memory that has just been asked for; NULL ends the program with a message. */
void *sim_checked(void *memory);
/* The array with room for one more element of the size: it doubles where it is full. Ends the program when memory is
 * short. */
void *sim_grown(void *array, uint32_t count, uint32_t *capacity, size_t size);

/* Total floating-point operations, and bytes of all data. */
double sim_graph_flops(const sim_graph *graph);
double sim_graph_bytes(const sim_graph *graph);

#endif
