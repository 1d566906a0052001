/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* From the command line to what is to be run. */
#include "memmgr/options.h"
#include "sched/options.h"
#include "sim/command/command.h"
#include "sim/command/usage.h"
#include "trace/trace.h"
#include "util/file/name.h"
#include "util/nearest.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

int sim_command_refuse(const char *message)
{
    fprintf(stderr, "ompdarts sim: %s\n", message);
    return SIM_REFUSED;
}

enum {
    DEVICES = 256,
    NODES,
    NETWORK,
    GRID,
    CPU,
    BUFFER,
    GUARD,
    SPILL_LIMIT,
    RECOMPUTE,
    SEED,
    REPEAT,
    MEMORY,
    COST,
    DURATIONS,
    PROCESSORS,
    RESULTS,
    WORKLOAD,
    GRAPH,
    PLATFORM,
    MODEL,
    POLICY,
    RULE,
    SPLIT,
    CSV,
    TRACE,
    QUIET,
    HELP
};

static const struct option long_options[] = {
    {"workload", required_argument, NULL, WORKLOAD},
    {"graph", required_argument, NULL, GRAPH},
    {"platform", required_argument, NULL, PLATFORM},
    {"nodes", required_argument, NULL, NODES},
    {"network", required_argument, NULL, NETWORK},
    {"block-cyclic", required_argument, NULL, GRID},
    {"devices", required_argument, NULL, DEVICES},
    {"cpu", required_argument, NULL, CPU},
    {"mem", required_argument, NULL, MEMORY},
    {"sched", required_argument, NULL, POLICY},
    {"evict", required_argument, NULL, RULE},
    {"split", required_argument, NULL, SPLIT},
    {"buffer", required_argument, NULL, BUFFER},
    {"guard", required_argument, NULL, GUARD},
    {"spill-limit", required_argument, NULL, SPILL_LIMIT},
    {"recompute", required_argument, NULL, RECOMPUTE},
    {"seed", required_argument, NULL, SEED},
    {"repeat", required_argument, NULL, REPEAT},
    {"sched-time", required_argument, NULL, COST},
    {"durations", required_argument, NULL, DURATIONS},
    {"processors", required_argument, NULL, PROCESSORS},
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

/* One of two words: whether it is the second one. */
static bool take_second(const char *name, const char *first, const char *second, bool *value)
{
    *value = strcmp(optarg, second) == 0;
    if (*value || strcmp(optarg, first) == 0)
        return true;
    fprintf(stderr, "ompdarts sim: --%s=%s: not one of %s, %s\n", name, optarg, first, second);
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

static bool take_devices(sim_command *c)
{
    char count[8];
    uint64_t number = SIM_ALL_DEVICES;
    c->active_given = strchr(optarg, ':') || strcmp(optarg, "auto") == 0;
    if (od_parse_active(optarg, count, sizeof count, &c->active) ||
        (strcmp(count, "all") != 0 && od_parse_integer(count, 1, SIM_MOST_DEVICES, &number))) {
        fprintf(stderr,
                "ompdarts sim: --devices=%s: not a valid value; allowed: K, K:ACTIVE, or auto for all:auto; "
                "K: all, or a whole number from 1 to %d; ACTIVE: " OD_ACTIVE_ALLOWED "\n",
                optarg, SIM_MOST_DEVICES);
        return false;
    }
    c->devices = (unsigned)number;
    return true;
}

/* Of the text at `at`, up to a colon or the end; moves behind it. */
static bool take_rate(const char **at, double least, double most, double *value)
{
    char *end;
    double number = strtod(*at, &end);
    if (end == *at || (*end && *end != ':') || !(number >= least && number <= most))
        return false;
    *value = number;
    *at = *end ? end + 1 : end;
    return true;
}

static bool take_network(sim_nodes *nodes)
{
    static const double giga = 1e9, micro = 1e-6;
    const char *at = optarg;
    double card, shared = 0, latency = sim_one_node.latency / micro;
    bool ok = take_rate(&at, 1e-6, 1e6, &card) && (!*at || take_rate(&at, 0, 1e6, &shared)) &&
              (!*at || take_rate(&at, 0, 1e6, &latency)) && !*at && optarg[strlen(optarg) - 1] != ':';
    nodes->card = card * giga;
    nodes->shared = shared * giga;
    nodes->latency = latency * micro;
    return taken("network", ok ? OD_OK : OD_EINVAL, SIM_NETWORK_ALLOWED);
}

/* Where the text of an option is kept as it is; NULL: nowhere. */
static const char **text_of(sim_command *c, int option)
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
    case SPLIT:
        return &c->split_text;
    case CSV:
        return &c->csv_name;
    case TRACE:
        return &c->trace_name;
    default:
        return NULL;
    }
}

enum { MOST_PROCESSORS = 65536 };

