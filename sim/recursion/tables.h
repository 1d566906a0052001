/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What stays while a recursive workload unfolds: blocks, durations, children, and what a rule sees of them. */
#ifndef OD_SIM_RECURSION_TABLES_H
#define OD_SIM_RECURSION_TABLES_H

#include "sim/graph/workload.h"
#include "sim/recursion/shape.h"

enum { SIM_MOST_BLOCKS = SIM_OPERANDS * SIM_MOST_PARTS * SIM_MOST_PARTS };

typedef struct sim_recursion_config {
    const sim_workload *workload; /* with levels */
    const sim_graph *graph;       /* of sim_recursion_data() */
    od_split_choice rule;
    unsigned ndevices, cpus;                                       /* tasks at once */
    unsigned buffer;                                               /* tasks that a device has in advance */
    double (*device_seconds)(void *arg, const sim_kernel *kernel); /* 0: not known */
    double (*host_seconds)(void *arg, const sim_kernel *kernel);   /* likewise, or it may not run there */
    /* To bring to a device what it uses and none has; NULL: nothing takes time. */
    double (*transfer_seconds)(void *arg, const sim_access *uses, uint32_t count);
    bool (*play)(void *arg, double limit, double *end_s); /* as in od_split_view; NULL: it cannot */
    void *arg;
} sim_recursion_config;

/* Tasks of one operation and level. */
typedef struct sim_group {
    sim_op op;
    unsigned level;
    double acceleration; /* of a device against a CPU worker; infinite: it may not run there */
} sim_group;

typedef struct sim_tables {
    const sim_recursion_config *config;
    od_split_view view;
    unsigned span[OD_SPLIT_LEVELS]; /* blocks per side of a tile */
    uint32_t side, nblocks;         /* of a matrix, in blocks; of all */
    uint32_t first[SIM_OPERANDS];   /* by matrix: its first block */
    bool triangular;                /* only the lower triangle is stored */
    sim_children children[SIM_OPS][OD_SPLIT_LEVELS];
    od_split_graph graph[SIM_OPS][OD_SPLIT_LEVELS][OD_SPLIT_LEVELS]; /* made when asked for */
    sim_group group[SIM_OPS * OD_SPLIT_LEVELS]; /* that may be split; the least accelerated first */
    unsigned ngroups;
} sim_tables;

/* The data, blocks, and a kernel for each operation and level. */
void sim_recursion_data(const sim_workload *workload, sim_graph *graph);

void sim_tables_make(const sim_recursion_config *config, sim_tables *tables);
void sim_tables_free(sim_tables *tables);

uint32_t sim_tables_block(const sim_tables *tables, unsigned matrix, uint32_t row, uint32_t column);
uint32_t sim_tables_kernel(const sim_workload *workload, sim_op op, unsigned level);
/* The operation that the whole workload is, on one tile. */
sim_op sim_tables_root(const sim_workload *workload);

#endif
