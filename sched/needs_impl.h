/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The structures behind needs.h, shared by needs.c (counting and choosing),
 * needs_store.c (memory) and needs_check.c.
 *
 * Tasks have slots, data have ids; both index arrays, because a change of one datum
 * visits all its tasks and what it touches of each must be small. With many tasks each cold cache
 * line costs more than all arithmetic, so nothing is unlinked when a task is taken or popped: the lists
 * of a datum's tasks and the heap of ready tasks drop such entries when they next come by.
 */
#ifndef OD_SCHED_NEEDS_IMPL_H
#define OD_SCHED_NEEDS_IMPL_H

#include "sched/heap.h"
#include "sched/needs.h"

#include <math.h>

enum { FEW_INPUTS = 4 };

/* A task that we own; od_task.policy_data is its number plus one. */
struct slot {
    od_task *task;    /* NULL: free */
    uint64_t arrival; /* od_task.id */
    uint64_t ns;      /* duration, at least 1 */
    union {
        uint32_t few[FEW_INPUTS];
        uint32_t *many; /* where ninputs > FEW_INPUTS */
    } inputs;           /* ids of the data that it reads */
    uint32_t ninputs;
    uint32_t generation; /* grows when the slot is freed */
    int32_t priority;
    bool ready; /* in the ready set, as opposed to planned or not yet offered */
};

/* A task that reads a datum; out of date where the slot's generation is another one. */
struct use {
    uint32_t slot;
    uint32_t generation;
};

/* A datum that owned tasks read or have read; by id. */
struct source {
    const od_datum *datum; /* NULL: unknown */
    struct use *uses;      /* in order of arrival */
    uint32_t nlisted, capacity;
    uint32_t nuses;   /* those that are not out of date */
    uint64_t left_ns; /* total time of the ready ones */
    uint64_t valid;   /* od_datum.valid when the transfer times were asked for */
};

/* The highest priority of a set and how many tasks have it; with no holder it is an upper bound. */
struct top {
    int32_t priority;
    uint32_t holders;
};

/* A set of ready tasks (S0 or S1), counted. */
struct set {
    uint32_t count;
    struct top top;
};

/* A datum as a device sees it; by id. S0 and S1 are empty while it is present. */
struct want {
    struct set s0, s1;
    uint64_t s0_ns;         /* total time of S0 */
    double transfer;        /* seconds */
    uint32_t planned_reads; /* tasks planned for the device that read it */
    bool resident;          /* holds memory there */
    bool present;           /* resident, or promised by a plan or a task buffer */
};

/* What a ready task lacks on a device. */
struct lack {
    uint32_t missing; /* data */
    union {
        uint32_t ids;  /* exclusive or of their ids, while any is missing */
        uint32_t free; /* place in view.free, while none is */
    };
};

struct view {
    struct od_needs *needs;
    uint32_t k;
    struct want *want;
    od_need_key *key; /* by datum, upper bounds; meaningful while in `candidates` */
    od_heap candidates;
    uint32_t *free; /* slots of ready tasks that lack nothing here */
    uint32_t nfree;
};

struct od_needs {
    od_policy_env env;
    od_need_order order;
    uint64_t random;
    uint32_t ndata, nslots; /* capacities of the arrays */
    uint32_t nowned, nready;
    struct slot *slots;
    struct lack *lack;    /* by slot, then device */
    uint32_t *free_slots; /* a stack */
    uint32_t nfree_slots;
    struct source *sources;
    od_heap urgent;  /* slots of ready tasks, most urgent first; some no longer ready */
    uint32_t *taken; /* slots on their way into a plan */
    uint32_t ntaken;
    od_heap sorter; /* where those that are out of order are sorted */
    struct view views[];
};

/* The slot's number. */
static inline uint32_t slot_of(const od_task *task)
{
    return (uint32_t)((uintptr_t)task->policy_data - 1);
}

static inline const uint32_t *inputs_of(const struct slot *slot)
{
    return slot->ninputs > FEW_INPUTS ? slot->inputs.many : slot->inputs.few;
}

static inline struct lack *lack_of(const struct view *view, uint32_t number)
{
    return &view->needs->lack[(size_t)number * view->needs->env.ndevices + view->k];
}

/* The datum's record, or NULL: no task has asked for it yet. */
static inline struct source *source_of(const od_needs *needs, const od_datum *datum)
{
    return datum->id < needs->ndata && needs->sources[datum->id].datum == datum ? &needs->sources[datum->id] : NULL;
}

static inline bool is_current(const od_needs *needs, struct use use)
{
    return needs->slots[use.slot].generation == use.generation;
}

/* The datum's key as far as the counters know: the highest priority may be an upper bound. */
static inline od_need_key key_of(const struct view *view, uint32_t id)
{
    const struct want *want = &view->want[id];
    const struct set *leading = want->s0.count ? &want->s0 : &want->s1;
    return (od_need_key){.ratio = want->s0.count ? want->transfer / ((double)want->s0_ns * 1e-9) : (double)INFINITY,
                         .left_ns = view->needs->sources[id].left_ns,
                         .n0 = want->s0.count,
                         .n1 = want->s1.count,
                         .max_prio = leading->top.priority};
}

/* needs_store.c */
void od_needs_drop_task(od_needs *needs, od_task *task);
/* Where the datum's transfer times are asked for. */
void od_needs_ask_transfer(od_needs *needs, uint32_t datum);

#endif
