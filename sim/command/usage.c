/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "sim/command/usage.h"

#include "sched/policy.h"
#include "sched/split/split.h"
#include "sim/graph/workload.h"
#include "sim/platform.h"

void sim_print_usage(FILE *file)
{
    fputs("Usage: ompdarts sim --workload NAME[:ARGUMENT=VALUE,...] [OPTIONS]\n"
          "       ompdarts sim --graph FILE [OPTIONS]\n"
          "\n"
          "Runs the scheduler and the memory manager in virtual time (SimGrid), on simulated machines.\n"
          "\n"
          "  --workload NAME[:...]  what to run, with n= (tiles per side), tile= (their order), depth=, density=, "
          "element= (bytes),\n"
          "                         unit=1, levels= (orders of tiles of a recursive one, such as 3840/1920/480),\n"
          "                         generate=1 (tiles are made by tasks)\n"
          "  --graph FILE           a run recorded with OMPDARTS_RECORD; options not given are as recorded\n"
          "  --platform NAME|FILE   the machine (default: pcie)\n"
          "  --nodes N              so many of it, the program and its data on the first one; all devices unless "
          "--devices is "
          "given\n"
          "  --network NIC[:SWITCH[:LATENCY]]  of --nodes: GB/s of each node's card (default: 50), of all together (0: "
          "no "
          "limit),\n"
          "                         and microseconds (default: 2)\n"
          "  --block-cyclic PxQ[:first]  of --nodes: tasks run on the device that owns the tile they write, by a\n"
          "                         two-dimensional block-cyclic distribution; first: only those that begin it\n"
          "  --devices K[:ACTIVE]   use the first K devices, or all (default: 1); of these ACTIVE at a time: policy "
          "(default),\n"
          "                         auto, all, or a number; the others are idle\n"
          "  --cpu N[:W]            N CPU workers of W cores each beside the devices (default: 0)\n"
          "  --mem SIZE             memory of each device, for example 500Mi (default: enough for all data)\n"
          "  --sched POLICY         scheduling policy, as in OMPDARTS_SCHED (default: auto)\n"
          "  --evict RULE           eviction rule, as in OMPDARTS_EVICT (default: auto)\n"
          "  --split RULE           of a workload with levels=: which tasks are split (default: never)\n"
          "  --buffer B             tasks per task buffer (default: 3)\n"
          "  --guard SIZE|auto      bound for data that live on devices only, as in OMPDARTS_GUARD (default: off)\n"
          "  --spill-limit SIZE     host memory for evicted data, as in OMPDARTS_SPILL_LIMIT (default: off)\n"
          "  --recompute HOW        off (default), auto or always: evicted data are made again, as in "
          "OMPDARTS_RECOMPUTE\n"
          "  --seed S               of all random choices (default: 1)\n"
          "  --repeat R             runs with the seeds S, S+1, ... (default: 1)\n"
          "  --results WHEN         of a workload: stay (default) on the devices, or go to the host, early or late\n"
          "  --sched-time HOW       ignore (default), measure, or add the cost of decisions, in simulated time\n"
          "  --durations HOW        of tasks: known (default), or learnt as they run, as in a program's first run\n"
          "  --processors N         auto plans in a hundredth of their time (default: 0, as long as it likes, in no "
          "time)\n"
          "  --model MODEL          simgrid (default), or oracle: the library's own model of the machine, faster\n"
          "  --csv FILE|-           append one line per run, with a header where the file is empty\n"
          "  --trace FILE           all tasks, what they use, and transfers of the run, as CSV; FILE.json: for "
          "Perfetto,\n"
          "                         FILE.paje: for ViTE\n"
          "  --quiet                no progress, and no table with --csv\n"
          "  --help                 this text\n"
          "\n"
          "Workloads:\n",
          file);
    for (const char *const *line = sim_workload_help(); *line; line += 2)
        fprintf(file, "  %-14s %s\n", line[0], line[1]);
    fputs("\nPlatforms:", file);
    for (const char *const *name = sim_platform_names(); *name; name++)
        fprintf(file, " %s", *name);
    fputs("\nPolicies:", file);
    for (const char *const *name = od_policy_names(); *name; name++)
        fprintf(file, " %s", *name);
    fputs("\nSplitting rules:", file);
    for (const char *const *name = od_split_names(); *name; name++)
        fprintf(file, " %s%s", *name, od_split_find(*name)->takes_level ? "=L" : "");
    fputs("\n\nExit status: 0 success; 1 the simulation failed; 2 the command line was refused.\n", file);
}
