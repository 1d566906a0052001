/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * `ompdarts report`: what happened in a run, as text, or as one page to look at that needs nothing else.
 */
#include "tools/report/compare.h"
#include "tools/report/page/page.h"
#include "tools/tools.h"
#include "util/file/name.h"
#include "util/options.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char usage[] =
    "Usage: ompdarts report TRACE... [-o REPORT.html]\n"
    "\n"
    "Explains runs from the traces of `ompdarts run --trace` or `ompdarts sim --trace`: what each device did and\n"
    "waited for, what moved, and what could be improved. Several traces are compared.\n"
    "\n"
    "Options:\n"
    "  -o, --output=FILE  write one self-contained page with pictures, for any browser; '-' is standard output\n"
    "                     (default: text on standard output)\n"
    "  --spans=N          the page shows N tasks of a run, and as many transfers, one by one (default: 1000000); "
    "beyond\n"
    "                     that, neighbours are joined. Up to a quarter of it each task has its data and waits.\n"
    "  -h, --help         this text\n"
    "\n"
    "Of a truncated trace, what can be read is shown.\n"
    "\n"
    "Exit status: 0 success; 1 the report could not be written; 2 the command line or a trace was refused.\n";

/* --- text ---------------------------------------------------------------------- */

static double mb(uint64_t bytes)
{
    return (double)bytes * 1e-6;
}

static double share(double part, double all)
{
    return all > 0 ? 100 * part / all : 0;
}

/* The shares of the table's columns, in their order; several of the causes of having no task are one. */
enum { COLUMNS = 8 };
static const char *const columns[COLUMNS][2] = {{"", "busy"}, {"", "start"}, {"waits", "loads"}, {"for", "memory"},
                                                {"", "data"}, {"", "idle"}, {"host", "vers."}, {"no", "task"}};
static const unsigned column_of[SHARES] = {[SHARE_BUSY] = 0, [SHARE_START] = 1,  [SHARE_LOADS] = 2,
                                           [SHARE_MEMORY] = 3, [SHARE_RIGHTS] = 4, [SHARE_IDLE] = 5,
                                           [SHARE_HOST] = 6, [SHARE_KEPT] = 7, [SHARE_HANDED_LATE] = 7,
                                           [SHARE_DEPENDENCES] = 7, [SHARE_NOT_CREATED] = 7};

/* Of the first column. */
static int name_width(const report_run *r)
{
    int width = 12;
    for (unsigned i = 0; i < r->ranks.count; i++) {
        int own = snprintf(NULL, 0, "rank %u on %s", r->ranks.at[i].about->number, r->ranks.at[i].about->host);
        width = own > width ? own : width;
    }
    for (unsigned k = 0; r->ranks.count && k < r->trace.ndevices; k++) {
        int own = 2 + (int)strlen(r->trace.device[k]);
        width = own > width ? own : width;
    }
    return width;
}

static void print_heads(const report_run *r, int width)
{
    for (unsigned line = 0; line < 2; line++) {
        printf("%-*s %7s", width, line ? "device" : "% of time:", line ? "tasks" : "");
        for (unsigned c = 0; c < COLUMNS; c++)
            printf(" %6s", columns[c][line]);
        if (!line)
            putchar('\n');
    }
    printf(" %9s %9s %9s", "MB in", "MB out", "MB peer");
    if (r->ranks.count)
        printf(" %9s", "MB remote");
    printf(" %8s %8s %9s %9s\n", "loads", "reloads", "evictions", "peak MB");
}

/* In percent of the makespan, on the mean of n devices; they sum to 100. */
static void print_figures(const report_run *r, const char *name, int width, const run_device *d, unsigned n)
{
    double all_us = r->figures.makespan_us * n;
    double shares[COLUMNS] = {0};
    for (unsigned i = 0; i < SHARES; i++)
        shares[column_of[i]] += d->share_us[i];
    printf("%-*s %7" PRIu64, width, name, d->tasks);
    for (unsigned c = 0; c < COLUMNS; c++)
        printf(" %6.1f", share(shares[c], all_us));
    printf(" %9.1f %9.1f %9.1f", mb(d->in_bytes), mb(d->out_bytes), mb(d->peer_bytes));
    if (r->ranks.count)
        printf(" %9.1f", mb(d->remote_bytes));
    printf(" %8" PRIu64 " %8" PRIu64 " %9" PRIu64 " %9.1f\n", d->loads, d->reloads, d->evictions, mb(d->peak_bytes));
}

