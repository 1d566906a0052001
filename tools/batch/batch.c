/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* `ompdarts batch`: a log of jobs that share input files, simulated on a cluster under several schedulers. */
#include "batch/generate.h"
#include "batch/log/complete.h"
#include "util/file/lines.h"
#include "batch/log/read.h"
#include "tools/batch/schedules.h"
#include "tools/tools.h"
#include "util/nearest.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BACKFILLED "-bf"

static const char usage[] =
    "Usage: ompdarts batch LOG --nodes=FILE|N:CORES:MEM:BANDWIDTH [OPTIONS]\n"
    "       ompdarts batch --generate=JOBS:LOAD[:BURST[:SEED]] --nodes=WHICH\n"
    "\n"
    "Simulates a cluster whose jobs read large input files, and compares schedulers that know which node has which "
    "file.\n"
    "LOG is CSV or in the Standard Workload Format; '-' is standard input.\n"
    "\n"
    "Options:\n"
    "  --nodes=WHICH      the cluster: N nodes with CORES, MEM GB and BANDWIDTH GB/s from the file system, or a FILE "
    "with\n"
    "                     such lines\n"
    "  --sched=NAME,...   schedulers, the first one is what the others are compared with; NAME-bf is NAME with\n"
    "                     conservative backfilling; all: each of them with and without (default: fcfs)\n"
    "  --backfill         with backfilling, all of them\n"
    "  --weight=W         how much a load weighs in lea (default: 500)\n"
    "  --walltimes=F      where the log has none: F times the longest job of the session, rounded up (default: 1.5)\n"
    "  --split            divide jobs with more cores than a node into jobs of a node, instead of refusing them\n"
    "  --window=FROM:TO   count jobs submitted in these seconds; the others are load around them (default: all)\n"
    "  --whole            plan all that waits at each event, though only what starts next matters: the same, slower\n"
    "  --jobs=FILE        what became of each job, as CSV\n"
    "  --sessions=FILE    likewise of each session\n"
    "  --json=FILE        sums and improvements\n"
    "  --svg=PREFIX       pictures: PREFIX-improvement.svg, PREFIX-sessions.svg, PREFIX-use-NAME.svg\n"
    "  --generate=WHAT    print a made-up log of so many JOBS, which ask for LOAD times the cluster (above 1: "
    "saturated), in\n"
    "                     bursts of up to BURST jobs on a file (default: 100)\n"
    "  -h, --help         this text\n"
    "\n"
    "Columns of the table: mean stretch of jobs (completion after submission, relative to an empty cluster); share of "
    "user\n"
    "sessions whose summed stretch changes by more than 1 %; of these, the quotient of the first scheduler's and this "
    "one's;\n"
    "time waiting for files and core time, relative to the first scheduler's; jobs killed at their walltime.\n"
    "\n";

typedef struct request {
    const char *log, *nodes, *schedulers;
    const char *jobs, *sessions, *json, *svg; /* NULL: not asked for */
    od_batch_workload workload;               /* 0 jobs: not asked for */
    od_batch_rules rules;
    double weight;
    bool backfill, whole;
} request;

enum { NODES = 256, SCHED, BACKFILL, WEIGHT, WALLTIMES, SPLIT, WINDOW, WHOLE, JOBS, SESSIONS, JSON, SVG, GENERATE };

static const struct option long_options[] = {
    {"nodes", required_argument, NULL, NODES},
    {"sched", required_argument, NULL, SCHED},
    {"backfill", no_argument, NULL, BACKFILL},
    {"weight", required_argument, NULL, WEIGHT},
    {"walltimes", required_argument, NULL, WALLTIMES},
    {"split", no_argument, NULL, SPLIT},
    {"window", required_argument, NULL, WINDOW},
    {"whole", no_argument, NULL, WHOLE},
    {"jobs", required_argument, NULL, JOBS},
    {"sessions", required_argument, NULL, SESSIONS},
    {"json", required_argument, NULL, JSON},
    {"svg", required_argument, NULL, SVG},
    {"generate", required_argument, NULL, GENERATE},
    {"help", no_argument, NULL, 'h'},
    {0},
};

