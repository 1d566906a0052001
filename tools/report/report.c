/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * `ompdarts report`: what happened in a run, as text, or as one page to look at that needs nothing else.
 */
#include "tools/report/findings.h"
#include "tools/tools.h"
#include "util/file/name.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
    "  -h, --help         this text\n"
    "\n"
    "Of a truncated trace, what can be read is shown.\n"
    "\n"
    "Exit status: 0 success; 1 the report could not be written; 2 the command line or a trace was refused.\n";

/* The page; what describes the runs comes in place of the mark. */
extern const char od_report_page[], od_report_page_end[];
__asm__(".section .rodata\n"
        ".global od_report_page\n"
        "od_report_page:\n"
        ".incbin \"" OMPDARTS_REPORT_PAGE "\"\n"
        ".global od_report_page_end\n"
        "od_report_page_end:\n"
        ".byte 0\n"
        ".previous\n");
static const char mark[] = "/*RUNS*/";

typedef struct run {
    trace_file trace;
    run_figures figures;
    run_findings findings;
} run;

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

static void print_heads(void)
{
    for (unsigned line = 0; line < 2; line++) {
        printf("%-12s %7s", line ? "device" : "% of time:", line ? "tasks" : "");
        for (unsigned c = 0; c < COLUMNS; c++)
            printf(" %6s", columns[c][line]);
        if (!line)
            putchar('\n');
    }
    printf(" %9s %9s %9s %8s %8s %9s %9s\n", "MB in", "MB out", "MB peer", "loads", "reloads", "evictions", "peak MB");
}

/* In percent of the makespan; they sum to 100. */
static void print_device(const char *name, const run_device *d, double makespan_us)
{
    double shares[COLUMNS] = {0};
    for (unsigned i = 0; i < SHARES; i++)
        shares[column_of[i]] += d->share_us[i];
    printf("%-12s %7" PRIu64, name, d->tasks);
    for (unsigned c = 0; c < COLUMNS; c++)
        printf(" %6.1f", share(shares[c], makespan_us));
    printf(" %9.1f %9.1f %9.1f %8" PRIu64 " %8" PRIu64 " %9" PRIu64 " %9.1f\n", mb(d->in_bytes), mb(d->out_bytes),
           mb(d->peer_bytes), d->loads, d->reloads, d->evictions, mb(d->peak_bytes));
}

static void print_host(const run_figures *f)
{
    double busy = share(f->host_busy_us, f->makespan_us);
    printf("%-12s %7" PRIu64 " %6.1f", "host", f->host_tasks, busy);
    for (unsigned c = 1; c + 1 < COLUMNS; c++)
        printf(" %6s", "-");
    printf(" %6.1f\n", 100 - busy);
}

static void print_run(const run *r)
{
    const trace_file *t = &r->trace;
    const run_figures *f = &r->figures;
    printf("%s: %s, %s + %s, seed %" PRIu64 ": %" PRIu64 " tasks (%" PRIu64 " on the host) in %.3f s\n", t->path,
           t->program, t->policy, t->eviction, t->seed, f->tasks, f->host_tasks, f->makespan_us * 1e-6);
    print_heads();
    for (unsigned k = 0; k < t->ndevices; k++)
        print_device(t->device[k], &f->device[k], f->makespan_us);
    if (f->host_tasks)
        print_host(f);
    for (size_t i = 0; i < r->findings.count; i++)
        printf("- %s\n", r->findings.text[i]);
}

/* --- the page -------------------------------------------------------------------- */

/* A JSON string that may stand inside <script>. */
static void put_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&')
            fprintf(out, "\\u%04x", c);
        else
            fputc(c, out);
    }
    fputc('"', out);
}

static void put_member(FILE *out, const char *name, const char *value)
{
    fprintf(out, "\"%s\":", name);
    put_string(out, value);
    fputc(',', out);
}

