/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * ompdarts-sim, which `ompdarts sim` runs: a workload or a recorded graph on a platform, in virtual time.
 */
#include "memmgr/options.h"
#include "sched/options.h"
#include "sim/bounds.h"
#include "sim/graph/workload.h"
#include "sim/simulate.h"
#include "sim/usage.h"
#include "trace/trace.h"
#include "util/file/name.h"
#include "util/nearest.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FAILED = 1, REFUSED = 2 };
enum { ALL_DEVICES = OD_MAX_DEVICES + 1 };

typedef struct command {
    const char *workload_text, *graph_name, *platform_name, *policy_text, *rule_name, *csv_name, *trace_name,
        *timeline_name;
    const char *label; /* of what is run, for people and the CSV */
    sim_workload workload;
    sim_graph graph; /* of a recorded run */
    sim_recording recording;
    od_policy_choice policy;
    const od_evict_ops *evict;
    size_t memory; /* 0: all data fit */
    unsigned devices, buffer, repeat, cost, results, recompute; /* the last: sim_cost, sim_results, od_recompute */
    double lookahead; /* seconds; negative: not given */
    int active;       /* as in od_engine_config */
    int64_t guard;
    size_t spill_limit;
    bool active_given, seed_given, quiet, plays, header; /* without SimGrid; of the CSV, before the first row */
    uint64_t seed;
    FILE *csv, *trace;
    char line[1024]; /* as it was typed, as far as it fits */
} command;

/* --- the command line -------------------------------------------------------------------- */

static int refuse(const char *message)
{
    fprintf(stderr, "ompdarts sim: %s\n", message);
    return REFUSED;
}

enum {
    DEVICES = 256,
    BUFFER,
    LOOKAHEAD,
    GUARD,
    SPILL_LIMIT,
    RECOMPUTE,
    SEED,
    REPEAT,
    MEMORY,
    COST,
    RESULTS,
    WORKLOAD,
    GRAPH,
    PLATFORM,
    MODEL,
    POLICY,
    RULE,
    CSV,
    TRACE,
    QUIET,
    HELP
};

static const struct option long_options[] = {
    {"workload", required_argument, NULL, WORKLOAD},
    {"graph", required_argument, NULL, GRAPH},
    {"platform", required_argument, NULL, PLATFORM},
    {"devices", required_argument, NULL, DEVICES},
    {"mem", required_argument, NULL, MEMORY},
    {"sched", required_argument, NULL, POLICY},
    {"evict", required_argument, NULL, RULE},
    {"buffer", required_argument, NULL, BUFFER},
    {"lookahead", required_argument, NULL, LOOKAHEAD},
    {"guard", required_argument, NULL, GUARD},
    {"spill-limit", required_argument, NULL, SPILL_LIMIT},
    {"recompute", required_argument, NULL, RECOMPUTE},
    {"seed", required_argument, NULL, SEED},
    {"repeat", required_argument, NULL, REPEAT},
    {"sched-time", required_argument, NULL, COST},
    {"model", required_argument, NULL, MODEL},
    {"results", required_argument, NULL, RESULTS},
    {"csv", required_argument, NULL, CSV},
    {"trace", required_argument, NULL, TRACE},
    {"quiet", no_argument, NULL, QUIET},
    {"help", no_argument, NULL, HELP},
    {0},
};

/* A number of the command line; false, with a message: not one. */
static bool take_number(const char *name, uint64_t least, uint64_t most, uint64_t *value)
{
    if (od_parse_integer(optarg, least, most, value) == OD_OK)
        return true;
    fprintf(stderr, "ompdarts sim: --%s=%s: not a whole number from %" PRIu64 " to %" PRIu64 "\n", name, optarg, least,
            most);
    return false;
}

static bool take_word(const char *name, const char *const words[3], unsigned *value)
{
    for (*value = 0; *value < 3; ++*value)
        if (strcmp(optarg, words[*value]) == 0)
            return true;
    fprintf(stderr, "ompdarts sim: --%s=%s: not one of %s, %s, %s\n", name, optarg, words[0], words[1], words[2]);
    return false;
}

static bool take_model(command *c)
{
    c->plays = strcmp(optarg, "oracle") == 0;
    if (c->plays || strcmp(optarg, "simgrid") == 0)
        return true;
    fprintf(stderr, "ompdarts sim: --model=%s: not one of simgrid, oracle\n", optarg);
    return false;
}

