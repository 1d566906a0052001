/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The figures of a run, derived and printed. */
#include "sched/report/report.h"

#include "sched/report/ranks.h"

#include <inttypes.h>
#include <string.h>

static const double ns_per_s = 1e9;
static const double bytes_per_mb = 1e6;

/* --- derived figures ------------------------------------------------------- */

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

void od_report_add(od_device_stats *sum, const od_device_stats *d)
{
    sum->tasks += d->tasks;
    sum->host_tasks += d->host_tasks;
    sum->h2d_bytes += d->h2d_bytes;
    sum->d2h_bytes += d->d2h_bytes;
    sum->d2d_bytes += d->d2d_bytes;
    sum->remote_bytes += d->remote_bytes;
    sum->spilled_bytes += d->spilled_bytes;
    sum->loads += d->loads;
    sum->reloads += d->reloads;
    sum->evictions += d->evictions;
    sum->dropped_bytes += d->dropped_bytes;
    sum->reruns += d->reruns;
    sum->faults += d->faults;
    sum->fault_bytes += d->fault_bytes;
    sum->fault_ns += d->fault_ns;
    sum->busy_ns += d->busy_ns;
    sum->occupied_ns += d->occupied_ns;
    sum->stall_ns += d->stall_ns;
    sum->transfer_ns += d->transfer_ns;
    sum->overlapped_ns += d->overlapped_ns;
    sum->peak_bytes = larger(sum->peak_bytes, d->peak_bytes);
    sum->limit_bytes = larger(sum->limit_bytes, d->limit_bytes);
}

od_device_stats od_report_totals(const od_report *report)
{
    od_device_stats sum = {0};

    for (unsigned k = 0; k < report->ndevices; k++)
        od_report_add(&sum, &report->devices[k].stats);
    return sum;
}

unsigned od_report_ranks(const od_report *report, od_report_rank ranks[OD_MAX_DEVICES])
{
    unsigned rank_of[OD_MAX_DEVICES];
    od_ranks found;

    for (unsigned k = 0; k < report->ndevices; k++)
        rank_of[k] = report->devices[k].stats.rank;
    od_ranks_find(&found, rank_of, report->ndevices);
    for (unsigned i = 0; i < found.count; i++)
        ranks[i] = (od_report_rank){.rank = found.number[i]};
    for (unsigned k = 0; k < report->ndevices; k++) {
        od_report_rank *r = &ranks[found.index[k]];
        r->host = report->devices[k].host;
        r->ndevices++;
        od_report_add(&r->sum, &report->devices[k].stats);
    }
    return found.count > 1 ? found.count : 0;
}

uint64_t od_report_own_bytes(const od_device_stats *stats)
{
    return stats->d2d_bytes - stats->remote_bytes;
}

double od_report_busy(const od_report *report, const od_device_stats *sum, unsigned ndevices)
{
    double all_ns = report->wall_s * ns_per_s * ndevices;

    return all_ns > 0 ? (double)sum->busy_ns / all_ns : 0;
}

double od_report_sched_ns_per_task(const od_report *report)
{
    return report->engine.tasks ? (double)report->engine.sched_ns / (double)report->engine.tasks : 0;
}

static uint64_t rest(uint64_t all, uint64_t part)
{
    return all > part ? all - part : 0;
}

uint64_t od_report_start_ns(const od_device_stats *stats)
{
    return rest(stats->occupied_ns, stats->busy_ns);
}

uint64_t od_report_idle_ns(const od_report *report, const od_device_stats *stats)
{
    return rest((uint64_t)(report->wall_s * ns_per_s), stats->occupied_ns + stats->stall_ns);
}

double od_report_overlap(const od_device_stats *stats)
{
    return stats->transfer_ns ? (double)stats->overlapped_ns / (double)stats->transfer_ns : 0;
}

/* --- text ------------------------------------------------------------------ */

static double mb(uint64_t bytes)
{
    return (double)bytes / bytes_per_mb;
}

static double seconds(uint64_t ns)
{
    return (double)ns / ns_per_s;
}

static int name_width(const od_report *report)
{
    size_t width = sizeof "device" - 1;

    for (unsigned k = 0; k < report->ndevices; k++)
        width = larger(width, strlen(report->devices[k].name));
    return width < 24 ? (int)width : 24;
}