/* Each rank, its devices below. */
static void print_ranks(const report_run *r, int width)
{
    char name[160];
    for (unsigned i = 0; i < r->ranks.count; i++) {
        const run_rank *rank = &r->ranks.at[i];
        snprintf(name, sizeof name, "rank %u on %s", rank->about->number, rank->about->host);
        print_figures(r, name, width, &rank->sum, rank->ndevices);
        for (unsigned k = 0; k < r->trace.ndevices; k++) {
            if (r->trace.rank[k].number != rank->about->number)
                continue;
            snprintf(name, sizeof name, "  %s", r->trace.device[k]);
            print_figures(r, name, width, &r->figures.device[k], 1);
        }
    }
}

static void print_devices(const report_run *r, int width)
{
    if (r->ranks.count)
        print_ranks(r, width);
    else
        for (unsigned k = 0; k < r->trace.ndevices; k++)
            print_figures(r, r->trace.device[k], width, &r->figures.device[k], 1);
}

static void print_host(const run_figures *f, int width)
{
    double busy = share(f->host_busy_us, f->makespan_us);
    printf("%-*s %7" PRIu64 " %6.1f", width, "host", f->host_tasks, busy);
    for (unsigned c = 1; c + 1 < COLUMNS; c++)
        printf(" %6s", "-");
    printf(" %6.1f\n", 100 - busy);
}

/* Of each device how much of the array it held. */
static void print_array(const report_run *r, const run_array *a)
{
    char name[40];
    const char *variable = a->variable == TRACE_NO_NAME ? NULL : r->trace.variables[a->variable];
    if (variable)
        snprintf(name, sizeof name, "%s", variable);
    else
        snprintf(name, sizeof name, "0x%" PRIxPTR, a->all.address);
    printf("%-20s %9.1f %7" PRIu64 " %7" PRIu64 " %9.3f ", name, mb(a->all.size), a->parts, a->faults,
           a->fault_us * 1e-6);
    for (unsigned k = 0; k < r->trace.ndevices; k++)
        printf(" %5.1f (%.1f)", share(a->mean[k], (double)a->all.size), share((double)a->most[k], (double)a->all.size));
    putchar('\n');
}

static void print_arrays(const report_run *r)
{
    enum { MOST = 20 };
    size_t n = r->arrays.count, shown = n < MOST ? n : MOST;
    if (n)
        printf("%-20s %9s %7s %7s %9s  %s\n", "array in parts", "MB", "parts", "faults", "waited s",
               "% of it on each device: mean (most)");
    for (size_t i = 0; i < shown; i++)
        print_array(r, &r->arrays.at[i]);
    if (shown < n)
        printf("and %zu more arrays\n", n - shown);
}

static void print_run(const report_run *r)
{
    const trace_file *t = &r->trace;
    const run_figures *f = &r->figures;
    int width = name_width(r);
    printf("%s: %s, %s + %s, seed %" PRIu64 ": %" PRIu64 " tasks (%" PRIu64 " on the host) in %.3f s\n", t->path,
           t->program, t->policy, t->eviction, t->seed, f->tasks, f->host_tasks, f->makespan_us * 1e-6);
    print_heads(r, width);
    print_devices(r, width);
    if (f->host_tasks)
        print_host(f, width);
    print_arrays(r);
    for (size_t i = 0; i < r->findings.count; i++)
        printf("- %s\n", r->findings.text[i]);
}

/* --- the page -------------------------------------------------------------------- */

static bool write_page(const char *path, const report_run *runs, size_t n, size_t most)
{
    bool stdout_wanted = strcmp(path, "-") == 0;
    FILE *out = stdout_wanted ? stdout : od_tool_create("report", path);
    if (!out)
        return false;
    struct stat info;
    signal(SIGXFSZ, SIG_IGN); /* a limit is an error like a full disk */
    bool is_plain = !stdout_wanted && !fstat(fileno(out), &info) && S_ISREG(info.st_mode);
    od_status status = page_write(out, runs, n, most);
    bool failed = fflush(out) || ferror(out);
    failed |= !stdout_wanted && fclose(out);
    if (failed || status) {
        od_tool_error("report: %s could not be written: %s", stdout_wanted ? "standard output" : path,
                      failed ? strerror(errno) : "out of memory");
        if (is_plain) /* no half page */
            unlink(path);
    }
    return !failed && !status;
}

