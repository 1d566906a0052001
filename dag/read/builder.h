/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the readers share: tasks by name, numbers within their bounds, refusals. */
#ifndef OD_DAG_READ_BUILDER_H
#define OD_DAG_READ_BUILDER_H

#include "dag/graph.h"
#include "util/container/names.h"

typedef struct od_dag_builder {
    od_dag *dag;
    od_names names;  /* of tasks */
    uint32_t *tasks; /* by number of the name */
    uint32_t room;
    uint64_t line; /* being read; 0: lines are not counted */
    char *error;   /* one line; "": nothing has been refused */
    size_t size;
} od_dag_builder;

void od_dag_builder_free(od_dag_builder *b);

/* Writes the error, unless there is one already; false. */
__attribute__((format(printf, 2, 3))) bool od_dag_refuse(od_dag_builder *b, const char *format, ...);

/* False: refused, or out of memory. */
bool od_dag_build_task(od_dag_builder *b, const char *name, double seconds, int64_t bytes);
bool od_dag_build_datum(od_dag_builder *b, int64_t bytes, uint32_t producer, bool lazy);
bool od_dag_build_reader(od_dag_builder *b, uint32_t task);
bool od_dag_build_order(od_dag_builder *b, uint32_t before, uint32_t after);
/* The task has this name, too, unless another one has it. */
bool od_dag_build_alias(od_dag_builder *b, const char *name, uint32_t task);

/* A task that is there, or false: refused. */
bool od_dag_find_task(od_dag_builder *b, const char *name, uint32_t *task);

/* Numbers: seconds up to 1e12, bytes up to OD_DAG_MOST_BYTES, with K, Mi and so on. False: refused. */
bool od_dag_take_seconds(od_dag_builder *b, const char *text, double *seconds);
bool od_dag_take_bytes(od_dag_builder *b, const char *text, int64_t *bytes);

#endif