/* True where it was taken; false, with a message: it is not what is allowed. */
static bool taken(const char *name, od_status status, const char *allowed)
{
    if (status)
        fprintf(stderr, "ompdarts sim: --%s=%s: not %s\n", name, optarg, allowed);
    return status == OD_OK;
}

static od_status parse_memory(size_t *bytes)
{
    od_status status = od_parse_size(optarg, bytes);
    return status || *bytes ? status : OD_EINVAL;
}

static bool take_devices(command *c)
{
    char count[8];
    uint64_t number = ALL_DEVICES;
    c->active_given = strchr(optarg, ':') || strcmp(optarg, "auto") == 0;
    if (od_parse_active(optarg, count, sizeof count, &c->active) ||
        (strcmp(count, "all") != 0 && od_parse_integer(count, 1, OD_MAX_DEVICES, &number))) {
        fprintf(stderr,
                "ompdarts sim: --devices=%s: not a valid value; allowed: K, K:ACTIVE, or auto for all:auto; "
                "K: all, or a whole number from 1 to %d; ACTIVE: " OD_ACTIVE_ALLOWED "\n",
                optarg, OD_MAX_DEVICES);
        return false;
    }
    c->devices = (unsigned)number;
    return true;
}

/* Where the text of an option is kept as it is; NULL: nowhere. */
static const char **text_of(command *c, int option)
{
    switch (option) {
    case WORKLOAD:
        return &c->workload_text;
    case GRAPH:
        return &c->graph_name;
    case PLATFORM:
        return &c->platform_name;
    case POLICY:
        return &c->policy_text;
    case RULE:
        return &c->rule_name;
    case CSV:
        return &c->csv_name;
    case TRACE:
        return &c->trace_name;
    default:
        return NULL;
    }
}

/* False: refused, with a message. */
static bool take_option(command *c, int option)
{
    uint64_t number = 0;
    const char **text = text_of(c, option);
    if (text) {
        *text = optarg;
        return true;
    }
    switch (option) {
    case QUIET:
        c->quiet = true;
        return true;
    case COST:
        return take_word("sched-time", (const char *const[]){"ignore", "measure", "add"}, &c->cost);
    case RESULTS:
        return take_word("results", (const char *const[]){"stay", "late", "early"}, &c->results);
    case MODEL:
        return take_model(c);
    case MEMORY:
        return taken("mem", parse_memory(&c->memory), "a size above 0, for example 500M or 2Gi");
    case SEED:
        c->seed_given = true;
        return take_number("seed", 0, UINT64_MAX, &c->seed);
    case DEVICES:
        return take_devices(c);
    case BUFFER:
        if (!take_number("buffer", 1, OD_MOST_BUFFER, &number))
            return false;
        c->buffer = (unsigned)number;
        return true;
    case LOOKAHEAD:
        return taken("lookahead", od_parse_seconds(optarg, &c->lookahead),
                     "a number of seconds from 0 to " OD_MOST_SECONDS);
    case GUARD:
        return taken("guard", od_parse_guard(optarg, &c->guard), OD_GUARD_ALLOWED);
    case SPILL_LIMIT:
        return taken("spill-limit", od_parse_spill_limit(optarg, &c->spill_limit), OD_SPILL_LIMIT_ALLOWED);
    case RECOMPUTE:
        return take_word("recompute", (const char *const[]){"off", "auto", "always"}, &c->recompute);
    case REPEAT:
        if (!take_number("repeat", 1, 1000000, &number))
            return false;
        c->repeat = (unsigned)number;
        return true;
    default:
        return false;
    }
}

/* What is wrong with the option at which getopt_long() stopped. */
static void explain_option(const char *text, bool lacks_value)
{
    static const char *const instead[][2] = {{"--working", "--devices=K:ACTIVE"}, {"--policy", "--sched=POLICY"}};
    enum { OPTIONS = sizeof long_options / sizeof *long_options, SETTLED = sizeof instead / sizeof *instead };
    char names[OPTIONS][16], name[64];
    const char *known[OPTIONS] = {NULL}, *nearest;
    for (size_t k = 0; k < OPTIONS - 1; k++) {
        snprintf(names[k], sizeof names[k], "--%s", long_options[k].name);
        known[k] = names[k];
    }
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, "="), text);
    nearest = od_nearest_name(name, known);
    size_t i = 0;
    while (i < SETTLED && strcmp(name, instead[i][0]) != 0)
        i++;
    if (lacks_value)
        fprintf(stderr, "ompdarts sim: option '%s' needs a value\n", name);
    else if (optopt && strncmp(name, "--", 2) == 0)
        fprintf(stderr, "ompdarts sim: option '%s' takes no value\n", name);
    else if (i < SETTLED)
        fprintf(stderr, "ompdarts sim: unknown option '%s', write '%s'\n", name, instead[i][1]);
    else if (nearest)
        fprintf(stderr, "ompdarts sim: unknown option '%s', did you mean '%s'?\n", name, nearest);
    else
        fprintf(stderr, "ompdarts sim: unknown option '%s'; `ompdarts sim --help` lists all\n", name);
}

