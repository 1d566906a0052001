/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Robust mean durations. See cost.h. */
#include "sched/graph/cost.h"

#include <math.h>

enum { MEMORY = 64, TOO_MANY_STRAYS = 12 }; /* the mean follows the last MEMORY runs or so */
static const double cut = 3, least_deviation = 0.02;

/* Inserts into n ascending values. */
static void insert(double *values, uint64_t n, double value)
{
    uint64_t i = n;
    for (; i > 0 && values[i - 1] > value; i--)
        values[i] = values[i - 1];
    values[i] = value;
}

/* The median, and the median of the deviations from it. */
static void add_first(od_cost *cost, double seconds)
{
    double deviations[OD_COST_FIRST];
    insert(cost->first, cost->runs++, seconds);
    cost->mean = cost->first[cost->runs / 2];
    for (uint64_t i = 0; i < cost->runs; i++)
        insert(deviations, i, fabs(cost->first[i] - cost->mean));
    cost->deviation = deviations[cost->runs / 2];
}

/* Counts runs that stray to the same side. True: they have become too many. */
static int is_new_regime(od_cost *cost, double difference, double limit)
{
    int side = difference > limit ? 1 : difference < -limit ? -1 : 0;
    cost->strays = side && side * cost->strays >= 0 ? cost->strays + side : side;
    return cost->strays > TOO_MANY_STRAYS || cost->strays < -TOO_MANY_STRAYS;
}

void od_cost_add(od_cost *cost, double seconds)
{
    if (cost->runs < OD_COST_FIRST) {
        add_first(cost, seconds);
        return;
    }
    double limit = cut * fmax(cost->deviation, least_deviation * cost->mean);
    double difference = seconds - cost->mean;
    if (is_new_regime(cost, difference, limit)) {
        *cost = (od_cost){0};
        add_first(cost, seconds);
        return;
    }
    difference = fmax(-limit, fmin(limit, difference));
    double weight = 1.0 / (double)(cost->runs < MEMORY ? cost->runs + 1 : MEMORY);
    cost->mean += weight * difference;
    cost->deviation += weight * (fabs(difference) - cost->deviation);
    cost->runs++;
}
