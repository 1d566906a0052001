/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A run as a row of CSV, and as a table for people. */
#include "sim/command/command.h"

#include <inttypes.h>
#include <string.h>

/* A field of CSV: in quotes where it has a comma. */
static const char *field(const char *text, char *quoted, size_t size)
{
    snprintf(quoted, size, strchr(text, ',') ? "\"%s\"" : "%s", text);
    return quoted;
}

/* Of the nodes but the first one; only devices have any. */
static uint64_t most_of_others(const uint64_t *bytes, unsigned nodes)
{
    uint64_t most = 0;
    for (unsigned i = 1; i < nodes && i < OD_MAX_DEVICES; i++)
        most = bytes[i] > most ? bytes[i] : most;
    return most;
}

void sim_print_csv(const sim_command *c, const sim_graph *graph, const sim_machine *machine, const sim_result *result,
                   const sim_bounds *bounds)
{
    const od_device_stats *total = &result->total;
    if (c->header && machine->seed == c->seed)
        fputs("workload,n,tile,devices,mem_bytes,policy,eviction,seed,tasks,makespan_s,gflops,h2d_bytes,d2h_bytes,"
              "d2d_bytes,loads,evictions,lower_bound_bytes,sched_s,platform,buffer,data_bytes,reloads,stall_s,"
              "compute_bound_s,critical_path_s,bus_bound_s,peak_bytes,spilled_bytes,spill_peak_bytes,"
              "cpus,cores,cpu_tasks,cpu_busy_s,split,splits,nodes,card_bytes_s,first_sent_bytes,first_received_bytes,"
              "others_sent_bytes,others_received_bytes\n",
              c->csv);
    unsigned nodes = machine->platform->nodes.count;
    char cost[32] = "", policy[1100], label[1100];
    if (c->cost != SIM_COST_IGNORED)
        snprintf(cost, sizeof cost, "%.6f", result->sched_s);
    fprintf(c->csv,
            "%s,%u,%u,%u,%zu,%s,%s,%" PRIu64 ",%u,%.9f,%.1f,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
            ",%.0f,%s,%s,%u,%.0f,%" PRIu64 ",%.6f,%.6f,%.6f,%.6f,%" PRIu64 ",%" PRIu64 ",%zu,%u,%u,%" PRIu64
            ",%.6f,%s,%u,%u,%.0f,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n",
            field(c->label, label, sizeof label), c->workload.n, c->workload.tile, machine->ndevices, machine->memory,
            field(c->policy_text, policy, sizeof policy), c->evict->name, machine->seed, graph->ntasks,
            result->makespan, result->makespan > 0 ? sim_graph_flops(graph) / result->makespan * 1e-9 : 0,
            total->h2d_bytes, total->d2h_bytes, total->d2d_bytes, total->loads, total->evictions, bounds->load_bytes,
            cost, machine->platform->name, machine->buffer, sim_graph_bytes(graph), total->reloads,
            (double)total->stall_ns * 1e-9, machine->recursive ? result->bound_s : bounds->compute_s,
            bounds->critical_path_s, bounds->bus_s, (uint64_t)total->peak_bytes, total->spilled_bytes,
            result->spill_peak_bytes, machine->cpus, machine->cores, result->cpu.tasks,
            (double)result->cpu.busy_ns * 1e-9, machine->recursive ? c->split_text ? c->split_text : "never" : "",
            result->splits, nodes, nodes > 1 ? machine->platform->nodes.card : 0, result->sent[0], result->received[0],
            most_of_others(result->sent, nodes), most_of_others(result->received, nodes));
}

static double ratio(double value, double bound)
{
    return bound > 0 ? value / bound : 0;
}

/* Bytes in the unit of the table; of the unit model, where each datum is one byte, data. */
typedef struct scale {
    double per;
    const char *name;
} scale;

static void print_devices(const sim_machine *machine, const sim_result *result, scale unit)
{
    printf("  bytes in %s\n  %-6s %8s %10s %10s %10s %10s %8s %8s %9s %9s %8s\n", unit.name, "device", "tasks",
           "busy s", "h2d", "d2h", "d2d", "loads", "reloads", "evictions", "stall s", "peak");
    for (unsigned k = 0; k < machine->ndevices; k++) {
        const od_device_stats *d = &result->device[k];
        printf("  %-6u %8" PRIu64 " %10.3f %10.1f %10.1f %10.1f %8" PRIu64 " %8" PRIu64 " %9" PRIu64 " %9.3f %8.0f\n",
               k, d->tasks, (double)d->busy_ns * 1e-9, (double)d->h2d_bytes / unit.per, (double)d->d2h_bytes / unit.per,
               (double)d->d2d_bytes / unit.per, d->loads, d->reloads, d->evictions, (double)d->stall_ns * 1e-9,
               (double)d->peak_bytes / unit.per);
    }
}