static bool choose_policy(command *c)
{
    char cause[OD_OPTION_ERROR];
    const char *name = c->rule_name;
    if (od_sched_choose(c->policy_text, &c->policy, cause, sizeof cause)) {
        fprintf(stderr, "ompdarts sim: --sched=%s: %s\n", c->policy_text, cause);
        return false;
    }
    if (od_evict_check(name, cause, sizeof cause)) {
        fprintf(stderr, "ompdarts sim: --evict=%s: %s\n", name, cause);
        return false;
    }
    c->evict = od_evict_find(strcmp(name, "auto") == 0 ? c->policy.ops->default_evict : name);
    return true;
}

static FILE *open_output(const char *name, const char *mode)
{
    bool is_program = od_file_is_program(name);
    FILE *file = strcmp(name, "-") == 0 ? stdout : is_program ? NULL : fopen(name, mode);
    if (!file)
        fprintf(stderr, "ompdarts sim: %s: %s\n", name, is_program ? OD_FILE_IS_PROGRAM : strerror(errno));
    return file;
}

/* What was not given is as in the recorded run. */
static void follow_recording(command *c)
{
    const sim_recording *r = &c->recording;
    bool other_policy = c->policy_text != NULL;
    c->policy_text = other_policy ? c->policy_text : r->policy;
    if (!c->rule_name)
        c->rule_name = other_policy ? "auto" : r->evict;
    c->memory = c->memory ? c->memory : r->memory;
    c->devices = c->devices ? c->devices : r->ndevices;
    c->buffer = c->buffer ? c->buffer : r->buffer;
    c->lookahead = c->lookahead >= 0 ? c->lookahead : r->lookahead;
    c->active = c->active_given ? c->active : r->active;
    c->seed = c->seed_given ? c->seed : r->seed;
}

static void use_defaults(command *c)
{
    c->policy_text = c->policy_text ? c->policy_text : "darts";
    c->rule_name = c->rule_name ? c->rule_name : "auto";
    c->devices = c->devices ? c->devices : 1;
    c->buffer = c->buffer ? c->buffer : 3;
    c->lookahead = c->lookahead >= 0 ? c->lookahead : 0;
    c->seed = c->seed_given ? c->seed : 1;
}

static od_status choose_work(command *c, char *error, size_t size)
{
    if (c->graph_name && sim_graph_read(c->graph_name, &c->graph, &c->recording, error, size))
        return OD_EINVAL;
    if (c->graph_name)
        follow_recording(c);
    use_defaults(c);
    c->workload.seed = c->seed;
    const char *slash = c->graph_name ? strrchr(c->graph_name, '/') : NULL;
    c->label = slash ? slash + 1 : c->graph_name;
    if (c->graph_name)
        return OD_OK;
    od_status status = sim_workload_parse(c->workload_text, &c->workload, error, size);
    c->label = c->workload.name;
    return status;
}

static bool is_timeline(const char *name)
{
    const char *ending = strrchr(name, '.');
    return od_trace_is_paje(name) || (ending && strcmp(ending, ".json") == 0);
}

