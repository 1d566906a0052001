/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What candidates.c (which candidates), problem.c (of what), grow.c (what stays), choose.c (which tasks), device.c
 * and stream.c (in what order) share. */
#ifndef OD_SCHED_PHASE_IMPL_H
#define OD_SCHED_PHASE_IMPL_H

#include "sched/phase/phase.h"
#include "util/container/heap.h"

#define OD_NO_ITEM UINT32_MAX

/* What never changes while one problem is looked at. */
typedef struct od_phase_graph {
    const od_phase_problem *p;
    uint32_t *first_user; /* by item, and one more: how many use the items before it */
    uint32_t *user;       /* by item, from its first_user on: its tasks, in their order; NULL: not listed */
    uint32_t *indegree;   /* by task */
    uint32_t *root;       /* the tasks that wait for none, in their order */
    uint32_t nroots;
    double *level;               /* by task: seconds to the end of the graph, its own included */
} od_phase_graph;

enum { OD_PHASE_ROLES = 24 }; /* more are not listed */

typedef struct od_phase_role {
    int role;
    double seconds; /* of the tasks that have it */
} od_phase_role;

/* The problem without some tasks. Items stay. */
typedef struct od_phase_rest {
    od_phase_problem p;
    double *seconds;
    uint32_t *kind, *first_use, *use, *first_successor, *successor, *number;
    bool *writes;
    uint32_t *origin; /* of each task, its number in the whole */
} od_phase_rest;

/* H as it grew: any beginning of it is a candidate. */
typedef struct od_phase_growth {
    uint32_t *item; /* in the order in which they joined */
    uint32_t nitems;
    double *bytes;    /* of the items up to this one; all arrays but `task` are in the piece that begins here */
    double *seconds;  /* of the tasks with these */
    double *loads;    /* predicted seconds of their loads and stores, partners included */
    uint32_t *joined; /* by task: how many items there were when it came to belong; 0: it does not */
    uint32_t *member; /* the tasks that belong, in the order in which they came to */
    uint32_t nmembers;
    uint32_t *task; /* all that may be chosen with any beginning of it; NULL: not known */
    uint32_t ntasks;
    double possible; /* seconds of these */
} od_phase_growth;

/* The tasks of a candidate. */
typedef struct od_phase_choice {
    uint32_t *task; /* in their order */
    uint32_t ntasks;
    bool *chosen;              /* by task: it is one of them */
    bool *held;                /* by item: it stays */
    bool *partner;             /* by item: a task of H uses it */
    bool *used, *written;      /* by item: by a chosen task */
    uint32_t *unsat;           /* by task: what it waits for and has not been chosen */
    double seconds, transfers; /* of the tasks, with each item loaded and stored once at most */
} od_phase_choice;

/* Seconds of the load that using the item costs. */
static inline double od_phase_cost(const od_phase_problem *p, uint32_t item)
{
    return p->resident[item] || p->fresh[item] ? 0 : p->load[item];
}

/* H grows until its tasks take so many seconds. Without dependences that may be more than the share: the streams then
 * end before they have met all that could use them. With dependences tiles would be left half done. */
static inline double od_phase_reach(const od_phase_problem *p)
{
    static const double times = 4, rounding = 1 - 1e-6;
    return rounding * (p->first_successor[p->ntasks] ? p->share : times * p->share);
}

/* The order ends when its tasks take so many seconds. With dependences a phase may be somewhat longer than the share,
 * if it is whole then. */
static inline double od_phase_limit(const od_phase_problem *p)
{
    static const double longer = 1.25, rounding = 1 - 1e-6;
    return rounding * (p->first_successor[p->ntasks] ? longer * p->share : p->share);
}

double od_phase_total_seconds(const od_phase_problem *p); /* of all tasks */

bool od_phase_make_graph(od_phase_graph *graph); /* of graph->p; false: no memory, what there is is to be freed */
bool od_phase_list_users(od_phase_graph *graph); /* and its users of items; likewise */
void od_phase_free_graph(od_phase_graph *graph);

/* Argument positions of kinds, those with most work first, and before them those common to all kinds. Returns how
 * many. */
unsigned od_phase_list_roles(const od_phase_problem *p, od_phase_role *roles);
/* What tasks write; where they only read, their first and last items. And the one that is given. */
unsigned od_phase_usual_roles(const od_phase_problem *p, int given, od_phase_role *roles);

/* The item of the task that has the role, or OD_NO_ITEM. */
uint32_t od_phase_item_of(const od_phase_problem *p, uint32_t task, int role);
/* Without those that name the same item of each task as an earlier one. Returns how many are left. */
unsigned od_phase_drop_same_roles(const od_phase_problem *p, od_phase_role *roles, unsigned n);

/* Without the tasks that are `gone`. False: no memory, what there is is to be freed. */
bool od_phase_make_rest(od_phase_rest *rest, const od_phase_problem *whole, const bool *gone);
void od_phase_free_rest(od_phase_rest *rest);

/* What growing one H after the other needs. */
typedef struct od_phase_grower od_phase_grower;
od_phase_grower *od_phase_make_grower(const od_phase_graph *graph); /* NULL: no memory */
void od_phase_free_grower(od_phase_grower *grower);                 /* NULL: nothing */
/* Grows H of a role up to so many bytes. A growth is all zeros at first, and may be used again. OD_ENOMEM: what it
 * holds is undefined. */
od_status od_phase_grow(od_phase_grower *grower, int role, double limit, od_phase_growth *growth);
void od_phase_free_growth(od_phase_growth *growth);
/* The beginning of H that takes so many bytes at most and is enough for so many seconds, or else the best one of at
 * least half its size: a remainder that is too small to be worth its loads would be left to somebody. */
