/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See findings.h. What several devices have in common is said once. */
#include "tools/report/findings.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double worth_emitting = 0.1; /* share of the makespan, or of the loads */
static const double short_task_us = 20;
enum { MOST_FINDINGS = 24 };

typedef struct finding {
    double weight; /* the worst first */
    char text[sizeof((run_findings *)0)->text[0]];
} finding;

typedef struct finder {
    const trace_file *trace;
    const run_figures *figures;
    finding found[MOST_FINDINGS];
    size_t count;
} finder;

/* The devices that share a finding. */
typedef struct group {
    unsigned count, member[OD_MAX_DEVICES];
    double least, most; /* share of the makespan */
    char text[200];     /* "all 4 devices", "device 0 and device 2" */
    char share[40];     /* "20 to 31%" */
} group;

__attribute__((format(printf, 3, 4))) static void find(finder *f, double weight, const char *format, ...)
{
    va_list arguments;
    if (f->count == MOST_FINDINGS)
        return;
    finding *new = &f->found[f->count++];
    new->weight = weight;
    va_start(arguments, format);
    vsnprintf(new->text, sizeof new->text, format, arguments);
    va_end(arguments);
}

static const char *in_units(uint64_t bytes, char text[32])
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
    double value = (double)bytes;
    unsigned unit = 0;
    while (value >= 1000 && unit + 1 < sizeof units / sizeof *units) {
        value /= 1000;
        unit++;
    }
    snprintf(text, 32, unit && value < 100 ? "%.1f %s" : "%.0f %s", value, units[unit]);
    return text;
}

/* --- groups ---------------------------------------------------------------------------- */

static void name_group(const finder *f, group *g)
{
    enum { SHOWN_SINGLY = 4 };
    size_t length = 0;
    if (g->count == f->trace->ndevices && g->count > 1) {
        if (g->count == 2)
            snprintf(g->text, sizeof g->text, "both devices");
        else
            snprintf(g->text, sizeof g->text, "all %u devices", g->count);
        return;
    }
    if (g->count > SHOWN_SINGLY) {
        snprintf(g->text, sizeof g->text, "%u of %u devices", g->count, f->trace->ndevices);
        return;
    }
    for (unsigned i = 0; i < g->count; i++) {
        const char *between = !i ? "" : i + 1 == g->count ? " and " : ", ";
        int n = snprintf(g->text + length, sizeof g->text - length, "%s%.40s", between, f->trace->device[g->member[i]]);
        length += n > 0 ? (size_t)n : 0;
    }
}

static double share(const finder *f, unsigned k, run_share what)
{
    return f->figures->makespan_us > 0 ? f->figures->device[k].share_us[what] / f->figures->makespan_us : 0;
}

/* The devices with at least that share. False: none. */
static bool find_group(const finder *f, run_share what, double least, group *g)
{
    *g = (group){.least = 1};
    for (unsigned k = 0; k < f->trace->ndevices && k < OD_MAX_DEVICES; k++) {
        double s = share(f, k, what);
        if (s < least)
            continue;
        g->member[g->count++] = k;
        g->least = s < g->least ? s : g->least;
        g->most = s > g->most ? s : g->most;
    }
    name_group(f, g);
    if (100 * (g->most - g->least) < 1)
        snprintf(g->share, sizeof g->share, "%.0f%%", 100 * g->most);
    else
        snprintf(g->share, sizeof g->share, "%.0f to %.0f%%", 100 * g->least, 100 * g->most);
    return g->count;
}

/* --- waiting for data ------------------------------------------------------------------- */

typedef struct sums {
    uint64_t loads, reloads, most_data;
} sums;

static sums sum_up(const finder *f, const group *g)
{
    sums s = {0};
    for (unsigned i = 0; i < g->count; i++) {
        const run_device *d = &f->figures->device[g->member[i]];
        s.loads += d->loads;
        s.reloads += d->reloads;
        s.most_data = d->data_bytes > s.most_data ? d->data_bytes : s.most_data;
    }
    return s;
}

