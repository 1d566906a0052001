/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A service accompanies a run: it is called when the run starts, ends, and forks. Each has one table of functions, and
 * services.c lists them; what a service has no use for is NULL. What happens in between reaches them through their
 * own functions.
 */
#ifndef OD_OMP_EXT_SERVICE_H
#define OD_OMP_EXT_SERVICE_H

#include "omp_ext/options.h"
#include "omp_ext/runtime/devices.h"
#include "sched/engine/engine.h"

typedef struct od_run {
    const od_options *options;
    const od_devices *devices;
    const od_backend *backend;
    od_engine *engine;
    uint64_t start_ns;
    uint64_t habits;     /* od_report.habits */
    unsigned processors; /* that host devices share with the program; 0: devices compute by themselves */
    bool inherited; /* from the process that has forked this one: that one reports */
} od_run;

typedef struct od_service {
    /* All is there, and no task has come yet. */
    void (*start)(const od_run *run);
    /* Nothing more will happen. Under the runtime's lock, as the next. */
    void (*stop)(const od_run *run);
    /* A signal ends the process: what is known so far. */
    void (*interrupt)(const od_run *run);
    /* Around a fork: no lock of the service's is held in between by anybody else. Under the runtime's lock. */
    void (*before_fork)(void);
    void (*after_fork)(bool child);
    /* In a child that goes on with the run: threads and files were the parent's. */
    void (*revive)(const od_run *run);
} od_service;

#endif
