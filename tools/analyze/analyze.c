/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* `ompdarts analyze`: how much memory a task graph needs, and how to keep every schedule of it below a bound. */
#include "dag/cut/program.h"
#include "dag/generate.h"
#include "dag/read/read.h"
#include "dag/write.h"
#include "sim/graph/workload.h"
#include "tools/analyze/recorded.h"
#include "tools/analyze/study.h"
#include "tools/tools.h"
#include "util/file/lines.h"
#include "util/options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char usage[] =
    "Usage: ompdarts analyze FILE [OPTIONS]\n"
    "       ompdarts analyze --workload=NAME[:ARGUMENT=VALUE,...] [OPTIONS]\n"
    "       ompdarts analyze --generate=KIND:TASKS[:SEED] [OPTIONS]\n"
    "\n"
    "How much memory a task graph needs: on one processor in several orders, and on any number of processors in any\n"
    "schedule. With a bound, the precedences that keep all schedules below it.\n"
    "FILE is a run recorded with OMPDARTS_RECORD, a graph as text or DOT (docs/memory.md), or a workflow in "
    "WfCommons'\n"
    "JSON; '-' is standard input.\n"
    "\n"
    "Options:\n"
    "  --workload=NAME    a workload of `ompdarts sim`, whose tasks take their operations at 1 Tflop/s\n"
    "  --generate=KIND    a made-up graph\n"
    "  --model=NAME       resident: inputs and outputs of a task are both in memory while it runs (default);\n"
    "                     replace: inputs are freed as outputs are allocated\n"
    "  --bound=SIZE       add precedences until no schedule needs more\n"
    "  --rule=NAME        which ones: min-levels, respect-order, max-size, max-min-size, or all (default)\n"
    "  --sched=NAME,...   simulate a recorded run or a workload under these policies: the peak of the devices, and "
    "what half\n"
    "                     of it costs. A comma ends a policy, so none can have more than one option\n"
    "  --devices=K        with this number of devices (default: 1)\n"
    "  --platform=NAME    of this machine (default: pcie)\n"
    "  --write=FILE       the graph, with the precedences of the rule that leaves the shortest critical path; "
    "FILE.dot: as\n"
    "                     DOT\n"
    "  --json=FILE        all results; '-': on standard output, instead of the table\n"
    "  --svg=PREFIX       pictures: PREFIX-memory.svg, and of small graphs PREFIX-cut.svg\n"
    "  --lp=FILE          the maximum cut as a linear program, for a solver such as glpsol\n"
    "  -h, --help         this text\n"
    "\n";

typedef struct request {
    const char *file, *workload, *generate;
    const char *write, *json, *svg, *lp, *sched; /* NULL: not asked for */
    const char *recorded; /* the file with the run, or NULL */
    char path[32];
} request;

enum { WORKLOAD = 256, GENERATE, MODEL, BOUND, RULE, WRITE, JSON, SVG, LP, SCHED, DEVICES, PLATFORM };

static const struct option long_options[] = {
    {"workload", required_argument, NULL, WORKLOAD},
    {"generate", required_argument, NULL, GENERATE},
    {"model", required_argument, NULL, MODEL},
    {"bound", required_argument, NULL, BOUND},
    {"rule", required_argument, NULL, RULE},
    {"write", required_argument, NULL, WRITE},
    {"json", required_argument, NULL, JSON},
    {"svg", required_argument, NULL, SVG},
    {"lp", required_argument, NULL, LP},
    {"sched", required_argument, NULL, SCHED},
    {"devices", required_argument, NULL, DEVICES},
    {"platform", required_argument, NULL, PLATFORM},
    {"help", no_argument, NULL, 'h'},
    {0},
};

static void print_pairs(const char *title, const char *const *lines)
{
    printf("%s:\n", title);
    for (; *lines; lines += 2)
        printf("  %-18s %s\n", lines[0], lines[1]);
    putchar('\n');
}

