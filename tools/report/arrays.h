/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Arrays of data regions of which tasks used parts: how much of them each device held, and their page faults. */
#ifndef OD_TOOLS_REPORT_ARRAYS_H
#define OD_TOOLS_REPORT_ARRAYS_H

#include "tools/report/trace/trace_file.h"

typedef struct run_array {
    trace_datum all;
    uint32_t variable;   /* of trace_file.variables, or TRACE_NO_NAME */
    uint64_t parts;      /* that tasks have used, or devices loaded */
    uint64_t faults;
    double fault_us;     /* that kernels waited for these */
    uint64_t *most;      /* bytes that each device held at once */
    double *mean;        /* and on average over the run */
} run_array;

typedef struct run_arrays {
    run_array *at;
    size_t count;
} run_arrays;

/* Known are the first 40 entries of each construct and data of each task, and what was loaded. OD_ENOMEM */
od_status run_find_arrays(const trace_file *trace, double makespan_us, run_arrays *arrays);
void run_arrays_free(run_arrays *arrays);

#endif
