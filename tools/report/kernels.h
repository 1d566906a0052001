/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What each task waited for and had brought to its device, and the sums of each kernel. */
#ifndef OD_TOOLS_REPORT_KERNELS_H
#define OD_TOOLS_REPORT_KERNELS_H

#include "tools/report/trace/trace_file.h"

typedef struct task_flow {
    double arrived_us;     /* the last of its data came by a load; negative: all were there */
    uint64_t loaded_bytes; /* of loads of which it was the first user; what a failed run has loaded is its next run's */
} task_flow;

/* What a task did from its creation to its start, in this order: they sum to the time between. */
typedef enum task_wait {
    WAIT_DEPENDENCES, /* of tasks before it */
    WAIT_QUEUE,       /* ready, and given to no device */
    WAIT_DATA,        /* for rights to its data, for memory, and for loads */
    WAIT_SLOT,        /* for the device to run it */
    TASK_WAITS
} task_wait;

typedef struct run_kernel { /* tasks of one name */
    uint64_t count, loaded_bytes;
    double total_us, longest_us;
    double wait_us[TASK_WAITS]; /* sums */
} run_kernel;

/* One flow per task. OD_ENOMEM */
od_status run_follow(const trace_file *trace, task_flow *flow);
/* Microseconds of each. */
void run_waits(const trace_task *task, const task_flow *flow, double wait_us[TASK_WAITS]);
/* One per name of the trace; without failed runs. */
void run_sum_kernels(const trace_file *trace, const task_flow *flow, run_kernel *kernels);

#endif
