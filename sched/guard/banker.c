/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The banker; see banker.h. The memory at each step is in a tree over the steps: a node has what was added to all steps
 * below it, and the highest sum there. Steps before the front are not looked at any more, what is there may be wrong.
 * When the tree is full it is made anew from the first step that has not ended.
 */
#include "sched/guard/banker.h"

#include "util/container/array.h"
#include "util/memory.h"

#include <stdlib.h>

enum { FIRST_STEPS = 256 };

typedef struct node {
    int64_t added; /* bytes, to all steps below */
    int64_t most;  /* bytes at one of them, without what is added above */
} node;

typedef struct step {
    double seconds; /* 0 once it has ended */
    bool ended;
} step;

struct od_banker {
    int64_t bound, in_memory;
    od_banker_step base, front, next;
    size_t room;  /* steps in the tree, a power of two */
    node *nodes;  /* the root is 1, the children of i are 2 i and 2 i + 1, step base + i is room + i */
    step *steps;  /* by step, less base */
    double *sums; /* of seconds, Fenwick's: entry i - 1 has those of the steps (i - lowest bit of i, i] */
    od_banker_datum **data; /* born and not died */
    uint32_t ndata, data_room;
};

/* --- the tree -------------------------------------------------------------------------------- */

static int64_t max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void renew(node *nodes, size_t i)
{
    nodes[i].most = nodes[i].added + max(nodes[2 * i].most, nodes[2 * i + 1].most);
}

static void add_at(node *nodes, size_t i, int64_t bytes)
{
    nodes[i].added += bytes;
    nodes[i].most += bytes;
}

/* To the steps [from, to), less base. */
static void add(od_banker *g, size_t from, size_t to, int64_t bytes)
{
    size_t left = from + g->room, right = to + g->room;
    if (from >= to)
        return;
    for (size_t l = left, r = right; l < r; l /= 2, r /= 2) {
        if (l % 2)
            add_at(g->nodes, l++, bytes);
        if (r % 2)
            add_at(g->nodes, --r, bytes);
    }
    for (size_t i = left / 2; i; i /= 2)
        renew(g->nodes, i);
    for (size_t i = (right - 1) / 2; i; i /= 2)
        renew(g->nodes, i);
}

typedef struct search {
    const node *nodes;
    size_t from, to; /* steps, less base */
    int64_t above;   /* bytes that are looked for */
} search;

/* The last step of the range, below node i, with more than `above`, less base; `to` of the search: none. Node i is
 * that of the steps [begin, begin + count); `added`, by those above it. */
static size_t last_above(const search *s, size_t i, size_t begin, size_t count, int64_t added)
{
    if (begin >= s->to || begin + count <= s->from || s->nodes[i].most + added <= s->above)
        return s->to;
    if (count == 1)
        return begin;
    added += s->nodes[i].added;
    size_t found = last_above(s, 2 * i + 1, begin + count / 2, count / 2, added);
    return found != s->to ? found : last_above(s, 2 * i, begin, count / 2, added);
}

static int64_t most_in(const search *s, size_t i, size_t begin, size_t count, int64_t added)
{
    if (begin >= s->to || begin + count <= s->from)
        return INT64_MIN;
    if (begin >= s->from && begin + count <= s->to)
        return s->nodes[i].most + added;
    added += s->nodes[i].added;
    return max(most_in(s, 2 * i, begin, count / 2, added), most_in(s, 2 * i + 1, begin + count / 2, count / 2, added));
}

/* --- sums of seconds --------------------------------------------------------------------------- */

static void add_seconds(od_banker *g, size_t i, double seconds)
{
    for (i++; i <= g->room; i += i & (~i + 1))
        g->sums[i - 1] += seconds;
}

static double sum_seconds(const od_banker *g, size_t count)
{
    double sum = 0;
    for (size_t i = count; i; i &= i - 1)
        sum += g->sums[i - 1];
    return sum;
}

/* --- where data count ---------------------------------------------------------------------------- */

static size_t from_of(const od_banker *g, const od_banker_datum *d)
{
    od_banker_step from = d->made || d->birth < g->front ? g->front : d->birth;
    return from - g->base;
}

/* Behind the last step where it counts. */
static size_t to_of(const od_banker *g, const od_banker_datum *d)
{
    return d->death == OD_BANKER_NO_STEP ? g->room : d->death < g->base ? 0 : d->death - g->base + 1;
}

static void count(od_banker *g, const od_banker_datum *d, int64_t bytes)
{
    add(g, from_of(g, d), to_of(g, d), bytes);
}

/* --- making and unmaking ------------------------------------------------------------------------ */

od_banker *od_banker_create(int64_t bound)
{
    od_banker *g = od_calloc(1, sizeof *g);
    if (g)
        g->bound = bound;
    return g;
}

void od_banker_destroy(od_banker *g)
{
    if (!g)
        return;
    free(g->nodes);
    free(g->steps);
    free(g->sums);
    free(g->data);
    free(g);
}

void od_banker_set_bound(od_banker *g, int64_t bound)
{
    g->bound = bound;
}