static void print_usage(void)
{
    fputs(usage, stdout);
    print_pairs("Kinds of made-up graphs", od_dag_generate_help());
    print_pairs("Workloads", sim_workload_help());
    fputs("Exit status: 0 success; 1 ompdarts itself failed; 2 an option, the graph or the bound was refused.\n",
          stdout);
}

/* --- the command line ------------------------------------------------------------------ */

static bool take_model(analyze_study *study)
{
    for (int i = 0; od_dag_model_names[i]; i++)
        if (strcmp(od_dag_model_names[i], optarg) == 0) {
            study->model = (od_dag_model)i;
            return true;
        }
    od_tool_unknown("model", optarg, od_dag_model_names);
    return false;
}

static bool take_rule(analyze_study *study)
{
    bool all = strcmp(optarg, "all") == 0, found = all;
    for (od_dag_rule rule = 0; rule < OD_DAG_RULES; rule++) {
        study->rules[rule].asked = all || strcmp(od_dag_rule_names[rule], optarg) == 0;
        found |= study->rules[rule].asked;
    }
    if (!found)
        od_tool_unknown("rule", optarg, od_dag_rule_names);
    return found;
}

static bool take_bound(analyze_study *study)
{
    size_t bytes;
    if (od_parse_size(optarg, &bytes) == OD_OK && bytes > 0 && bytes <= (uint64_t)OD_DAG_MOST_BYTES) {
        study->bound = (int64_t)bytes;
        return true;
    }
    od_tool_error("analyze: --bound=%s: not a size from 1 to 2^60 bytes, such as 500M", optarg);
    return false;
}

static bool take_option(request *r, analyze_study *study, int option)
{
    const struct {
        int option;
        const char **text;
    } texts[] = {{WORKLOAD, &r->workload},
                 {GENERATE, &r->generate},
                 {WRITE, &r->write},
                 {JSON, &r->json},
                 {SVG, &r->svg},
                 {LP, &r->lp},
                 {SCHED, &r->sched},
                 {DEVICES, &study->machine.devices},
                 {PLATFORM, &study->machine.platform}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].option == option)
            *texts[i].text = optarg;
    return option == MODEL  ? take_model(study)
           : option == RULE ? take_rule(study)
                            : option != BOUND || take_bound(study);
}

/* -1: go on; else the command's status. */
static int parse(int argc, char **argv, request *r, analyze_study *study)
{
    int option;
    optind = 0;
    do
        option = od_tool_next_option(argc, argv, long_options);
    while (option > 'h' && take_option(r, study, option));
    if (option == 'h')
        print_usage();
    if (option != -1)
        return option == 'h' ? 0 : OD_EXIT_REFUSED;
    r->file = argv[optind];
    int given = (r->file != NULL) + (r->workload != NULL) + (r->generate != NULL);
    if (given == 1 && (!r->file || !argv[optind + 1]))
        return -1;
    od_tool_error("analyze: %s; `ompdarts analyze --help` explains", given ? "more than one graph" : "no FILE given");
    return OD_EXIT_REFUSED;
}

/* --- the graph ------------------------------------------------------------------------------ */

/* What cannot be read twice, such as a pipe, is kept in a file without a name: its path, else `name`. NULL: an
 * error. */
static const char *reopenable(const char *name, char *path, size_t size)
{
    struct stat about;
    char bytes[1 << 14];
    bool is_input = strcmp(name, "-") == 0;
    if (!is_input && (stat(name, &about) || S_ISREG(about.st_mode)))
        return name;
    FILE *from = is_input ? stdin : fopen(name, "re"), *kept = from ? tmpfile() : NULL;
    bool failed = !kept;
    for (size_t n; !failed && (n = fread(bytes, 1, sizeof bytes, from)) > 0;)
        failed = fwrite(bytes, 1, n, kept) != n;
    failed = failed || ferror(from) || fflush(kept);
    if (from && !is_input)
        fclose(from);
    if (failed)
        return NULL;
    snprintf(path, size, "/dev/fd/%d", fileno(kept)); /* open until the command ends */
    return path;
}

