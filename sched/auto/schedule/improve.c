/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See improve.h. */
#define _GNU_SOURCE /* qsort_r */
#include "sched/auto/schedule/improve.h"

#include "sched/auto/schedule/rounds.h"
#include "sched/oracle/play.h"
#include "util/memory.h"
#include "util/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Plays without any gain that end a search, and tasks played that end it where no time is set. */
enum { VAIN_PLAYS = 300, MOST_PLAYED = 2000000 };

/* --- playing ------------------------------------------------------------------------------- */

double od_improve_play(od_improvement *i, const od_schedule *schedule, double limit)
{
    od_settings settings = od_schedule_settings(schedule, i->settings);
    unsigned count = i->rounds ? i->rounds : 1;
    od_rounds rounds;
    double sum = 0;
    od_status status = od_rounds_init(&rounds, i->problem);
    for (unsigned r = 0; !status && r < count && isfinite(sum); r++) {
        od_play_result result = {.seconds = (double)INFINITY};
        status = od_rounds_play(&rounds, &settings, count * limit - sum, &result);
        sum += result.seconds;
        i->nplays++;
    }
    od_rounds_free(&rounds);
    return status ? (double)INFINITY : sum / count;
}

od_schedule *od_improve_begin(od_improvement *i, const od_settings *settings, double *seconds)
{
    uint32_t n = i->problem->ntasks;
    od_play_result result = {.began = od_malloc((n + (size_t)1) * sizeof *result.began)};
    od_schedule *schedule = result.began ? od_schedule_create(n) : NULL;
    i->nplays++;
    if (schedule && (od_play(i->problem, settings, (double)INFINITY, &result) || isinf(result.seconds))) {
        free(schedule);
        schedule = NULL;
    }
    if (schedule) {
        od_schedule_take(schedule, result.began);
        *seconds = od_improve_play(i, schedule, (double)INFINITY);
    }
    free(result.began);
    return schedule;
}

/* --- changes --------------------------------------------------------------------------------- */

/* While a schedule is changed. */
struct search {
    od_improvement *i;
    od_schedule *schedule;
    uint32_t *by_rank; /* its tasks */
};

static uint32_t below(struct search *s, uint32_t bound)
{
    return od_random_below(&s->i->random, bound);
}

/* Another device than `from`, of those that may be used. */
static uint32_t another_device(struct search *s, uint32_t from)
{
    od_placeset others = from < OD_SCHEDULE_OPEN ? od_placeset_without(s->i->devices, from) : s->i->devices;
    if (od_placeset_is_empty(others))
        return from;
    od_placeset_walk at = od_placeset_begin(others);
    for (uint32_t skip = below(s, od_placeset_count(others)) + 1; skip > 0; skip--)
        od_placeset_next(&at);
    return at.place;
}

static void move_task(struct search *s, uint32_t t)
{
    s->schedule->task[t].device = another_device(s, s->schedule->task[t].device);
}

/* It and another one change places. */
static void exchange_tasks(struct search *s, uint32_t t)
{
    od_scheduled *a = &s->schedule->task[t], *b = &s->schedule->task[below(s, s->i->problem->ntasks)], kept = *a;
    *a = *b;
    *b = kept;
}

static bool uses(const od_play_problem *p, uint32_t t, uint32_t datum, od_mode mode)
{
    for (uint32_t a = p->tasks[t].first_access; a < p->tasks[t].first_access + p->tasks[t].naccess; a++)
        if (p->accesses[a].datum == datum && (p->accesses[a].mode & mode))
            return true;
    return false;
}

/* The writers, or the readers, of something that the task uses. */
static void move_users(struct search *s, uint32_t t)
{
    const od_play_problem *p = s->i->problem;
    if (!p->tasks[t].naccess)
        return;
    uint32_t datum = p->accesses[p->tasks[t].first_access + below(s, p->tasks[t].naccess)].datum;
    uint32_t to = another_device(s, s->schedule->task[t].device);
    od_mode mode = below(s, 2) ? OD_WRITE : OD_READ;
    for (uint32_t i = 0; i < p->ntasks; i++)
        if (i == t || uses(p, i, datum, mode))
            s->schedule->task[i].device = to;
}

