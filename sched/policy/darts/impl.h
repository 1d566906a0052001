/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The structures behind missing.h, shared by count.c, choose.c, store.c (memory) and check.c.
 *
 * Tasks have slots, data have ids; both index arrays, because a change of one datum visits all its tasks and what it
 * touches of each must be small. What a task lacks is not stored: it follows from its inputs and the few words that
 * say where each datum is absent, which stay in the processor's cache. With many tasks each cold cache line costs
 * more than all arithmetic, so nothing is unlinked when a task is taken or popped: the lists of a datum's tasks and
 * the heap of ready tasks drop such entries when they next come by.
 */
#ifndef OD_SCHED_POLICY_DARTS_IMPL_H
#define OD_SCHED_POLICY_DARTS_IMPL_H

#include "sched/policy/darts/missing.h"
#include "util/container/heap.h"

#include <math.h>

enum {
    FEW_INPUTS = 5,  /* a slot is 64 bytes; six would fit, but the random tests have tasks with six */
    LARGE = 1 << 15, /* so many tasks, or pairs of a datum and a device: about two megabytes */
    MANY_DEVICES = 64,
    DATA_AT_ONCE = 16, /* arrays by datum have room for a multiple of so many */
};

#define NO_SLOT UINT32_MAX

/* A task that we own, in one cache line; od_task.policy_data is its number plus one. */
struct slot {
    uint64_t ns; /* duration, at least 1 */
    union {
        uint32_t few[FEW_INPUTS];
        uint32_t *many;     /* where ninputs > FEW_INPUTS */
        uint32_t next_free; /* of a free slot: the one that was freed before it */
    } inputs;           /* ids of the data that it reads, all different */
    uint32_t ninputs;
    uint32_t generation; /* grows when the slot is freed */
    int32_t priority;
    bool ready; /* in the ready set, as opposed to planned or not yet offered */

    od_task *task;    /* NULL: free */
    uint64_t arrival; /* od_task.id */
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
    uint32_t nuses; /* those that are not out of date */
    od_placeset valid; /* od_datum.valid when `standing.version` was given */
    size_t size;       /* od_datum.size */
};

/* What choices and visits look at of a datum, for all devices. */
struct standing {
    uint64_t left_ns;     /* total time of the ready tasks that read it */
    od_placeset raised;   /* devices: in view.raised */
    od_placeset resident; /* holds memory there */
    od_placeset freeing;  /* its S0 is not empty */
    uint32_t tie;         /* od_datum.tie */
    uint32_t version;     /* of its transfer times: grows when it is in other places than before */
};

/* The highest priority of a set and how many tasks have it; with no holder it is an upper bound. */
struct top {
    int32_t priority;
    uint32_t holders;
};

/* A set of ready tasks, counted. */
struct set {
    uint32_t count;
    struct top top;
};

/* A datum as a device sees it, in one cache line. Nothing is counted while it is present. */
struct want {
    struct set s0;
    uint32_t version;     /* standing.version as of which is */
    double seconds;       /* the time to bring it */
    uint64_t s0_ns;       /* total time of S0 */
    od_missing_rank rank; /* an upper bound while it is in the heap; with a threshold only the place in the order */
};

struct view {
    struct od_missing *missing;
    uint32_t k;
    uint32_t stride;         /* of the two arrays: a datum's elements are at its number times that */
    struct want *want;       /* by datum */
    uint32_t *s1;            /* by datum: |S1| less od_missing.pairs (modulo 2^32) */
    uint32_t *planned_reads; /* by datum: tasks planned for the device that read it */
    od_heap first;           /* data whose S0 is not empty, or was; with a threshold all that ready tasks lack */
    uint32_t *raised;        /* data that may have become better since the last choice */
    uint32_t nraised;
    uint64_t *free;       /* the bits of slots: a ready task that lacks nothing here */
    uint64_t *free_words; /* the bits of words of `free`: not zero */
    uint32_t nfree;       /* bits set in `free` */
    uint32_t evictions;   /* so far */
};

