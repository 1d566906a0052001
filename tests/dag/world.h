/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the tests of memory-aware graphs share: random graphs, and answers by looking at everything. */
#ifndef OD_TESTS_DAG_WORLD_H
#define OD_TESTS_DAG_WORLD_H

#include "dag/cut/cut.h"
#include "dag/order/order.h"
#include "dag/serialize.h"
#include "tests/unit/random.h"

/* cmocka.h wants these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { WORLD_MOST = 12 }; /* tasks */

typedef enum world_kind {
    WORLD_TREE,
    WORLD_OUT_TREE,
    WORLD_SERIES_PARALLEL,
    WORLD_PRIVATE, /* any graph, each datum with at most one reader */
    WORLD_SHARED,  /* any graph, data with several readers, initial and lazy ones, too */
    WORLD_KINDS
} world_kind;

/* A finished graph of at most so many tasks, with small weights so that many are equal. */
void world_make(od_dag *dag, world_kind kind, uint32_t most, uint64_t *seed);
void world_edge(od_dag *dag, uint32_t from, uint32_t to, int64_t bytes);
void world_finish(od_dag *dag);

/* The lowest peak of all orders, and of all postorders of a tree. */
int64_t world_best_peak(const od_dag *dag, od_dag_model model);
int64_t world_best_postorder(const od_dag *dag, od_dag_model model);
/* The most bytes in memory in any state. */
int64_t world_maximum_cut(const od_dag *dag, od_dag_model model);

/* All tasks once, none before another that precedes it. */
void world_assert_order(const od_dag *dag, const uint32_t *order);

#endif
