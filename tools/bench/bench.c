/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * `ompdarts bench`: the tiled kernels of bench/ under several policies, as a table, a JSON file and one report per
 * kernel.
 *
 * Each run is a separate process, `ompdarts run`. The policies take turns in every round, so that a machine that
 * others use is equally slow for all of them. The first round is not timed: it is traced for the report, checks the
 * results, and fills caches for the others.
 */
#include "sched/options.h"
#include "tools/bench/bench_results.h"
#include "tools/bench/kernel_run.h"
#include "tools/tools.h"
#include "util/log.h"
#include "util/options.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char usage[] =
    "Usage: ompdarts bench [OPTIONS] [KERNEL...]\n"
    "\n"
    "Runs tiled kernels under several policies on the devices of this machine, with memory for only a part\n"
    "of the data. Prints a table for each, and writes it as JSON, with a report that compares the runs. All results\n"
    "are checked.\n"
    "\n"
    "KERNEL is cholesky, lu, gemm2d (one task is a block row times a block column) or gemm3d (tile by tile); without\n"
    "one, cholesky and gemm2d.\n"
    "\n"
    "Options:\n"
    "  -s, --sched=SCHED[+EVICT]   a policy, and its eviction rule (`ompdarts info` lists both), or none: without the\n"
    "                              library, on the first device, without limits of memory and link; may be\n"
    "                              repeated; the others are compared with the first\n"
    "                              (default none, eager+lru, dmdar+lru, darts+luf)\n"
    "  -n, --tiles=N               tiles along each side of the matrix (default 16)\n"
    "  -t, --tile=ROWS             rows and columns of one tile (default 256)\n"
    "      --mem=SIZE|PERCENT%     memory of each device: a size such as 60M, or a share of the data (default 25%)\n"
    "      --devices=WHICH         as for `ompdarts run` (default all)\n"
    "      --backend=WHICH         as for `ompdarts run`, omptarget:link=12G for example (default auto)\n"
    "      --style=STYLE           task: each task maps its tiles; region: inside a data region; blas: host tasks\n"
    "                              that call a library (default task)\n"
    "      --type=TYPE             float or double (default float)\n"
    "      --target=TARGET         host, or nvptx: the programs that were built for NVIDIA's GPUs (default host)\n"
    "  -r, --repeat=R              timed rounds; the median counts (default 3)\n"
    "  -o, --output=FOLDER         folder for the results (default ompdarts-bench)\n"
    "  -h, --help                  this text\n"
    "\n"
    "FOLDER, whose parent must exist, will hold results.json and, for each kernel, KERNEL.html, and the traces and\n"
    "statistics behind it. Other options (`ompdarts env`) are taken from the environment.\n"
    "\n"
    "Exit status: 0 success; 1 a run failed, a result was wrong, or results could not be written; 2 the command line\n"
    "was refused.\n";

static double lower_half(double n)
{
    return n * (n + 1) / 2;
}

static double square(double n)
{
    return n * n;
}

/* A and B, four tiles deep; C is only written. */
static double block_rows(double n)
{
    return 8 * n;
}

static double three_squares(double n)
{
    return 3 * n * n;
}

static const bench_kernel kernels[MAX_KERNELS] = {
    {"cholesky", lower_half}, {"lu", square}, {"gemm2d", block_rows}, {"gemm3d", three_squares}};
static const char *const kernel_names[] = {"cholesky", "lu", "gemm2d", "gemm3d", NULL};

/* --- the command line ------------------------------------------------------------- */

static bool refuse(const char *option, const char *text, const char *allowed)
{
    od_tool_error("bench: %s=%s: not a valid value; allowed: %s", option, text, allowed);
    return false;
}