static int parse(command *c, int argc, char **argv)
{
    char error[PATH_MAX + 512];
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, ":h", long_options, NULL)) != -1;) {
        if (option == HELP || option == 'h') {
            sim_print_usage(stdout);
            exit(0);
        }
        if (option == ':' || option == '?') {
            explain_option(argv[optind - 1], option == ':');
            return REFUSED;
        }
        if (!take_option(c, option))
            return REFUSED;
    }
    if (optind < argc) {
        snprintf(error, sizeof error, "'%s' is not an option", argv[optind]);
        return refuse(error);
    }
    if (!c->workload_text == !c->graph_name)
        return refuse("one of --workload and --graph is needed; `ompdarts sim --help` lists them");
    if (c->plays && (c->graph_name || c->trace_name || c->cost != SIM_COST_IGNORED || c->results))
        return refuse("--model=oracle goes with neither --graph, --trace, --results nor --sched-time");
    if (choose_work(c, error, sizeof error))
        return refuse(error);
    if (!choose_policy(c))
        return REFUSED;
    if (c->csv_name && !(c->csv = open_output(c->csv_name, "a")))
        return FAILED;
    if (c->csv)
        c->header = c->csv == stdout || (fseek(c->csv, 0, SEEK_END) == 0 && ftell(c->csv) == 0);
    if (c->trace_name && is_timeline(c->trace_name))
        c->timeline_name = c->trace_name;
    else if (c->trace_name && !(c->trace = open_output(c->trace_name, "w")))
        return FAILED;
    return 0;
}

/* --- results ------------------------------------------------------------------------------- */

/* A field of CSV: in quotes where it has a comma. */
static const char *field(const char *text, char *quoted, size_t size)
{
    snprintf(quoted, size, strchr(text, ',') ? "\"%s\"" : "%s", text);
    return quoted;
}

static void print_csv(const command *c, const sim_platform *platform, const sim_graph *graph,
                      const sim_machine *machine, const sim_result *result, const sim_bounds *bounds)
{
    const od_device_stats *total = &result->total;
    if (c->header && machine->seed == c->seed)
        fputs("workload,n,tile,devices,mem_bytes,policy,eviction,seed,tasks,makespan_s,gflops,h2d_bytes,d2h_bytes,"
              "d2d_bytes,loads,evictions,lower_bound_bytes,sched_s,platform,buffer,data_bytes,reloads,stall_s,"
              "compute_bound_s,critical_path_s,bus_bound_s,lookahead_s,peak_bytes,spilled_bytes,spill_peak_bytes\n",
              c->csv);
    char cost[32] = "", policy[1100], label[1100];
    if (c->cost != SIM_COST_IGNORED)
        snprintf(cost, sizeof cost, "%.6f", result->sched_s);
    fprintf(c->csv,
            "%s,%u,%u,%u,%zu,%s,%s,%" PRIu64 ",%u,%.9f,%.1f,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
            ",%.0f,%s,%s,%u,%.0f,%" PRIu64 ",%.6f,%.6f,%.6f,%.6f,%g,%" PRIu64 ",%" PRIu64 ",%zu\n",
            field(c->label, label, sizeof label), c->workload.n, c->workload.tile, machine->ndevices, machine->memory,
            field(c->policy_text, policy, sizeof policy), c->evict->name, machine->seed, graph->ntasks,
            result->makespan, result->makespan > 0 ? sim_graph_flops(graph) / result->makespan * 1e-9 : 0,
            total->h2d_bytes, total->d2h_bytes, total->d2d_bytes, total->loads, total->evictions, bounds->load_bytes,
            cost, platform->name, machine->buffer, sim_graph_bytes(graph), total->reloads,
            (double)total->stall_ns * 1e-9, bounds->compute_s, bounds->critical_path_s, bounds->bus_s,
            machine->lookahead, (uint64_t)total->peak_bytes, total->spilled_bytes, result->spill_peak_bytes);
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

static void print_table(const command *c, const sim_platform *platform, const sim_graph *graph,
                        const sim_machine *machine, const sim_result *result, const sim_bounds *bounds)
{
    scale unit = c->workload.unit ? (scale){1, "data"} : (scale){1e6, "MB"};
    double loaded = (double)(result->total.h2d_bytes + result->total.d2d_bytes), flops = sim_graph_flops(graph);
    if (machine->recording)
        printf("recorded run %s", c->label);
    else
        printf("%s n=%u", c->label, c->workload.n);
    printf(" on %s, %u device%s of %.0f %s, %s+%s, seed %" PRIu64 ": %u tasks, %u data of %.1f %s\n", platform->name,
           machine->ndevices, machine->ndevices > 1 ? "s" : "", (double)machine->memory / unit.per, unit.name,
           c->policy_text, c->evict->name, machine->seed, graph->ntasks, graph->ndata,
           sim_graph_bytes(graph) / unit.per, unit.name);
    printf("  makespan %12.6f s   %8.3f of the bound (compute %.6f s, critical path %.6f s, bus %.6f s)\n",
           result->makespan, ratio(result->makespan, bounds->time_s), bounds->compute_s, bounds->critical_path_s,
           bounds->bus_s);
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
               platform->peak * machine->ndevices * 1e-9);
    if (c->cost != SIM_COST_IGNORED)
        printf("  deciding %12.6f s   %8.3f us per task\n", result->sched_s,
               ratio(result->sched_s * 1e6, graph->ntasks));
    print_devices(machine, result, unit);
}

