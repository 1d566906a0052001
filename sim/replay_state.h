/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The state of a replay: for replay.c, and replay_make.c, which makes it. */
#ifndef OD_SIM_REPLAY_STATE_H
#define OD_SIM_REPLAY_STATE_H

#include "sim/simulate_internal.h"

typedef struct node_state {
    uint32_t waiting_for; /* nodes before it that are not complete */
    uint32_t first_step;  /* its own requests, linked by sim_replay.next_step; plus one, 0: none */
    od_submission *submission;
    od_banker_step construct; /* of a data construct, where the guard is on */
    double earliest; /* when the threads of the program come to it */
    bool passed;     /* the thread has come to it */
    bool begun;      /* the engine does not count it as submitted any more */
    bool ran;        /* a task: the engine is done with it */
    bool complete;   /* and with its own requests */
} node_state;

typedef struct copy {
    uintptr_t base; /* of the datum */
    int to;
    uint32_t number; /* among the recorded copies */
    bool asked;
} copy;

/* What an engine receives: a task is ready or has run, a copy has ended, the program asks for something. */
typedef struct event {
    double at;       /* recorded, seconds */
    uint32_t number; /* of the events, as they were collected */
    uint32_t *index; /* where its place in the order is kept */
    bool happened;
} event;

struct sim_replay {
    const sim_recording *r;
    node_state *node;
    uint32_t *node_of;             /* by task */
    uint32_t *first_after, *after; /* successors */
    uint32_t *next_step;           /* by step: the next of its node's requests, plus one */
    uint32_t *ready;               /* a queue of nodes: may begin, or have run and have requests of their own */
    uint32_t first_ready, nready;
    uint32_t *ended; /* nodes that are complete where the thread is in the recording */
    uint32_t nended, first_ended;
    uint32_t npassed, ncomplete;
    sg_sem_t *waiting; /* actors that look again after each event */
    uint32_t nwaiting, waiting_capacity;
    sg_sem_t *spare; /* of actors that have ended */
    uint32_t nspare, spare_capacity;
    copy *copies;                 /* sorted */
    uint32_t *place_on_bus;       /* by copy: how many before it went over the bus */
    event *events;                /* in their recorded order */
    uint32_t nevents, next_event; /* all before next_event have happened, or are awaited no more */
    uint32_t *ready_event, *ran_event, *copy_event, *step_event, *plan_event; /* by node, node, copy, step, plan */
    od_background **job;                                                      /* by plan */
    uint32_t njobs, first_job; /* those from first_job on have no actor yet */
    bool same;                 /* the settings are those of the recorded run: copies that race go in its order */
    double at, clock;          /* the thread: recorded time, and when that was here */
};

#endif
