/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The optimal order of series-parallel graphs. A task changes the level by the same amount in every order, so a graph's
 * tasks are jobs with cumulative costs under precedence, which series-parallel decomposition solves (Abdel-Wahab and
 * Kameda, 1978); for graphs with data on their edges it is the algorithm of Kayaaslan et al.: split at the minimal cut,
 * Liu's algorithm on both sides.
 *
 * A part's optimal order is a list of strings, rows of tasks that optimal orders keep together: first those that lower
 * the level, by non-decreasing rise, then the others by non-increasing rise less change. The level is lowest between
 * the two: the minimal cut. Parallel parts: all their strings, sorted. Parts in series: one list behind the other; a
 * string that would have to come before its predecessor becomes one with it.
 *
 * A part that is neither gets a synchronisation point where the order that the whole began with has its lowest level
 * there: all that it has run precedes the rest. That order stays possible, so the result is never worse.
 */
#include "dag/order/order.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 5000, MOST_WORK = 300000000 }; /* tasks that are looked at, in all parts: some ten seconds */

typedef struct string {
    od_dag_step step;
    uint32_t first, last; /* tasks, linked by decomposition.follower */
} string;

/* Parts are ranges of `tasks`, in the order of `start`; the strings of a part are at the beginning of its range. */
typedef struct decomposition {
    const od_dag *dag;
    const od_dag_step *steps;
    uint32_t *tasks, *position; /* and where each task is */
    string *strings;
    uint32_t *follower;
    uint32_t *leader;                 /* by position: of its component */
    uint32_t *copy;                   /* by position */
    int64_t *sinks, *sources, *pairs; /* by position: changes behind it */
    uint32_t synchronisations, depth;
    uint64_t work; /* left */
} decomposition;

/* --- strings ---------------------------------------------------------------------------- */

static bool lowers(const string *s)
{
    return s->step.change < 0;
}

/* Below 0: a before b; 0: either. */
static int compare(const string *a, const string *b)
{
    if (lowers(a) != lowers(b))
        return lowers(a) ? -1 : 1;
    int64_t left = a->step.rise - (lowers(a) ? 0 : a->step.change);
    int64_t right = b->step.rise - (lowers(b) ? 0 : b->step.change);
    if (left == right)
        return 0;
    return (left < right) == lowers(a) ? -1 : 1;
}

static int by_rule(const void *left, const void *right)
{
    const string *a = left, *b = right;
    int order = compare(a, b);
    return order ? order : a->first < b->first ? -1 : a->first > b->first;
}

static void append(decomposition *d, string *a, const string *b)
{
    a->step = od_dag_step_then(a->step, b->step);
    d->follower[a->last] = b->first;
    a->last = b->last;
}

/* One more string behind the list. Returns how many there are. */
static uint32_t add_in_series(decomposition *d, string *list, uint32_t count, string next)
{
    list[count++] = next;
    while (count > 1 && compare(&list[count - 2], &list[count - 1]) >= 0) {
        append(d, &list[count - 2], &list[count - 1]);
        count--;
    }
    return count;
}

/* --- parallel: components ------------------------------------------------------------------ */

static uint32_t find_leader(decomposition *d, uint32_t i)
{
    while (d->leader[i] != i)
        i = d->leader[i] = d->leader[d->leader[i]];
    return i;
}

static void find_components(decomposition *d, uint32_t begin, uint32_t end)
{
    for (uint32_t i = begin; i < end; i++)
        d->leader[i] = i;
    for (uint32_t i = begin; i < end; i++) {
        uint32_t t = d->tasks[i];
        for (uint32_t k = d->dag->after.first[t]; k < d->dag->after.first[t + 1]; k++) {
            uint32_t other = d->position[d->dag->after.items[k]];
            if (other < end) {
                uint32_t a = find_leader(d, i), b = find_leader(d, other);
                d->leader[a > b ? a : b] = a > b ? b : a;
            }
        }
    }
}

/* Moves each component's tasks together, in their order. True: there is more than one; copy[i] is then where the
 * component ends that begins at i. */
