/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the oracle plays (sched/oracle/play.h): known tasks and a machine as plain arrays, and what comes of it. */
#ifndef OD_SCHED_ORACLE_PROBLEM_H
#define OD_SCHED_ORACLE_PROBLEM_H

#include "sched/engine/engine.h"
#include "sched/settings.h"

typedef struct od_play_datum {
    size_t bytes;
    od_placeset valid; /* places that hold the current contents; none: they are undefined */
    uint32_t tie;   /* as in od_datum */
} od_play_datum;

typedef struct od_play_access {
    uint32_t datum;
    od_mode mode;
} od_play_access;

typedef struct od_play_task {
    double seconds;
    double host_seconds; /* on a CPU worker; as in od_task */
    const void *kind;    /* as in od_task, like the next */
    unsigned speed_class;
    int bound;        /* the device that it has been given to, OD_HOST where a CPU worker runs it, or OD_NOWHERE */
    bool given;       /* it has begun, or is about to: if it comes again, it may run elsewhere */
    int32_t priority; /* that the program gives it, where it gives any */
    double passed;    /* seconds that it has run already */
    uint32_t first_access, naccess;
    uint32_t first_after, nafter; /* tasks that wait for it */
    uint32_t before;              /* how many it waits for */
    uint32_t number;              /* of those that the program has submitted since all was done */
} od_play_task;

/* Of a task's accesses so many count as its depend items. */
enum { OD_PLAY_MOST_USES = 64 };

/* Tasks in order of submission, and the machine. All arrays are the caller's. */
typedef struct od_play_problem {
    const od_play_task *tasks;
    const od_play_access *accesses;
    const uint32_t *after; /* numbers of tasks */
    const od_play_datum *data;
    uint32_t ntasks, ndata, naccesses, nafter;
    const uint32_t *given;       /* tasks that devices have in their buffers, in the order in which they got them, */
    uint32_t ngiven;             /* where `arrives` is false */
    bool arrives;                /* tasks come one by one, as a program creates them; else all are there */
    bool ranked;                 /* tasks have the program's priorities; else bottom levels are theirs (levels.h) */
    const int32_t *priority;     /* by task, worked out before; NULL: it is not */
    const uint32_t *resident;    /* data, by device in turn, the least recently used first */
    const uint32_t *nresident;   /* by device; NULL: none */
    const bool *loading;         /* by their place in `resident`: contents are on their way; NULL: none are */
    const od_topology *topology; /* of at least so many devices */
    unsigned ndevices, slots;
    unsigned cpus; /* CPU workers */
    bool in_turn, singly;     /* as in od_engine_config */
    size_t memory, alignment; /* of each device's pool, bytes; as in od_engine_config */
    bool peer;
    od_placeset lost; /* devices that answer no more */
    uint64_t seed;
    struct od_findings *findings; /* shared by plays of this problem (sched/phase/findings.h), or NULL */
    bool (*stop)(void *data); /* asked now and then: true ends the play as the limit does; NULL: nothing does */
    void *stop_data;
} od_play_problem;

typedef struct od_play_began {
    uint32_t task;
    int device; /* OD_HOST: it ran elsewhere */
    uint64_t ns;
} od_play_began;

/* What is where at the end. All arrays are the caller's. */
typedef struct od_play_left {
    od_placeset *valid; /* by datum */
    uint32_t *resident; /* as in od_play_problem; room for all data on each device */
    uint32_t *nresident;
} od_play_left;

typedef struct od_play_result {
    double seconds;          /* until the last task has ended; infinite: not before the limit, or it was stopped */
    double at_least;         /* seconds that it takes at least, as far as it was played */
    double halfway;          /* until half of the tasks are done */
    od_ahead_range same_ahead; /* as od_engine_same_ahead() */
    od_device_stats *device; /* by device, the caller's; NULL: not asked for */
    od_engine_stats *all;    /* likewise, of all together */
    uint64_t *sent, *received; /* by node, the caller's: bytes that have left it, and come; NULL: not asked for. The
                                * program is on the first one */
    od_play_began *began;    /* by task, the caller's, in the order in which they began; NULL: not asked for */
    const od_play_left *left; /* likewise; of what is played to its end */
} od_play_result;

#endif