/* "its tasks use 14 MB of data, and it has memory for 3.0 MB of them" */
static const char *need_and_have(const finder *f, const group *g, uint64_t need, char *text, size_t size)
{
    char bytes[32], memory[32];
    in_units(need, bytes);
    in_units(f->trace->memory, memory);
    if (g->count > 1)
        snprintf(text, size, "tasks of one device use up to %s of data, and it has memory for %s", bytes, memory);
    else
        snprintf(text, size, "its tasks use %s of data, and it has memory for %s", bytes, memory);
    return text;
}

static void look_at_loads(finder *f)
{
    group g;
    char advice[260], sizes[160];
    if (!find_group(f, SHARE_LOADS, worth_emitting, &g))
        return;
    sums s = sum_up(f, &g);
    advice[0] = '\0';
    if (s.reloads <= s.loads / 10) {
        find(f, g.most,
             "%s waited %s of the time for tile loads, of which hardly any were reloads: the link is too slow for so "
             "little work per byte; larger tiles help",
             g.text, g.share);
        return;
    }
    if (strcmp(f->trace->eviction, "lru") == 0)
        snprintf(advice, sizeof advice, ": try --evict luf, or --sched darts, which uses that rule");
    else if (s.most_data > f->trace->memory)
        snprintf(advice, sizeof advice, ": %s; try larger --mem, or more devices",
                 need_and_have(f, &g, s.most_data, sizes, sizeof sizes));
    find(f, g.most, "%s waited %s of the time for tile loads; %.0f%% of the loads were reloads%s", g.text, g.share,
         s.loads ? 100 * (double)s.reloads / (double)s.loads : 0, advice);
}

static void look_at_memory_and_rights(finder *f)
{
    group g;
    char sizes[160];
    if (find_group(f, SHARE_MEMORY, worth_emitting, &g)) {
        uint64_t need = sum_up(f, &g).most_data;
        find(f, g.most, "%s waited %s of the time for memory that evictions had to free first%s%s%s", g.text, g.share,
             need > f->trace->memory ? ": " : "",
             need > f->trace->memory ? need_and_have(f, &g, need, sizes, sizeof sizes) : "",
             need > f->trace->memory ? "; try larger --mem" : "");
    }
    if (find_group(f, SHARE_RIGHTS, worth_emitting, &g))
        find(f, g.most, "%s waited %s of the time for data that tasks elsewhere, or the host, were using", g.text,
             g.share);
}

/* --- no task, or no processor ------------------------------------------------------------- */

static void look_at_processors(finder *f)
{
    const trace_file *t = f->trace;
    bool crowded = t->processors && t->ndevices > t->processors;
    group g;
    if (find_group(f, SHARE_START, worth_emitting, &g) && t->processors)
        find(f, g.most,
             "%s had tasks for %s of the time whose threads waited for a processor to start or to report completion%s",
             g.text, g.share, crowded ? "" : "; very short tasks spend much of their time this way");
    else if (g.count)
        find(f, g.most, "%s spent %s of the time starting and ending tasks: larger tiles help", g.text, g.share);
    if (crowded)
        find(f, 0.5, "%u host devices and the program share %u processor%s: times say little about real devices; "
             "--devices %u has one for each", t->ndevices, t->processors, t->processors == 1 ? "" : "s", t->processors);
}

static void look_at_rest(finder *f)
{
    group g;
    if (!find_group(f, SHARE_IDLE, worth_emitting, &g))
        return;
    if (f->trace->active)
        find(f, 0, "%s stayed idle %s of the time by choice: --devices has %u active at a time", g.text, g.share,
             f->trace->active);
    else
        find(f, 0, "%s stayed idle %s of the time by choice: with fewer devices, which share the link, the known tasks "
             "were expected to finish sooner", g.text, g.share);
}