static bool part_components(decomposition *d, uint32_t begin, uint32_t end)
{
    uint32_t *room = (uint32_t *)(void *)d->sinks, at = begin; /* not in use yet */
    find_components(d, begin, end);
    bool one = true;
    for (uint32_t i = begin; i < end; i++) {
        d->leader[i] = find_leader(d, i);
        one &= d->leader[i] == begin;
        room[i] = 0;
    }
    if (one)
        return false;
    for (uint32_t i = begin; i < end; i++)
        room[d->leader[i]]++;
    for (uint32_t i = begin; i < end; i++)
        if (d->leader[i] == i) { /* from how many to where the next goes */
            uint32_t size = room[i];
            room[i] = at;
            at += size;
        }
    for (uint32_t i = begin; i < end; i++)
        d->copy[room[d->leader[i]]++] = d->tasks[i];
    for (uint32_t i = begin; i < end; i++) {
        d->tasks[i] = d->copy[i];
        d->position[d->tasks[i]] = i;
    }
    for (uint32_t i = begin, from = begin; i < end; i++)
        if (d->leader[i] == i) {
            d->copy[from] = room[i];
            from = room[i];
        }
    return true;
}

/* --- series: where all before precedes all behind -------------------------------------------------- */

static uint32_t first_after(const decomposition *d, uint32_t i, uint32_t end)
{
    uint32_t t = d->tasks[i], first = end;
    for (uint32_t k = d->dag->after.first[t]; k < d->dag->after.first[t + 1]; k++) {
        uint32_t other = d->position[d->dag->after.items[k]];
        first = other < first ? other : first;
    }
    return first;
}

static uint32_t last_before(const decomposition *d, uint32_t i, uint32_t begin)
{
    uint32_t t = d->tasks[i], last = begin; /* plus one */
    for (uint32_t k = d->dag->before.first[t]; k < d->dag->before.first[t + 1]; k++) {
        uint32_t other = d->position[d->dag->before.items[k]] + 1;
        last = other > last ? other : last;
    }
    return last;
}

static void count_from_to(int64_t *changes, uint32_t from, uint32_t to)
{
    changes[from]++;
    changes[to]--;
}

/* How many sinks what comes before position p has, and how many sources the rest; and how many pairs of both are in
 * direct precedence. All of them: p divides the part. */
static void count_pairs(decomposition *d, uint32_t begin, uint32_t end)
{
    uint32_t *last = d->leader; /* not in use any more */
    for (uint32_t i = begin; i <= end; i++)
        d->sinks[i] = d->sources[i] = d->pairs[i] = 0;
    for (uint32_t i = begin; i < end; i++)
        last[i] = last_before(d, i, begin);
    for (uint32_t i = begin; i < end; i++) {
        uint32_t t = d->tasks[i], first = first_after(d, i, end);
        count_from_to(d->sinks, i + 1, first + 1 > end ? end : first + 1);
        count_from_to(d->sources, last[i], i + 1);
        for (uint32_t k = d->dag->after.first[t]; k < d->dag->after.first[t + 1]; k++) {
            uint32_t other = d->position[d->dag->after.items[k]];
            if (other < end && last[other] <= first)
                count_from_to(d->pairs, last[other], first + 1 > end ? end : first + 1);
        }
    }
}

/* copy[i] gets the end of the piece that begins at i. False: there is one piece alone. */
static bool part_series(decomposition *d, uint32_t begin, uint32_t end)
{
    int64_t sinks = 0, sources = 0, pairs = 0;
    uint32_t from = begin;
    count_pairs(d, begin, end);
    for (uint32_t p = begin; p < end; p++) {
        sinks += d->sinks[p];
        sources += d->sources[p];
        pairs += d->pairs[p];
        if (p > begin && pairs == sinks * sources) {
            d->copy[from] = p;
            from = p;
        }
    }
    d->copy[from] = end;
    return from != begin;
}

/* Neither: a synchronisation point where the level is lowest, and of several such in the middle. */
static void synchronise(decomposition *d, uint32_t begin, uint32_t end)
{
    uint32_t best = begin + 1, middle = begin + (end - begin) / 2;
    int64_t level = 0, lowest = INT64_MAX;
    for (uint32_t p = begin + 1; p < end; p++) {
        level += d->steps[d->tasks[p - 1]].change;
        uint32_t away = p > middle ? p - middle : middle - p, best_away = best > middle ? best - middle : middle - best;
        if (level < lowest || (level == lowest && away < best_away)) {
            lowest = level;
            best = p;
        }
    }
    d->copy[begin] = best;
    d->copy[best] = end;
    d->synchronisations++;
}

/* --- recursion -------------------------------------------------------------------------------------- */