static void put_figures(FILE *out, const run *r)
{
    const run_figures *f = &r->figures;
    fprintf(out,
            "\"figures\":{\"makespan\":%.1f,\"hostBusy\":%.1f,\"tasks\":%" PRIu64 ",\"hostTasks\":%" PRIu64
            ",\"moved\":%" PRIu64 ",\"leastIn\":%" PRIu64 ",\"leastUs\":%.1f,\"device\":[",
            f->makespan_us, f->host_busy_us, f->tasks, f->host_tasks, f->moved_bytes, f->least_in_bytes, f->least_us);
    for (unsigned k = 0; k < r->trace.ndevices; k++) {
        const run_device *d = &f->device[k];
        fprintf(out,
                "%s{\"tasks\":%" PRIu64 ",\"loads\":%" PRIu64 ",\"reloads\":%" PRIu64 ",\"evictions\":%" PRIu64
                ",\"in\":%" PRIu64 ",\"out\":%" PRIu64 ",\"peer\":%" PRIu64 ",\"peak\":%" PRIu64
                ",\"transfer\":%.1f,\"share\":[",
                k ? "," : "", d->tasks, d->loads, d->reloads, d->evictions, d->in_bytes, d->out_bytes, d->peer_bytes,
                d->peak_bytes, d->transfer_us);
        for (unsigned i = 0; i < SHARES; i++)
            fprintf(out, "%s%.1f", i ? "," : "", d->share_us[i]);
        fputs("]}", out);
    }
    fputs("]},\n", out);
}

static void put_strings(FILE *out, const char *name, size_t n, const char *(*get)(const run *r, size_t i), const run *r)
{
    fprintf(out, "\"%s\":[", name);
    for (size_t i = 0; i < n; i++) {
        if (i)
            fputc(',', out);
        put_string(out, get(r, i));
    }
    fputs("],\n", out);
}

static const char *device_name(const run *r, size_t i)
{
    return r->trace.device[i];
}

static const char *task_name(const run *r, size_t i)
{
    return r->trace.names[i];
}

static const char *finding(const run *r, size_t i)
{
    return r->findings.text[i];
}

/* Flat arrays of numbers: see makeTracks() in the page. */
static void put_events(FILE *out, const trace_file *t)
{
    fputs("\"tasks\":[", out);
    for (size_t i = 0; i < t->ntasks; i++) {
        const trace_task *task = &t->tasks[i];
        fprintf(out, "%s%d,%.1f,%.1f,%u,%" PRIu64, i ? "," : "", task->place, task->from_us,
                task->to_us - task->from_us, task->name, task->number);
    }
    fputs("],\n\"transfers\":[", out);
    for (size_t i = 0; i < t->ntransfers; i++) {
        const trace_transfer *x = &t->transfers[i];
        fprintf(out, "%s%d,%d,%d,%u,%" PRIu64 ",%.1f,%.1f,%d", i ? "," : "", x->kind, x->from, x->to, x->datum,
                x->bytes, x->from_us, x->to_us - x->from_us, x->reload);
    }
    fputs("],\n\"stalls\":[", out);
    for (size_t i = 0; i < t->nstalls; i++) {
        const trace_stall *s = &t->stalls[i];
        fprintf(out, "%s%d,%d,%.1f,%.1f", i ? "," : "", s->place, s->cause, s->from_us, s->to_us - s->from_us);
    }
    fputs("],\n\"levels\":[", out);
    for (size_t i = 0; i < t->nlevels; i++)
        fprintf(out, "%s%d,%.1f,%" PRIu64, i ? "," : "", t->levels[i].place, t->levels[i].at_us, t->levels[i].bytes);
    fputs("],\n\"data\":[", out);
    for (size_t i = 0; i < t->ndata; i++)
        fprintf(out, "%s\"%#" PRIxPTR "\",%" PRIu64, i ? "," : "", t->data[i].address, t->data[i].size);
    fputs("]", out);
}