/* Most tasks are waited for one by one: all other causes follow from that. */
static bool look_at_synchronous(finder *f)
{
    const run_figures *r = f->figures;
    group g;
    if (2 * r->synchronous_tasks < r->tasks || !r->synchronous_tasks || f->trace->ndevices < 2)
        return false;
    if (find_group(f, SHARE_NOT_CREATED, worth_emitting, &g))
        find(f, g.most, "%s had no task for %s of the time: your regions are not nowait (%" PRIu64 " of %" PRIu64
             "), so the program waits for each before it creates the next; add nowait, and depend clauses",
             g.text, g.share, r->synchronous_tasks, r->tasks);
    return g.count;
}

static void look_at_idle(finder *f)
{
    static const struct {
        run_share share;
        const char *why;
    } causes[] = {
        {SHARE_NOT_CREATED, "the program had not created any: it does something else, or creates them too slowly"},
        {SHARE_DEPENDENCES, "all tasks waited for others; more, smaller tiles allow more parallelism"},
        {SHARE_HANDED_LATE, "dependences were satisfied, but libomp's threads got no processor to release tasks; use "
                            "fewer host devices (--devices), or fewer program threads"},
        {SHARE_KEPT, "the policy kept the ready ones for other devices"},
        {SHARE_HOST, "host versions ran meanwhile"},
    };
    group g;
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
        if (causes[i].share == SHARE_NOT_CREATED && look_at_synchronous(f))
            continue;
        if (find_group(f, causes[i].share, worth_emitting, &g))
            find(f, g.most / 2, "%s had no task for %s of the time: %s", g.text, g.share, causes[i].why);
    }
}

/* --- the run --------------------------------------------------------------------------------- */

static double waited_for_pages(const trace_file *t)
{
    double us = 0;
    for (size_t i = 0; i < t->nfaults; i++)
        us += t->faults[i].us;
    return us;
}

static bool has_slices(const trace_file *t)
{
    for (size_t i = 0; i < t->nkernels; i++)
        if (t->kernels[i].sliced)
            return true;
    return false;
}

static void look_at_run(finder *f)
{
    const run_figures *r = f->figures;
    char moved[32], least[32];
    uint64_t in = 0;
    for (unsigned k = 0; k < f->trace->ndevices; k++)
        in += r->device[k].in_bytes + r->device[k].peer_bytes;
    double ratio = r->least_in_bytes ? (double)in / (double)r->least_in_bytes : 0;
    if (ratio >= 1.5)
        find(f, 0.05 * (ratio - 1), "%s were loaded, %.1f times the %s that must be loaded at least once",
             in_units(in, moved), ratio, in_units(r->least_in_bytes, least));
    if (r->host_tasks)
        find(f, (double)r->host_tasks / (double)r->tasks,
             "%" PRIu64 " of %" PRIu64 " tasks ran on the host: no device had room for their data, or could run them",
             r->host_tasks, r->tasks);
    if (r->median_task_us > 0 && r->median_task_us < short_task_us)
        find(f, 0.2,
             "half of the tasks took less than %.1f us, hardly more than it takes to start them: larger tiles help",
             r->median_task_us);
    if (r->failed_tasks + r->failed_transfers)
        find(f, 1, "%" PRIu64 " runs of tasks and %" PRIu64 " transfers failed and were repeated", r->failed_tasks,
             r->failed_transfers);
    double fault_us = waited_for_pages(f->trace);
    if (fault_us > worth_emitting * f->trace->end_us)
        find(f, fault_us / f->trace->end_us / f->trace->ndevices,
             "kernels waited %.3f s in all for %zu pages of arrays that their tasks do not name: %s", fault_us * 1e-6,
             f->trace->nfaults,
             has_slices(f->trace) ? "slices learn by these what they use"
                                  : "name in depend clauses the sections that they use");
    if (f->trace->cut)
        find(f, 2, "the end of the trace is missing: what follows covers the first %.3f s", f->trace->end_us * 1e-6);
}

static int worst_first(const void *a, const void *b)
{
    const finding *first = a, *second = b;
    return (first->weight < second->weight) - (first->weight > second->weight);
}