static bool parse_count(const char *option, const char *text, unsigned low, unsigned high, unsigned *value)
{
    char *end, allowed[64];
    errno = 0;
    unsigned long number = strtoul(text, &end, 10);
    if (*text >= '0' && *text <= '9' && !*end && !errno && number >= low && number <= high) {
        *value = (unsigned)number;
        return true;
    }
    snprintf(allowed, sizeof allowed, "a whole number from %u to %u", low, high);
    return refuse(option, text, allowed);
}

static bool parse_memory(const char *text, bench_request *r)
{
    static const char allowed[] = "a size > 0 such as 60M, or a share such as 25%";
    char *end;
    double percent = strtod(text, &end);
    if (end != text && strcmp(end, "%") == 0) {
        r->memory = 0;
        r->percent = percent;
        return (percent >= 0.001 && percent <= 10000) || refuse("--mem", text, allowed);
    }
    return (od_parse_size(text, &r->memory) == OD_OK && r->memory > 0) || refuse("--mem", text, allowed);
}

static bool parse_policy(const char *text, bench_request *r)
{
    const char *plus = strrchr(text, '+');
    if (plus && strchr(plus, '/')) /* of a plug-in's path */
        plus = NULL;
    bench_policy *p = &r->policies[r->npolicies];
    size_t length = plus ? (size_t)(plus - text) : strlen(text);
    od_policy_choice choice;
    char error[OD_OPTION_ERROR];

    if (r->npolicies == MAX_POLICIES) {
        od_tool_error("bench: more than %d policies", MAX_POLICIES);
        return false;
    }
    if (length >= sizeof p->sched || strlen(text) >= sizeof p->label || (plus && strlen(plus) > sizeof p->evict))
        return refuse("--sched", text, "SCHED[+EVICT]");
    snprintf(p->label, sizeof p->label, "%s", text);
    snprintf(p->sched, sizeof p->sched, "%.*s", (int)length, text);
    snprintf(p->evict, sizeof p->evict, "%s", plus ? plus + 1 : "auto");
    if (strcmp(text, BENCH_PLAIN) == 0) {
        r->npolicies++;
        return true;
    }
    if (od_policy_choose(p->sched, &choice, error, sizeof error) || od_evict_check(p->evict, error, sizeof error)) {
        od_tool_error("bench: --sched=%s: %s", text, error);
        return false;
    }
    r->npolicies++;
    return true;
}

static bool parse_word(const char *option, const char *text, const char *const *words, const char **value)
{
    char allowed[64] = "";
    for (size_t i = 0; words[i]; i++) {
        if (strcmp(text, words[i]) == 0) {
            *value = words[i];
            return true;
        }
        snprintf(allowed + strlen(allowed), sizeof allowed - strlen(allowed), "%s%s", i ? "|" : "", words[i]);
    }
    return refuse(option, text, allowed);
}

enum { MEMORY = 256, DEVICES, BACKEND, STYLE, TYPE, TARGET };

static bool take_option(int option, bench_request *r)
{
    static const char *const styles[] = {"task", "region", "blas", NULL}, *const types[] = {"float", "double", NULL},
                             *const targets[] = {"host", "nvptx", NULL};
    switch (option) {
    case 's':
        return parse_policy(optarg, r);
    case 'n':
        return parse_count("--tiles", optarg, 1, MAX_TILES, &r->tiles);
    case 't':
        return parse_count("--tile", optarg, 1, MAX_TILE, &r->tile);
    case 'r':
        return parse_count("--repeat", optarg, 1, MAX_ROUNDS, &r->rounds);
    case MEMORY:
        return parse_memory(optarg, r);
    case BACKEND:
        r->backend = optarg;
        return true;
    case STYLE:
        return parse_word("--style", optarg, styles, &r->style);
    case TYPE:
        return parse_word("--type", optarg, types, &r->type);
    case TARGET:
        return parse_word("--target", optarg, targets, &r->target);
    case DEVICES:
        r->devices = optarg;
        return true;
    default:
        r->output = optarg;
        return true;
    }
}

