/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The memory of a graph whose tasks run one after the other, and what a task does to it. */
#ifndef OD_DAG_MEMORY_H
#define OD_DAG_MEMORY_H

#include "dag/graph.h"

typedef struct od_dag_level {
    int64_t during, after; /* bytes, while the task runs and behind it */
} od_dag_level;

/* Memory along an order of all tasks; `levels`, unless NULL, has one for each position. Returns the peak, or -1: out of
 * memory. */
int64_t od_dag_peak(const od_dag *dag, od_dag_model model, const uint32_t *order, od_dag_level *levels);

/* What is in memory before the first task: data without producer that are not lazy. */
int64_t od_dag_initial(const od_dag *dag);

/* What a task, or several in a row, do to memory, whatever else is in it. */
typedef struct od_dag_step {
    int64_t rise;   /* its peak above the level before, never negative */
    int64_t change; /* the level after less that before */
} od_dag_step;

/* What `first`, and then `second`, do. */
static inline od_dag_step od_dag_step_then(od_dag_step first, od_dag_step second)
{
    int64_t rise = first.change + second.rise;
    return (od_dag_step){rise > first.rise ? rise : first.rise, first.change + second.change};
}

/* Each task's step. Which reader of a datum is its last depends on the order; where several may be, `order` decides.
 * *exact: there is no such datum, so that the steps are true of all orders. */
od_status od_dag_steps(const od_dag *dag, od_dag_model model, const uint32_t *order, od_dag_step *steps, bool *exact);

/* The most that one task needs for itself: no bound below it can be kept. */
int64_t od_dag_largest_need(const od_dag *dag, od_dag_model model);

/* Bytes times seconds: no schedule, on any number of processors, has a lower product of its peak and its length, since
 * each datum is in memory while its producer runs and (resident) while its readers run. For trees of unit tasks and
 * data this is the lemma M x Cmax >= 2 (n - 1). */
double od_dag_least_product(const od_dag *dag, od_dag_model model);

#endif