/* What auto expected, and how right it was. */
static void look_at_settings(finder *f)
{
    const trace_settings *s = &f->trace->settings;
    char half[80] = "", next[160] = "", last[40] = "";
    if (!s->tried)
        return;
    if (s->choices > 1)
        snprintf(last, sizeof last, ", the last of %u times", s->choices);
    if (s->half_taken_s > 0)
        snprintf(half, sizeof half, "; half of them took %.3f s, predicted %.3f s", s->half_taken_s,
                 s->half_predicted_s);
    if (s->second[0])
        snprintf(next, sizeof next, "; next best %s, %s%.3f s", s->second, s->second_at_least ? "over " : "",
                 s->second_s);
    find(f, 0,
         "auto, after %.3f s%s, played %" PRIu64 " settings for %" PRIu64
         " tasks and %s %s: predicted %.3f s, before %.3f s%s%s",
         (s->at_us - f->figures->begin_us) * 1e-6, last, s->tried, s->tasks, s->adopted ? "took" : "kept", s->best,
         s->best_s, s->present_s, next, half);
}

/* Kernels that might have run in slices on all devices. */
static void look_at_kernels(finder *f)
{
    enum { MOST_KERNELS = 6 };
    static const double in_slices = 0.01, all_whole = 0.15; /* of the makespan, about */
    const trace_file *t = f->trace;
    for (size_t i = 0; i < t->nkernels && i < MOST_KERNELS; i++) {
        const trace_kernel *k = &t->kernels[i];
        char sliced[64] = "", early[64] = "", whole[64] = "";
        if (k->sliced)
            snprintf(sliced, sizeof sliced, "%" PRIu64 " launch%s in %u slices", k->sliced, k->sliced == 1 ? "" : "es",
                     k->slices);
        if (k->early)
            snprintf(early, sizeof early, ", %" PRIu64 " of them early", k->early);
        if (k->whole)
            snprintf(whole, sizeof whole, "%s%" PRIu64 "%s whole", k->sliced ? ", " : "", k->whole,
                     k->sliced ? "" : " launches, all");
        find(f, k->sliced ? in_slices : all_whole, "kernel %s: %s%s%s%s%s", k->name, sliced, early, whole,
             *k->reason ? "; it " : "", k->reason);
    }
    if (t->nkernels > MOST_KERNELS)
        find(f, in_slices / 2, "%zu more kernels might have run in slices: see the statistics",
             t->nkernels - MOST_KERNELS);
}

static void look_at_footprints(finder *f)
{
    enum { MOST = 4 };
    static const double worth = 0.02;
    for (size_t i = 0; i < f->trace->nfootprints && i < MOST; i++) {
        const trace_footprint *p = &f->trace->footprints[i];
        find(f, worth,
             p->is_all ? "kernel %s, argument %u: what it uses of the array could not be learnt, so its tasks use all "
                         "of it: name sections in their depend clauses"
                       : "kernel %s, argument %u: what it uses of the array is still being learnt at the end",
             p->name, p->argument);
    }
}

static void look(finder *f)
{
    look_at_run(f);
    look_at_loads(f);
    look_at_memory_and_rights(f);
    look_at_processors(f);
    look_at_rest(f);
    look_at_idle(f);
    look_at_kernels(f);
    look_at_footprints(f);
    if (!f->count)
        find(f, 0, "found nothing to improve: no device waited for more than %.0f%% of the time",
             100 * worth_emitting);
    look_at_settings(f);
    qsort(f->found, f->count, sizeof *f->found, worst_first);
}

od_status run_find(const trace_file *trace, const run_figures *figures, run_findings *findings)
{
    finder *f = calloc(1, sizeof *f);
    *findings = (run_findings){.text = calloc(MOST_FINDINGS, sizeof *findings->text)};
    if (!f || !findings->text) {
        free(f);
        run_findings_free(findings);
        return OD_ENOMEM;
    }
    f->trace = trace;
    f->figures = figures;
    look(f);
    for (size_t i = 0; i < f->count; i++)
        memcpy(findings->text[findings->count++], f->found[i].text, sizeof f->found[i].text);
    free(f);
    return OD_OK;
}

void run_findings_free(run_findings *findings)
{
    free(findings->text);
    *findings = (run_findings){0};
}
