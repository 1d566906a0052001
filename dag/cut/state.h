/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* States of a run in which some tasks have ended and some run: what is in memory; who reads a datum first and last. */
#ifndef OD_DAG_CUT_STATE_H
#define OD_DAG_CUT_STATE_H

#include "dag/graph.h"

typedef enum od_dag_phase { OD_DAG_WAITING, OD_DAG_RUNNING, OD_DAG_ENDED } od_dag_phase;

/* Calls `each` for each datum's readers that come last, as far as direct precedences tell: those that no other follows.
 * Likewise for those that come first. */
typedef void (*od_dag_reader_function)(void *arg, uint32_t datum, uint32_t reader);
od_status od_dag_last_readers(const od_dag *dag, od_dag_reader_function each, void *arg);
od_status od_dag_first_readers(const od_dag *dag, od_dag_reader_function each, void *arg);

/* Bytes of data and running tasks in memory in a state. */
int64_t od_dag_state_bytes(const od_dag *dag, od_dag_model model, const od_dag_phase *phase);

#endif