static void put_run(FILE *out, const run *r, size_t number, size_t n)
{
    const trace_file *t = &r->trace;
    const char *slash = strrchr(t->path, '/');
    char label[300];
    if (n > 1)
        snprintf(label, sizeof label, "%zu: %.200s", number + 1, slash ? slash + 1 : t->path);
    else
        snprintf(label, sizeof label, "%.200s", slash ? slash + 1 : t->path);
    fputs("{", out);
    put_member(out, "label", label);
    put_member(out, "program", t->program);
    put_member(out, "policy", t->policy);
    put_member(out, "eviction", t->eviction);
    fprintf(out, "\"seed\":\"%" PRIu64 "\",\"memory\":%" PRIu64 ",\"end\":%.1f,\"cut\":%s,\n", t->seed, t->memory,
            t->end_us, t->cut ? "true" : "false");
    put_strings(out, "devices", t->ndevices, device_name, r);
    put_strings(out, "names", t->nnames, task_name, r);
    put_strings(out, "findings", r->findings.count, finding, r);
    put_figures(out, r);
    put_events(out, t);
    fputs("}", out);
}

static bool write_page(const char *path, const run *runs, size_t n)
{
    bool stdout_wanted = strcmp(path, "-") == 0;
    FILE *out = stdout_wanted ? stdout : fopen(path, "we");
    const char *place = strstr(od_report_page, mark);
    if (!out || !place) {
        od_tool_error("report: %s: %s", path, strerror(errno));
        return false;
    }
    fwrite(od_report_page, 1, (size_t)(place - od_report_page), out);
    fputs("[", out);
    for (size_t i = 0; i < n; i++) {
        if (i)
            fputs(",\n", out);
        put_run(out, &runs[i], i, n);
    }
    fputs("]", out);
    const char *rest = place + sizeof mark - 1;
    fwrite(rest, 1, (size_t)(od_report_page_end - rest), out);
    bool failed = fflush(out) || ferror(out);
    failed |= !stdout_wanted && fclose(out);
    if (failed)
        od_tool_error("report: %s could not be written: %s", path, strerror(errno));
    return !failed;
}

/* --- the command line ------------------------------------------------------------- */

static int parse(int argc, char **argv, const char **output)
{
    static const struct option options[] = {
        {"output", required_argument, NULL, 'o'}, {"help", no_argument, NULL, 'h'}, {0}};
    int option;
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":o:h", options, NULL)) != -1) {
        if (option == 'o') {
            *output = optarg;
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

static int read_run(const char *path, run *r)
{
    char error[1200];
    if (trace_file_read(path, &r->trace, error, sizeof error)) {
        od_tool_error("report: %s", error);
        return OD_EXIT_REFUSED;
    }
    if (r->trace.cut)
        od_tool_error("report: %s: the end is missing; what could be read is shown", path);
    if (run_analyse(&r->trace, &r->figures) || run_find(&r->trace, &r->figures, &r->findings)) {
        od_tool_error("report: out of memory");
        return OD_EXIT_FAILURE;
    }
    return 0;
}

static void free_run(run *r)
{
    run_findings_free(&r->findings);
    run_figures_free(&r->figures);
    trace_file_free(&r->trace);
}

int od_tool_report(int argc, char **argv)
{
    const char *output = NULL;
    int status = parse(argc, argv, &output);
    if (status)
        return status;
    for (int i = optind; output && i < argc; i++)
        if (od_file_is_same(output, argv[i])) {
            od_tool_error("report: -o %s would replace the trace; allowed: another file", output);
            return OD_EXIT_REFUSED;
        }
    size_t n = (size_t)(argc - optind), nread = 0;
    run *runs = calloc(n, sizeof *runs);
    if (!runs)
        return OD_EXIT_FAILURE;
    for (; !status && nread < n; nread++)
        status = read_run(argv[(size_t)optind + nread], &runs[nread]);
    for (size_t i = 0; !status && !output && i < n; i++)
        print_run(&runs[i]);
    if (!status && output && !write_page(output, runs, n))
        status = OD_EXIT_FAILURE;
    if (!status && output && strcmp(output, "-") != 0)
        fprintf(stderr, "ompdarts: report: %s written; open it in a browser\n", output);
    for (size_t i = 0; i < nread; i++)
        free_run(&runs[i]);
    free(runs);
    return status;
}