/* --- the command line ------------------------------------------------------------- */

typedef struct wanted {
    const char *output; /* NULL: text */
    uint64_t spans;
} wanted;

static int parse(int argc, char **argv, wanted *w)
{
    enum { SPANS = 256 };
    static const struct option options[] = {{"output", required_argument, NULL, 'o'},
                                            {"spans", required_argument, NULL, SPANS},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    int option;
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":o:h", options, NULL)) != -1) {
        if (option == 'o') {
            w->output = optarg;
        } else if (option == SPANS) {
            if (od_parse_integer(optarg, 1, UINT32_MAX, &w->spans)) {
                od_tool_error("report: --spans %s; allowed: 1 to %u", optarg, UINT32_MAX);
                return OD_EXIT_REFUSED;
            }
        } else if (option == 'h') {
            fputs(usage, stdout);
            exit(0);
        } else {
            od_tool_bad_option(argv, option, options);
            return OD_EXIT_REFUSED;
        }
    }
    if (optind < argc)
        return 0;
    od_tool_error("report: no TRACE given; `ompdarts report --help` explains");
    return OD_EXIT_REFUSED;
}

static od_status look_at(report_run *r)
{
    const trace_file *t = &r->trace;
    r->flow = calloc(t->ntasks + 1, sizeof *r->flow);
    r->kernels = calloc(t->nnames + 1, sizeof *r->kernels);
    if (!r->flow || !r->kernels || run_sum_ranks(t, &r->figures, &r->ranks) || run_follow(t, r->flow) ||
        run_find_path(t, &r->path) || run_find_arrays(t, r->figures.makespan_us, &r->arrays))
        return OD_ENOMEM;
    run_sum_kernels(t, r->flow, r->kernels);
    return OD_OK;
}

static int read_run(const char *path, report_run *r)
{
    char error[1200];
    if (trace_file_read(path, &r->trace, error, sizeof error)) {
        od_tool_error("report: %s", error);
        return OD_EXIT_REFUSED;
    }
    if (r->trace.cut)
        od_tool_error("report: %s: the end is missing; what could be read is shown", path);
    if (run_analyse(&r->trace, &r->figures) || run_find(&r->trace, &r->figures, &r->findings) || look_at(r)) {
        od_tool_error("report: out of memory");
        return OD_EXIT_FAILURE;
    }
    return 0;
}

static void free_run(report_run *r)
{
    free(r->flow);
    free(r->kernels);
    run_path_free(&r->path);
    run_ranks_free(&r->ranks);
    run_arrays_free(&r->arrays);
    run_findings_free(&r->findings);
    run_figures_free(&r->figures);
    trace_file_free(&r->trace);
}

int od_tool_report(int argc, char **argv)
{
    wanted w = {.spans = PAGE_SPANS};
    int status = parse(argc, argv, &w);
    const char *output = w.output;
    if (status)
        return status;
    for (int i = optind; output && i < argc; i++)
        if (od_file_is_same(output, argv[i])) {
            od_tool_error("report: -o %s would replace the trace; allowed: another file", output);
            return OD_EXIT_REFUSED;
        }
    size_t n = (size_t)(argc - optind), nread = 0;
    report_run *runs = calloc(n, sizeof *runs);
    if (!runs)
        return OD_EXIT_FAILURE;
    for (; !status && nread < n; nread++)
        status = read_run(argv[(size_t)optind + nread], &runs[nread]);
    for (size_t i = 0; !status && !output && i < n; i++)
        print_run(&runs[i]);
    if (!status && !output && n > 1)
        report_compare(runs, n);
    if (!status && output && !write_page(output, runs, n, w.spans))
        status = OD_EXIT_FAILURE;
    if (!status && output && strcmp(output, "-") != 0)
        fprintf(stderr, "ompdarts: report: %s written; open it in a browser\n", output);
    for (size_t i = 0; i < nread; i++)
        free_run(&runs[i]);
    free(runs);
    return status;
}
