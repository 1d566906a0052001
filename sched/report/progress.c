/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See progress.h. */
#include "sched/report/progress.h"

#include "sched/report/ranks.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN_SINGLY = 4, MOST_PART = 120, MOST_NUMBER = 16 };

void od_progress_look(od_progress *progress, od_engine *engine, unsigned ndevices, uint64_t ns)
{
    progress->ns = ns;
    progress->ndevices = ndevices;
    od_engine_stats_get(engine, &progress->engine);
    for (unsigned k = 0; k < ndevices; k++)
        od_engine_device_stats(engine, k, &progress->device[k]);
}

static double elapsed_s(const od_progress *now, const od_progress *before)
{
    return (double)(now->ns - before->ns) * 1e-9;
}

static double tasks_per_s(const od_progress *now, const od_progress *before)
{
    double seconds = elapsed_s(now, before);
    return seconds > 0 ? (double)(now->engine.tasks - before->engine.tasks) / seconds : 0;
}

double od_progress_seconds_left(const od_progress *now, const od_progress *before)
{
    double rate = tasks_per_s(now, before);
    bool grows = now->engine.submitted != before->engine.submitted;
    uint64_t left = now->engine.waiting + now->engine.unfinished;
    return grows || rate <= 0 || !left ? -1 : (double)left / rate;
}

/* Three digits and a power of ten: "987", "1.2k", "34.5G". */
static const char *short_number(double value, char text[MOST_NUMBER])
{
    static const char powers[] = {0, 'k', 'M', 'G', 'T', 'P'};
    unsigned power = 0;
    while (value >= 999.5 && power + 1 < sizeof powers) {
        value /= 1000;
        power++;
    }
    snprintf(text, MOST_NUMBER, power && value < 99.95 ? "%.1f%.1s" : "%.0f%.1s", value, &powers[power]);
    return text;
}

/* Appends a part, with a bar before it, where it fits. */
__attribute__((format(printf, 3, 4))) static void add(char *line, size_t width, const char *format, ...)
{
    char part[MOST_PART];
    va_list arguments;
    size_t length = strlen(line);
    va_start(arguments, format);
    int n = vsnprintf(part, sizeof part, format, arguments);
    va_end(arguments);
    if (n > 0 && length + (length ? 3 : 0) + (size_t)n <= width)
        snprintf(line + length, width + 1 - length, "%s%s", length ? " | " : "", part);
}

static void add_tasks(char *line, size_t width, const od_progress *now)
{
    char done[MOST_NUMBER], ready[MOST_NUMBER], waiting[MOST_NUMBER];
    add(line, width, "%s done, %s ready, %s waiting", short_number((double)now->engine.tasks, done),
        short_number((double)now->engine.unfinished, ready), short_number((double)now->engine.waiting, waiting));
}

/* One value per device, or the least and the most. */
static void list_values(char *text, size_t size, const double *values, unsigned n, const char *unit)
{
    double least = values[0], most = values[0];
    char number[MOST_NUMBER], other[MOST_NUMBER];
    text[0] = '\0';
    for (unsigned k = 0; k < n; k++) {
        size_t length = strlen(text);
        if (n <= SHOWN_SINGLY)
            snprintf(text + length, size - length, " %s%s", short_number(values[k], number), unit);
        least = values[k] < least ? values[k] : least;
        most = values[k] > most ? values[k] : most;
    }
    if (n > SHOWN_SINGLY)
        snprintf(text, size, " %s to %s%s", short_number(least, number), short_number(most, other), unit);
}

/* With devices of several ranks, the mean of each instead of its devices' values. Returns how many values there are
 * now. */