static void print_usage(void)
{
    fputs(usage, stdout);
    fputs("Schedulers:\n", stdout);
    for (const char *const *name = od_batch_policy_names(); *name; name++)
        printf("  %-10s %s\n", *name, od_batch_policy_find(*name)->description);
    fputs("\nExit status: 0 success; 1 ompdarts itself failed; 2 an option, the cluster or LOG was refused.\n", stdout);
}

/* --- the command line ------------------------------------------------------------------ */

static bool take_number(const char *name, double least, double most, double *value)
{
    if (od_number(optarg, least, most, value))
        return true;
    od_tool_error("batch: --%s=%s: not a number from %g to %g", name, optarg, least, most);
    return false;
}

static bool take_window(od_batch_window *window)
{
    char text[128], *fields[2];
    snprintf(text, sizeof text, "%s", optarg);
    if (od_fields(text, ':', fields, 2) == 2 && od_number(fields[0], 0, OD_BATCH_MOST_SECONDS, &window->from) &&
        od_number(fields[1], 0, OD_BATCH_MOST_SECONDS, &window->to) && window->from < window->to)
        return true;
    od_tool_error("batch: --window=%s: not FROM:TO in seconds, such as 86400:691200", optarg);
    return false;
}

static bool take_workload(od_batch_workload *w)
{
    char text[128], *fields[4];
    double values[4] = {0, 0, 100, 1};
    static const double least[] = {1, 1e-3, 1, 0}, most[] = {1e9, 1000, 1e6, 1e9};
    snprintf(text, sizeof text, "%s", optarg);
    size_t count = od_fields(text, ':', fields, 4);
    bool fine = count >= 2 && count <= 4;
    for (size_t i = 0; i < count && fine; i++)
        fine = od_number(fields[i], least[i], most[i], &values[i]);
    if (!fine)
        od_tool_error("batch: --generate=%s: not JOBS:LOAD[:BURST[:SEED]], such as 10000:0.8", optarg);
    *w = (od_batch_workload){(uint32_t)values[0], (uint32_t)values[2], values[1], (uint64_t)values[3]};
    return fine;
}

static bool take_option(request *r, batch_study *study, int option)
{
    const struct {
        int option;
        const char **text;
    } texts[] = {{NODES, &r->nodes}, {SCHED, &r->schedulers}, {JOBS, &r->jobs}, {SESSIONS, &r->sessions},
                 {JSON, &r->json},   {SVG, &r->svg}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].option == option)
            *texts[i].text = optarg;
    if (option == WEIGHT)
        return take_number("weight", 0, 1e9, &r->weight);
    if (option == WALLTIMES)
        return take_number("walltimes", 1, 1000, &r->rules.walltime_factor);
    if (option == WINDOW)
        return take_window(&study->window);
    if (option == GENERATE)
        return take_workload(&r->workload);
    r->rules.split |= option == SPLIT;
    r->backfill |= option == BACKFILL;
    r->whole |= option == WHOLE;
    return true;
}

/* -1: go on; else the command's status. */
static int parse(int argc, char **argv, request *r, batch_study *study)
{
    int option;
    optind = 0;
    while ((option = od_tool_next_option(argc, argv, long_options)) != -1) {
        if (option == 'h') {
            print_usage();
            return 0;
        }
        if (option == '?' || !take_option(r, study, option))
            return OD_EXIT_REFUSED;
    }
    r->log = argv[optind];
    if (!r->log == (r->workload.jobs > 0) && (!r->log || !argv[optind + 1]) && r->nodes)
        return -1;
    od_tool_error("batch: %s; `ompdarts batch --help` explains",
                  !r->log && !r->workload.jobs ? "no LOG given" : !r->nodes ? "no --nodes given"
                  : r->workload.jobs           ? "a LOG beside --generate"
                                               : "more than one LOG");
    return OD_EXIT_REFUSED;
}

/* --- schedulers ------------------------------------------------------------------------------ */

static bool refuse_schedules(void)
{
    od_tool_error("batch: --sched: more than %d schedulers", BATCH_MOST_SCHEDULES);
    return false;
}