static void print_row(const char *name, int width, const od_device_stats *d, uint64_t idle_ns, FILE *file)
{
    fprintf(file, "%-*.*s %8" PRIu64 " %7" PRIu64 " %8.3f %8.3f %8.3f %8.3f", width, width, name, d->tasks,
            d->host_tasks, seconds(d->busy_ns), seconds(od_report_start_ns(d)), seconds(d->stall_ns), seconds(idle_ns));
    fprintf(file, " %10.1f %10.1f %10.1f", mb(d->h2d_bytes), mb(d->d2h_bytes), mb(d->d2d_bytes));
    fprintf(file, " %8" PRIu64 " %8" PRIu64 " %9" PRIu64, d->loads, d->reloads, d->evictions);
    if (d->transfer_ns)
        fprintf(file, " %7.1f%%", 100 * od_report_overlap(d));
    else
        fprintf(file, " %8s", "-");
    fprintf(file, " %9.1f %9.1f%s\n", mb(d->peak_bytes), mb(d->limit_bytes), d->lost ? " lost" : "");
}

/* Host versions need no memory of devices, and wait for none. */
static void print_cpu(const char *name, int width, const od_cpu_stats *cpu, double wall_s, FILE *file)
{
    uint64_t wall_ns = (uint64_t)(wall_s * ns_per_s);

    fprintf(file, "%-*s %8" PRIu64 " %7s %8.3f %8s %8s %8.3f\n", width, name, cpu->tasks, "-", seconds(cpu->busy_ns),
            "-", "-", seconds(rest(wall_ns, cpu->busy_ns)));
}

static void print_host(const od_report *report, int width, FILE *file)
{
    const od_engine_stats *e = &report->engine;
    char name[16];

    if (!e->cpus && e->host_tasks)
        print_cpu("host", width, &(od_cpu_stats){e->host_tasks, e->host_busy_ns}, report->wall_s, file);
    for (unsigned i = 0; i < e->cpus; i++) {
        snprintf(name, sizeof name, "cpu %u", i);
        print_cpu(name, width, &e->cpu[i], report->wall_s, file);
    }
}

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

static void print_habits(const od_report *report, FILE *file)
{
    if (report->habits)
        fprintf(file,
                "ompdarts: %" PRIu64 " construct%s named the default device and no other was ever named: scheduled "
                "like all others (OMPDARTS_DEVICE_CLAUSE=pin: not)\n",
                report->habits, plural(report->habits));
}

static void print_sliced(const od_report_slicing *k, FILE *file)
{
    fprintf(file, "ompdarts: kernel %s: %" PRIu64 " launch%s in %u slices", k->name, k->sliced,
            k->sliced == 1 ? "" : "es", k->slices);
    if (k->early)
        fprintf(file, ", %" PRIu64 " of them early", k->early);
    if (k->whole)
        fprintf(file, ", %" PRIu64 " whole", k->whole);
    fprintf(file, k->reason ? "; it %s\n" : "\n", k->reason);
}

/* Never in slices, for the same reason. */
static bool are_alike(const od_report_slicing *a, const od_report_slicing *b)
{
    bool have_reasons = a->reason && b->reason;
    return !a->sliced && !b->sliced && (have_reasons ? !strcmp(a->reason, b->reason) : a->reason == b->reason);
}

/* Whether the first kernel that is like this one is another one: its line names both. */
static bool is_named_before(const od_report *report, unsigned i)
{
    unsigned first = 0;
    while (!are_alike(&report->kernels[first], &report->kernels[i]))
        first++;
    return first < i;
}

static void print_whole(const od_report *report, unsigned first, FILE *file)
{
    enum { MOST_NAMES = 8 };
    const od_report_slicing *k = report->kernels;
    uint64_t whole = 0, alike = 0;
    for (unsigned i = first; i < report->nkernels; i++) {
        whole += are_alike(&k[i], &k[first]) ? k[i].whole : 0;
        alike += are_alike(&k[i], &k[first]);
    }
    fprintf(file, "ompdarts: kernel%s", plural(alike));
    for (unsigned i = first, names = 0; i < report->nkernels && names < MOST_NAMES; i++)
        if (are_alike(&k[i], &k[first]))
            fprintf(file, "%s %s", names++ ? "," : "", k[i].name);
    if (alike > MOST_NAMES)
        fprintf(file, " and %" PRIu64 " more", alike - MOST_NAMES);
    fprintf(file, ": %" PRIu64 " whole", whole);
    if (k[first].reason)
        fprintf(file, "; %s %s", alike > 1 ? "each" : "it", k[first].reason);
    fputs("\n", file);
}