/* How many tasks a change of a stretch is about: few more often than many. */
static uint32_t length_of_stretch(struct search *s)
{
    uint32_t most = s->i->problem->ntasks / 4 + 1;
    double share = od_random_fraction(&s->i->random);
    return 1 + (uint32_t)(share * share * share * most);
}

/* Those of its device that follow it in the order. */
static void move_neighbours(struct search *s, uint32_t t)
{
    uint32_t from = s->schedule->task[t].device, to = another_device(s, from), left = length_of_stretch(s);
    for (uint32_t r = s->schedule->task[t].rank; left > 0 && r < s->i->problem->ntasks; r++)
        if (s->schedule->task[s->by_rank[r]].device == from) {
            s->schedule->task[s->by_rank[r]].device = to;
            left--;
        }
}

/* It and what follows it on its device come later: behind what others do, and what is next on its own device. */
static void move_in_order(struct search *s, uint32_t t)
{
    uint32_t n = s->i->problem->ntasks, device = s->schedule->task[t].device, first = s->schedule->task[t].rank;
    uint32_t length = length_of_stretch(s), far = length_of_stretch(s);
    uint32_t last = first + length + far < n ? first + length + far : n;
    uint32_t *order = &s->by_rank[first], kept = 0, back = 0;
    uint32_t *later = od_malloc((last - first + (size_t)1) * sizeof *later);
    if (!later)
        return;
    for (uint32_t r = first; r < last; r++) {
        uint32_t task = s->by_rank[r];
        if (s->schedule->task[task].device == device && back < length)
            later[back++] = task;
        else
            order[kept++] = task;
    }
    memcpy(order + kept, later, back * sizeof *later);
    free(later);
    for (uint32_t r = first; r < last; r++)
        s->schedule->task[s->by_rank[r]].rank = r;
}

static void change(struct search *s)
{
    static void (*const changes[])(struct search *, uint32_t) = {move_task, exchange_tasks, move_users, move_neighbours,
                                                                 move_in_order};
    enum { ALL = sizeof changes / sizeof *changes, ORDER = ALL - 1 };
    bool alone = od_placeset_count(s->i->devices) <= 1;
    changes[alone ? ORDER : below(s, ALL)](s, below(s, s->i->problem->ntasks));
}

static void sort(struct search *s)
{
    for (uint32_t t = 0; t < s->i->problem->ntasks; t++)
        s->by_rank[s->schedule->task[t].rank] = t;
}

/* --- the search ------------------------------------------------------------------------------ */

/* Ranks as they come from a part of a graph, or from tasks that are open, made 0, 1, 2, ... */
static int by_rank(const void *a, const void *b, void *schedule)
{
    const od_scheduled *task = ((const od_schedule *)schedule)->task;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return task[x].rank != task[y].rank ? (task[x].rank < task[y].rank ? -1 : 1) : (x > y) - (x < y);
}

static void number_ranks(od_schedule *schedule, uint32_t *order)
{
    for (uint32_t t = 0; t < schedule->ntasks; t++)
        order[t] = t;
    qsort_r(order, schedule->ntasks, sizeof *order, by_rank, schedule);
    for (uint32_t r = 0; r < schedule->ntasks; r++)
        schedule->task[order[r]].rank = r;
}

static bool is_over(const od_improvement *i)
{
    const od_play_problem *p = i->problem;
    return (p->stop && p->stop(p->stop_data)) || (uint64_t)i->nplays * p->ntasks > MOST_PLAYED;
}

double od_improve(od_improvement *i, od_schedule *schedule, double seconds)
{
    uint32_t n = schedule->ntasks;
    size_t bytes = n * sizeof schedule->task[0];
    struct search s = {i, schedule, od_malloc((n + (size_t)1) * sizeof *s.by_rank)};
    od_scheduled *before = od_malloc(bytes + 1);
    unsigned vain = 0;
    if (s.by_rank && before && n)
        number_ranks(schedule, s.by_rank);
    while (s.by_rank && before && n && vain < VAIN_PLAYS && !is_over(i)) {
        memcpy(before, schedule->task, bytes);
        sort(&s);
        change(&s);
        double now = od_improve_play(i, schedule, seconds);
        vain = now < seconds ? 0 : vain + 1;
        if (now < seconds)
            seconds = now;
        else
            memcpy(schedule->task, before, bytes);
    }
    free(before);
    free(s.by_rank);
    return seconds;
}
