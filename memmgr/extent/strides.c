/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See strides.h. The time is in the order of the names' ranges, for each of a few hundred strides that are tried. */
#include "memmgr/extent/strides.h"

#include "memmgr/extent/page.h"
#include "memmgr/extent/spans.h"
#include "util/memory.h"

#include <stdlib.h>
#include <string.h>

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* --- runs ------------------------------------------------------------------- */

static int by_address(const void *a, const void *b)
{
    const uintptr_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

uint32_t od_page_runs_make(uintptr_t *touched, uint32_t count, od_page_run *runs)
{
    uint32_t n = 0;
    if (count)
        qsort(touched, count, sizeof *touched, by_address);
    for (uint32_t i = 0; i < count; i++) {
        uintptr_t page = od_window_page_begin(touched[i]), end = page + od_window_page();
        if (n && page <= runs[n - 1].end)
            runs[n - 1].end = end;
        else
            runs[n++] = (od_page_run){page, end, touched[i]};
    }
    return n;
}

/* The first run that overlaps so many bytes there. The number of runs: there is none. */
static uint32_t find_run(const od_named_runs *all, uintptr_t address, size_t bytes)
{
    uint32_t low = 0, high = all->nruns;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (all->runs[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    bool overlaps = low < all->nruns && (all->runs[low].begin <= address || all->runs[low].begin - address < bytes);
    return overlaps ? low : all->nruns;
}

/* --- names ------------------------------------------------------------------ */

/* How many of the values, which ascend, are not larger. */
static uint32_t count_up_to(const uintptr_t *values, uint32_t n, uintptr_t value)
{
    uint32_t low = 0, high = n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (values[middle] <= value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_name(const od_named_runs *all, uintptr_t address)
{
    uint32_t n = count_up_to(all->names, all->nnames, address);
    return n && all->names[n - 1] == address;
}

/* --- one stride ---------------------------------------------------------------- */

typedef struct trial {
    const od_named_runs *all; /* names ascend */
    size_t stride;            /* 0: each name has one range */
    uintptr_t *rests;         /* how far the names are behind the first one, modulo the stride; ascending */
} trial;

static void begin_trial(trial *t, size_t stride)
{
    const od_named_runs *all = t->all;
    t->stride = stride;
    for (uint32_t i = 0; stride && i < all->nnames; i++)
        t->rests[i] = (all->names[i] - all->names[0]) % stride;
    if (stride)
        qsort(t->rests, all->nnames, sizeof *t->rests, by_address);
}

/* Where other names begin, seen from this one's nearest range before. */
static size_t length_to_others(const trial *t, uintptr_t name)
{
    const od_named_runs *all = t->all;
    uintptr_t from = t->stride ? (name - all->names[0]) % t->stride : name;
    const uintptr_t *places = t->stride ? t->rests : all->names;
    uint32_t next = count_up_to(places, all->nnames, from);
    if (next < all->nnames)
        return places[next] - from;
    return t->stride ? t->stride - from : SIZE_MAX; /* the first name's next range */
}

/* What one stride explains. */
typedef struct measure {
    od_strides strides;
    size_t before;  /* of each range, in front of its first address; in bytes */
    size_t longest; /* of the ranges, to the end of a page; in bytes */
    size_t covered; /* bytes of what was touched */
    bool is_even;   /* all ranges have the same length, as far as pages tell */
    uint32_t exact; /* ranges where the first address is the one that was touched first */
} measure;

/* Of a run: what names explain of it. */
static void cover(od_span *covered, uintptr_t begin, uintptr_t end)
{
    if (!covered->end)
        *covered = (od_span){begin, end};
    covered->begin = begin < covered->begin ? begin : covered->begin;
    covered->end = end > covered->end ? end : covered->end;
}

static measure measure_name(const trial *t, uintptr_t name, od_span *covered)
{
    const od_named_runs *all = t->all;
    size_t stride = t->stride, limit = length_to_others(t, name), least = SIZE_MAX, most = 0;
    measure m = {.strides.stride = stride, .before = SIZE_MAX};
    uint32_t last = all->nruns;
    for (uintptr_t at = name;; at += stride) {
        uint32_t run = find_run(all, at, most); /* of a lower triangle ranges begin ever later */
        if (run == all->nruns || run == last || (at != name && is_name(all, at)))
            break;
        size_t length = all->runs[run].end - at;
        length = length < limit ? length : limit;
        least = length < least ? length : least;
        most = length > most ? length : most;
        m.before = smaller(m.before, at > all->runs[run].begin ? at - all->runs[run].begin : 0);
        uintptr_t first = all->runs[run].first, begin = at > first || first > at + length ? at : first;
        m.covered += at + length - begin;
        m.exact += at == first;
        m.strides.count++;
        if (covered)
            cover(&covered[run], begin, at + length);
        last = run;
        if (!stride)
            break;
    }
    m.longest = most;
    m.is_even = m.strides.count && most - least < od_window_page(); /* all end in a page that they need not fill */
    m.strides.length = m.is_even ? least : most; /* of a triangle the longest range counts */
    return m;
}

/* --- one stride for all names ------------------------------------------------------- */

typedef struct score {
    size_t stride;
    int64_t value; /* bytes of what was touched that belong to a name count for it, what it says of each name against */
    uint32_t uneven; /* names whose ranges have several lengths */
    size_t lengths; /* added up */
    uint32_t exact;
} score;

static score score_of(const trial *t, od_span *covered)
{
    enum { WORTH = 4 }; /* half of what is said of a triangle was not touched */
    const od_named_runs *all = t->all;
    score s = {.stride = t->stride};
    memset(covered, 0, all->nruns * sizeof *covered);
    for (uint32_t i = 0; i < all->nnames; i++) {
        measure said = measure_name(t, all->names[i], covered);
        s.value -= (int64_t)(said.strides.count * said.longest);
        s.uneven += !said.is_even;
        s.lengths += said.strides.length;
        s.exact += said.exact;
    }
    for (uint32_t i = 0; i < all->nruns; i++)
        s.value += WORTH * (int64_t)(covered[i].end - covered[i].begin);
    return s;
}

static bool is_better(const score *a, const score *b)
{
    if (a->value != b->value)
        return a->value > b->value;
    if (a->uneven != b->uneven)
        return a->uneven < b->uneven;
    if (a->lengths / 2 > b->lengths || b->lengths / 2 > a->lengths) /* one goes down the diagonal of a triangle */
        return a->lengths > b->lengths;
    if (a->exact != b->exact)
        return a->exact > b->exact;
    return (a->stride & -a->stride) > (b->stride & -b->stride); /* the rounder one */
}

/* Around how many names, how many ranges behind each of them are looked at, and how many strides are tried for each. */
enum { NAMES_TRIED = 8, RUNS_TRIED = 8, STRIDES_TRIED = 4 };

typedef struct search {
    trial trial;
    od_span *covered; /* by run: what names explain of it */
    score best;
    size_t tried[NAMES_TRIED * RUNS_TRIED * STRIDES_TRIED + 1];
    uint32_t ntried;
} search;

static bool was_tried(const search *s, size_t stride)
{
    for (uint32_t i = 0; i < s->ntried; i++)
        if (s->tried[i] == stride)
            return true;
    return false;
}

static score try_stride(search *s, size_t stride)
{
    s->tried[s->ntried++] = stride;
    begin_trial(&s->trial, stride);
    return score_of(&s->trial, s->covered);
}

static void try_another(search *s, size_t stride)
{
    if (!stride || was_tried(s, stride))
        return;
    score found = try_stride(s, stride);
    if (is_better(&found, &s->best))
        s->best = found;
}

/* Another one than is known already has to explain much more: what is touched of a tile can lie in many ways. */
static void try_known(search *s, size_t known)
{
    if (!known)
        return;
    s->best = try_stride(s, known);
    s->best.value += s->best.value > 0 ? s->best.value / 4 : 0;
}

/* From the name to where the ranges begin that come next. */
static void try_around(search *s, uintptr_t name, uint32_t own)
{
    enum { FINE = 64, COARSE = 4096 };
    const od_named_runs *all = s->trial.all;
    for (uint32_t i = own + 1; i < all->nruns && i <= own + RUNS_TRIED; i++) {
        size_t exact = all->runs[i].first - name;
        try_another(s, all->runs[i].begin - all->runs[own].begin);
        try_another(s, exact);
        try_another(s, exact / FINE * FINE);
        try_another(s, exact / COARSE * COARSE);
    }
}

/* Of many names some tell as much as all. */
static void try_names(search *s, const od_named_runs *all)
{
    uint32_t inside = 0, n = 0;
    for (uint32_t i = 0; i < all->nnames; i++)
        inside += find_run(all, all->names[i], 1) < all->nruns;
    uint32_t step = (inside + NAMES_TRIED - 1) / NAMES_TRIED;
    for (uint32_t i = 0; i < all->nnames; i++) {
        uint32_t own = find_run(all, all->names[i], 1);
        if (own < all->nruns && n++ % step == 0)
            try_around(s, all->names[i], own);
    }
}

/* --- of each name ---------------------------------------------------------------------- */

/* A range of another name begins within so many bytes in front of one of this name's. */
static bool is_behind_another(const od_named_runs *all, uintptr_t name, size_t stride, size_t before)
{
    for (uint32_t i = 0; i < all->nnames; i++) {
        uintptr_t other = all->names[i];
        size_t apart = name - other;
        if (stride)
            apart = other > name ? (stride - (other - name) % stride) % stride : (name - other) % stride;
        if (other != name && apart && apart <= before)
            return true;
    }
    return false;
}

/* What lies in front of the name in its page alone need not be its own. */
static size_t before_name(const od_named_runs *all, uintptr_t name, const measure *m)
{
    size_t in_page = name - od_window_page_begin(name);
    return m->before <= in_page || is_behind_another(all, name, m->strides.stride, m->before) ? 0 : m->before;
}

static od_strides strides_of(const trial *t, uintptr_t name)
{
    enum { FEW = 3 }; /* ranges that may lie so by chance */
    const trial single = {.all = t->all};
    if (find_run(t->all, name, 1) == t->all->nruns)
        return (od_strides){0};
    measure one = measure_name(&single, name, NULL), many = measure_name(t, name, NULL);
    measure best = many.strides.count > FEW && many.covered > one.covered ? many : one;
    best.strides.before = before_name(t->all, name, &best);
    return best.strides;
}

static void infer(search *s, const od_named_runs *all, size_t known, od_strides *found)
{
    try_known(s, known);
    try_names(s, all);
    begin_trial(&s->trial, s->best.stride);
    for (uint32_t i = 0; i < all->nnames; i++)
        found[i] = strides_of(&s->trial, all->names[i]);
}

void od_strides_infer(const od_named_runs *all, size_t known, od_strides *found)
{
    size_t bytes = all->nnames * sizeof *all->names;
    uintptr_t *names = od_malloc(bytes), *rests = od_malloc(bytes);
    od_span *covered = od_malloc(((size_t)all->nruns + 1) * sizeof *covered);
    memset(found, 0, all->nnames * sizeof *found);
    if (names && rests && covered) {
        memcpy(names, all->names, bytes);
        qsort(names, all->nnames, sizeof *names, by_address);
        const od_named_runs ascending = {all->runs, all->nruns, names, all->nnames};
        search s = {.trial = {.all = &ascending, .rests = rests}, .covered = covered};
        infer(&s, all, known, found);
    }
    free(names);
    free(rests);
    free(covered);
}

od_strides od_strides_unite(const od_strides *strides, const od_strides *other)
{
    if (strides->stride != other->stride)
        return *other;
    return (od_strides){.before = larger(strides->before, other->before),
                        .length = larger(strides->length, other->length),
                        .stride = other->stride,
                        .count = (uint32_t)larger(strides->count, other->count)};
}

od_strides od_strides_intersect(const od_strides *strides, const od_strides *other)
{
    if (strides->stride != other->stride)
        return *other;
    return (od_strides){.before = smaller(strides->before, other->before),
                        .length = smaller(strides->length, other->length),
                        .stride = other->stride,
                        .count = (uint32_t)smaller(strides->count, other->count)};
}

bool od_strides_are_equal(const od_strides *a, const od_strides *b)
{
    return a->before == b->before && a->length == b->length && a->stride == b->stride && a->count == b->count;
}