static void print_slicing(const od_report *report, FILE *file)
{
    for (unsigned i = 0; i < report->nkernels; i++)
        if (report->kernels[i].sliced)
            print_sliced(&report->kernels[i], file);
        else if (!is_named_before(report, i))
            print_whole(report, i, file);
}

const char *od_footprint_state_name(od_footprint_state state)
{
    static const char *const names[] = {"learnt", "being learnt", "all"};
    return names[state];
}

static void print_footprints(const od_report *report, FILE *file)
{
    static const char *const texts[] = {[OD_FOOTPRINT_LEARNING] = "what it uses of the array is still being learnt",
                                        [OD_FOOTPRINT_ALL] = "what it uses could not be learnt: all of the array"};
    for (unsigned i = 0; i < report->nfootprints; i++) {
        const od_report_footprint *f = &report->footprints[i];
        if (f->state != OD_FOOTPRINT_LEARNT)
            fprintf(file, "ompdarts: kernel %s, argument %u: %s\n", f->name, f->argument, texts[f->state]);
    }
}

static void print_faults(const od_device_stats *totals, FILE *file)
{
    if (totals->faults)
        fprintf(file,
                "ompdarts: %" PRIu64 " page fault%s of kernels that touched more of an array than their tasks named: "
                "%.3f MB, %.3f s of waiting\n",
                totals->faults, plural(totals->faults), mb(totals->fault_bytes), seconds(totals->fault_ns));
}

static void print_reruns(const od_device_stats *totals, FILE *file)
{
    if (totals->dropped_bytes)
        fprintf(file, "ompdarts: %.1f MB were dropped instead of spilled, %" PRIu64 " task%s ran again to make them\n",
                mb(totals->dropped_bytes), totals->reruns, plural(totals->reruns));
}

static const char *about(char text[32], const od_outlook *outlook)
{
    snprintf(text, 32, "%s%.3f s", outlook->at_least ? "> " : "", outlook->seconds);
    return text;
}

static void print_choice(const od_choice *c, const od_report *report, FILE *file)
{
    char best[32], other[32];

    fprintf(file, "ompdarts: %s, %" PRIu64 " tasks, %u settings played: %s%s, predicted %s", report->policy, c->tasks,
            c->tried, c->best.name, c->adopted ? "" : " (no change)", about(best, &c->best));
    if (c->present.name[0] && c->adopted)
        fprintf(file, "; as before %s", about(other, &c->present));
    if (c->second.name[0])
        fprintf(file, "; next best %s %s", c->second.name, about(other, &c->second));
    if (c->half_taken > 0)
        fprintf(file, "; half took %.3f s, predicted %.3f s", c->half_taken, c->half_predicted);
    fputc('\n', file);
}

/* Those that changed something, and the last one. */
static void print_choices(const od_report *report, FILE *file)
{
    const od_choices *all = report->choices;

    if (!all || !all->count)
        return;
    fprintf(file, "ompdarts: %s: settings chosen %" PRIu64 " time%s, %.4f s of processor time\n", report->policy,
            all->count, plural(all->count), seconds(all->processor_ns));
    for (unsigned i = 0, kept = od_choices_kept(all); i < kept; i++)
        if (all->kept[i].adopted || i + 1 == kept)
            print_choice(&all->kept[i], report, file);
}

/* All tasks of devices ran on one of several: which datum kept them there. */
static void print_held(const od_report *report, FILE *file)
{
    const od_engine_stats *e = &report->engine;
    uint64_t all = od_report_totals(report).tasks;

    for (unsigned k = 0; k < report->ndevices; k++)
        if (report->ndevices > 1 && e->waited && e->shared_tasks == all && report->devices[k].stats.tasks == all)
            fprintf(file,
                    "ompdarts: all tasks ran on %s, since each may write to the %.1f MB at 0x%" PRIxPTR
                    ": name what it only reads in depend(in: ...), and map what it uses as separate tiles, or name "
                    "these as sections in depend clauses (on GPUs with --backend cuda:managed)\n",
                    report->devices[k].name, mb(e->shared_size), e->shared_base);
}

