/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a trace means: figures per device, and findings in plain language. */
#ifndef OD_TOOLS_REPORT_ANALYSIS_H
#define OD_TOOLS_REPORT_ANALYSIS_H

#include "tools/report/trace_file.h"

typedef struct run_device {
    uint64_t tasks, loads, reloads, evictions;
    uint64_t in_bytes, out_bytes, peer_bytes; /* from the host, to the host, from other devices */
    uint64_t reload_bytes;                    /* of these */
    uint64_t peak_bytes;
    uint64_t data_bytes;              /* of all data that its tasks use */
    double busy_us;                   /* at least one task running */
    double transfer_us;               /* at least one copy under way that comes in, or goes to the host */
    double stall_us[OD_STALL_CAUSES]; /* by cause */
} run_device;

typedef struct run_figures {
    double begin_us;    /* the first task becomes ready: what came before is left out */
    double makespan_us; /* from there to the last event */
    uint64_t tasks, host_tasks, failed_tasks, failed_transfers;
    double median_task_us;
    uint64_t moved_bytes; /* over all links */
    /* What must come to devices at least: everything that a task reads before any task has written it, once. What other devices
     * have written counts where it was read elsewhere: 0, for one device could have done it all. */
    uint64_t least_in_bytes;
    double least_us; /* all work, spread evenly over the devices that ran some */
    run_device *device;
} run_figures;

/* What may be better, one line each. */
typedef struct run_findings {
    size_t count;
    char (*text)[400];
} run_findings;

/* OD_ENOMEM */
od_status run_analyse(const trace_file *trace, run_figures *figures);
void run_figures_free(run_figures *figures);
/* The worst first; at least one, if only that there is nothing to tell. OD_ENOMEM */
od_status run_find(const trace_file *trace, const run_figures *figures, run_findings *findings);
void run_findings_free(run_findings *findings);

#endif
