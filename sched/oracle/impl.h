/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What play.c (the driver of the engine) and actors.c (virtual time) share. */
#ifndef OD_SCHED_ORACLE_IMPL_H
#define OD_SCHED_ORACLE_IMPL_H

#include "sched/oracle/network.h"
#include "sched/oracle/problem.h"
#include "util/container/heap.h"

typedef enum od_direction { OD_TO_DEVICE, OD_FROM_DEVICE, OD_BETWEEN_DEVICES, OD_DIRECTIONS } od_direction;

/* A queue of transfers, or a worker of a device: does one thing after the other, and waits in between. */
typedef enum od_actor_state { OD_ACTOR_WAITS, OD_ACTOR_HAS_TURN, OD_ACTOR_WORKS, OD_ACTOR_WAKES } od_actor_state;

/* What it asks of virtual time. All of one moment ask before the first of them is served. */
typedef enum od_actor_call { OD_CALL_ACQUIRE, OD_CALL_RELEASE, OD_CALL_SLEEP, OD_CALL_SEND } od_actor_call;

typedef struct od_actor {
    od_actor_state state;
    od_actor_call call;
    uint32_t gate; /* that is acquired or released */
    unsigned device;        /* or the number of devices: a CPU worker */
    od_direction direction; /* OD_DIRECTIONS: a worker */
    od_transfer *transfer;  /* under way */
    uint32_t task;          /* likewise */
    double began, date;     /* seconds; when a worker ends */
    uint64_t order;         /* in which workers have begun */
    bool has_turn;
    uint32_t next; /* that waits at the same gate, plus one */
} od_actor;

/* A semaphore: one per queue, one for the workers of each device and of the CPU, and the last for turns. */
typedef struct od_gate {
    uint32_t count;
    uint32_t first, last; /* actors that wait, plus one; 0: none */
} od_gate;

typedef struct od_player_device {
    od_list demanded[OD_DIRECTIONS], prefetches[OD_DIRECTIONS]; /* od_transfer.node */
    uint32_t first_started, last_started;                       /* tasks plus one, linked by od_player.next_started */
    double computes_until;                                      /* seconds; where tasks take turns */
} od_player_device;

typedef struct od_fifo {
    uint32_t *items, first, count, room;
} od_fifo;

typedef struct od_actors_round {
    uint32_t *actor, count;
} od_actors_round;

typedef struct od_player {
    const od_play_problem *p;
    od_engine *engine;
    od_network network;
    od_player_device device[OD_MAX_DEVICES + 1]; /* behind the devices come the CPU workers, which have no queues */
    od_actor *actor;
    od_gate *gate;
    uint32_t nactors, ngates;
    uint64_t moments, begun; /* so far: at which something has ended; times that workers have begun */
    od_task *task;
    od_access *access;
    od_datum **datum;
    const int32_t *priority;    /* by task */
    int32_t *levels;            /* its own, where the problem has none */
    bool foresees;              /* some tasks wait for others: those that are not ready are known to the engine */
    uint32_t *waiting_for;      /* by task */
    uint32_t *next_started;     /* by task, plus one */
    uint32_t *ready;            /* a queue of those that the engine does not know yet */
    uint32_t first_ready, nready, done;
    od_fifo wake;                        /* gates to open once the engine has returned */
    od_actors_round runnable, following; /* now and in the next round */
    uint32_t *ended;             /* actors */
    od_heap sleeping;            /* workers, by date */
    double now;                  /* seconds */
    uint64_t now_ns;
    double unbegun;      /* seconds of tasks that have not begun, on a device */
    double most_at_once; /* of these all devices and CPU workers do at most so many in a second */
    uint64_t *sent, *received; /* as in od_play_result */
    double halfway, end; /* when half of the tasks, and the last one, have ended */
    bool creates;        /* tasks come one by one, and there are more */
    od_background *first_job, **last_job; /* that are done then, by od_background.next */
    bool failed, late;   /* late: it ends after the limit, or was stopped */
} od_player;

/* actors.c */
od_status od_actors_init(od_player *player);
void od_actors_free(od_player *player);
/* A worker of the device (or the CPU, as device number ndevices) is to run the task. */
void od_actors_start(od_player *player, unsigned k, uint32_t task);
/* Work for a queue (or, with OD_DIRECTIONS, for a worker) of the device, once the engine has returned. */
void od_actors_wake(od_player *player, unsigned k, od_direction direction);
/* So many of its data count as its depend items. */
static inline uint32_t od_actors_uses(const od_task *task)
{
    return task->naccess < OD_PLAY_MOST_USES ? task->naccess : OD_PLAY_MOST_USES;
}
/* The engine is told of a task that waits for nothing. */
void od_actors_hand_over(od_player *player, uint32_t task);
/* Likewise of one that a device has been given. */
void od_actors_begin_given(od_player *player, uint32_t task);
/* It is done: those that waited for it only become ready. */
void od_actors_complete(od_player *player, uint32_t task);
/* Seconds from the beginning to the end, even if all devices computed without a break from now on. */
double od_actors_least(const od_player *player);
/* Hands over what is ready, then everything until all tasks are done. False: stuck, or not before the limit (late). */
bool od_actors_run(od_player *player, double limit);

#endif