/* False: refused, with a message. */
static bool take_option(sim_command *c, int option)
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
        return take_second("model", "simgrid", "oracle", &c->plays);
    case DURATIONS:
        return take_second("durations", "known", "learnt", &c->learns);
    case PROCESSORS:
        if (!take_number("processors", 0, MOST_PROCESSORS, &number))
            return false;
        c->processors = (unsigned)number;
        return true;
    case MEMORY:
        return taken("mem", parse_memory(&c->memory), "a size above 0, for example 500M or 2Gi");
    case SEED:
        c->seed_given = true;
        return take_number("seed", 0, UINT64_MAX, &c->seed);
    case DEVICES:
        return take_devices(c);
    case NODES:
        if (!take_number("nodes", 1, SIM_MOST_NODES, &number))
            return false;
        c->nodes.count = (unsigned)number;
        return true;
    case NETWORK:
        return take_network(&c->nodes);
    case GRID:
        return taken("block-cyclic", sim_grid_parse(optarg, &c->grid), SIM_GRID_ALLOWED);
    case CPU:
        return taken("cpu", od_parse_workers(optarg, &c->cpus, &c->cores), "N or N:W, whole numbers");
    case BUFFER:
        if (!take_number("buffer", 1, OD_MOST_BUFFER, &number))
            return false;
        c->buffer = (unsigned)number;
        return true;
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

static bool choose_policy(sim_command *c)
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

/* False: refused, with a message. */
static bool choose_split(sim_command *c)
{
    char cause[OD_OPTION_ERROR];
    if (c->split_text && !c->workload.nlevels)
        return !sim_command_refuse("--split is for recursive workloads, which have levels= (docs/simulator.md)");
    if (c->workload.nlevels && (c->plays || c->recompute || c->learns))
        return !sim_command_refuse("levels= goes with none of --model=oracle, --recompute and --durations");
    if (c->workload.nlevels && c->grid.rows)
        return !sim_command_refuse("a workload with levels= does not go with --block-cyclic");
    od_status status = od_split_choose(c->split_text ? c->split_text : "never", &c->split, cause, sizeof cause);
    if (!status && (!c->workload.nlevels || c->split.level < c->workload.nlevels))
        return true;
    if (!status)
        snprintf(cause, sizeof cause, "the program has no level %u: its levels are 0 to %u", c->split.level,
                 c->workload.nlevels - 1);
    fprintf(stderr, "ompdarts sim: --split=%s: %s\n", c->split_text, cause);
    return false;
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
static void follow_recording(sim_command *c)
{
    const sim_recording *r = &c->recording;
    bool other_policy = c->policy_text != NULL;
    c->policy_text = other_policy ? c->policy_text : r->policy;
    if (!c->rule_name)
        c->rule_name = other_policy ? "auto" : r->evict;
    c->memory = c->memory ? c->memory : r->memory;
    c->devices = c->devices ? c->devices : r->ndevices;
    c->buffer = c->buffer ? c->buffer : r->buffer;
    c->active = c->active_given ? c->active : r->active;
    c->seed = c->seed_given ? c->seed : r->seed;
}

static void use_defaults(sim_command *c)
{
    c->policy_text = c->policy_text ? c->policy_text : "auto";
    c->rule_name = c->rule_name ? c->rule_name : "auto";
    c->devices = c->devices ? c->devices : c->nodes.count > 1 ? SIM_ALL_DEVICES : 1;
    c->buffer = c->buffer ? c->buffer : 3;
    c->seed = c->seed_given ? c->seed : 1;
}

static od_status choose_work(sim_command *c, char *error, size_t size)
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

int sim_command_parse(sim_command *c, int argc, char **argv)
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
            return SIM_REFUSED;
        }
        if (!take_option(c, option))
            return SIM_REFUSED;
    }
    if (optind < argc) {
        snprintf(error, sizeof error, "'%s' is not an option", argv[optind]);
        return sim_command_refuse(error);
    }
    if (!c->workload_text == !c->graph_name)
        return sim_command_refuse("one of --workload and --graph is needed; `ompdarts sim --help` lists them");
    if (c->plays && (c->graph_name || c->trace_name || c->cost != SIM_COST_IGNORED || c->results))
        return sim_command_refuse("--model=oracle goes with neither --graph, --trace, --results nor --sched-time");
    if (c->grid.rows && c->graph_name)
        return sim_command_refuse("--block-cyclic is for workloads: a recorded run does not say where its tiles are");
    if ((c->learns && (c->graph_name || c->plays)) || (c->processors && c->plays))
        return sim_command_refuse(
            "--durations goes with neither --graph nor --model=oracle, --processors not with this");
    if (c->cpus && c->graph_name)
        return sim_command_refuse(
            "--cpu does not go with --graph: a recorded run does not say how long its tasks take on cores");
    if (choose_work(c, error, sizeof error))
        return sim_command_refuse(error);
    if (!choose_policy(c) || !choose_split(c))
        return SIM_REFUSED;
    if (c->csv_name && !(c->csv = open_output(c->csv_name, "a")))
        return SIM_FAILED;
    if (c->csv)
        c->header = c->csv == stdout || (fseek(c->csv, 0, SEEK_END) == 0 && ftell(c->csv) == 0);
    if (c->trace_name && is_timeline(c->trace_name))
        c->timeline_name = c->trace_name;
    else if (c->trace_name && !(c->trace = open_output(c->trace_name, "w")))
        return SIM_FAILED;
    return 0;
}