/* Room for another step. */
static bool make_room(od_banker *g)
{
    size_t kept = g->next - g->front, room = FIRST_STEPS;
    while (room <= 2 * kept)
        room *= 2;
    od_banker made = *g;
    made.room = room;
    made.base = g->front;
    made.nodes = od_calloc(2 * room, sizeof *made.nodes);
    made.steps = od_calloc(room, sizeof *made.steps);
    made.sums = od_calloc(room, sizeof *made.sums);
    if (!made.nodes || !made.steps || !made.sums) {
        free(made.nodes);
        free(made.steps);
        free(made.sums);
        return false;
    }
    for (size_t i = 0; i < kept; i++) {
        made.steps[i] = g->steps[g->front - g->base + i];
        add_seconds(&made, i, made.steps[i].seconds);
    }
    free(g->nodes);
    free(g->steps);
    free(g->sums);
    *g = made;
    for (uint32_t i = 0; i < g->ndata; i++)
        count(g, g->data[i], g->data[i]->bytes);
    return true;
}

/* --- steps ------------------------------------------------------------------------------------ */

od_banker_step od_banker_submit(od_banker *g, double seconds)
{
    if (g->next - g->base == g->room && !make_room(g))
        return OD_BANKER_NO_STEP;
    g->steps[g->next - g->base] = (step){.seconds = seconds};
    add_seconds(g, g->next - g->base, seconds);
    return g->next++;
}

void od_banker_end(od_banker *g, od_banker_step which)
{
    if (which == OD_BANKER_NO_STEP || which < g->front || which >= g->next)
        return;
    step *s = &g->steps[which - g->base];
    add_seconds(g, which - g->base, -s->seconds);
    *s = (step){.ended = true};
    while (g->front < g->next && g->steps[g->front - g->base].ended)
        g->front++;
}

od_banker_step od_banker_front(const od_banker *g)
{
    return g->front;
}

double od_banker_seconds(const od_banker *g, od_banker_step which)
{
    if (which < g->front || g->front == g->next)
        return 0;
    size_t end = which < g->next ? which - g->base + 1 : g->next - g->base;
    return sum_seconds(g, end);
}

/* --- data -------------------------------------------------------------------------------------- */

od_status od_banker_born(od_banker *g, od_banker_datum *d, od_banker_step birth, int64_t bytes)
{
    if (!od_array_reserve(&g->data, &g->data_room, (uint64_t)g->ndata + 1, sizeof(od_banker_datum *)))
        return OD_ENOMEM;
    *d = (od_banker_datum){.bytes = bytes, .birth = birth, .death = OD_BANKER_NO_STEP, .born = true, .place = g->ndata};
    g->data[g->ndata++] = d;
    count(g, d, bytes);
    return OD_OK;
}

void od_banker_dies(od_banker *g, od_banker_datum *d, od_banker_step death)
{
    if (!d->born || death <= d->birth || death < g->front || death >= d->death)
        return;
    count(g, d, -d->bytes);
    d->death = death;
    count(g, d, d->bytes);
}

void od_banker_died(od_banker *g, od_banker_datum *d)
{
    if (!d->born)
        return;
    count(g, d, -d->bytes);
    g->in_memory -= d->made ? d->bytes : 0;
    od_banker_datum *last = g->data[--g->ndata];
    g->data[d->place] = last;
    last->place = d->place;
    *d = (od_banker_datum){0};
}

static void set_made(od_banker *g, od_banker_datum *d, bool made)
{
    if (d->made == made)
        return;
    count(g, d, -d->bytes);
    d->made = made;
    count(g, d, d->bytes);
    g->in_memory += made ? d->bytes : -d->bytes;
}

void od_banker_make_anyway(od_banker *g, od_banker_datum *const *data, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        set_made(g, data[i], true);
}

bool od_banker_make(od_banker *g, od_banker_datum *const *data, uint32_t n, od_banker_step *wait)
{
    search s = {.nodes = g->nodes, .from = g->front - g->base, .above = g->bound};
    for (uint32_t i = 0; i < n; i++)
        s.to = data[i]->birth > g->base + s.to ? data[i]->birth - g->base : s.to;
    od_banker_make_anyway(g, data, n);
    size_t found = s.to > s.from ? last_above(&s, 1, 0, g->room, 0) : s.to;
    if (found == s.to)
        return true;
    for (uint32_t i = 0; i < n; i++)
        set_made(g, data[i], false);
    if (wait)
        *wait = g->base + found;
    return false;
}

int64_t od_banker_need(const od_banker *g)
{
    search s = {.nodes = g->nodes, .from = g->front - g->base, .to = g->next - g->base};
    return s.to > s.from ? most_in(&s, 1, 0, g->room, 0) : 0;
}

int64_t od_banker_in_memory(const od_banker *g)
{
    return g->in_memory;
}

/* --- check -------------------------------------------------------------------------------------- */

/* What the tree says of one step. */
static int64_t bytes_at(const od_banker *g, size_t at)
{
    int64_t bytes = 0;
    for (size_t i = g->room + at; i; i /= 2)
        bytes += g->nodes[i].added;
    return bytes;
}

/* Of long graphs the beginning. */
bool od_banker_is_valid(const od_banker *g)
{
    enum { LOOK_AT = 64 };
    int64_t in_memory = 0;
    for (uint32_t i = 0; i < g->ndata; i++) {
        if (!g->data[i]->born || g->data[i]->place != i)
            return false;
        in_memory += g->data[i]->made ? g->data[i]->bytes : 0;
    }
    for (size_t at = g->front - g->base; at < g->next - g->base && at < g->front - g->base + LOOK_AT; at++) {
        int64_t bytes = 0;
        for (uint32_t i = 0; i < g->ndata && g->ndata <= LOOK_AT; i++)
            bytes += from_of(g, g->data[i]) <= at && at < to_of(g, g->data[i]) ? g->data[i]->bytes : 0;
        if (g->ndata <= LOOK_AT && bytes != bytes_at(g, at))
            return false;
    }
    return in_memory == g->in_memory;
}