/* --- a run ---------------------------------------------------------------------------------- */

static size_t enough(const sim_graph *graph)
{
    double bytes = sim_graph_bytes(graph);
    return bytes > 1 ? (size_t)bytes : 1;
}

static int check_machine(const sim_graph *graph, const sim_machine *machine)
{
    char error[256];
    const sim_platform *platform = machine->platform;
    size_t footprint = sim_footprint(graph);
    if (machine->ndevices > platform->ndevices) {
        snprintf(error, sizeof error, "platform %s has %u devices, not %u", platform->name, platform->ndevices,
                 machine->ndevices);
        return refuse(error);
    }
    if (footprint * platform->slots <= machine->memory)
        return 0;
    snprintf(error, sizeof error, "%zu bytes of memory: %s need%s %zu (raise --mem or use smaller tiles)",
             machine->memory, platform->slots > 1 ? "the tasks of all slots" : "a task", platform->slots > 1 ? "" : "s",
             footprint * platform->slots);
    return refuse(error);
}

static int run_once(const command *c, uint64_t seed)
{
    char error[1024];
    sim_platform platform;
    sim_graph graph;
    sim_result result;
    sim_workload workload = c->workload;
    const sim_recording *recording = c->graph_name ? &c->recording : NULL;
    workload.seed = seed;
    if (sim_platform_load(c->platform_name, &platform, error, sizeof error))
        return refuse(error);
    if (recording)
        graph = c->graph;
    else
        sim_workload_make(&workload, &graph);
    sim_machine machine = {.platform = &platform,
                           .ndevices = c->devices == ALL_DEVICES ? platform.ndevices : c->devices,
                           .memory = c->memory ? c->memory : enough(&graph),
                           .buffer = c->buffer,
                           .lookahead = c->lookahead,
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
                           .progress = !c->quiet && isatty(STDERR_FILENO),
                           .trace = c->trace,
                           .timeline = c->timeline_name,
                           .recording = recording};
    int status = check_machine(&graph, &machine);
    if (!status && (c->plays ? sim_play : sim_run)(&graph, &machine, &result, error, sizeof error)) {
        refuse(error);
        status = FAILED;
    }
    if (!status) {
        sim_bounds bounds =
            sim_bounds_of(&graph, recording ? NULL : &workload, &platform, machine.ndevices, machine.memory);
        if (c->csv)
            print_csv(c, &platform, &graph, &machine, &result, &bounds);
        if (!c->csv || (!c->quiet && c->csv != stdout))
            print_table(c, &platform, &graph, &machine, &result, &bounds);
    }
    if (!recording)
        sim_graph_free(&graph);
    sim_platform_free(&platform);
    return status;
}

/* SimGrid has one simulation per process. */
static int run_in_child(const command *c, uint64_t seed)
{
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) {
        fprintf(stderr, "ompdarts sim: %s\n", strerror(errno));
        return FAILED;
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
    return FAILED;
}

static void keep_line(command *c, int argc, char **argv)
{
    size_t length = (size_t)snprintf(c->line, sizeof c->line, "ompdarts sim");
    for (int i = 1; i < argc && length < sizeof c->line; i++)
        length += (size_t)snprintf(c->line + length, sizeof c->line - length, " %s", argv[i]);
}

int main(int argc, char **argv)
{
    command c = {.platform_name = "pcie", .repeat = 1, .lookahead = -1};
    keep_line(&c, argc, argv);
    if (argc == 1) {
        sim_print_usage(stderr);
        return REFUSED;
    }
    int status = parse(&c, argc, argv);
    for (unsigned run = 0; !status && run < c.repeat; run++)
        status = c.repeat > 1 ? run_in_child(&c, c.seed + run) : run_once(&c, c.seed);
    sim_graph_free(&c.graph);
    sim_recording_free(&c.recording);
    bool failed = (c.csv && fflush(c.csv)) || (c.trace && fflush(c.trace));
    if (failed)
        fprintf(stderr, "ompdarts sim: writing failed: %s\n", strerror(errno));
    return status ? status : failed ? FAILED : 0;
}
