/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The nouns of batch scheduling (M. Gonthier's thesis, section 6.3). A *cluster* is nodes, each with cores, a memory
 * for input files and a link to the file system. A *job* runs on cores of one node and reads one *file*, which must be
 * in that node's memory before it computes. A *session* is what one user submits within five minutes. A *log* is the
 * jobs that were submitted to a cluster, in order of submission.
 */
#ifndef OD_BATCH_LOG_LOG_H
#define OD_BATCH_LOG_LOG_H

#include "util/container/names.h"
#include "util/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OD_BATCH_NONE UINT32_MAX
#define OD_BATCH_MOST_SECONDS 1e10

/* Of a node; of a job, which may be divided; of a cluster. */
enum { OD_BATCH_MOST_CORES = 4096, OD_BATCH_MOST_ASKED = 1000000, OD_BATCH_MOST_NODES = 100000 };

typedef struct od_batch_node {
    uint32_t cores;
    double memory;    /* GB */
    double bandwidth; /* GB/s, from the file system */
} od_batch_node;

typedef struct od_batch_cluster {
    od_batch_node *nodes; /* malloc'ed */
    uint32_t count, room;
} od_batch_cluster;

typedef struct od_batch_job {
    double submit;   /* s */
    double walltime; /* s, from its start: it is killed then. NAN: not given */
    double duration; /* s, of the computation; not known to schedulers. Not positive: see od_batch_log_complete() */
    double size;     /* GB, of its file; NAN: not given */
    uint64_t id;     /* in the log that was read */
    uint64_t line;   /* there */
    uint32_t number; /* position in the log */
    uint32_t cores;
    uint32_t user, session, file; /* small numbers; OD_BATCH_NONE: not given */
} od_batch_job;

typedef struct od_batch_log {
    od_batch_job *jobs; /* malloc'ed */
    uint32_t count, room;
    uint32_t files, sessions; /* their numbers are below */
    uint64_t left_out;        /* lines of jobs that never ran, and of parts of jobs, where the format tells */
    od_names user_names, session_names, file_names;
} od_batch_log;

void od_batch_cluster_free(od_batch_cluster *cluster);
void od_batch_log_free(od_batch_log *log);

/* A new job at the end, zeroed but for its number; NULL: out of memory. */
od_batch_job *od_batch_log_add(od_batch_log *log);

/* How many seconds the file takes to come to a node; the shortest of all nodes. */
double od_batch_load(double size, const od_batch_node *node);
double od_batch_shortest_load(double size, const od_batch_cluster *cluster);

/* What the job would take on an empty cluster, until its end or until it is killed. */
double od_batch_reference(const od_batch_job *job, const od_batch_cluster *cluster);

#endif
