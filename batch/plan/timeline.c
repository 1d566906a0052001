/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One node over time; see timeline.h. */
#include "batch/plan/timeline.h"

#include "util/container/array.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

od_status od_batch_timeline_init(od_batch_timeline *line, uint32_t cores, bool backfill)
{
    *line = (od_batch_timeline){.cores = cores, .backfill = backfill, .nsteps = 1};
    line->available = malloc(cores * sizeof *line->available);
    if (!line->available || !od_array_reserve(&line->steps, &line->steps_room, 1, sizeof *line->steps)) {
        od_batch_timeline_free(line);
        return OD_ENOMEM;
    }
    for (uint32_t i = 0; i < cores; i++)
        line->available[i] = -HUGE_VAL;
    line->steps[0] = (od_batch_step){-HUGE_VAL, cores};
    return OD_OK;
}

void od_batch_timeline_free(od_batch_timeline *line)
{
    free(line->uses);
    free(line->available);
    free(line->steps);
    *line = (od_batch_timeline){0};
}

od_status od_batch_timeline_copy(od_batch_timeline *to, const od_batch_timeline *from)
{
    if (!od_array_reserve(&to->uses, &to->room, from->count, sizeof *to->uses) ||
        !od_array_reserve(&to->steps, &to->steps_room, from->nsteps, sizeof *to->steps))
        return OD_ENOMEM;
    if (from->count)
        memcpy(to->uses, from->uses, from->count * sizeof *to->uses);
    memcpy(to->steps, from->steps, from->nsteps * sizeof *to->steps);
    memcpy(to->available, from->available, from->cores * sizeof *to->available);
    to->count = from->count;
    to->nsteps = from->nsteps;
    return OD_OK;
}

/* --- cores ---------------------------------------------------------------------------- */

/* The cores that are free first are taken until `end`. */
static void take_available(od_batch_timeline *line, uint32_t cores, double end)
{
    uint32_t at = cores;
    for (; at < line->cores && line->available[at] < end; at++)
        line->available[at - cores] = line->available[at];
    for (uint32_t i = at - cores; i < at; i++)
        line->available[i] = end;
}

/* Number of the step that holds at the time. */
static uint32_t step_at(const od_batch_timeline *line, double time)
{
    uint32_t low = 0, high = line->nsteps;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        *(line->steps[middle].time <= time ? &low : &high) = middle;
    }
    return low;
}

/* Number of the step that begins at the time, a new one if need be. Room is there. */
static uint32_t split(od_batch_timeline *line, double time)
{
    uint32_t at = step_at(line, time);
    if (line->steps[at].time >= time)
        return at;
    memmove(line->steps + at + 2, line->steps + at + 1, (line->nsteps - at - 1) * sizeof *line->steps);
    line->steps[at + 1] = (od_batch_step){time, line->steps[at].free};
    line->nsteps++;
    return at + 1;
}

static void take_window(od_batch_timeline *line, uint32_t cores, double start, double end)
{
    if (end <= start)
        return;
    uint32_t first = split(line, start), last = split(line, end);
    for (uint32_t i = first; i < last; i++) {
        assert(line->steps[i].free >= cores);
        line->steps[i].free -= cores;
    }
}

static void take(od_batch_timeline *line, const od_batch_use *use)
{
    if (line->backfill)
        take_window(line, use->cores, use->start, use->end);
    else
        take_available(line, use->cores, use->end);
}

static double earliest_window(const od_batch_timeline *line, uint32_t cores, double length, double now)
{
    double start = now;
    for (uint32_t i = step_at(line, now); i < line->nsteps; i++) {
        double end = i + 1 < line->nsteps ? line->steps[i + 1].time : HUGE_VAL;
        if (line->steps[i].free < cores)
            start = end;
        else if (end >= start + length)
            return start;
    }
    return start;
}

double od_batch_timeline_earliest(const od_batch_timeline *line, uint32_t cores, double length, double now)
{
    return line->backfill ? earliest_window(line, cores, length, now) : fmax(line->available[cores - 1], now);
}

uint32_t od_batch_timeline_most_free(const od_batch_timeline *line, double now, double until)
{
    uint32_t most = 0;
    if (!line->backfill) {
        while (most < line->cores && line->available[most] <= until)
            most++;
        return most;
    }
    for (uint32_t i = step_at(line, now); i < line->nsteps && line->steps[i].time <= until; i++)
        if (line->steps[i].free > most)
            most = line->steps[i].free;
    return most;
}

/* --- uses ------------------------------------------------------------------------------- */