/* How long each card was busy, of the makespan. */
static void print_network(const sim_machine *machine, const sim_result *result, scale unit)
{
    const sim_nodes *nodes = &machine->platform->nodes;
    uint64_t sent = most_of_others(result->sent, nodes->count),
             received = most_of_others(result->received, nodes->count);
    double all = result->makespan * nodes->card;
    printf(
        "  network  node 0 sends %.1f %s (%.0f%% of the time), receives %.1f (%.0f%%); another at most %.1f (%.0f%%), "
        "%.1f (%.0f%%)\n",
        (double)result->sent[0] / unit.per, unit.name, 100 * ratio((double)result->sent[0], all),
        (double)result->received[0] / unit.per, 100 * ratio((double)result->received[0], all), (double)sent / unit.per,
        100 * ratio((double)sent, all), (double)received / unit.per, 100 * ratio((double)received, all));
}

void sim_print_table(const sim_command *c, const sim_graph *graph, const sim_machine *machine, const sim_result *result,
                     const sim_bounds *bounds)
{
    scale unit = c->workload.unit ? (scale){1, "data"} : (scale){1e6, "MB"};
    double loaded = (double)(result->total.h2d_bytes + result->total.d2d_bytes), flops = sim_graph_flops(graph);
    if (machine->recording)
        printf("recorded run %s", c->label);
    else
        printf("%s n=%u", c->label, c->workload.n);
    printf(" on %s, %u device%s of %.0f %s, %s+%s, seed %" PRIu64 ": %u tasks, %u data of %.1f %s\n",
           machine->platform->name, machine->ndevices, machine->ndevices > 1 ? "s" : "",
           (double)machine->memory / unit.per, unit.name, c->policy_text, c->evict->name, machine->seed, graph->ntasks,
           graph->ndata, sim_graph_bytes(graph) / unit.per, unit.name);
    if (machine->recursive)
        printf("  makespan %12.6f s   %8.3f of the bound (compute %.6f s)\n  split    %12u tasks\n", result->makespan,
               ratio(result->makespan, result->bound_s), result->bound_s, result->splits);
    else
        printf("  makespan %12.6f s   %8.3f of the bound (compute %.6f s, critical path %.6f s, bus %.6f s)\n",
           result->makespan, ratio(result->makespan, bounds->time_s), bounds->compute_s, bounds->critical_path_s,
           bounds->bus_s);
    if (machine->cpus || machine->recursive)
        printf("  loaded   %12.1f %s\n", loaded / unit.per, unit.name);
    else
        printf("  loaded   %12.1f %-4s%8.3f of the bound (%.1f %s)\n", loaded / unit.per, unit.name,
               ratio(loaded, bounds->load_bytes), bounds->load_bytes / unit.per, unit.name);
    if (machine->recording)
        printf("  moved    h2d %" PRIu64 ", d2h %" PRIu64 ", d2d %" PRIu64 " bytes; the recorded run %" PRIu64
               ", %" PRIu64 ", %" PRIu64 "\n",
               result->total.h2d_bytes, result->total.d2h_bytes, result->total.d2d_bytes, machine->recording->h2d_bytes,
               machine->recording->d2h_bytes, machine->recording->d2d_bytes);
    if (result->spill_peak_bytes)
        printf("  spilled  %12.1f %-4sspill areas take up to %.1f %s\n", (double)result->total.spilled_bytes / unit.per,
               unit.name, (double)result->spill_peak_bytes / unit.per, unit.name);
    if (result->total.reruns)
        printf("  dropped  %12.1f %-4s%" PRIu64 " tasks ran again to make it\n",
               (double)result->total.dropped_bytes / unit.per, unit.name, result->total.reruns);
    if (!c->workload.unit && flops > 0)
        printf("  speed    %12.1f GFlop/s of %.1f\n", ratio(flops, result->makespan) * 1e-9,
               (machine->platform->peak * sim_platform_speed(machine->platform, machine->ndevices) +
                machine->platform->core_peak * machine->cpus * machine->cores) *
                   1e-9);
    if (machine->platform->nodes.count > 1)
        print_network(machine, result, unit);
    if (c->cost != SIM_COST_IGNORED)
        printf("  deciding %12.6f s   %8.3f us per task\n", result->sched_s,
               ratio(result->sched_s * 1e6, graph->ntasks));
    print_devices(machine, result, unit);
    if (machine->cpus)
        printf("  CPU    %8" PRIu64 " %10.3f of %u worker%s of %u core%s\n", result->cpu.tasks,
               (double)result->cpu.busy_ns * 1e-9, machine->cpus, machine->cpus == 1 ? "" : "s", machine->cores,
               machine->cores == 1 ? "" : "s");
}
