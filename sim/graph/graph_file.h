/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Recorded runs (OMPDARTS_RECORD): the graph, and what else a replay needs to follow. The format is
 * docs/graph-format.md.
 *
 * A recording is a list of steps in the order of events. Nodes are the tasks by their numbers: those that the
 * scheduler ran, which are tasks of the graph, too, and others that only order (host tasks, data constructs with
 * `nowait`).
 */
#ifndef OD_SIM_GRAPH_GRAPH_FILE_H
#define OD_SIM_GRAPH_GRAPH_FILE_H

#include "sched/engine/engine.h"
#include "sim/graph/graph.h"
#include "util/status.h"

enum { SIM_GRAPH_VERSION = 4, SIM_OLDEST_GRAPH = 3, /* has no AWAIT */
       SIM_NO_TASK = UINT32_MAX };

typedef enum sim_step_kind {
    SIM_CREATE, /* the program creates a task */
    SIM_TASK,   /* which is ready */
    SIM_RAN,    /* and complete */
    SIM_DONE,   /* a node that is no task of the scheduler's has ended */
    SIM_AWAIT,  /* the program's thread begins to wait for all that it has created */
    SIM_SYNC,   /* data outside regions are written back */
    SIM_RESUME, /* the program's thread goes on after it has waited */
    SIM_WAIT,   /* likewise, for one task */
    SIM_OPEN,   /* a region */
    SIM_CLOSE,
    SIM_RANGE, /* another request of a range */
} sim_step_kind;

typedef struct sim_step {
    sim_step_kind kind;
    double at;      /* seconds from the beginning of the recorded run */
    uint32_t node;  /* that it is about; of a request: that waits for it, plus one, 0: the program's thread */
    uintptr_t base; /* of a request */
    size_t bytes;
    od_request_kind request;   /* RANGE */
    bool undefined;            /* OPEN */
    bool copy_out, all;        /* CLOSE */
    bool hold;                 /* OPEN, CLOSE: ompx_hold */
    uint32_t first_use, nuses; /* CREATE: depend items */
} sim_step;

/* The lines of a node come in this order: create, then task and ran, or done. */
typedef enum sim_node_state { SIM_CREATED, SIM_READY, SIM_ENDED } sim_node_state;

typedef struct sim_node {
    uint32_t task;                  /* of the graph, or SIM_NO_TASK */
    uint32_t first_before, nbefore; /* nodes, all lower in the order of arrival */
    uint32_t first_use, nuses;
    double seconds; /* as it was submitted; 0: it was not */
    double ready;   /* when it was, seconds */
    double ran;     /* when its run ended, seconds */
    double end;     /* when it was, seconds */
    sim_node_state state; /* so far in the file */
    double delay;   /* until it was ready, from the end of its last predecessor, or from where the thread went on:
                     * threads had to come to it */
} sim_node;

typedef struct sim_copy {
    uint32_t datum;
    int from, to; /* places */
    double end;   /* seconds */
} sim_copy;

/* A background job of a policy. */
typedef struct sim_plan {
    double end;     /* seconds: when it was there */
    double seconds; /* that it took */
} sim_plan;

typedef struct sim_recording {
    unsigned ndevices, buffer;
    size_t memory;    /* bytes of each device */
    uint64_t seed;
    bool spill;
    int active;  /* as in od_engine_config */
    char policy[1024], evict[32];
    od_link host_link, peer_link; /* as the policy knew them */
    double resumed;               /* seconds: when the thread went on, as far as the file has been read */
    sim_step *steps;
    sim_node *nodes;
    uint32_t *before;
    od_level_use *uses;
    sim_copy *copies;  /* in the order of their ends */
    sim_plan *plans;   /* in the order of their ends */
    double *predicted; /* seconds, by task */
    bool *home;        /* by access of the graph: the datum may stay on no device afterwards */
    uint32_t nsteps, nnodes, nbefore, nuses, ncopies, nplans;
    uint32_t steps_capacity, nodes_capacity, before_capacity, uses_capacity, copies_capacity, plans_capacity,
        predicted_capacity, home_capacity;
    uint64_t h2d_bytes, d2h_bytes, d2d_bytes; /* moved by the recorded run, all devices */
} sim_recording;

/* Reads a file. OD_EIO or OD_EINVAL with one line in `error`: not there, foreign, of a newer version, cut off, or
 * damaged. */
od_status sim_graph_read(const char *path, sim_graph *graph, sim_recording *recording, char *error, size_t size);
void sim_recording_free(sim_recording *recording);

#endif
