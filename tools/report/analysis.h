/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a trace means: figures per device, and findings in plain language. */
#ifndef OD_TOOLS_REPORT_ANALYSIS_H
#define OD_TOOLS_REPORT_ANALYSIS_H

#include "tools/report/shares.h"

typedef struct run_device {
    uint64_t tasks, loads, reloads, evictions;
    uint64_t in_bytes, out_bytes, peer_bytes; /* from the host, to the host, from other devices */
    uint64_t remote_bytes;                    /* of peer_bytes, from devices of other ranks */
    uint64_t reload_bytes;                    /* of all these */
    uint64_t peak_bytes;
    uint64_t data_bytes;              /* of all data that its tasks use */
    double transfer_us;       /* at least one copy under way that comes in, or goes to the host */
    double share_us[SHARES];  /* what it did with the time; they sum to the makespan */
} run_device;

typedef struct run_figures {
    double begin_us;    /* the first task becomes ready: what came before is left out */
    double makespan_us; /* from there to the last event */
    uint64_t tasks, host_tasks, failed_tasks, failed_transfers;
    uint64_t synchronous_tasks; /* for which their thread waited */
    double host_busy_us;        /* host versions ran */
    double median_task_us;
    uint64_t moved_bytes; /* over all links */
    /* What must come to devices at least: everything that a task reads before any task has written it, once. What other
     * devices have written does not count, for one device could have done it all. 0: also where it is not known, since
     * a task may use more data than a trace names. */
    uint64_t least_in_bytes;
    double least_us; /* all work, spread evenly over the devices that ran some */
    run_device *device;
} run_figures;

/* OD_ENOMEM */
od_status run_analyse(const trace_file *trace, run_figures *figures);
void run_figures_free(run_figures *figures);

#endif