static bool add_schedule(const request *r, batch_study *study, const char *policy, bool backfill)
{
    if (study->count == BATCH_MOST_SCHEDULES)
        return refuse_schedules();
    batch_schedule *s = &study->schedules[study->count++];
    s->settings = (od_batch_settings){od_batch_policy_find(policy), backfill, r->weight};
    snprintf(s->name, sizeof s->name, "%.30s%s", policy, backfill ? BACKFILLED : "");
    return true;
}

static bool add_all(const request *r, batch_study *study)
{
    bool fine = add_schedule(r, study, "fcfs", r->backfill); /* the first one */
    for (int backfill = r->backfill; backfill <= 1 && fine; backfill++)
        for (const char *const *name = od_batch_policy_names(); *name && fine; name++)
            if (strcmp(*name, "fcfs") != 0 || backfill != r->backfill)
                fine = add_schedule(r, study, *name, backfill != 0);
    return fine;
}

static bool add_named(const request *r, batch_study *study, char *name)
{
    size_t length = strlen(name), suffix = strlen(BACKFILLED);
    bool backfill = length > suffix && strcmp(name + length - suffix, BACKFILLED) == 0;
    if (strcmp(name, "all") == 0)
        return add_all(r, study);
    if (backfill)
        name[length - suffix] = '\0';
    if (od_batch_policy_find(name))
        return add_schedule(r, study, name, backfill || r->backfill);
    od_tool_unknown("batch scheduler", name, od_batch_policy_names());
    return false;
}

static bool choose_schedulers(const request *r, batch_study *study)
{
    char text[1024], *names[BATCH_MOST_SCHEDULES];
    snprintf(text, sizeof text, "%s", r->schedulers);
    size_t count = od_fields(text, ',', names, BATCH_MOST_SCHEDULES);
    bool fine = count <= BATCH_MOST_SCHEDULES && strlen(r->schedulers) < sizeof text;
    if (!fine)
        return refuse_schedules();
    for (size_t i = 0; i < count && fine; i++)
        fine = add_named(r, study, names[i]);
    return fine;
}

/* --- the log and the cluster ------------------------------------------------------------------- */

/* The command's status; the message is printed. */
static int explain(od_status status, const char *what, const char *error)
{
    if (status == OD_EINVAL)
        od_tool_error("batch: %s: %s", what, error);
    else
        od_tool_error("batch: %s: %s", what, status == OD_EIO ? strerror(errno) : od_status_text(status));
    return status == OD_ENOMEM ? OD_EXIT_FAILURE : OD_EXIT_REFUSED;
}

static int load_cluster(const request *r, batch_study *study)
{
    char error[512];
    od_status status = od_batch_cluster_read(r->nodes, &study->cluster, error, sizeof error);
    if (status)
        return explain(status, r->nodes, error);
    for (uint32_t k = 0; k < study->cluster.count; k++)
        study->cores += study->cluster.nodes[k].cores;
    return 0;
}

static int load_log(const request *r, batch_study *study)
{
    char error[512];
    FILE *file = strcmp(r->log, "-") == 0 ? stdin : fopen(r->log, "re");
    if (!file)
        return explain(OD_EIO, r->log, error);
    od_status status = od_batch_log_read(file, &study->log, error, sizeof error);
    int problem = errno;
    if (file != stdin)
        fclose(file);
    errno = problem;
    if (!status)
        status = od_batch_log_complete(&study->log, &study->cluster, &r->rules, error, sizeof error);
    if (status)
        return explain(status, r->log, error);
    if (study->log.left_out)
        od_tool_error("batch: %s: %llu lines are left out: jobs that never ran, or parts of jobs", r->log,
                      (unsigned long long)study->log.left_out);
    return 0;
}

/* --- running ------------------------------------------------------------------------------------- */

static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static od_status simulate(batch_study *study, batch_schedule *s, bool whole)
{
    double begin = processor_seconds();
    s->outcomes = calloc((size_t)study->log.count + 1, sizeof *s->outcomes);
    od_status status = s->outcomes ? od_batch_simulate(&study->log, &study->cluster, &s->settings, whole, s->outcomes,
                                                       &s->effort)
                                   : OD_ENOMEM;
    s->seconds = processor_seconds() - begin;
    if (status)
        return status;
    s->sums = od_batch_sum_up(&study->log, &study->cluster, &study->window, s->outcomes);
    s->sessions = od_batch_sessions(&study->log, &study->cluster, &study->window, s->outcomes);
    return s->sessions
               ? od_batch_improve(study->schedules[0].sessions, s->sessions, study->log.sessions, &s->improvement)
               : OD_ENOMEM;
}