uint32_t od_phase_items_within(const od_phase_growth *growth, double bytes, double seconds);

bool od_phase_make_choice(const od_phase_problem *p,
                          od_phase_choice *choice); /* false: no memory, what there is is to be freed */
void od_phase_free_choice(od_phase_choice *choice);
/* Finds growth->task, so that choosing does not look at all tasks; without memory for them it will. */
void od_phase_look_around(const od_phase_graph *graph, od_phase_growth *growth, od_phase_choice *choice);
/* The tasks of the first `n` items that were grown, and all others that use nothing beyond what these use. */
void od_phase_choose(const od_phase_graph *graph, const od_phase_growth *growth, uint32_t n, od_phase_choice *choice);
void od_phase_choose_all(const od_phase_problem *p, od_phase_choice *choice); /* with nothing that stays */
/* Of what is chosen and what stays. */
uint64_t od_phase_hash_choice(const od_phase_problem *p, const od_phase_choice *choice);

/* --- the device that is simulated ----------------------------------------------------------- */

/* What is known of an item while chosen tasks are ordered. */
typedef struct od_device_item {
    double left;          /* seconds of chosen tasks that use it and have not run */
    double urgent;        /* the level of the most urgent of the tasks that lack it alone */
    uint32_t nurgent;     /* how many have it; 0: `urgent` is not known */
    uint32_t enabled;     /* tasks that lack it and nothing else */
    uint32_t uses;        /* the number of chosen tasks that use it and have not run */
    uint32_t chosen_uses; /* that number at first */
    uint32_t writes;      /* of a whole order: tasks that write it and have not run */
    uint32_t nusers;      /* tasks that use it, wait for no other one and have not run, but for: */
    uint32_t nrun;        /* some of them have run */
    uint32_t last;        /* how many tasks had been ordered with the last that uses it */
    uint32_t position;    /* its place in `present` plus one, 0: it is not there */
    uint32_t listed;      /* its place in `wanted` plus one, 0: it is not in it */
    bool dirty;           /* written here since it came */
} od_device_item;

typedef struct od_device_task {
    uint32_t unsat;   /* chosen tasks that must come before */
    uint32_t missing; /* items that are not there; not known before the task waits for no other one */
    uint32_t lacking; /* the sum of their numbers, modulo 2^32: the item, where it is one */
    bool done;
} od_device_task;

/* Without time: what is there, what tasks lack, what has to go. Serves one order after the other. */
typedef struct od_phase_device {
    const od_phase_graph *g;
    const od_phase_choice *choice;
    const bool *chosen, *held; /* its */
    bool *there;               /* by item */
    od_device_item *item;
    od_device_task *task;
    uint32_t *user;       /* by item, from graph.first_user on: item.nusers tasks */
    uint32_t *wanted;     /* items with `enabled`, perhaps no longer */
    double *rate;         /* and how many tasks their loads enable in a second; 0: it is there, or there are none */
    uint32_t nwanted;
    uint32_t *present; /* items that are there */
    double *value;     /* and what they are worth keeping */
    uint32_t npresent, cursor;
    uint32_t *useless; /* items that are there and that neither the window nor a chosen task that is left uses */
    uint32_t nuseless;
    od_heap ready; /* tasks that could run if their data were there, perhaps ordered already: the most urgent first */
    od_heap runnable;     /* likewise, with their data */
    uint32_t released;    /* tasks of the order that have ended: those after them are in a task buffer */
    uint32_t nloads;
    double used, lacking; /* bytes there, and of held items that are not */
    double least_load;    /* seconds of the shortest one */
    double most_seconds;  /* of tasks that the order can have */
    double worth;         /* seconds of tasks for each of transfers that it must have */
    double owed;          /* seconds of transfers that are sure to come */
    bool is_whole;        /* no task is left out */
    od_phase_result *out;
} od_phase_device;

/* The most urgent first, and in the order of submission. */
static inline bool od_phase_is_before(const od_phase_device *w, uint32_t a, uint32_t b)
{
    const double *level = w->g->level;
    return level[a] > level[b] || (level[a] == level[b] && a < b);
}

od_phase_device *od_phase_make_device(const od_phase_graph *graph); /* NULL: no memory */
void od_phase_free_device(od_phase_device *device);                 /* NULL: nothing */
/* With nothing there but what was there before. */
void od_phase_begin(od_phase_device *device, const od_phase_choice *choice, double worth, od_phase_result *result,
                    bool *there);
/* Loads the item. Makes room for it, but for what the task (or OD_NO_ITEM) uses; where that is not possible more is
 * there than there can be. */
void od_phase_load(od_phase_device *device, uint32_t item, uint32_t task);
/* Tasks that use the item, wait for no other one and have not run: item.nusers. */
const uint32_t *od_phase_users_of(od_phase_device *device, uint32_t item);
/* Puts the task, whose items are all there, behind the others of the order. */
void od_phase_run(od_phase_device *device, uint32_t task);
/* The first task in the order that has not ended is over: what waited for it is ready. False: all are. */
bool od_phase_release_next(od_phase_device *device);

/* Orders the chosen tasks. Ends when the share has been reached, or without any task once it is clear that less than
 * `worth` seconds of tasks will come for each of transfers. `there` (by item): what is on the device then. */
void od_phase_stream(od_phase_device *device, const od_phase_choice *choice, double worth, od_phase_result *result,
                     bool *there);

#endif
