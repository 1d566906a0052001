/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The nouns of memory-aware graphs. A *task* takes seconds, and memory of its own while it runs. A *datum* is made by
 * one task, its producer, and used by its readers; it takes memory from its producer until its last reader. Tasks are
 * in a *precedence* where one reads what the other makes, or where an *order* says so. A graph has no cycle.
 *
 * When memory is taken and given back is the *model* (Marchal et al.):
 *   resident   a task's inputs and outputs are both in memory while it runs
 *   replace    a task's inputs are freed as it starts, at the same moment as its outputs are allocated
 *
 * In both, a datum without producer is in memory from the beginning (or from its first reader, where it is `lazy`), and
 * one without readers stays until the end.
 */
#ifndef OD_DAG_GRAPH_H
#define OD_DAG_GRAPH_H

#include "util/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OD_DAG_NONE UINT32_MAX
#define OD_DAG_MOST_BYTES ((int64_t)1 << 60) /* of all data and tasks together: sums of sums do not overflow */

enum { OD_DAG_MOST_TASKS = 100000000 };

typedef enum od_dag_model { OD_DAG_RESIDENT, OD_DAG_REPLACE } od_dag_model;

extern const char *const od_dag_model_names[]; /* by model, up to NULL */

typedef struct od_dag_task {
    double seconds;
    int64_t bytes; /* of its own, while it runs */
    size_t name;   /* offset in od_dag.names */
} od_dag_task;

typedef struct od_dag_datum {
    int64_t bytes;
    uint32_t producer; /* a task, or OD_DAG_NONE */
    uint32_t first_reader, nreaders;
    bool lazy; /* without producer: not in memory before its first reader */
} od_dag_datum;

typedef struct od_dag_order {
    uint32_t before, after; /* tasks */
} od_dag_order;

/* Lists by task: those of task t are items[first[t]] to items[first[t + 1] - 1]. */
typedef struct od_dag_lists {
    uint32_t *first, *items;
} od_dag_lists;

typedef struct od_dag {
    od_dag_task *tasks;
    od_dag_datum *data;
    uint32_t *readers;    /* of all data */
    od_dag_order *orders; /* precedences that no datum makes */
    char *names;
    uint32_t ntasks, ndata, nreaders, norders;
    uint32_t task_room, datum_room, reader_room, order_room;
    size_t names_length, names_room;

    /* By od_dag_finish(). */
    od_dag_lists before, after;   /* tasks in precedence, each once */
    od_dag_lists inputs, outputs; /* data */
    uint32_t *sorted;             /* all tasks, each after those that precede it */
} od_dag;

/* Each returns the number of what is added, or OD_DAG_NONE: out of memory, or more than there may be. */
uint32_t od_dag_add_task(od_dag *dag, const char *name, double seconds, int64_t bytes);
uint32_t od_dag_add_datum(od_dag *dag, int64_t bytes, uint32_t producer, bool lazy);
uint32_t od_dag_add_reader(od_dag *dag, uint32_t task); /* of the datum that was added last */
uint32_t od_dag_add_order(od_dag *dag, uint32_t before, uint32_t after);

/* Makes the lists; again after more was added. OD_EINVAL with one line in `error`: a cycle, which it names, or more
 * bytes than OD_DAG_MOST_BYTES. */
od_status od_dag_finish(od_dag *dag, char *error, size_t size);
void od_dag_free(od_dag *dag);

static inline const char *od_dag_name(const od_dag *dag, uint32_t task)
{
    return dag->names + dag->tasks[task].name;
}

static inline uint32_t od_dag_count(const od_dag_lists *lists, uint32_t task)
{
    return lists->first[task + 1] - lists->first[task];
}

/* The longest path, in seconds; `top`, unless NULL, gets each task's longest path to its start, `bottom` that from its
 * start to the end. */
double od_dag_critical_path(const od_dag *dag, double *top, double *bottom);

/* Sum of all tasks' seconds. */
double od_dag_work(const od_dag *dag);

#endif
