/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Tasks as the scheduler sees them: some data, a duration, a priority.
 *
 * Life of a task (DESIGN: section 2):
 *   ready -> planned(k) -> buffered(k) -> committed(k) -> running(k) -> storing -> done
 * A policy owns a task while it is ready or planned; from the moment `pop` returns it,
 * its placement is fixed and the engine owns it.
 */
#ifndef OD_SCHED_TASK_H
#define OD_SCHED_TASK_H

#include "memmgr/data/relocation.h"

typedef enum od_mode {
    OD_READ = 1,  /* old contents are needed: a load if they are not there */
    OD_WRITE = 2, /* the task makes the only current copy */
    OD_READ_WRITE = 3,
} od_mode;

typedef struct od_access {
    od_datum *datum;
    const od_relocations *relocations; /* what words of it must hold on a device, or NULL; the driver's */
    od_mode mode;
    uint32_t commit; /* the engine's: its number among the datum's */
} od_access;

typedef enum od_task_state {
    OD_TASK_NEW,       /* not given to the engine yet */
    OD_TASK_READY,     /* dependences satisfied, with the policy */
    OD_TASK_PLANNED,   /* in a plan of device `place`; may still be taken back */
    OD_TASK_BUFFERED,  /* in the task buffer of device `place`; placement fixed */
    OD_TASK_COMMITTED, /* all its data pinned on `place`; loads may be under way */
    OD_TASK_RUNNING,   /* started on `place` (OD_HOST: its host version) */
    OD_TASK_STORING,   /* finished, its results on their way to the host (strict coherence) */
    OD_TASK_DONE,
} od_task_state;

typedef struct od_submission od_submission; /* the engine's; od_engine_submit() */

typedef struct od_task {
    uint64_t id; /* order of arrival, given by the engine */
    od_task_state state;
    int place;         /* device, OD_HOST, or OD_NOWHERE while undecided */
    int bound;         /* the one device that may run it, OD_HOST: a CPU worker is to run it; or OD_NOWHERE */
    int32_t priority;  /* higher is more urgent */
    double duration;   /* predicted, seconds */
    double host_seconds; /* likewise of its host version on a CPU worker; 0: not known; below 0: it may not run there */
    const void *kind;  /* equal for tasks that do the same with their data: what the program calls; NULL: unknown */
    unsigned speed_class; /* its row of od_slowness */
    bool external;     /* a thread of the program runs it itself: it needs no device worker */
    bool shows;        /* its data are bound to the device that it is given, see od_engine_bind() */
    bool advisory;     /* a reservation, which saves time: completed at once, as failed, where no device has room */
    bool needs_device; /* its host version would not do what the program means: it waits for a device, in reason */
    bool uses_spill;   /* where no device has room it uses data of regions in their spill area, not the program's
                        * memory */
    bool by_pages;     /* on the host: what it wrote to parts is where the contents were, brought there by page faults;
                        * set by the driver before the end of the run */
    bool undone;       /* likewise: it has done nothing there, and the driver makes another task of it */
    bool pure;         /* run again with what it reads as it was, it writes the same, and does nothing else */
    uint32_t naccess;
    od_access *access; /* distinct data */

    od_node link;      /* in the one list that owns it: a policy's, a plan, a buffer */
    void *policy_data; /* the policy's own, while it owns the task */

    struct od_known_task *known; /* its place in what is known (sched/graph/known.h), or NULL; the engine's */
    od_submission *submission;   /* as what it was known before it was ready, or NULL; the engine's once it is ready */

    struct od_task *outer; /* a running task whose thread waits for this one, or NULL */

    /* Engine only. */
    size_t footprint;          /* bytes on a device, rounded */
    uint64_t wait_seq;         /* when it first had to wait for rights, 0 = never */
    unsigned compactions;      /* how often its own replicas have been moved out of each other's way */
    unsigned moves;            /* how often it went to another device because the spill area is full */
    uint64_t deferred_ns;      /* since when it has waited for what the program holds on devices, 0: it has not */
    bool prefetched;           /* its loads have been asked for */
    int32_t product;           /* of `access`, what could be made again by running it again; -1: nothing */
    od_recipe *remakes;        /* it runs again, for this (sched/engine/data/recompute.h), or NULL */
    uint32_t waits_for;        /* of `access`, which it was found to wait for last: the next look begins there */
    double running_seconds;    /* predicted when it started on a device */
    bool failed;               /* its last run did none of its work, and it runs again elsewhere: the device could not,
                                * or it was a reservation that was given up or that no device had room for */
    unsigned worker;           /* the CPU worker that runs its host version */
    int device;                /* the device that it was given to, for statistics */
    uint64_t start_ns, end_ns; /* of its run, by the driver's clock */
    uint64_t from_ns, to_ns;   /* when its code ran, set by the driver before the end; 0: from start_ns to end_ns */
    void *user;                /* the driver's */
    void *note;                /* the driver's, for the events it receives (sched/event.h) */
    uint64_t created_ns;       /* when the program created it, by the driver's clock; used where events are observed */
} od_task;

/* A small part of what the task uses of an array, as the page is in which a tile meets its neighbour: it goes to where
 * the rest is, and soon, so it does not decide where that is. */
static inline bool od_task_has_edge(const od_task *task, const od_datum *datum)
{
    enum { SHARE = 8 };
    if (!datum->window || od_datum_occupies(datum) * SHARE >= task->footprint)
        return false;
    size_t used = 0; /* of the array */
    for (uint32_t i = 0; i < task->naccess; i++)
        if (task->access[i].datum->window == datum->window)
            used += od_datum_occupies(task->access[i].datum);
    return od_datum_occupies(datum) * SHARE < used;
}

#endif
