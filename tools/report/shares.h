/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What each device did with its time: every moment of the run has exactly one name, so that the shares of a device sum
 * to the whole.
 */
#ifndef OD_TOOLS_REPORT_SHARES_H
#define OD_TOOLS_REPORT_SHARES_H

#include "tools/report/trace/trace_file.h"

/* Where several hold at once, the first one counts. */
typedef enum run_share {
    SHARE_BUSY,         /* the code of a task runs */
    SHARE_LOADS,        /* the next task waits for its data, */
    SHARE_MEMORY,       /* for memory, */
    SHARE_RIGHTS,       /* for data that others use */
    SHARE_START,        /* a task has been given to the device and does not run yet, or has run and is not known to */
    SHARE_IDLE,         /* the device is idle, by choice */
    SHARE_HOST,         /* it has no task, and host versions run */
    SHARE_KEPT,         /* it has none; the policy has ready tasks */
    SHARE_HANDED_LATE,  /* there are tasks whose dependences are satisfied, that libomp has not handed over yet */
    SHARE_DEPENDENCES,  /* all tasks that there are wait for others */
    SHARE_NOT_CREATED,  /* there are no tasks */
    SHARES
} run_share;

typedef struct run_time {
    double from_us, to_us; /* what is looked at */
} run_time;

/* Microseconds of each device in shares[k]. OD_ENOMEM */
od_status run_shares(const trace_file *trace, run_time time, double (*shares)[SHARES], double *host_busy_us);

#endif
