/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The nodes of a cluster as they are (`actual`: jobs that run, files that they have left) and as they are planned
 * (`planned`: with reservations for waiting jobs). Who has worked something out from a planned node sees by numbers of
 * changes whether it still holds.
 */
#ifndef OD_BATCH_PLAN_NODES_H
#define OD_BATCH_PLAN_NODES_H

#include "batch/log/log.h"
#include "batch/plan/timeline.h"

typedef struct od_batch_plan_node {
    od_batch_timeline actual, planned;
    uint64_t change;  /* number of its last change */
    uint32_t running; /* jobs */
    bool differs;     /* planned from actual */
    bool starts;      /* of the reservations, one is for now */
    uint32_t soon;    /* cores: od_batch_nodes_look_ahead() */
} od_batch_plan_node;

typedef struct od_batch_nodes {
    const od_batch_cluster *cluster;
    od_batch_plan_node *node; /* by number */
    uint64_t change;          /* the last */
    uint32_t *changed;        /* node by change, modulo the number of nodes */
    uint32_t *differing, ndiffering;
    uint32_t *idle, nidle;   /* nodes that have cores free soon, or had so when the plan began */
    double now, until;       /* of the plan */
    uint32_t busy, starting; /* nodes that run a job; others that are about to */
    uint64_t cores, taken;   /* of all nodes; by running jobs */
    double *file_size;       /* by file, GB; 0 where no job has been submitted that names it */
    uint64_t **holders;      /* by file: a bit for each node that perhaps uses it; NULL: none */
    uint32_t files;
} od_batch_nodes;

od_status od_batch_nodes_init(od_batch_nodes *nodes, const od_batch_cluster *cluster, uint32_t files, bool backfill);
void od_batch_nodes_free(od_batch_nodes *nodes);

/* All reservations are forgotten. */
od_status od_batch_nodes_reset(od_batch_nodes *nodes);
/* From here on `soon` is, for each node, the most cores that are free at once between these times. */
void od_batch_nodes_look_ahead(od_batch_nodes *nodes, double now, double until);

/* When the file would be there for a job that starts at that time. `actual`: by what is, not by what is planned. */
double od_batch_nodes_ready(const od_batch_nodes *nodes, uint32_t k, uint32_t file, double time, bool actual);

/* Reserves the job's walltime from `start` on; its file would be ready at the time that is returned. */
od_status od_batch_nodes_reserve(od_batch_nodes *nodes, uint32_t k, const od_batch_job *job, double start, double now,
                                 double *ready);

/* The job starts; its file is ready at the time that is returned. Reservations are to be forgotten after that. */
od_status od_batch_nodes_start(od_batch_nodes *nodes, uint32_t k, const od_batch_job *job, double now, double *ready);
void od_batch_nodes_end(od_batch_nodes *nodes, uint32_t k, const od_batch_job *job, double now);

/* GB of the files in memory at the time, as planned; each counts once. */
double od_batch_nodes_resident(const od_batch_nodes *nodes, uint32_t k, double time);

/* Calls `visit` for each node that has the file in memory when it would start a job: at start[k]. */
void od_batch_nodes_holding(od_batch_nodes *nodes, uint32_t file, const double *start,
                            void (*visit)(void *argument, uint32_t k, double ready), void *argument);

static inline bool od_batch_nodes_saturated(const od_batch_nodes *nodes)
{
    return nodes->busy + nodes->starting == nodes->cluster->count;
}

bool od_batch_nodes_is_valid(const od_batch_nodes *nodes);

#endif
