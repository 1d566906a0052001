/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The critical path: the chain of tasks, each depending on the one before, whose runs took longest together. */
#ifndef OD_TOOLS_REPORT_PATH_H
#define OD_TOOLS_REPORT_PATH_H

#include "tools/report/trace/trace_file.h"

typedef struct run_path {
    size_t n;       /* 0: no task has a depend clause */
    size_t *tasks;  /* of trace_file.tasks, the first to run first */
    double work_us; /* their runs: no schedule takes less, with kernels as fast as these */
} run_path;

/* By the depend clauses that the trace has: what the program orders otherwise (taskwait, host tasks, regions that are
 * not nowait) is not known. OD_ENOMEM */
od_status run_find_path(const trace_file *trace, run_path *path);
void run_path_free(run_path *path);

#endif
