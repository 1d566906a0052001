/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A run, and all that is said of it. */
#ifndef OD_TOOLS_REPORT_RUN_H
#define OD_TOOLS_REPORT_RUN_H

#include "tools/report/arrays.h"
#include "tools/report/findings.h"
#include "tools/report/kernels.h"
#include "tools/report/path.h"
#include "tools/report/ranks.h"

typedef struct report_run {
    trace_file trace;
    run_figures figures;
    run_ranks ranks;
    run_findings findings;
    task_flow *flow;     /* by task */
    run_kernel *kernels; /* by name */
    run_path path;
    run_arrays arrays;
} report_run;

#endif
