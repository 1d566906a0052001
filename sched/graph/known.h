/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The known graph: all tasks that have been submitted and are not done, with their data and dependences, as a policy
 * sees them that plans further than the ready tasks (sched/policy/stationary/stationary.c).
 *
 *   known task   submitted, perhaps ready; claimed for a device, or open; taken when it has left the plan; done
 *   known item   what tasks name by one base address: a datum, or, before there is one, what will become it
 *
 * Data of a task that is not ready are predicted: its depend items, or what tasks of its kind with the same ones have
 * used (sched/graph/habit.h). Once it is ready they are those that it uses. Dependences are those of OpenMP's depend
 * clauses, from its depend items, in order of submission. A wrong prediction misleads planning and nothing else: what
 * is ready is reported by the engine.
 *
 * Each item lists its open uses in order of submission, and per device its claimed uses in the order of claims: so next
 * uses are known (Belady's rule).
 */
#ifndef OD_SCHED_GRAPH_KNOWN_H
#define OD_SCHED_GRAPH_KNOWN_H

#include "sched/graph/arguments.h"
#include "sched/graph/durations.h"
#include "sched/graph/habit.h"
#include "sched/graph/levels.h"
#include "sched/graph/pattern.h"
#include "sched/task.h"

typedef struct od_known_item {
    uintptr_t base;
    const od_datum *datum;            /* NULL: none is known of this base */
    size_t size;                      /* bytes, expected where there has been no datum; 0: nothing is known */
    uint32_t id;                      /* dense, reused */
    uint32_t nusers;                  /* known tasks that use it */
    unsigned node;                    /* that a policy has given it to, plus one; 0: none */
    const struct od_known_task *last; /* that began to use it; perhaps no longer there */
    struct od_known_task *writer;     /* the last submitted one, unless it is done */
    od_list readers;                  /* od_known_use.reading: submitted since then and not done */
    struct od_known_item *next;       /* in its bucket */
    od_list open;                     /* od_known_use.link */
    od_list claimed[];                /* by device: od_known_use.link */
} od_known_item;

typedef struct od_known_use {
    od_known_item *item;
    struct od_known_task *user;
    od_mode mode;
    od_node link;    /* in od_known_item.open or .claimed */
    od_node reading; /* in od_known_item.readers */
} od_known_use;

typedef struct od_known_task {
    od_task *task; /* NULL: not ready yet */
    const void *kind;
    unsigned speed_class;
    double seconds;
    uint32_t id;     /* dense, reused */
    int place;       /* the device that it is claimed for, or OD_NOWHERE */
    int32_t priority; /* the program's own, where it is ranked */
    bool ranked;
    bool taken;      /* with the engine */
    uint32_t pins;   /* plans under way that name it: it is not freed */
    bool gone;       /* done, or nothing came of it; tasks that it was to follow still name it */
    uint32_t before; /* tasks that must come before it and are not done */
    uint64_t number; /* of its claim: places in the order of the device */
    uint64_t order;  /* in which tasks have been submitted */
    od_node link;    /* in od_known.open or od_known.claimed */
    struct od_known_task **successors;
    uint32_t nsuccessors, capacity;
    od_habit *habit; /* it is one of those that wait there; NULL: it is none */
    od_node alike;   /* among them */
    bool vague;      /* it does not use its depend items alone, and what else is not known */
    uint32_t nuses, nnamed;
    od_known_use *uses;   /* data */
    od_known_use named[]; /* depend items, on which the order hangs; where these are what is predicted, the same */
} od_known_task;

/* Small numbers that are given out and come back. */
typedef struct od_known_ids {
    uint32_t *free; /* a stack */
    uint32_t nfree, capacity;
    uint32_t bound; /* all that were ever given out are smaller */
} od_known_ids;

/* The datum with this base address, or NULL: there is none yet. */
typedef const od_datum *od_known_find_datum(void *arg, uintptr_t base);

typedef struct od_known {
    unsigned ndevices;
    od_known_find_datum *find; /* with the next */
    void *find_arg;
    od_list open;        /* od_known_task.link: not claimed, in order of submission */
    od_list taken;       /* likewise: with the engine */
    od_list *claimed;    /* by device: not taken, in the order of claims */
    uint32_t open_ready; /* of these, ready */
    double open_seconds; /* of the open tasks */
    double *claimed_seconds, taken_seconds;
    uint64_t claims;     /* so far */
    uint64_t submitted;  /* so far */
    uint64_t batches;    /* so far: how often all that was known had been done */
    od_known_ids task_ids, item_ids;
    od_known_item **bucket; /* 2^bits, by base */
    unsigned bits;
    uint32_t nitems;
    double mean_size; /* of data, bytes */
    od_pattern pattern; /* of what has been submitted since all was done */
    od_pattern_met met; /* likewise */
    od_durations durations;
    od_arguments arguments;
    od_habits habits;
    uint32_t nvague; /* tasks that are vague */
    uint64_t sized; /* data that it is the mean of */
    struct od_findings *findings; /* the engine's (sched/phase/findings.h), or NULL */
} od_known;

/* `find`, with `arg`, may be NULL: no datum is there before a task has named it. NULL: out of memory. */
od_known *od_known_create(unsigned ndevices, od_known_find_datum *find, void *arg);
void od_known_destroy(od_known *known);

/* A task with predicted data; NULL: out of memory, it is not known then. */
od_known_task *od_known_submit(od_known *known, const void *kind, unsigned speed_class, double seconds,
                               const od_level_use *uses, uint32_t nuses);
/* It is ready: its data are known. `submitted` NULL: it has not been. NULL: out of memory; what was submitted is as
 * before. */
od_known_task *od_known_ready(od_known *known, od_known_task *submitted, od_task *task);
/* Plans a task for the device, behind all others there; `number` is its place. It is open, or claimed by another
 * device. */
void od_known_claim(od_known *known, od_known_task *task, unsigned k);
/* All claims are withdrawn: who planned is no longer there, and no plan is under way. OD_ENOMEM: all is as before. */
od_status od_known_reopen(od_known *known);
/* It has left the plan, or runs without ever having been in one. */
void od_known_take(od_known *known, od_known_task *task);
/* It stays in memory, though it may be gone then, until it is unpinned. */
void od_known_pin(od_known_task *task);
void od_known_unpin(od_known_task *task);
/* Not planned for a device, not with the engine, and not gone. */
bool od_known_is_open(const od_known_task *task);
/* All tasks take what is known by now of their kind, and so does what they use. */
void od_known_predict(od_known *known);
/* It is done or will never come. */
void od_known_done(od_known *known, od_known_task *task);

/* The life of a task as the engine follows it, by task->known; nothing where `known` is NULL, or the task is not in
 * it. */
void od_known_follow_new(od_known *known, const od_known_task *task); /* for its pattern, when it is first met */
od_status od_known_follow_ready(od_known *known, od_task *task); /* OD_ENOMEM: all is as before */
void od_known_follow_taken(od_known *known, od_task *task);
void od_known_follow_done(od_known *known, od_task *task);

od_known_item *od_known_find(const od_known *known, uintptr_t base); /* NULL: unused */
void od_known_forget(od_known *known, const od_datum *datum);
bool od_known_is_valid(const od_known *known);

#endif