static bool solve(decomposition *d, uint32_t begin, uint32_t end, uint32_t *count);

/* Each piece by itself, then as the function says. */
static bool solve_pieces(decomposition *d, uint32_t begin, uint32_t end, bool parallel, uint32_t *count)
{
    /* copy[] is used again by the pieces: their ends are kept. */
    uint32_t pieces = 0, *ends;
    for (uint32_t i = begin; i < end; i = d->copy[i])
        pieces++;
    ends = malloc(pieces * sizeof *ends);
    if (!ends)
        return false;
    for (uint32_t i = begin, n = 0; i < end; i = d->copy[i])
        ends[n++] = d->copy[i];
    bool fine = true;
    *count = 0;
    for (uint32_t n = 0, from = begin; n < pieces && fine; from = ends[n++]) {
        uint32_t some = 0;
        fine = solve(d, from, ends[n], &some);
        string *list = d->strings + begin;
        for (uint32_t i = 0; i < some && fine; i++) {
            string next = d->strings[from + i];
            if (parallel)
                list[(*count)++] = next;
            else
                *count = add_in_series(d, list, *count, next);
        }
    }
    if (fine && parallel)
        qsort(d->strings + begin, *count, sizeof *d->strings, by_rule);
    free(ends);
    return fine;
}

/* False: too deep, or out of memory. */
static bool solve(decomposition *d, uint32_t begin, uint32_t end, uint32_t *count)
{
    if (end - begin == 1) {
        uint32_t t = d->tasks[begin];
        d->strings[begin] = (string){d->steps[t], t, t};
        *count = 1;
        return true;
    }
    if (d->work < end - begin || d->depth == MOST_DEPTH)
        return false;
    d->work -= end - begin;
    d->depth++;
    bool parallel = part_components(d, begin, end);
    if (!parallel && !part_series(d, begin, end))
        synchronise(d, begin, end);
    bool fine = solve_pieces(d, begin, end, parallel, count);
    d->depth--;
    return fine;
}

static void write_order(const decomposition *d, uint32_t count, uint32_t *order)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t t = d->strings[i].first;; t = d->follower[t]) {
            order[n++] = t;
            if (t == d->strings[i].last)
                break;
        }
}

static void free_decomposition(decomposition *d)
{
    free(d->tasks);
    free(d->position);
    free(d->strings);
    free(d->follower);
    free(d->leader);
    free(d->copy);
    free(d->sinks);
    free(d->sources);
    free(d->pairs);
}

static bool make_decomposition(decomposition *d, const od_dag *dag, const uint32_t *start)
{
    size_t room = (size_t)dag->ntasks + 2;
    d->dag = dag;
    d->tasks = malloc(room * sizeof *d->tasks);
    d->position = malloc(room * sizeof *d->position);
    d->strings = malloc(room * sizeof *d->strings);
    d->follower = calloc(room, sizeof *d->follower);
    d->leader = malloc(room * sizeof *d->leader);
    d->copy = malloc(room * sizeof *d->copy);
    d->sinks = malloc(room * sizeof *d->sinks);
    d->sources = malloc(room * sizeof *d->sources);
    d->pairs = malloc(room * sizeof *d->pairs);
    d->work = MOST_WORK;
    if (!d->tasks || !d->position || !d->strings || !d->follower || !d->leader || !d->copy || !d->sinks ||
        !d->sources || !d->pairs)
        return false;
    for (uint32_t i = 0; i < dag->ntasks; i++) {
        d->tasks[i] = start[i];
        d->position[start[i]] = i;
    }
    return true;
}

od_status od_dag_series_parallel(const od_dag *dag, od_dag_model model, const uint32_t *start, uint32_t *order,
                                 od_dag_series *found)
{
    decomposition d = {0};
    uint32_t count = 0;
    od_dag_step *steps = malloc(((size_t)dag->ntasks + 1) * sizeof *steps);
    od_status status = steps && make_decomposition(&d, dag, start) ? OD_OK : OD_ENOMEM;
    d.steps = steps;
    if (!status)
        status = od_dag_steps(dag, model, start, steps, &found->optimal);
    if (!status && dag->ntasks && !solve(&d, 0, dag->ntasks, &count))
        status = OD_EBUSY;
    if (!status)
        write_order(&d, count, order);
    found->synchronisations = d.synchronisations;
    found->optimal &= !d.synchronisations;
    free_decomposition(&d);
    free(steps);
    return status;
}
