/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What a simulation consists of: for run.c, which has the driver and the actors of devices, and for replay.c, the
 * program that was recorded. Both build on actors.c, bus.c, make.c and output.c.
 */
#ifndef OD_SIM_SIMULATE_INTERNAL_H
#define OD_SIM_SIMULATE_INTERNAL_H

#include "sched/graph/cost.h"
#include "sim/simulate.h"
#include "trace/trace.h"

#include <simgrid/semaphore.h>

typedef struct sim_replay sim_replay; /* replay.c */
struct sim_recursive;                 /* recursion/drive.c */

typedef enum way { TO_DEVICE, FROM_DEVICE, BETWEEN_DEVICES, WAYS } way;

/* Commands of the engine that are not begun. */
typedef struct command {
    od_node node;
    od_task *task;
} command;

typedef struct queue {
    od_list demanded, prefetches; /* od_transfer.node */
    sg_sem_t work, turn, event;
} queue;

typedef struct device {
    queue queue[WAYS];
    od_list started; /* command.node */
    sg_sem_t work;
    unsigned workers;
    sg_sem_t *own; /* by worker, as many as the platform has slots; NULL of CPU workers, which replays do not have */
} device;

/* Copies within the host's memory: they share no bus with devices, and end in the recorded order, however many began
 * before. */
enum { SIM_HOST_COPIERS = 8 }; /* the runtime's seven threads, and the one that waits */

typedef struct host_copies {
    od_list copies; /* od_transfer.node */
    sg_sem_t work, event[SIM_HOST_COPIERS];
} host_copies;

enum { SIM_MOST_QUEUES = OD_MAX_DEVICES * WAYS };

/* One transfer at a time. Those that wait, first come first, each with the semaphore of its actor. */
typedef struct bus {
    bool busy;
    uint32_t next; /* whose turn it is, in a replay */
    uint32_t count;
    struct {
        sg_sem_t turn;
        double since;   /* seconds */
        uint32_t place; /* among the recorded copies that took the bus; SIM_NO_COPY: none of them */
    } waiting[SIM_MOST_QUEUES];
} bus;

/* What came earlier in the recorded run is awaited for so long, simulated seconds. */
static const double sim_turn_timeout = 1;

/* Actors to be woken once the engine has returned. */
typedef struct wake_list {
    sg_sem_t *items;
    uint32_t first, count, capacity; /* those before `first` have been woken */
} wake_list;

typedef struct simulation simulation;

struct simulation {
    const sim_graph *graph;
    const sim_machine *machine;
    od_engine *engine;
    od_driver_ops ops; /* the engine's */
    od_trace *timeline;
    device device[OD_MAX_DEVICES + 1]; /* behind the machine's devices come the CPU workers, which have no queues */
    host_copies host_copies;
    od_datum **datum;
    od_task *task;
    od_access *access;
    command *command;              /* by task */
    uint32_t *waiting_for;         /* by task: predecessors that have not ended */
    uint32_t *first_after, *after; /* successors */
    double *seconds;               /* by task: how long it runs */
    od_cost *cost;                 /* by kernel: what its tasks have taken; NULL: durations are known */
    double measured_s;             /* sum of what all have taken */
    uint32_t nmeasured;
    uint64_t planned_ns; /* processor time that planning has taken, where that is limited */
    od_background **job; /* that wait for their actor or run in one */
    uint32_t njobs, jobs_capacity;
    od_submission **submission;
    sim_replay *replay;             /* NULL: not a recorded run */
    struct sim_recursive *recursive; /* NULL: not a recursive workload; else it has the tasks, not the arrays above */
    void (*advance)(simulation *s); /* hands over what has become ready */
    uint32_t *ready;                /* a queue of those that have become ready and that the engine does not know yet */
    uint32_t first_ready, nready;
    bool watched; /* an actor looks whether what the guard holds back must be let go */
    uint64_t cost_ns;                 /* the clock of scheduling costs */
    uint64_t reading_ns, readings_ns; /* what a reading of it takes, and all so far */
    uint32_t done;
    wake_list wake;
    sg_sem_t finished;
    bus bus;             /* of platforms whose transfers take turns */
    double release;      /* when the scheduler has decided what it has been asked so far */
    uint64_t counted_ns; /* of the scheduling time, what `release` contains */
    double end;          /* of the last task */
    uint64_t sent[OD_MAX_DEVICES], received[OD_MAX_DEVICES]; /* as in sim_result */
    char *error;
    size_t error_size;
    bool failed;
    bool is_play; /* in a process of its own, which tells when it ends and writes nothing (recursion/drive.c) */
    uint64_t shown_ns; /* real time of the last line of progress */
};