/* How many uses have started at the time; before it, where not `at_it`. */
static uint32_t started(const od_batch_timeline *line, double time, bool at_it)
{
    uint32_t low = 0, high = line->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        double start = line->uses[middle].start;
        if (start < time || (at_it && start <= time))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void sum_up(od_batch_timeline *line, uint32_t from)
{
    for (uint32_t i = from; i < line->count; i++) {
        double before = i ? line->uses[i - 1].latest : -HUGE_VAL;
        line->uses[i].latest = fmax(before, line->uses[i].end);
    }
}

od_status od_batch_timeline_add(od_batch_timeline *line, od_batch_use use)
{
    if (!od_array_reserve(&line->uses, &line->room, (uint64_t)line->count + 1, sizeof *line->uses) ||
        !od_array_reserve(&line->steps, &line->steps_room, (uint64_t)line->nsteps + 2, sizeof *line->steps))
        return OD_ENOMEM;
    uint32_t at = started(line, use.start, true);
    memmove(line->uses + at + 1, line->uses + at, (line->count - at) * sizeof *line->uses);
    line->uses[at] = use;
    line->count++;
    sum_up(line, at);
    take(line, &use);
    return OD_OK;
}

/* Only running jobs take cores. */
static void count_cores(od_batch_timeline *line)
{
    for (uint32_t i = 0; i < line->cores; i++)
        line->available[i] = -HUGE_VAL;
    line->nsteps = 1;
    for (uint32_t i = 0; i < line->count; i++)
        if (line->uses[i].cores)
            take(line, &line->uses[i]);
}

void od_batch_timeline_end(od_batch_timeline *line, uint32_t job, double now)
{
    for (uint32_t i = 0; i < line->count; i++)
        if (line->uses[i].job == job) {
            line->uses[i].end = now;
            line->uses[i].cores = 0;
        }
    sum_up(line, 0);
    count_cores(line);
}

/* The last start before the time; a file that is in memory then is used by a job that ends later than that. */
static double last_start(const od_batch_timeline *line, double time)
{
    uint32_t before = started(line, time, false);
    return before ? line->uses[before - 1].start : -HUGE_VAL;
}

void od_batch_timeline_prune(od_batch_timeline *line, double now)
{
    double since = last_start(line, now);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < line->count; i++)
        if (line->uses[i].cores || line->uses[i].end > since || line->uses[i].start >= since)
            line->uses[kept++] = line->uses[i];
    line->count = kept;
    sum_up(line, 0);
}

/* The job ended while it was loading: nothing is left. */
static bool leaves_file(const od_batch_use *use, double time)
{
    return use->ready <= use->end || use->end > time;
}

/* A file is also there from the moment on at which a job that uses it starts. */
const od_batch_use *od_batch_timeline_find(const od_batch_timeline *line, uint32_t file, double time, bool *ever)
{
    double since = last_start(line, time);
    uint32_t after = started(line, time, true);
    for (uint32_t i = after; i > 0 && line->uses[i - 1].latest > since; i--) {
        const od_batch_use *use = &line->uses[i - 1];
        if (use->file == file && use->end > since && leaves_file(use, time)) {
            *ever = true;
            return use;
        }
    }
    *ever = false;
    for (uint32_t i = 0; i < line->count && !*ever; i++)
        *ever = line->uses[i].file == file;
    return NULL;
}

void od_batch_timeline_resident(const od_batch_timeline *line, double time,
                                void (*visit)(void *argument, uint32_t file), void *argument)
{
    double since = last_start(line, time);
    uint32_t after = started(line, time, true);
    for (uint32_t i = after; i > 0 && line->uses[i - 1].latest > since; i--) {
        const od_batch_use *use = &line->uses[i - 1];
        if (use->end > since && leaves_file(use, time))
            visit(argument, use->file);
    }
}

bool od_batch_timeline_is_valid(const od_batch_timeline *line)
{
    double latest = -HUGE_VAL;
    for (uint32_t i = 0; i < line->count; i++) {
        const od_batch_use *use = &line->uses[i];
        latest = fmax(latest, use->end);
        if (use->end < use->start || use->latest < latest || use->latest > latest ||
            (i && use->start < line->uses[i - 1].start))
            return false;
    }
    for (uint32_t i = 1; i < line->cores; i++)
        if (line->available[i] < line->available[i - 1])
            return false;
    for (uint32_t i = 0; i < line->nsteps; i++)
        if (line->steps[i].free > line->cores || (i && line->steps[i].time <= line->steps[i - 1].time))
            return false;
    return line->nsteps > 0 && line->steps[line->nsteps - 1].free == line->cores;
}