/* A program whose tasks come one by one uses one device at a time, whatever the policy. */
static void print_not_sliced(const od_report *report, FILE *file)
{
    uint64_t all = od_report_totals(report).tasks;

    if (report->not_sliced && all && report->not_sliced >= all / 2) /* else they ran on the host */
        fprintf(file,
                "ompdarts: %" PRIu64 " kernel%s ran one by one, each on one of %u devices: OMPDARTS_SLICE=auto tries "
                "to run their iterations on all of them\n",
                report->not_sliced, plural(report->not_sliced), report->ndevices);
}

static uint64_t print_device(const od_report *report, const od_report_device *d, int width, FILE *file)
{
    uint64_t idle_ns = od_report_idle_ns(report, &d->stats);

    print_row(d->name, width, &d->stats, idle_ns, file);
    return idle_ns;
}

static void print_sum(const od_report *report, const char *name, unsigned ndevices, const od_device_stats *sum,
                      FILE *file)
{
    fprintf(file, "%s: %u device%s, %" PRIu64 " task%s, busy %.1f%%, ", name, ndevices, plural(ndevices), sum->tasks,
            plural(sum->tasks), 100 * od_report_busy(report, sum, ndevices));
    fprintf(file, "%.1f MB from rank 0, %.1f MB from other ranks, %.1f MB within one rank, %" PRIu64 " eviction%s\n",
            mb(sum->h2d_bytes), mb(sum->remote_bytes), mb(od_report_own_bytes(sum)), sum->evictions,
            plural(sum->evictions));
}

/* Each rank's sums, its devices below. Returns their idle time. */
static uint64_t print_ranks(const od_report *report, const od_report_rank *ranks, unsigned nranks, int width,
                            FILE *file)
{
    uint64_t idle_ns = 0;
    char name[128];

    for (unsigned i = 0; i < nranks; i++) {
        snprintf(name, sizeof name, "rank %u on %s", ranks[i].rank, ranks[i].host);
        print_sum(report, name, ranks[i].ndevices, &ranks[i].sum, file);
        for (unsigned k = 0; k < report->ndevices; k++)
            if (report->devices[k].stats.rank == ranks[i].rank)
                idle_ns += print_device(report, &report->devices[k], width, file);
    }
    return idle_ns;
}

static uint64_t print_devices(const od_report *report, int width, FILE *file)
{
    od_report_rank ranks[OD_MAX_DEVICES];
    unsigned nranks = od_report_ranks(report, ranks);
    uint64_t idle_ns = 0;

    if (nranks) {
        idle_ns = print_ranks(report, ranks, nranks, width, file);
        od_device_stats all = od_report_totals(report);
        char name[32];
        snprintf(name, sizeof name, "%u ranks", nranks);
        print_sum(report, name, report->ndevices, &all, file);
        return idle_ns;
    }
    for (unsigned k = 0; k < report->ndevices; k++)
        idle_ns += print_device(report, &report->devices[k], width, file);
    return idle_ns;
}

void od_report_print(const od_report *report, FILE *file)
{
    int width = name_width(report);
    od_device_stats totals = od_report_totals(report);

    fprintf(file, "ompdarts: %s, %s+%s, seed %" PRIu64 ": %" PRIu64 " tasks (%" PRIu64 " on the host) in %.3f s, ",
            report->program, report->policy, report->evict, report->seed, report->engine.tasks,
            report->engine.host_tasks, report->wall_s);
    fprintf(file, "scheduling %.0f ns per task\n", od_report_sched_ns_per_task(report));
    fprintf(file, "%-*s %8s %7s %8s %8s %8s %8s %10s %10s %10s %8s %8s %9s %8s %9s %9s\n", width, "device", "tasks",
            "on host", "busy s", "start s", "stall s", "idle s", "MB in", "MB out", "MB peer", "loads", "reloads",
            "evictions", "overlap", "peak MB", "limit MB");
    uint64_t idle_ns = print_devices(report, width, file);
    print_host(report, width, file);
    totals.tasks += report->engine.host_tasks;
    print_row("all", width, &totals, idle_ns, file);
    print_choices(report, file);
    print_habits(report, file);
    print_slicing(report, file);
    print_faults(&totals, file);
    print_footprints(report, file);
    print_reruns(&totals, file);
    print_held(report, file);
    print_not_sliced(report, file);
    if (report->processors && report->processors < report->ndevices)
        fprintf(file,
                "ompdarts: %u host devices and the program share %u processor%s: times say little about real devices\n",
                report->ndevices, report->processors, plural(report->processors));
}