struct od_missing {
    od_policy_env env;
    od_missing_rules rules;
    uint32_t ndata, room; /* capacities of the arrays, of data and of slots */
    uint32_t nslots;      /* that have ever been used: the first ones */
    uint32_t nowned, nready;
    bool large; /* the arrays are: what a choice will touch is asked for before it is needed */
    struct slot *slots;
    uint32_t free_slot; /* the one that was freed last, NO_SLOT: there is none */
    uint32_t nfree_slots;
    struct source *sources;
    struct standing *standing; /* by datum */
    od_placeset *absent;       /* by datum: devices without memory for it, or a plan or task buffer that promises it */
    uint32_t *pairs;           /* by datum: ready tasks with two inputs that read it */
    struct want *want;         /* of all views: the devices of a datum are side by side where there are many, */
    uint32_t *s1;              /* else the data of a device */
    uint32_t by_device;        /* the distance of a device's elements from those of the device before it */
    od_heap urgent;            /* slots of ready tasks, the last resort first; some no longer ready */
    int32_t usual;             /* the priority of all ready tasks */
    uint32_t nunusual;         /* but for so many */
    uint32_t *taken;           /* slots on their way into a plan, or that a choice has found */
    uint32_t ntaken;
    uint32_t *looked; /* data looked at, with a threshold */
    void *by_data;    /* the memory of all arrays by datum and device, zeros at first */
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

static inline struct want *want_of(const struct view *view, uint32_t id)
{
    return &view->want[(size_t)id * view->stride];
}

/*
 * |S1| is its own number and that of the datum's pairs, the tasks with two inputs: on most devices these lack both, so
 * they are counted once for all. Where one is in S0, as the device has its other datum, its own number is one less.
 */
static inline uint32_t *own_s1(const struct view *view, uint32_t id)
{
    return &view->s1[(size_t)id * view->stride];
}

/* The same as own_s1() and want_of() where the view is not needed. */
static inline size_t place_of(const od_missing *missing, uint32_t id, unsigned k)
{
    return (size_t)id * missing->views[0].stride + (size_t)k * missing->by_device;
}

static inline bool is_absent(const struct view *view, uint32_t id)
{
    return od_placeset_has(view->missing->absent[id], view->k);
}

/* The datum's record, or NULL: no task has asked for it yet. */
static inline struct source *source_of(const od_missing *missing, const od_datum *datum)
{
    return datum->id < missing->ndata && missing->sources[datum->id].datum == datum ? &missing->sources[datum->id]
                                                                                    : NULL;
}

static inline bool is_current(const od_missing *missing, struct use use)
{
    return missing->slots[use.slot].generation == use.generation;
}

/* |S1| */
static inline uint32_t s1_count(const struct view *view, uint32_t id)
{
    return *own_s1(view, id) + view->missing->pairs[id];
}

/* From where it was when that was noticed last: whoever asks first, and when, makes no difference. */
static inline double transfer_of(const struct view *view, uint32_t id)
{
    const od_missing *missing = view->missing;
    const struct source *source = &missing->sources[id];
    struct want *want = want_of(view, id);
    if (want->version != missing->standing[id].version) {
        want->version = missing->standing[id].version;
        want->seconds = missing->env.transfer_time_from(missing->env.engine, source->datum, source->valid, view->k);
    }
    return want->seconds;
}

/* The key of a datum with an S0 as far as the counters know: the highest priority may be an upper bound. */
static inline od_missing_key key_of(const struct view *view, uint32_t id)
{
    const struct want *want = want_of(view, id);
    double load = transfer_of(view, id);
    return (od_missing_key){.load = load,
                            .ratio = load / ((double)want->s0_ns * 1e-9),
                            .left_ns = view->missing->standing[id].left_ns,
                            .n0 = want->s0.count,
                            .n1 = s1_count(view, id),
                            .max_prio = want->s0.top.priority};
}

/* That of a datum without one. */
static inline od_missing_key key_without_s0(const struct view *view, uint32_t id, int32_t priority)
{
    return (od_missing_key){.ratio = (double)INFINITY,
                            .left_ns = view->missing->standing[id].left_ns,
                            .n1 = s1_count(view, id),
                            .max_prio = priority};
}

/* The datum's place in the device's order, the highest first: drawn, or where it is now (od_missing_rules.in_turn). */
static inline uint32_t tie_of(const struct view *view, uint32_t id)
{
    const od_missing *missing = view->missing;
    uint32_t tie = missing->rules.in_turn ? (uint32_t)want_of(view, id)->rank.word[3] : 0;
    return tie ? tie : od_missing_tie(missing->env.seed, view->k, missing->standing[id].tie) | UINT32_C(1) << 31;
}

/* Sets it for a datum that is in no heap. */
static inline void set_tie(struct view *view, uint32_t id, uint32_t tie)
{
    want_of(view, id)->rank = (od_missing_rank){{0, 0, 0, tie}};
}

static inline od_missing_rank rank_of(const struct view *view, uint32_t id, const od_missing_key *key)
{
    od_missing_rank rank = view->missing->rules.order(key);
    rank.word[3] |= tie_of(view, id);
    return rank;
}

/* Where they are equal, `equal`. */
static inline bool is_greater_or(const od_missing_rank *a, const od_missing_rank *b, bool equal)
{
    if (a->word[0] != b->word[0])
        return a->word[0] > b->word[0];
    if (a->word[1] != b->word[1])
        return a->word[1] > b->word[1];
    if (a->word[2] != b->word[2])
        return a->word[2] > b->word[2];
    return a->word[3] != b->word[3] ? a->word[3] > b->word[3] : equal;
}

static inline bool is_greater(const od_missing_rank *a, const od_missing_rank *b)
{
    return is_greater_or(a, b, false);
}

/* True where the datum is one to choose from before all others; with a threshold, where it is one to look at. */
static inline bool belongs_first(const struct view *view, uint32_t id)
{
    if (!is_absent(view, id))
        return false;
    return view->missing->rules.threshold ? view->missing->standing[id].left_ns > 0 : want_of(view, id)->s0.count > 0;
}

/* True where the task of slot a comes before that of slot b in a plan and in S1. */
static inline bool is_before(const od_missing *missing, uint32_t a, uint32_t b)
{
    const struct slot *slots = missing->slots;
    if (slots[a].priority != slots[b].priority)
        return slots[a].priority > slots[b].priority;
    return slots[a].arrival < slots[b].arrival;
}

/* store.c */
void od_missing_drop_task(od_missing *missing, od_task *task);
/* Takes a datum out of the heap. */
void od_missing_drop_candidate(struct view *view, uint32_t id);

#endif
