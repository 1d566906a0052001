/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See page.h. The parts of the page are in this program; each comes in place of its mark in page.html. */
#include "tools/report/page/page.h"

#include "tools/report/page/events.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PART(name, file)                                                                                               \
    extern const char name[], name##_end[];                                                                            \
    __asm__(".section .rodata\n"                                                                                       \
            ".global " #name "\n" #name ":\n"                                                                          \
            ".incbin \"" OMPDARTS_PAGE_FOLDER "/" file "\"\n"                                                          \
            ".global " #name "_end\n" #name "_end:\n"                                                                  \
            ".byte 0\n"                                                                                                \
            ".previous\n")

PART(od_page_html, "page.html");
PART(od_page_style, "style.css");
PART(od_page_base, "base.js");
PART(od_page_tracks, "tracks.js");
PART(od_page_timeline, "timeline.js");
PART(od_page_sections, "sections.js");
PART(od_page_start, "start.js");

/* --- JSON ------------------------------------------------------------------------- */

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

static void put_strings(FILE *out, const char *name, size_t n, const char *(*get)(const report_run *r, size_t i),
                        const report_run *r)
{
    fprintf(out, "\"%s\":[", name);
    for (size_t i = 0; i < n; i++) {
        const char *text = get(r, i);
        fputs(i ? "," : "", out);
        put_string(out, text ? text : "");
    }
    fputs("],\n", out);
}

static const char *device_name(const report_run *r, size_t i)
{
    return r->trace.device[i];
}

static const char *task_name(const report_run *r, size_t i)
{
    return r->trace.names[i];
}

static const char *task_source(const report_run *r, size_t i)
{
    return i < r->trace.nsources ? r->trace.sources[i] : NULL;
}

static const char *variable(const report_run *r, size_t i)
{
    return r->trace.variables[i];
}

static const char *finding(const report_run *r, size_t i)
{
    return r->findings.text[i];
}

/* --- a run ------------------------------------------------------------------------ */

static void put_device(FILE *out, const run_device *d)
{
    fprintf(out,
            "{\"tasks\":%" PRIu64 ",\"loads\":%" PRIu64 ",\"reloads\":%" PRIu64 ",\"evictions\":%" PRIu64
            ",\"in\":%" PRIu64 ",\"out\":%" PRIu64 ",\"peer\":%" PRIu64 ",\"remote\":%" PRIu64 ",\"peak\":%" PRIu64
            ",\"transfer\":%.1f,\"share\":[",
            d->tasks, d->loads, d->reloads, d->evictions, d->in_bytes, d->out_bytes, d->peer_bytes, d->remote_bytes,
            d->peak_bytes, d->transfer_us);
    for (unsigned i = 0; i < SHARES; i++)
        fprintf(out, "%s%.1f", i ? "," : "", d->share_us[i]);
    fputs("]}", out);
}

/* Their devices, and the sums over these. */
static void put_ranks(FILE *out, const report_run *r)
{
    fputs("\"ranks\":[", out);
    for (unsigned i = 0; i < r->ranks.count; i++) {
        const run_rank *rank = &r->ranks.at[i];
        fprintf(out, "%s{\"rank\":%u,", i ? "," : "", rank->about->number);
        put_member(out, "host", rank->about->host);
        fputs("\"sum\":", out);
        put_device(out, &rank->sum);
        fputs(",\"devices\":[", out);
        for (unsigned k = 0, n = 0; k < r->trace.ndevices; k++)
            if (r->trace.rank[k].number == rank->about->number)
                fprintf(out, "%s%u", n++ ? "," : "", k);
        fputs("]}", out);
    }
    fputs("],\n", out);
}

static void put_figures(FILE *out, const report_run *r)
{
    const run_figures *f = &r->figures;
    fprintf(out,
            "\"figures\":{\"makespan\":%.1f,\"hostBusy\":%.1f,\"tasks\":%" PRIu64 ",\"hostTasks\":%" PRIu64
            ",\"moved\":%" PRIu64 ",\"leastIn\":%" PRIu64 ",\"leastUs\":%.1f,\"device\":[",
            f->makespan_us, f->host_busy_us, f->tasks, f->host_tasks, f->moved_bytes, f->least_in_bytes, f->least_us);
    for (unsigned k = 0; k < r->trace.ndevices; k++) {
        fputs(k ? "," : "", out);
        put_device(out, &f->device[k]);
    }
    fputs("]}", out);
}

