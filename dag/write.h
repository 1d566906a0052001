/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Graphs as text (docs/memory.md) and DOT. DOT has no data without producer or without reader: they are left out. */
#ifndef OD_DAG_WRITE_H
#define OD_DAG_WRITE_H

#include "dag/graph.h"

#include <stdio.h>

void od_dag_write_text(const od_dag *dag, FILE *out);
/* The last `added` orders are dashed. */
void od_dag_write_dot(const od_dag *dag, uint32_t added, FILE *out);

#endif