typedef enum batch_kind { AS_JOBS, AS_SESSIONS, AS_JSON, AS_BOXES, AS_SHARES, AS_USE } batch_kind;

static bool write_one(const batch_study *study, const char *name, batch_kind kind, const batch_schedule *schedule)
{
    FILE *file = name ? od_tool_create("batch", name) : NULL;
    od_status status = OD_OK;
    if (!file)
        return !name;
    switch (kind) {
    case AS_JOBS: batch_write_jobs(study, file); break;
    case AS_SESSIONS: batch_write_sessions(study, file); break;
    case AS_JSON: status = batch_write_json(study, file); break;
    case AS_BOXES: batch_draw_boxes(study, file); break;
    case AS_SHARES: batch_draw_shares(study, file); break;
    case AS_USE: status = batch_draw_use(study, schedule, file); break;
    }
    return od_tool_close("batch", name, file, status);
}

static bool draw(const request *r, const batch_study *study)
{
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%s-improvement.svg", r->svg);
    bool fine = write_one(study, name, AS_BOXES, NULL);
    snprintf(name, sizeof name, "%s-sessions.svg", r->svg);
    fine = fine && write_one(study, name, AS_SHARES, NULL);
    for (int i = 0; i < study->count && fine; i++) {
        snprintf(name, sizeof name, "%s-use-%s.svg", r->svg, study->schedules[i].name);
        fine = write_one(study, name, AS_USE, &study->schedules[i]);
    }
    return fine;
}

/* On a terminal one line says which scheduler is being simulated; NULL: none any more. */
static void show_progress(const batch_study *study, const batch_schedule *s)
{
    if (!isatty(STDERR_FILENO))
        return;
    fputs("\r\033[K", stderr);
    if (s)
        fprintf(stderr, "%s, %td of %d, %u jobs", s->name, s - study->schedules + 1, study->count, study->log.count);
}

static int run(const request *r, batch_study *study)
{
    for (int i = 0; i < study->count; i++) {
        show_progress(study, &study->schedules[i]);
        od_status status = simulate(study, &study->schedules[i], r->whole);
        show_progress(study, NULL);
        if (status)
            return explain(status, study->schedules[i].name, "");
    }
    batch_print_table(study, stdout);
    bool fine = write_one(study, r->jobs, AS_JOBS, NULL) && write_one(study, r->sessions, AS_SESSIONS, NULL) &&
                write_one(study, r->json, AS_JSON, NULL) && (!r->svg || draw(r, study));
    return fine ? 0 : OD_EXIT_FAILURE;
}

static void free_study(batch_study *study)
{
    for (int i = 0; i < study->count; i++) {
        free(study->schedules[i].outcomes);
        free(study->schedules[i].sessions);
        free(study->schedules[i].improvement.ratios);
    }
    od_batch_log_free(&study->log);
    od_batch_cluster_free(&study->cluster);
    free(study);
}

static int work(const request *r, batch_study *study)
{
    int status = choose_schedulers(r, study) ? load_cluster(r, study) : OD_EXIT_REFUSED;
    if (!status && r->workload.jobs) {
        od_batch_generate(&r->workload, &study->cluster, stdout);
        return 0;
    }
    status = status ? status : load_log(r, study);
    return status ? status : run(r, study);
}

int od_tool_batch(int argc, char **argv)
{
    request r = {.schedulers = "fcfs", .rules = od_batch_usual_rules(), .weight = OD_BATCH_USUAL_WEIGHT};
    batch_study *study = calloc(1, sizeof *study);
    if (!study)
        return OD_EXIT_FAILURE;
    study->window = (od_batch_window){0, HUGE_VAL};
    int status = parse(argc, argv, &r, study);
    if (status < 0)
        status = work(&r, study);
    free_study(study);
    return status;
}
