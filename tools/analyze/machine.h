/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What the graph needs on devices with a memory each, under scheduling policies: simulated three times, with memory for
 * all data, with as much as was used then, and with half of that.
 */
#ifndef OD_TOOLS_ANALYZE_MACHINE_H
#define OD_TOOLS_ANALYZE_MACHINE_H

#include "util/status.h"

#include <stdint.h>

enum { ANALYZE_RUNS = 3, ANALYZE_POLICIES = 16 };

typedef struct analyze_run {
    int64_t memory;                                        /* bytes of each device */
    double loaded, stored, exchanged, evictions, makespan; /* bytes, bytes, bytes, -, s */
    double spilled, host;                                  /* bytes: of `stored`, and at most at once */
    int64_t peak;                                          /* bytes, of the device with most */
} analyze_run;

typedef struct analyze_policy {
    char name[256]; /* with its option, or plugin:FILE */
    analyze_run run[ANALYZE_RUNS]; /* all data fit; the peak of that; half of it */
    int runs;                      /* fewer: the next one has too little memory for a task */
} analyze_policy;

typedef struct analyze_machine {
    const char *platform, *devices; /* as in `ompdarts sim` */
    analyze_policy policies[ANALYZE_POLICIES];
    int count;      /* 0: not asked for */
    int64_t memory; /* bytes of each device in the recorded run; 0: there was none */
} analyze_machine;

/* `option`, --graph or --workload, and its value are for `ompdarts sim`. OD_EINVAL: the simulator is not there, or
 * refuses what was asked for, and has said why. */
od_status analyze_simulate(analyze_machine *machine, const char *option, const char *value, int64_t all_data);

#endif
