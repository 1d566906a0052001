/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * ompdarts-sim, which `ompdarts sim` runs: a workload or a recorded graph on a platform, in virtual time.
 */
#include "sim/command/command.h"
#include "sim/command/usage.h"
#include "sim/recursion/recursion.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static size_t enough(const sim_graph *graph)
{
    double bytes = sim_graph_bytes(graph);
    return bytes > 1 ? (size_t)bytes : 1;
}

/* False: the platform has them. */
static bool check_cpu(const sim_machine *machine, char *error, size_t size)
{
    const sim_platform *platform = machine->platform;
    uint64_t cores = (uint64_t)machine->cpus * machine->cores;
    if (cores && !platform->cores)
        snprintf(error, size, "platform %s says nothing of the host's cores (docs/simulator.md)", platform->name);
    else if (cores > platform->cores)
        snprintf(error, size, "platform %s has %u cores, not %" PRIu64, platform->name, platform->cores, cores);
    else if (machine->cpus > OD_MAX_CPUS)
        snprintf(error, size, "at most %d CPU workers are possible; give each of them more cores (N:W)", OD_MAX_CPUS);
    else
        return false;
    return true;
}

static int check_machine(const sim_graph *graph, const sim_machine *machine)
{
    char error[256];
    const sim_platform *platform = machine->platform;
    size_t footprint = machine->recursive ? sim_recursive_footprint(machine->recursive) : sim_footprint(graph);
    if (machine->ndevices > platform->ndevices) {
        snprintf(error, sizeof error, "platform %s has %u devices, not %u", platform->name, platform->ndevices,
                 machine->ndevices);
        return sim_command_refuse(error);
    }
    if (check_cpu(machine, error, sizeof error))
        return sim_command_refuse(error);
    if (footprint * platform->slots <= machine->memory)
        return 0;
    snprintf(error, sizeof error, "%zu bytes of memory: %s need%s %zu (raise --mem or use smaller tiles)",
             machine->memory, platform->slots > 1 ? "the tasks of all slots" : "a task", platform->slots > 1 ? "" : "s",
             footprint * platform->slots);
    return sim_command_refuse(error);
}

static int run_once(const sim_command *c, uint64_t seed)
{
    char error[1024];
    sim_platform platform;
    sim_graph graph;
    sim_result result;
    sim_workload workload = c->workload;
    const sim_recording *recording = c->graph_name ? &c->recording : NULL;
    workload.seed = seed;
    if (sim_platform_load(c->platform_name, &c->nodes, &platform, error, sizeof error))
        return sim_command_refuse(error);
    unsigned devices = c->devices == SIM_ALL_DEVICES ? platform.total : c->devices;
    if (devices > OD_MAX_DEVICES && devices <= platform.total) {
        sim_platform_free(&platform);
        return SIM_TOO_LARGE;
    }
    if (recording)
        graph = c->graph;
    else if (workload.nlevels)
        sim_recursion_data(&workload, &graph);
    else
        sim_workload_make(&workload, &graph);
    if (c->grid.rows && (c->grid.rows * c->grid.columns != c->nodes.count || devices != platform.total))
        return sim_command_refuse("--block-cyclic is not a grid of all nodes with all their devices");
    if (c->grid.rows)
        sim_grid_distribute(&c->grid, devices / c->nodes.count, &graph);
    sim_machine machine = {.platform = &platform,
                           .ndevices = devices,
                           .memory = c->memory ? c->memory : enough(&graph),
                           .cpus = c->cpus,
                           .cores = c->cores,
                           .buffer = c->buffer,
                           .guard = c->guard,
                           .spill_limit = c->spill_limit,
                           .recompute = (od_recompute)c->recompute,
                           .active = c->active,
                           .policy = c->policy,
                           .policy_text = c->policy_text,
                           .command = c->line,
                           .evict = c->evict,
                           .seed = seed,
                           .cost = (sim_cost)c->cost,
                           .results = (sim_results)c->results,
                           .durations = c->learns ? SIM_DURATIONS_LEARNT : SIM_DURATIONS_KNOWN,
                           .processors = c->processors,
                           .progress = !c->quiet && isatty(STDERR_FILENO),
                           .trace = c->trace,
                           .timeline = c->timeline_name,
                           .recording = recording,
                           .recursive = workload.nlevels ? &workload : NULL,
                           .split = c->split};
    int status = check_machine(&graph, &machine);
    if (!status && (c->plays ? sim_play : sim_run)(&graph, &machine, &result, error, sizeof error)) {
        sim_command_refuse(error);
        status = SIM_FAILED;
    }
    if (!status) {
        sim_bounds bounds = {0};
        if (!machine.recursive)
            bounds = sim_bounds_of(&graph, recording ? NULL : &workload, &machine);
        if (c->csv)
            sim_print_csv(c, &graph, &machine, &result, &bounds);
        if (!c->csv || (!c->quiet && c->csv != stdout))
            sim_print_table(c, &graph, &machine, &result, &bounds);
    }
    if (!recording)
        sim_graph_free(&graph);
    sim_platform_free(&platform);
    return status;
}

/* The same with the program beside this one that can hold more devices. Returns where that is not possible. */
static int hand_over(char **argv)
{
    static const char wide[] = "ompdarts-sim-wide";
    char path[PATH_MAX + sizeof wide], error[128];
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
    path[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(path, '/');
    snprintf(error, sizeof error, "more than %d devices", OD_MAX_DEVICES);
    if ((int)OD_MAX_DEVICES < (int)SIM_MOST_DEVICES && slash) {
        memcpy(slash + 1, wide, sizeof wide);
        fflush(NULL);
        execv(path, argv);
        snprintf(error, sizeof error, "more than %d devices: %s: %s", OD_MAX_DEVICES, wide, strerror(errno));
    }
    return sim_command_refuse(error);
}

/* SimGrid has one simulation per process. */
static int run_in_child(const sim_command *c, uint64_t seed)
{
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) {
        fprintf(stderr, "ompdarts sim: %s\n", strerror(errno));
        return SIM_FAILED;
    }
    if (child == 0) {
        int status = run_once(c, seed);
        fflush(NULL);
        _exit(status);
    }
    int status;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    fprintf(stderr, "ompdarts sim: the simulation was ended by signal %d\n", WTERMSIG(status));
    return SIM_FAILED;
}

static void keep_line(sim_command *c, int argc, char **argv)
{
    size_t length = (size_t)snprintf(c->line, sizeof c->line, "ompdarts sim");
    for (int i = 1; i < argc && length < sizeof c->line; i++)
        length += (size_t)snprintf(c->line + length, sizeof c->line - length, " %s", argv[i]);
}

int main(int argc, char **argv)
{
    sim_command c = {.platform_name = "pcie", .repeat = 1, .nodes = sim_one_node};
    keep_line(&c, argc, argv);
    if (argc == 1) {
        sim_print_usage(stderr);
        return SIM_REFUSED;
    }
    int status = sim_command_parse(&c, argc, argv);
    for (unsigned run = 0; !status && run < c.repeat; run++)
        status = c.repeat > 1 ? run_in_child(&c, c.seed + run) : run_once(&c, c.seed);
    if (status == SIM_TOO_LARGE)
        status = hand_over(argv);
    sim_graph_free(&c.graph);
    sim_recording_free(&c.recording);
    bool failed = (c.csv && fflush(c.csv)) || (c.trace && fflush(c.trace));
    if (failed)
        fprintf(stderr, "ompdarts sim: writing failed: %s\n", strerror(errno));
    return status ? status : failed ? SIM_FAILED : 0;
}