static bool take_kernel(const char *name, bench_request *r)
{
    for (size_t i = 0; i < MAX_KERNELS; i++) {
        if (strcmp(name, kernels[i].name) != 0)
            continue;
        for (size_t k = 0; k < r->nkernels; k++)
            if (r->kernels[k] == &kernels[i])
                return true;
        r->kernels[r->nkernels++] = &kernels[i];
        return true;
    }
    od_tool_unknown("kernel", name, kernel_names);
    return false;
}

static bool take_defaults(bench_request *r)
{
    if (r->nkernels == 0 && (!take_kernel("cholesky", r) || !take_kernel("gemm2d", r)))
        return false;
    return r->npolicies > 0 ||
           (parse_policy(BENCH_PLAIN, r) && parse_policy("eager+lru", r) && parse_policy("dmdar+lru", r) &&
            parse_policy("darts+luf", r));
}

/* OD_EXIT_REFUSED, or 0; `help`: that was all. */
static int parse(int argc, char **argv, bench_request *r, bool *help)
{
    static const struct option options[] = {{"sched", required_argument, NULL, 's'},
                                            {"tiles", required_argument, NULL, 'n'},
                                            {"tile", required_argument, NULL, 't'},
                                            {"mem", required_argument, NULL, MEMORY},
                                            {"devices", required_argument, NULL, DEVICES},
                                            {"backend", required_argument, NULL, BACKEND},
                                            {"style", required_argument, NULL, STYLE},
                                            {"type", required_argument, NULL, TYPE},
                                            {"target", required_argument, NULL, TARGET},
                                            {"repeat", required_argument, NULL, 'r'},
                                            {"output", required_argument, NULL, 'o'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    int option;
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":s:n:t:r:o:h", options, NULL)) != -1) {
        if (option == 'h') {
            fputs(usage, stdout);
            *help = true;
            return 0;
        }
        if (option == ':' || option == '?') {
            od_tool_bad_option(argv, option, options);
            return OD_EXIT_REFUSED;
        }
        if (!take_option(option, r))
            return OD_EXIT_REFUSED;
    }
    for (; optind < argc; optind++)
        if (!take_kernel(argv[optind], r))
            return OD_EXIT_REFUSED;
    return take_defaults(r) ? 0 : OD_EXIT_REFUSED;
}

/* --- all runs ----------------------------------------------------------------------- */

/* On a terminal the cursor stays at the beginning of the line, for messages. */
static void show_progress(const bench_request *r, const bench_kernel *k, size_t p, unsigned round)
{
    bool terminal = isatty(STDERR_FILENO);
    char what[48];
    snprintf(what, sizeof what, round ? "round %u of %u" : "traced and checked", round, r->rounds);
    fprintf(stderr, "%sbench: %s, %s: %s%s", terminal ? "\r\033[K" : "", k->name, what, r->policies[p].label,
            terminal ? "\r" : "\n");
}

static void emit_end(void)
{
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
}

static void warn_of_host_tasks(const bench_request *r, const bench_kernel *k, const bench_result *results)
{
    for (size_t p = 0; p < r->npolicies; p++)
        if (results[p].host_tasks > 0)
            od_tool_error("bench: %s under %s: %.0f of %.0f tasks ran on the host: too little memory (--mem)", k->name,
                          r->policies[p].label, results[p].host_tasks, results[p].tasks);
}

static bool run_kernel(const bench_request *r, const bench_kernel *k, bench_result *results)
{
    char name[64], program[PATH_MAX];
    snprintf(name, sizeof name, "%s%s", k->name, strcmp(r->target, "nvptx") == 0 ? "-nvptx" : "");
    if (!od_tool_find_helper(name, program, sizeof program)) {
        od_tool_error("bench: the program '%s' is not part of this build%s", name,
                      strcmp(r->target, "nvptx") == 0 ? ": build ompdarts with -DOMPDARTS_NVPTX_ARCH=... (docs/gpu.md)"
                                                      : "");
        return false;
    }
    for (unsigned round = 0; round <= r->rounds; round++) {
        for (size_t p = 0; p < r->npolicies; p++) {
            show_progress(r, k, p, round);
            if (!od_bench_run(r, k, p, program, round > 0, results[0].checksum, &results[p])) {
                emit_end();
                return false;
            }
        }
    }
    emit_end();
    warn_of_host_tasks(r, k, results);
    return true;
}

