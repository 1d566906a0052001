/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * See levels.h. The updates of sched/graph/levels.c, one for one, where all tasks and data are numbered and none is
 * ready before all are there: arrays of known sizes instead of what grows and is freed, data instead of addresses.
 */
#include "sched/oracle/levels.h"

#include "sched/graph/levels.h"
#include "util/memory.h"

#include <stdlib.h>

typedef struct path {
    double below;                   /* the longest path after this task, seconds */
    uint32_t first_before, nbefore; /* in paths.before */
    bool queued;                    /* the paths of tasks before it are to be lengthened */
} path;

/* The users of a datum, as numbers plus one. */
typedef struct users {
    uint32_t writer;                    /* a task */
    uint32_t first_reader, last_reader; /* accesses since then */
} users;

typedef struct paths {
    const od_play_problem *problem;
    path *path;            /* by task */
    users *users;          /* by datum */
    uint32_t *reader;      /* by access: its task, */
    uint32_t *next_reader; /* and the next access that reads the datum, plus one */
    uint32_t *before;      /* tasks before a task, those of one task together */
    uint32_t nbefore;
    uint32_t *queue, first, count; /* a ring of all tasks */
} paths;

static void add_before(paths *p, uint32_t t, uint32_t other)
{
    if (other == t)
        return;
    p->before[p->nbefore++] = other;
    p->path[t].nbefore++;
}

static void read_datum(paths *p, uint32_t t, uint32_t access, users *u)
{
    p->reader[access] = t;
    p->next_reader[access] = 0;
    *(u->last_reader ? &p->next_reader[u->last_reader - 1] : &u->first_reader) = access + 1;
    u->last_reader = access + 1;
}

static void add_use(paths *p, uint32_t t, uint32_t access)
{
    const od_play_access *a = &p->problem->accesses[access];
    users *u = &p->users[a->datum];
    if (u->writer)
        add_before(p, t, u->writer - 1);
    if (!(a->mode & OD_WRITE)) {
        read_datum(p, t, access, u);
        return;
    }
    for (uint32_t r = u->first_reader; r; r = p->next_reader[r - 1])
        add_before(p, t, p->reader[r - 1]);
    *u = (users){.writer = t + 1};
}

static void lengthen_before(paths *p, uint32_t t)
{
    const path *from = &p->path[t];
    double below = p->problem->tasks[t].seconds + from->below;
    for (const uint32_t *b = p->before + from->first_before, *end = b + from->nbefore; b < end; b++) {
        path *to = &p->path[*b];
        if (below <= to->below)
            continue;
        to->below = below;
        if (to->queued)
            continue;
        to->queued = true;
        uint32_t last = p->first + p->count++;
        p->queue[last < p->problem->ntasks ? last : last - p->problem->ntasks] = *b;
    }
}

static void update(paths *p)
{
    for (int i = 0; i < OD_LEVELS_UPDATES && p->count; i++) {
        uint32_t t = p->queue[p->first];
        p->first = p->first + 1 < p->problem->ntasks ? p->first + 1 : 0;
        p->count--;
        p->path[t].queued = false;
        lengthen_before(p, t);
    }
}

static void submit(paths *p, uint32_t t)
{
    const od_play_task *task = &p->problem->tasks[t];
    uint32_t count = task->naccess < OD_PLAY_MOST_USES ? task->naccess : OD_PLAY_MOST_USES;
    p->path[t].first_before = p->nbefore;
    for (uint32_t i = 0; i < count; i++)
        add_use(p, t, task->first_access + i);
    lengthen_before(p, t);
    update(p);
}

static bool allocate(paths *p)
{
    const od_play_problem *problem = p->problem;
    size_t accesses = problem->naccesses + (size_t)1;
    p->path = od_calloc(problem->ntasks + (size_t)1, sizeof *p->path);
    p->users = od_calloc(problem->ndata + (size_t)1, sizeof *p->users);
    p->reader = od_malloc(accesses * sizeof *p->reader);
    p->next_reader = od_malloc(accesses * sizeof *p->next_reader);
    p->before = od_malloc(2 * accesses * sizeof *p->before); /* of each use the writer, and each reader once */
    p->queue = od_malloc((problem->ntasks + (size_t)1) * sizeof *p->queue);
    return p->path && p->users && p->reader && p->next_reader && p->before && p->queue;
}

static bool fill(int32_t *priority, const od_play_problem *problem)
{
    paths p = {.problem = problem};
    bool filled = allocate(&p);
    for (uint32_t t = 0; filled && t < problem->ntasks; t++)
        submit(&p, t);
    for (uint32_t t = 0; filled && t < problem->ntasks; t++)
        priority[t] = od_level_priority(problem->tasks[t].seconds + p.path[t].below);
    free(p.path);
    free(p.users);
    free(p.reader);
    free(p.next_reader);
    free(p.before);
    free(p.queue);
    return filled;
}

int32_t *od_play_levels(const od_play_problem *problem)
{
    int32_t *priority = od_calloc(problem->ntasks + (size_t)1, sizeof *priority);
    for (uint32_t t = 0; priority && problem->ranked && t < problem->ntasks; t++)
        priority[t] = problem->tasks[t].priority;
    if (problem->ranked)
        return priority;
    if (!priority || !problem->nafter || fill(priority, problem)) /* where nothing waits all are 0 */
        return priority;
    free(priority);
    return NULL;
}
