/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What `ompdarts analyze` finds out about a graph, and the ways in which it is written. */
#ifndef OD_TOOLS_ANALYZE_STUDY_H
#define OD_TOOLS_ANALYZE_STUDY_H

#include "dag/cut/cut.h"
#include "dag/order/order.h"
#include "dag/serialize.h"
#include "tools/analyze/machine.h"

#include <stdio.h>

typedef enum analyze_order_kind {
    ANALYZE_DEPTH_FIRST,
    ANALYZE_BREADTH_FIRST,
    ANALYZE_POSTORDER,
    ANALYZE_LIU,
    ANALYZE_SERIES,
    ANALYZE_ORDERS
} analyze_order_kind;

/* An order of one processor. */
typedef struct analyze_order {
    const char *name;
    char note[80];   /* "optimal", or why it is left out */
    uint32_t *order; /* NULL: left out */
    int64_t peak;
} analyze_order;

/* The graph serialised by a rule. */
typedef struct analyze_rule {
    bool asked;
    od_dag_serialized result;
    od_dag_order *added; /* result.added of them */
} analyze_rule;

typedef struct analyze_study {
    od_dag dag;
    od_dag_model model;
    analyze_order orders[ANALYZE_ORDERS];
    analyze_order_kind best; /* the order with the lowest peak */
    bool optimal;            /* no order has a lower one */
    od_dag_cut cut;
    bool *held;          /* of the cut */
    double work, path;   /* seconds */
    double path_product; /* bytes x seconds: see od_dag_least_product() */
    int64_t data_bytes, largest_need;
    int64_t bound; /* 0: none was given */
    analyze_rule rules[OD_DAG_RULES];
    analyze_machine machine;
} analyze_study;

/* Computes everything; the graph and what is asked for are there. OD_ENOMEM. */
od_status analyze_compute(analyze_study *study);
void analyze_free(analyze_study *study);
/* The rule that kept the bound with the shortest path; OD_DAG_RULES: none did. */
od_dag_rule analyze_best_rule(const analyze_study *study);
/* The graph with the precedences of that rule; done with od_dag_finish() again. */
od_status analyze_apply(analyze_study *study, od_dag_rule rule);

enum { ANALYZE_SERIALISED = 3000 }; /* tasks of a graph to which precedences are added, at most */

void analyze_print(const analyze_study *study, FILE *out);
od_status analyze_write_json(const analyze_study *study, FILE *out);
enum { ANALYZE_FEW = 80 }; /* tasks of a graph that can be drawn */
/* Memory over time in each order; the graph with its maximum cut, and the precedences of `rule`, if any. */
od_status analyze_draw_memory(const analyze_study *study, FILE *out);
od_status analyze_draw_cut(const analyze_study *study, od_dag_rule rule, FILE *out);

/* "1.23 GB", in one of a few buffers. */
const char *analyze_bytes(int64_t bytes);

#endif
