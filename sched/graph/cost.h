/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Cost of a piece of code: a robust mean of its measured durations.
 *
 * The first runs give their median, so that a cold start does not count. From then on each duration moves the mean by
 * what it deviates, cut off at three times the usual deviation: outliers cannot poison it. Where many in a row stray
 * to the same side, they are no outliers: what was measured before is forgotten.
 */
#ifndef OD_SCHED_GRAPH_COST_H
#define OD_SCHED_GRAPH_COST_H

#include <stdint.h>

enum { OD_COST_FIRST = 5 }; /* runs whose median is taken */

typedef struct od_cost {
    uint64_t runs;
    double mean;                 /* seconds; 0 before the first run */
    double deviation;            /* mean absolute deviation, seconds */
    int32_t strays;              /* in a row, those above counted positive, those below negative */
    double first[OD_COST_FIRST]; /* the first durations, ascending */
} od_cost;

/* A run that took so many seconds (> 0). */
void od_cost_add(od_cost *cost, double seconds);

#endif
