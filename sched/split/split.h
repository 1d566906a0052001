/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Splitting rules: which tasks of a recursive program run as they are, and which become their child tasks over
 * sub-blocks (Morin et al., Scheduling recursive tasks; docs/policies.md).
 *
 * A kind is what a task does (a kernel), a level how large its blocks are: 0 the largest. A task of a level that is not
 * the last may be split into tasks of the next one, of the same kind or others.
 *
 * The driver keeps od_split_view up to date, and asks `decide` for each task that may be split, as soon as one of its
 * children could begin. A rule only reads the view, and never calls the driver back.
 *
 * Registration: a `const od_split_ops` and OD_REGISTER_SPLIT(it) at the end of the file.
 */
#ifndef OD_SCHED_SPLIT_SPLIT_H
#define OD_SCHED_SPLIT_SPLIT_H

#include "util/container/registry.h"
#include "util/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { OD_SPLIT_INTERFACE = 2, OD_SPLIT_KINDS = 16, OD_SPLIT_LEVELS = 8 };

/* What a task becomes: tasks in an order in which they may run one after the other. */
typedef struct od_split_graph {
    uint32_t ntasks;
    const uint8_t *kind;          /* by task */
    const uint32_t *first_before; /* by task, and one more: where its predecessors begin in `before` */
    const uint32_t *before;       /* numbers of tasks, lower than that of the task itself */
} od_split_graph;

typedef struct od_split_kind {
    double device_s[OD_SPLIT_LEVELS];   /* seconds of a task on a device; 0: not known */
    double host_s[OD_SPLIT_LEVELS];     /* on a CPU worker; 0: not known, or it may not run there */
    double spread_s[OD_SPLIT_LEVELS];   /* of a split task on all devices together, at best; 0: not known */
    uint8_t spread_to[OD_SPLIT_LEVELS]; /* the level to which it is split then */
    uint32_t children[OD_SPLIT_LEVELS][OD_SPLIT_KINDS]; /* how many tasks of each kind one of the level is split into */
    uint32_t waiting[OD_SPLIT_LEVELS];                  /* tasks that have been neither split nor completed */
} od_split_kind;

typedef struct od_split_view {
    unsigned ndevices; /* tasks that devices run at once */
    unsigned cpus;     /* CPU workers */
    unsigned idle_cpus;
    unsigned nkinds, nlevels;
    double now;      /* seconds */
    double work_s;   /* on a device, of all tasks that have not been completed */
    double queued_s; /* of these, of tasks that devices may run now and that may not be split */
    bool wants_work; /* devices will soon have nothing to do */
    od_split_kind kind[OD_SPLIT_KINDS];
    /* Plays all that is left, and returns twice: in the play, true, and the rule goes on as it is to be played; then
     * false, with the seconds from the beginning to the end (infinite: not before `limit`). NULL: it cannot. */
    bool (*play)(void *driver, double limit, double *end_s);
    /* The tasks of level `to` that one of `level` becomes; NULL: not known. The driver's, as long as there is one. */
    const od_split_graph *(*graph)(void *driver, unsigned kind, unsigned level, unsigned to);
    void *driver;
} od_split_view;

/* Tasks that wait, of all kinds and levels. */
static inline double od_split_waiting(const od_split_view *v)
{
    double tasks = 0;
    for (unsigned k = 0; k < v->nkinds; k++)
        for (unsigned l = 0; l < v->nlevels; l++)
            tasks += v->kind[k].waiting[l];
    return tasks;
}

/* Where all that a split task becomes is to run. */
typedef struct od_split_plan {
    uint8_t to;       /* the level to which it is split; 0: each of its children is decided on in turn */
    uint32_t on_host; /* bit t: tasks of kind t run on CPU workers, the others where policy and engine say */
} od_split_plan;

typedef struct od_split_task {
    unsigned kind, level;
    double bottom_s;    /* the longest path from its beginning to the end of all */
    double ahead_s;     /* on a device, of the ready tasks that devices run before it */
    double transfer_s;  /* to bring to a device what it uses and none has */
    od_split_plan plan; /* set by the rule, with OD_SPLIT_SPLIT */
} od_split_task;

typedef enum od_split_answer {
    OD_SPLIT_RUN,
    OD_SPLIT_SPLIT,
    OD_SPLIT_LATER, /* ask again when something has happened; not an answer where the view says wants_work */
} od_split_answer;

typedef struct od_split_ops {
    unsigned interface_version; /* OD_SPLIT_INTERFACE */
    const char *name;
    const char *description;    /* one line */
    bool takes_level;           /* NAME=L */
    bool splits_nothing;        /* it need not be asked */
    /* One line in `error` where it fails. `level` is that of NAME=L. */
    od_status (*create)(const od_split_view *view, unsigned level, void **state, char *error, size_t size);
    void (*destroy)(void *state);
    /* True: for now it may answer OD_SPLIT_LATER, and is asked for the least urgent task first. NULL: never. */
    bool (*holds)(void *state);
    /* The task's level is not the last. */
    od_split_answer (*decide)(void *state, od_split_task *task);
    /* A task of no plan is ready, and runs as it is: on a CPU worker? NULL: where policy and engine say. */
    bool (*on_host)(void *state, const od_split_task *task);
} od_split_ops;

/* A rule with its argument. */
typedef struct od_split_choice {
    const od_split_ops *ops;
    unsigned level;
} od_split_choice;

const od_split_ops *od_split_find(const char *name); /* NULL: unknown */
const char *const *od_split_names(void);             /* sorted, NULL-terminated */

/* Reads NAME or NAME=L. On failure OD_EINVAL and in `error` what is wrong, and what is allowed. */
od_status od_split_choose(const char *text, od_split_choice *choice, char *error, size_t size);

static inline const od_split_kind *od_split_kind_of(const od_split_view *view, const od_split_task *task)
{
    return &view->kind[task->kind];
}

#define OD_REGISTER_SPLIT(ops) OD_REGISTER(od_split_rules, od_split_ops, ops)

#endif
