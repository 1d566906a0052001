/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The command line of `ompdarts sim`, and what it prints of a run. */
#ifndef OD_SIM_COMMAND_COMMAND_H
#define OD_SIM_COMMAND_COMMAND_H

#include "sim/bounds.h"
#include "sim/graph/grid.h"
#include "sim/graph/workload.h"
#include "sim/simulate.h"

enum {
    SIM_FAILED = 1,
    SIM_REFUSED = 2,
    SIM_TOO_LARGE = 3
}; /* exit status; the last: for this program, of run_once() */
enum { SIM_MOST_DEVICES = 1024, SIM_ALL_DEVICES = SIM_MOST_DEVICES + 1 };

typedef struct sim_command {
    const char *workload_text, *graph_name, *platform_name, *policy_text, *rule_name, *csv_name, *trace_name,
        *timeline_name, *split_text;
    const char *label; /* of what is run, for people and the CSV */
    sim_nodes nodes;
    sim_grid grid; /* of nodes; no rows: none */
    sim_workload workload;
    sim_graph graph; /* of a recorded run */
    sim_recording recording;
    od_policy_choice policy;
    const od_evict_ops *evict;
    od_split_choice split; /* of a recursive workload */
    size_t memory;                                              /* 0: all data fit */
    unsigned cpus, cores; /* CPU workers, and the cores of each */
    unsigned devices, buffer, repeat, cost, results, recompute; /* the last: sim_cost, sim_results, od_recompute */
    unsigned processors;
    int active;                                                 /* as in od_engine_config */
    int64_t guard;
    size_t spill_limit;
    bool active_given, seed_given, quiet, plays, header; /* without SimGrid; of the CSV, before the first row */
    bool learns;                                         /* durations */
    uint64_t seed;
    FILE *csv, *trace;
    char line[1024]; /* as it was typed, as far as it fits */
} sim_command;

/* One line on standard error; returns SIM_REFUSED. */
int sim_command_refuse(const char *message);

/* parse.c: 0, or an exit status, with a message. Ends the program after --help. */
int sim_command_parse(sim_command *command, int argc, char **argv);

/* results.c */
/* A run as a row of CSV, of the first seed below the header. */
void sim_print_csv(const sim_command *command, const sim_graph *graph, const sim_machine *machine,
                   const sim_result *result, const sim_bounds *bounds);
void sim_print_table(const sim_command *command, const sim_graph *graph, const sim_machine *machine,
                     const sim_result *result, const sim_bounds *bounds);

#endif