/* Whether the file is a recorded run, which has a reader of its own. */
static bool is_recorded(const char *name)
{
    char line[32] = "";
    FILE *file = fopen(name, "re");
    if (!file)
        return false;
    size_t got = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[got] = '\0';
    return strncmp(line, "ompdarts-graph", 14) == 0;
}

static od_status read_graph(request *r, analyze_study *study, char *error, size_t size)
{
    od_status status = OD_EIO;
    const char *path = reopenable(r->file, r->path, sizeof r->path);
    if (path && is_recorded(path)) {
        r->recorded = path;
        return analyze_read_recorded(path, &study->dag, &study->machine.memory, error, size);
    }
    FILE *file = path ? fopen(path, "re") : NULL;
    if (file)
        status = od_dag_read(file, &study->dag, error, size);
    if (status == OD_EIO)
        snprintf(error, size, "%s", strerror(errno));
    if (file)
        fclose(file);
    return status;
}

/* The command's status; the message is printed. */
static int load(request *r, analyze_study *study)
{
    char error[1024] = "";
    const char *what = r->file ? r->file : r->workload ? r->workload : r->generate;
    od_status status = r->file       ? read_graph(r, study, error, sizeof error)
                       : r->workload ? analyze_make_workload(r->workload, &study->dag, error, sizeof error)
                                     : od_dag_generate(r->generate, &study->dag, error, sizeof error);
    if (status)
        od_tool_error("analyze: %s: %s", what, *error ? error : od_status_text(status));
    return !status ? 0 : status == OD_ENOMEM ? OD_EXIT_FAILURE : OD_EXIT_REFUSED;
}

/* --- devices ------------------------------------------------------------------------------------ */

static bool choose_policies(const request *r, analyze_machine *m)
{
    char text[ANALYZE_POLICIES * sizeof m->policies[0].name], *names[ANALYZE_POLICIES];
    bool fine = snprintf(text, sizeof text, "%s", r->sched) < (int)sizeof text;
    size_t count = od_fields(text, ',', names, ANALYZE_POLICIES);
    if (count > ANALYZE_POLICIES) {
        od_tool_error("analyze: --sched: more than %d policies", ANALYZE_POLICIES);
        return false;
    }
    for (size_t i = 0; i < count && fine; i++) {
        char *name = m->policies[m->count++].name;
        fine = snprintf(name, sizeof m->policies[0].name, "%s", names[i]) < (int)sizeof m->policies[0].name;
    }
    if (!fine)
        od_tool_error("analyze: --sched: a policy of more than %zu bytes", sizeof m->policies[0].name - 1);
    return fine;
}

/* The command's status. */
static int simulate(const request *r, analyze_study *study)
{
    if (!r->sched)
        return 0;
    if (!r->recorded && !r->workload) {
        od_tool_error("analyze: --sched: neither a recorded run nor a workload: what devices do with it is not known");
        return OD_EXIT_REFUSED;
    }
    if (!choose_policies(r, &study->machine))
        return OD_EXIT_REFUSED;
    od_status status = analyze_simulate(&study->machine, r->recorded ? "--graph" : "--workload",
                                        r->recorded ? r->recorded : r->workload, study->data_bytes);
    return status ? OD_EXIT_REFUSED : 0;
}

