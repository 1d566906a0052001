/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The formats. Each adds what it reads to the builder's graph; false: refused, or out of memory. */
#ifndef OD_DAG_READ_FORMATS_H
#define OD_DAG_READ_FORMATS_H

#include "dag/read/builder.h"

#define OD_DAG_TEXT_HEADER "ompdarts-dag 1"

bool od_dag_read_text(od_dag_builder *b, char *text); /* which is changed */
bool od_dag_read_dot(od_dag_builder *b, const char *text);
bool od_dag_read_workflow(od_dag_builder *b, const char *text);

#endif
