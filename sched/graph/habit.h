/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What tasks use whose depend items do not say it: programs may hang the order of their tasks on anything, on one byte
 * of a tile, on a token that is no data at all, or on one of three arrays. Of kinds of which a task has used other data
 * than it was submitted with, the data of each combination of kind and depend items are learnt. They are expected to
 * come again, or to take turns: a step reads one array and writes another, and the next one the other way round, or
 * three arrays go round.
 */
#ifndef OD_SCHED_GRAPH_HABIT_H
#define OD_SCHED_GRAPH_HABIT_H

#include "sched/graph/levels.h"
#include "sched/task.h"

typedef struct od_habit_use {
    uintptr_t base;
    od_mode mode;
} od_habit_use;

typedef struct od_habit_data {
    od_habit_use *use; /* malloc'ed */
    uint32_t nuses;
} od_habit_data;

enum { OD_HABIT_PERIOD = 3 };

/* Of tasks of one kind with the same depend items. */
typedef struct od_habit {
    uint64_t key;
    struct od_habit *next;                  /* in its bucket */
    od_habit_data ran[OD_HABIT_PERIOD + 1]; /* the last ones, by turns */
    uint32_t seen;                          /* tasks that have been learnt from */
    uint32_t period;                        /* after so many tasks the same is expected; 0: nothing is known */
    od_list waiting; /* od_known_task.alike: submitted, not ready, in order of submission */
} od_habit;

typedef struct od_habits {
    const void **kind; /* whose depend items do not say what they use */
    uint32_t nkinds, kinds_room;
    od_habit **bucket; /* by key; NULL: there is no kind yet */
    uint32_t count;
    uint64_t refused; /* for which there was no room, since the last one for which there was */
} od_habits;

void od_habits_free(od_habits *all);

bool od_habits_has(const od_habits *all, const void *kind);
/* OD_ENOMEM: it is not among them. */
od_status od_habits_add(od_habits *all, const void *kind);
/* Of one of the kinds with these depend items, by the hash of all that; a kind has been added before. Where there are
 * too many those go that have not come again. NULL: out of memory, or there is no room. */
od_habit *od_habits_get(od_habits *all, uint64_t key);

/* A task has become ready. Out of memory: nothing has been learnt from it. */
void od_habit_learn(od_habit *habit, const od_task *task);
/* What the next task but so many will use; NULL: nothing is known. */
const od_habit_data *od_habit_expect(const od_habit *habit, uint32_t ahead);

#endif