/* In recursion/drive.c. A rerun has the number of the task that it is once more. */
uint32_t sim_task_number(const simulation *s, const od_task *task);

/* actors.c */
uint64_t sim_now_ns(void);
void sim_fail(simulation *s, const char *message);
/* The actor's semaphore is released once the engine has returned. */
void sim_wake(simulation *s, sg_sem_t semaphore);
/* To be called after each call of the engine, by an actor: it may have to wait for others. */
void sim_after_event(simulation *s);
/* `serves`: without end, for as long as others need it. */
void sim_start_actor(const char *name, sg_host_t host, void (*code)(int argc, char **argv), unsigned number,
                     bool serves);
unsigned sim_actor_number(int argc, char **argv);
/* The one that runs: actors get text arguments only. */
simulation *sim_running(void);
void sim_set_running(simulation *s);

/* make.c */
enum { SIM_MOST_ACCESSES = 64 }; /* of a task of a workload */
/* From graph, machine and ops; what has been made when it fails is released all the same. */
od_status sim_make(simulation *s);
/* After the simulation: no actor waits any more. */
void sim_unmake_devices(const simulation *s);
void sim_collect(const simulation *s, sim_result *result);
void sim_release(simulation *s);

/* predict.c */
/* What the scheduler expects of a task: its duration, or what tasks of its kernel have taken. */
double sim_expected_seconds(const simulation *s, uint32_t task);
/* Tells the engine whether that is a guess. */
void sim_note_guess(const simulation *s, uint32_t task);
/* It has run. */
void sim_measured(simulation *s, uint32_t task);

/* planning.c: od_driver_ops.processor_ns, and .start_background where planning is limited. */
uint64_t sim_processor_ns(void *driver, bool own);
bool sim_plan_in_background(void *driver, od_background *job, size_t tasks);

/* bus.c */
void sim_bus_take(simulation *s, uint32_t place, sg_sem_t turn);
void sim_bus_leave(simulation *s);
/* To who is next, where it is free. */
void sim_bus_give(simulation *s);

/* output.c */
od_status sim_open_timeline(simulation *s);
/* od_driver_ops.event */
void sim_emit_timeline(void *driver, const od_event *event);
extern const char sim_csv_header[];
/* They began at `start`, seconds, and end now. */
void sim_write_task(const simulation *s, const od_task *task, double start);
void sim_write_transfer(const simulation *s, const od_transfer *x, double start);

/* Of a recorded run. */
/* Item `i` of the task's depend clauses; false: it has no more. */
bool sim_replay_depend(const simulation *s, uint32_t task, uint32_t i, od_level_use *item);
/* The settings are those of the run itself. */
bool sim_replay_is_same(const sim_machine *machine, const sim_recording *recording);
od_status sim_replay_create(simulation *s, const sim_recording *recording);
void sim_replay_destroy(sim_replay *replay);
/* The program's thread: returns when all is done. */
void sim_replay_main(simulation *s);
/* From the engine's commands. */
void sim_replay_completed(simulation *s, uint32_t task);
void sim_replay_request_done(const od_request *request);
/* Of settings that are those of the recorded run: waits for what came before in that. */
void sim_replay_await_end(simulation *s, sg_sem_t own, uint32_t task);
void sim_replay_await_copy(simulation *s, sg_sem_t own, uint32_t rank);
/* Which of the recorded copies this is: their number, or UINT32_MAX. */
enum { SIM_NO_COPY = UINT32_MAX };
uint32_t sim_replay_rank(const simulation *s, const od_transfer *transfer);
/* Its place among those between host and devices, or between these. */
uint32_t sim_replay_place_on_bus(const simulation *s, uint32_t rank);
/* Background jobs (od_driver_ops.start_background) end when they did in the recorded run. */
bool sim_replay_start_background(simulation *s, od_background *job, size_t tasks);
/* Hands over what has become ready. */
void sim_replay_advance(simulation *s);

#endif
