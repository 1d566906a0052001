/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Readers of task graphs: text ("ompdarts-dag 1", docs/memory.md), DOT, and workflows in WfCommons' JSON, schemas 1.3
 * to 1.5. Which it is the file itself says.
 */
#ifndef OD_DAG_READ_READ_H
#define OD_DAG_READ_READ_H

#include "dag/graph.h"

#include <stdio.h>

/* Reads and finishes the graph. OD_EINVAL with one line in `error`; OD_EIO, see errno. */
od_status od_dag_read(FILE *file, od_dag *dag, char *error, size_t size);

#endif