/* --- results ------------------------------------------------------------------------- */

/* By `ompdarts report`: all policies side by side. Without the library there is no trace. */
static bool write_report(const bench_request *r, const bench_kernel *k)
{
    char paths[MAX_POLICIES][PATH_MAX], page[PATH_MAX];
    char *argv[MAX_POLICIES + 5] = {"report", "-o", page, "--"};
    int argc = 4;
    snprintf(page, sizeof page, "%s/%s.html", r->output, k->name);
    for (size_t p = 0; p < r->npolicies; p++) {
        if (od_bench_is_plain(&r->policies[p]))
            continue;
        od_bench_path(paths[p], r, k, p, "trace.json");
        argv[argc++] = paths[p];
    }
    if (argc == 4)
        return true;
    optind = 0; /* getopt starts anew */
    return od_tool_report(argc, argv) == 0;
}

static bool make_folder(const char *path)
{
    struct stat info;
    if (mkdir(path, 0777) == 0 || (errno == EEXIST && stat(path, &info) == 0 && S_ISDIR(info.st_mode)))
        return true;
    od_tool_error("bench: %s: %s", path, strerror(errno));
    return false;
}

static bool run_kernels(const bench_request *r, bench_result *results, cJSON *all)
{
    for (size_t i = 0; i < r->nkernels; i++) {
        const bench_kernel *k = r->kernels[i];
        memset(results, 0, r->npolicies * sizeof *results);
        if (!run_kernel(r, k, results))
            return false;
        od_bench_print(r, k, results);
        fflush(stdout);
        od_bench_describe(cJSON_GetObjectItemCaseSensitive(all, "kernels"), r, k, results);
        if (!od_bench_write(r, all) || !write_report(r, k))
            return false;
    }
    return true;
}

/* Where a package has taken the run paths out of the programs, this finds their libomptarget. */
static bool add_llvm_folder(void)
{
    const char *folders = od_environment("LD_LIBRARY_PATH");
    char text[PATH_MAX];
    int length = snprintf(text, sizeof text, "%s%s%s", folders ? folders : "", folders && *folders ? ":" : "",
                          OMPDARTS_LLVM_LIBDIR);
    return length < (int)sizeof text && setenv("LD_LIBRARY_PATH", text, 1) == 0;
}

int od_tool_bench(int argc, char **argv)
{
    bench_request r = {.tiles = 16,
                       .tile = 256,
                       .rounds = 3,
                       .percent = 25,
                       .devices = "all",
                       .backend = "auto",
                       .style = "task",
                       .type = "float",
                       .target = "host",
                       .output = "ompdarts-bench"};
    bool help = false;
    int status = parse(argc, argv, &r, &help);
    if (status || help)
        return status;
    od_log_set_level(OD_LOG_WARNING);
    if (!add_llvm_folder() || !make_folder(r.output))
        return OD_EXIT_REFUSED;
    bench_result *results = calloc(r.npolicies, sizeof *results);
    cJSON *all = cJSON_CreateObject();
    cJSON_AddNumberToObject(all, "schema_version", 2);
    cJSON_AddStringToObject(all, "ompdarts_version", OMPDARTS_VERSION);
    cJSON_AddArrayToObject(all, "kernels");
    bool done = results && run_kernels(&r, results, all);
    cJSON_Delete(all);
    free(results);
    if (done)
        fprintf(stderr, "ompdarts: bench: figures in %s/results.json\n", r.output);
    return done ? 0 : OD_EXIT_FAILURE;
}
