/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The engine on virtual time: od_driver_ops over SimGrid.
 *
 * As in the runtime each device has one queue for each direction of transfers (memmgr/device/transfer_queues.h),
 * demanded transfers before prefetches, and as many workers as it has slots. Each of them is a SimGrid actor: queues
 * send over the platform's links, where contention is SimGrid's; workers sleep for as long as the kernel takes.
 */
#ifndef OD_SIM_SIMULATE_H
#define OD_SIM_SIMULATE_H

#include "sched/split/split.h"
#include "sim/graph/graph_file.h"
#include "sim/graph/workload.h"
#include "sim/platform.h"

#include <stdio.h>

typedef enum sim_cost {
    SIM_COST_IGNORED,  /* scheduling takes no time and is not measured: the same result every time */
    SIM_COST_MEASURED, /* measured, and left out of the simulated time */
    SIM_COST_ADDED,    /* what follows from a decision happens so much later; one scheduler for all devices */
} sim_cost;

/* Where results are when the last task of a workload has ended. */
typedef enum sim_results {
    SIM_RESULTS_STAY,  /* on the devices: the run is over */
    SIM_RESULTS_LATE,  /* they are then written back, which belongs to the run */
    SIM_RESULTS_EARLY, /* those that no task will use any more were written back before, the others are now */
} sim_results;

/* What the scheduler knows of how long tasks of a workload take. */
typedef enum sim_durations {
    SIM_DURATIONS_KNOWN,  /* all from the beginning */
    SIM_DURATIONS_LEARNT, /* nothing: it measures kernel by kernel, as in a program's first run */
} sim_durations;

typedef struct sim_machine {
    const sim_platform *platform;
    unsigned ndevices;
    size_t memory;    /* bytes of each device */
    unsigned cpus, cores; /* CPU workers, and how many cores of the host each of them has */
    unsigned buffer;  /* tasks per task buffer */
    int active;       /* as in od_engine_config */
    int64_t guard;    /* likewise */
    size_t spill_limit; /* likewise */
    od_recompute recompute; /* likewise; all tasks are pure */
    od_policy_choice policy;
    const char *policy_text; /* as it was written */
    const char *command;     /* line, for the timeline */
    const od_evict_ops *evict;
    uint64_t seed;
    sim_cost cost;
    sim_results results;
    sim_durations durations;
    unsigned processors; /* of whose time `auto` may plan in a hundredth; 0: as long as it likes, in no time */
    bool progress;                  /* one line on standard error, on a terminal */
    FILE *trace;                    /* rows of CSV: tasks, what they use, transfers; or NULL */
    const char *timeline;           /* a file to look at (docs/trace-format.md), or NULL */
    const sim_recording *recording; /* what the graph comes from, or NULL */
    const sim_workload *recursive;  /* the graph has its data and kernels, and gets the tasks that are run; or NULL */
    od_split_choice split;          /* of a recursive one */
} sim_machine;

typedef struct sim_result {
    double makespan; /* seconds until the last task has ended, and the results are where they are to be */
    double sched_s;  /* processor time in the policy and the eviction rule */
    uint32_t splits;
    double bound_s; /* of a recursive workload: no choice of splits takes less on these units; 0: without GLPK */
    size_t spill_peak_bytes;
    od_device_stats device[OD_MAX_DEVICES];
    od_device_stats total; /* sums; peak_bytes is the largest */
    od_cpu_stats cpu;      /* of all CPU workers together */
    uint64_t sent[OD_MAX_DEVICES], received[OD_MAX_DEVICES]; /* by node: bytes over its card */
} sim_result;

/* The footprint of the largest task, bytes: less memory cannot run the graph. */
size_t sim_footprint(const sim_graph *graph);

/* Predicted seconds of a task on the platform; 0: the platform does not know the kernel. */
double sim_task_seconds(const sim_graph *graph, const sim_platform *platform, uint32_t task);
/* On a CPU worker, as od_task.host_seconds: negative where it may not run there, that is where the platform does not
 * know the kernel, or the task has a duration of its own. */
double sim_task_host_seconds(const sim_graph *graph, const sim_machine *machine, uint32_t task);

/* Of the largest task of a recursive workload. */
size_t sim_recursive_footprint(const sim_workload *workload);

/* Runs the graph. Once per process, like SimGrid. On failure OD_EINVAL or OD_ENOMEM and one line in `error`. */
od_status sim_run(const sim_graph *graph, const sim_machine *machine, sim_result *result, char *error, size_t size);
/* Without SimGrid: the oracle plays the graph (sched/oracle/play.h). For graphs that were not recorded; nothing is
 * traced, and scheduling takes no time. As often as one likes. */
od_status sim_play(const sim_graph *graph, const sim_machine *machine, sim_result *result, char *error, size_t size);

od_cpu_stats sim_cpu_stats(const od_engine_stats *stats);

#endif