static unsigned average_ranks(const od_progress *now, double *values)
{
    unsigned rank_of[OD_MAX_DEVICES], n[OD_MAX_DEVICES] = {0};
    double sum[OD_MAX_DEVICES] = {0};
    od_ranks ranks;
    for (unsigned k = 0; k < now->ndevices; k++)
        rank_of[k] = now->device[k].rank;
    od_ranks_find(&ranks, rank_of, now->ndevices);
    if (ranks.count == 1)
        return now->ndevices;
    for (unsigned k = 0; k < now->ndevices; k++) {
        sum[ranks.index[k]] += values[k];
        n[ranks.index[k]]++;
    }
    for (unsigned i = 0; i < ranks.count; i++)
        values[i] = sum[i] / n[i];
    return ranks.count;
}

static void add_devices(char *line, size_t width, const od_progress *now, const od_progress *before)
{
    double busy[OD_MAX_DEVICES], used[OD_MAX_DEVICES], seconds = elapsed_s(now, before);
    char text[MOST_PART / 2], limit[MOST_NUMBER];
    for (unsigned k = 0; k < now->ndevices; k++) {
        double busy_s = (double)(now->device[k].occupied_ns - before->device[k].occupied_ns) * 1e-9;
        busy[k] = seconds > 0 ? 100 * busy_s / seconds : 0;
        busy[k] = busy[k] < 100 ? busy[k] : 100;
        used[k] = (double)now->device[k].used_bytes;
    }
    unsigned shown = average_ranks(now, busy);
    const char *by = average_ranks(now, used) < now->ndevices ? " by rank" : "";
    list_values(text, sizeof text, busy, shown, "%");
    add(line, width, "busy%s%s", by, text);
    list_values(text, sizeof text, used, shown, "B");
    add(line, width, "memory%s%s of %sB", by, text, short_number((double)now->device[0].limit_bytes, limit));
}

/* What each CPU worker has done since `before`, as far as its tasks have ended. */
static void add_cpus(char *line, size_t width, const od_progress *now, const od_progress *before)
{
    double busy[OD_MAX_CPUS], seconds = elapsed_s(now, before);
    char text[MOST_PART / 2];
    for (unsigned i = 0; i < now->engine.cpus; i++) {
        double busy_s = (double)(now->engine.cpu[i].busy_ns - before->engine.cpu[i].busy_ns) * 1e-9;
        busy[i] = seconds > 0 && busy_s < seconds ? 100 * busy_s / seconds : busy_s > 0 ? 100 : 0;
    }
    if (!now->engine.cpus)
        return;
    list_values(text, sizeof text, busy, now->engine.cpus, "%");
    add(line, width, "cpu%s", text);
}

static void add_movement(char *line, size_t width, const od_progress *now)
{
    uint64_t bytes = 0, evictions = 0;
    char moved[MOST_NUMBER], count[MOST_NUMBER];
    for (unsigned k = 0; k < now->ndevices; k++) {
        const od_device_stats *d = &now->device[k];
        bytes += d->h2d_bytes + d->d2h_bytes + d->d2d_bytes;
        evictions += d->evictions;
    }
    add(line, width, "moved %sB, %s evictions", short_number((double)bytes, moved),
        short_number((double)evictions, count));
}

static void add_time_left(char *line, size_t width, double seconds)
{
    if (seconds < 0 || seconds > 1e6)
        return;
    int s = (int)seconds, minutes = s / 60;
    if (minutes >= 60)
        add(line, width, "%d h %02d min left", minutes / 60, minutes % 60);
    else if (minutes > 0)
        add(line, width, "%d min %02d s left", minutes, s % 60);
    else
        add(line, width, "%d s left", s);
}

size_t od_progress_line(char *line, size_t width, const od_progress *now, const od_progress *before)
{
    char rate[MOST_NUMBER];
    line[0] = '\0';
    add_tasks(line, width, now);
    add(line, width, "%s tasks/s", short_number(tasks_per_s(now, before), rate));
    add_time_left(line, width, od_progress_seconds_left(now, before));
    if (now->ndevices)
        add_devices(line, width, now, before);
    add_cpus(line, width, now, before);
    add_movement(line, width, now);
    return strlen(line);
}
