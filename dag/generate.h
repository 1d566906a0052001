/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Made-up graphs:
 *
 *   tree, out-tree   random trees with edges towards the root, or away from it
 *   series-parallel  random compositions of series and parallel parts
 *   layers           random graphs whose tasks read from the layer before theirs
 *   multifrontal     the assembly tree of a nested dissection: a task's output is its front's Schur complement
 *   contraction      a chain of tensor contractions in blocks: temporaries that all blocks of the next one read
 *   ligo, montage    the shapes of two astronomers' workflows with about their weights (Juve et al., Characterizing and
 *                    profiling scientific workflows, 2013), each edge with data of its own
 */
#ifndef OD_DAG_GENERATE_H
#define OD_DAG_GENERATE_H

#include "dag/graph.h"

/* KIND:TASKS[:SEED]; there may be a few tasks more or less. The graph is finished. OD_EINVAL with a line in `error`. */
od_status od_dag_generate(const char *what, od_dag *dag, char *error, size_t size);

/* Kinds and descriptions in pairs, up to NULL. */
const char *const *od_dag_generate_help(void);

#endif
