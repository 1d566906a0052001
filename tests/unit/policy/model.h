/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The model of the papers: the engine on virtual time, with data and tasks of chosen size and duration.
 *
 * All devices share one link from the host and one back; each transfer has the link for itself, first come, first
 * served. Copies between devices, where there are any, have a link per receiver. One task runs at a time on a device.
 */
#ifndef TESTS_UNIT_MODEL_H
#define TESTS_UNIT_MODEL_H

#include "sched/engine/engine.h"
#include "sched/recall.h"

enum { MODEL_USES = 6, MODEL_DEVICES = 8, MODEL_KEPT = 64 };

/* What is left for later runs. */
typedef struct model_kept {
    unsigned count;
    struct {
        od_recalled_graph graph;
        od_recalled_row row; /* with texts of its own */
    } row[MODEL_KEPT];
} model_kept;

typedef struct model_task {
    uint32_t nuses;
    uint32_t datum[MODEL_USES];
    od_mode mode[MODEL_USES];
    int32_t priority;
    double duration; /* seconds */
} model_task;

typedef struct model_graph {
    uint32_t ntasks, ndata;
    model_task *task; /* in the order of submission */
    size_t *size;     /* bytes of each datum */
    bool dependences; /* from the order and the modes; else all tasks are ready at once */
} model_graph;

typedef struct model_machine {
    unsigned ndevices;
    size_t memory; /* bytes of each device */
    unsigned buffer;
    unsigned ahead;                   /* mean durations of a task */
    int active;                       /* as in od_engine_config */
    double bandwidth, peer_bandwidth; /* bytes/s; peer 0: no copies between devices */
    bool bus; /* one link for all transfers, of the first bandwidth: what a task waits for comes before prefetches, and
                 the engine knows that link */
    const char *policy;               /* as OMPDARTS_SCHED */
    const char *evict;                /* NULL: what suits the policy */
    uint64_t seed;
    double starting;   /* seconds from when a device has a task to when its code runs */
    unsigned rounds;   /* so many times the graph, one after the other; 0: once */
    double *round_s;   /* seconds that each takes, the caller's; NULL: not asked for */
    uint32_t first;    /* so many tasks come before all others; 0: all come at once. Not where they have dependences */
    unsigned lost;     /* this device is lost, after so many tasks; 0: none is */
    uint32_t lost_after;
    unsigned processors; /* as in od_engine_config */
    uint64_t tick; /* ns of processor time from one look at a thread's clock to the next; the process keeps one processor
                      busy; 0: there are no such clocks */
    od_choices *choices; /* what has been chosen, the caller's; NULL: not asked for */
    model_kept *kept;    /* between runs, the caller's; NULL: nothing is. model_forget() empties it */
} model_machine;

typedef struct model_result {
    uint64_t loads, reloads;
    uint64_t bytes; /* moved in all */
    uint64_t tasks[MODEL_DEVICES];
    double makespan; /* seconds */
} model_result;

/* Graphs with data of one byte and tasks of one millisecond. */
model_graph model_gemm2d(uint32_t n);       /* C(i,j) = row i of A, column j of B; C is not counted */
model_graph model_gemm3d(uint32_t n);       /* n^3 tasks that read tiles of A, B and C */
model_graph model_cholesky_set(uint32_t n); /* the tasks of the factorisation without their dependences, only reading */
model_graph model_cholesky(uint32_t n);     /* the factorisation, priorities = bottom levels */
/* So many of every hundred tasks of model_gemm2d(), chosen at random. */
model_graph model_sparse2d(uint32_t n, uint32_t percent, uint64_t seed);
/* Puts the tasks into a random order; not where they have dependences. */
void model_shuffle(model_graph *graph, uint64_t seed);
void model_free(model_graph *graph);

model_result model_run(const model_graph *graph, const model_machine *machine);

void model_forget(model_kept *kept);

#endif