/* --- output ----------------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

typedef enum analyze_kind { AS_JSON, AS_PROGRAM, AS_MEMORY, AS_CUT } analyze_kind;

static bool write_one(const analyze_study *study, const char *name, analyze_kind kind)
{
    FILE *file = name ? od_tool_create("analyze", name) : NULL;
    od_status status = OD_OK;
    if (!file)
        return !name;
    switch (kind) {
    case AS_JSON:
        status = analyze_write_json(study, file);
        break;
    case AS_PROGRAM:
        status = od_dag_write_program(&study->dag, study->model, file);
        break;
    case AS_MEMORY:
        status = analyze_draw_memory(study, file);
        break;
    case AS_CUT:
        status = analyze_draw_cut(study, analyze_best_rule(study), file);
        break;
    }
    return od_tool_close("analyze", name, file, status);
}

static bool draw(const request *r, const analyze_study *study)
{
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%s-memory.svg", r->svg);
    bool fine = write_one(study, name, AS_MEMORY);
    if (!fine || study->dag.ntasks > ANALYZE_FEW)
        return fine;
    snprintf(name, sizeof name, "%s-cut.svg", r->svg);
    return write_one(study, name, AS_CUT);
}

/* Last: the graph changes. */
static bool write_graph(const request *r, analyze_study *study)
{
    od_dag_rule rule = analyze_best_rule(study);
    uint32_t added = rule < OD_DAG_RULES ? study->rules[rule].result.added : 0;
    FILE *file = r->write ? od_tool_create("analyze", r->write) : NULL;
    if (!file)
        return !r->write;
    od_status status = rule < OD_DAG_RULES ? analyze_apply(study, rule) : OD_OK;
    if (!status && ends_with(r->write, ".dot"))
        od_dag_write_dot(&study->dag, added, file);
    else if (!status)
        od_dag_write_text(&study->dag, file);
    return od_tool_close("analyze", r->write, file, status);
}

/* What cannot be kept is said before anything else is done with it. */
static bool bound_is_possible(const analyze_study *study)
{
    const analyze_order *best = &study->orders[study->best];
    const char *least = study->largest_need > study->bound ? analyze_bytes(study->largest_need) : NULL;
    if (!study->bound)
        return true;
    if (least)
        od_tool_error("analyze: --bound: one task alone needs %s, %lld bytes more", least,
                      (long long)(study->largest_need - study->bound));
    else if (best->peak > study->bound && study->optimal)
        od_tool_error("analyze: --bound: one processor needs %s in the best order, %lld bytes more",
                      analyze_bytes(best->peak), (long long)(best->peak - study->bound));
    else
        return true;
    return false;
}

/* What is written keeps the bound. */
static bool write_is_possible(const request *r, const analyze_study *study)
{
    if (!r->write || !study->bound || study->cut.bound <= study->bound || analyze_best_rule(study) < OD_DAG_RULES)
        return true;
    if (study->dag.ntasks > ANALYZE_SERIALISED)
        od_tool_error("analyze: --write: no precedences for --bound: more than %d tasks", ANALYZE_SERIALISED);
    else
        od_tool_error("analyze: --write: no rule keeps %s; without --write the table shows what they reach",
                      analyze_bytes(study->bound));
    return false;
}

static int work(request *r, analyze_study *study)
{
    int status = load(r, study);
    od_status computed = status ? OD_OK : analyze_compute(study);
    if (status)
        return status;
    if (computed) {
        od_tool_error("analyze: %s", od_status_text(computed));
        return OD_EXIT_FAILURE;
    }
    if (!bound_is_possible(study) || !write_is_possible(r, study))
        return OD_EXIT_REFUSED;
    status = simulate(r, study);
    if (status)
        return status;
    bool on_output = r->json && strcmp(r->json, "-") == 0;
    if (!on_output)
        analyze_print(study, stdout);
    bool fine = (on_output ? !analyze_write_json(study, stdout) : write_one(study, r->json, AS_JSON)) &&
                write_one(study, r->lp, AS_PROGRAM) &&
                (!r->svg || draw(r, study)) && write_graph(r, study);
    return fine ? 0 : OD_EXIT_FAILURE;
}

int od_tool_analyze(int argc, char **argv)
{
    request r = {0};
    analyze_study *study = calloc(1, sizeof *study);
    if (!study)
        return OD_EXIT_FAILURE;
    study->machine = (analyze_machine){.platform = "pcie", .devices = "1"};
    for (int rule = 0; rule < OD_DAG_RULES; rule++)
        study->rules[rule].asked = true;
    int status = parse(argc, argv, &r, study);
    if (status < 0)
        status = work(&r, study);
    analyze_free(study);
    free(study);
    return status;
}