static void put_kernels(FILE *out, const report_run *r)
{
    fputs("\"kernels\":[", out);
    for (size_t i = 0; i < r->trace.nnames; i++) {
        const run_kernel *k = &r->kernels[i];
        fprintf(out, "%s{\"count\":%" PRIu64 ",\"loaded\":%" PRIu64 ",\"total\":%.1f,\"longest\":%.1f,\"waits\":[",
                i ? "," : "", k->count, k->loaded_bytes, k->total_us, k->longest_us);
        for (unsigned w = 0; w < TASK_WAITS; w++)
            fprintf(out, "%s%.1f", w ? "," : "", k->wait_us[w]);
        fputs("]}", out);
    }
    fputs("],\n", out);
}

/* The largest ones: a page can show no more. */
static void put_arrays(FILE *out, const report_run *r)
{
    enum { MOST = 1000 };
    fputs("\"arrays\":[", out);
    for (size_t i = 0; i < r->arrays.count && i < MOST; i++) {
        const run_array *a = &r->arrays.at[i];
        fprintf(out,
                "%s{\"address\":\"0x%" PRIxPTR "\",\"size\":%" PRIu64 ",\"variable\":%d,\"parts\":%" PRIu64
                ",\"faults\":%" PRIu64 ",\"waited\":%.1f,\"held\":[",
                i ? "," : "", a->all.address, a->all.size, a->variable == TRACE_NO_NAME ? -1 : (int)a->variable,
                a->parts, a->faults, a->fault_us);
        for (unsigned k = 0; k < r->trace.ndevices; k++)
            fprintf(out, "%s[%.0f,%" PRIu64 "]", k ? "," : "", a->mean[k], a->most[k]);
        fputs("]}", out);
    }
    fputs("],\n", out);
}

static void put_head(FILE *out, const trace_file *t, size_t number, size_t n)
{
    const char *slash = strrchr(t->path, '/');
    char label[300] = "";
    if (n > 1)
        snprintf(label, sizeof label, "%zu: ", number + 1);
    snprintf(label + strlen(label), 250, "%.200s", slash ? slash + 1 : t->path);
    put_member(out, "label", label);
    put_member(out, "program", t->program);
    put_member(out, "command", t->command);
    put_member(out, "host", t->host);
    put_member(out, "version", t->version);
    put_member(out, "policy", t->policy);
    put_member(out, "eviction", t->eviction);
    fprintf(out,
            "\"date\":%" PRIu64 ",\"processors\":%u,\"active\":%u,\"seed\":\"%" PRIu64 "\",\"memory\":%" PRIu64
            ",\"cut\":%s,\n",
            t->date, t->processors, t->active, t->seed, t->memory, t->cut ? "true" : "false");
}

static od_status put_run(FILE *out, const report_run *r, size_t number, size_t n, size_t most)
{
    const trace_file *t = &r->trace;
    fputs("{", out);
    put_head(out, t, number, n);
    put_strings(out, "devices", t->ndevices, device_name, r);
    put_ranks(out, r);
    put_strings(out, "names", t->nnames, task_name, r);
    put_strings(out, "sources", t->nnames, task_source, r);
    put_strings(out, "variables", t->nvariables, variable, r);
    put_strings(out, "findings", r->findings.count, finding, r);
    put_kernels(out, r);
    put_arrays(out, r);
    od_status status = page_put_events(out, r, most);
    put_figures(out, r);
    fputs("}", out);
    return status;
}

/* --- the page ----------------------------------------------------------------------- */

static void put_scripts(FILE *out)
{
    const char *const parts[] = {od_page_base, od_page_tracks, od_page_timeline, od_page_sections, od_page_start};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        fputs(parts[i], out);
}

/* What comes before the mark. Returns what comes after it. */
static const char *put_until(FILE *out, const char *text, const char *mark)
{
    const char *place = strstr(text, mark);
    fwrite(text, 1, (size_t)(place - text), out);
    return place + strlen(mark);
}

od_status page_write(FILE *out, const report_run *runs, size_t n, size_t most)
{
    od_status status = OD_OK;
    const char *rest = put_until(out, od_page_html, "/*STYLE*/");
    fputs(od_page_style, out);
    rest = put_until(out, rest, "/*RUNS*/");
    fputs("[", out);
    for (size_t i = 0; !status && i < n; i++) {
        fputs(i ? ",\n" : "", out);
        status = put_run(out, &runs[i], i, n, most);
    }
    fputs("]", out);
    rest = put_until(out, rest, "/*SCRIPTS*/");
    put_scripts(out);
    fputs(rest, out);
    return status;
}
