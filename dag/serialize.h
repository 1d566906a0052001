/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Partial serialisation: a graph gets more precedences until no schedule of it needs more than a bound (Marchal, Nagy,
 * Simon, Vivien, 2018, after Sbîrlea et al., 2014). As long as the maximum cut is above it, a task that has begun in
 * the cut's state is made to wait for one that has not ended there. Which two, is the rule's choice:
 *
 *   min-levels     the longest path through the new precedence is the shortest
 *   respect-order  the first that has not ended and the last that has begun, in an order that keeps the bound: always
 *                  succeeds
 *   max-size       the data that the one frees and the other has made, together, are the largest
 *   max-min-size   the smaller of the two is the largest
 *
 * Making the longest path as short as possible is NP-hard. At the end precedences that the bound does not need go
 * again.
 */
#ifndef OD_DAG_SERIALIZE_H
#define OD_DAG_SERIALIZE_H

#include "dag/graph.h"

typedef enum od_dag_rule {
    OD_DAG_MIN_LEVELS,
    OD_DAG_RESPECT_ORDER,
    OD_DAG_MAX_SIZE,
    OD_DAG_MAX_MIN_SIZE,
    OD_DAG_RULES
} od_dag_rule;

extern const char *const od_dag_rule_names[OD_DAG_RULES + 1]; /* up to NULL */

typedef struct od_dag_serialized {
    bool kept;      /* the bound; else no precedence is left that would make no cycle, or `most` were added */
    uint32_t added; /* orders, the last ones of the graph */
    int64_t peak;   /* bytes: no schedule needs more */
    double path;    /* seconds: the longest */
} od_dag_serialized;

/* Adds orders to the graph, at most so many. `order` is for respect-order. */
od_status od_dag_serialize(od_dag *dag, od_dag_model model, od_dag_rule rule, int64_t bound, const uint32_t *order,
                           uint32_t most, od_dag_serialized *result);

#endif
