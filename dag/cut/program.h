/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The maximum topological cut as a linear program, for solvers of others to compare with. */
#ifndef OD_DAG_CUT_PROGRAM_H
#define OD_DAG_CUT_PROGRAM_H

#include "dag/graph.h"

#include <stdio.h>

/* In CPLEX's LP format: p of each event, from 1 before the cut to 0 behind it, and each datum's difference, which is
 * never negative; the sum of data times differences becomes as large as possible. Any threshold on p is then an optimal
 * cut. Data are counted for each last reader: an upper bound where there are several. OD_ENOMEM. */
od_status od_dag_write_program(const od_dag *dag, od_dag_model model, FILE *out);

#endif
