/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See strides.h. The time is in the order of the names' ranges, for each of a few hundred strides that are tried. */
#include "memmgr/extent/strides.h"

#include "memmgr/extent/page.h"
#include "memmgr/extent/places.h"
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

static bool is_among(const uintptr_t *addresses, uint32_t n, uintptr_t address)
{
    uint32_t up_to = od_places_up_to(addresses, n, address);
    return up_to && addresses[up_to - 1] == address;
}

enum { FEW = 3 }; /* ranges that may lie so by chance */

/* --- one stride ---------------------------------------------------------------- */

/* Addresses, ascending, and how far they are behind the first one modulo the stride: distinct, ascending. */
typedef struct rests {
    const uintptr_t *at;
    uint32_t count;
    uintptr_t *rest;
    uint32_t nrests;
} rests;

typedef struct trial {
    const od_named_runs *all; /* names ascend */
    size_t stride;            /* 0: each name has one range */
    rests names, places;
    bool is_last; /* the stride has been found: ranges are cut to where other tasks' tiles begin */
} trial;

static void find_rests(rests *r, size_t stride)
{
    r->nrests = 0;
    for (uint32_t i = 0; stride && i < r->count; i++)
        r->rest[i] = (r->at[i] - r->at[0]) % stride;
    if (stride)
        qsort(r->rest, r->count, sizeof *r->rest, by_address);
    for (uint32_t i = 0; stride && i < r->count; i++)
        if (!i || r->rest[i] != r->rest[r->nrests - 1])
            r->rest[r->nrests++] = r->rest[i];
}

static void begin_trial(trial *t, size_t stride)
{
    t->stride = stride;
    find_rests(&t->names, stride);
    find_rests(&t->places, stride);
}

/* Where the next of them begins, seen from the name's nearest range before. */
static size_t length_to_next(const rests *r, size_t stride, uintptr_t name)
{
    uintptr_t from = stride ? (name - r->at[0]) % stride : name;
    const uintptr_t *at = stride ? r->rest : r->at;
    uint32_t n = stride ? r->nrests : r->count, next = od_places_up_to(at, n, from);
    if (next < n)
        return at[next] - from;
    return stride ? stride - from : SIZE_MAX; /* the first one's next range */
}

/* Another of the task's names has ranges in pages of this one's, or next to them. */
static bool has_neighbour(const trial *t, uintptr_t name)
{
    for (uint32_t i = 0; t->stride && i < t->names.count; i++) {
        uintptr_t other = t->names.at[i];
        size_t behind = (other > name ? other - name : name - other) % t->stride;
        if (other != name && smaller(behind, t->stride - behind) < od_window_page())
            return true;
    }
    return false;
}

static bool is_near_one(const rests *names, uintptr_t address, size_t length)
{
    size_t page = od_window_page();
    for (uint32_t i = 0; i < names->count; i++)
        if (names->at[i] + page > address && names->at[i] < address + length + page)
            return true;
    return false;
}

/* The name's own ranges, of which there are so many, end where another one of the task begins, or in the page beside,
 * and, where what has been touched may be that one's, where another task's does. The first ones of a column's last tile
 * and of its first one lie beside each other, too. */
static bool is_others(const trial *t, uintptr_t address, const od_page_run *run, uint32_t count, bool neighbour)
{
    size_t apart = run->begin > address ? run->begin - address : 0;
    return is_among(t->names.at, t->names.count, address) || (count > FEW && is_near_one(&t->names, address, apart)) ||
           (neighbour && is_among(t->places.at, t->places.count, address));
}

/* Where ranges end at the latest: at the task's next name; and where another task's tile begins, unless pages are
 * touched that neither it nor the next name accounts for. */
typedef struct limits {
    size_t name, place;
} limits;

static limits limits_of(const trial *t, uintptr_t name)
{
    return (limits){length_to_next(&t->names, t->stride, name), length_to_next(&t->places, t->stride, name)};
}

static size_t length_in(const trial *t, limits limit, uintptr_t at, uintptr_t run_end)
{
    size_t length = smaller(run_end - at, limit.name);
    if (!t->is_last || length <= limit.place)
        return length;
    uintptr_t others = length == limit.name ? od_window_page_begin(at + length) : run_end;
    return others <= od_window_page_end(at + limit.place) ? limit.place : length;
}

/* What one stride explains. */
typedef struct measure {
    od_strides strides;
    size_t before;  /* of each range, in front of its first address; in bytes */
    size_t shortest, longest; /* of the ranges, to the end of a page; in bytes */
    size_t covered; /* bytes of what was touched */
    bool is_even;   /* all ranges have the same length, as far as pages tell */
    uint32_t exact; /* ranges where the first address is the one that was touched first */
    uint32_t early; /* ranges where that lies in front of it */
} measure;

/* Of a run: what names explain of it. */
static void cover(od_span *covered, uintptr_t begin, uintptr_t end)
{
    if (!covered->end)
        *covered = (od_span){begin, end};
    covered->begin = begin < covered->begin ? begin : covered->begin;
    covered->end = end > covered->end ? end : covered->end;
}

/* Of a run, the range at the address, so long. */
static void add_range(measure *m, const od_page_run *run, uintptr_t at, size_t length, od_span *covered)
{
    uintptr_t begin = at > run->first || run->first >= at + length ? at : run->first;
    begin = begin > run->begin ? begin : run->begin;
    m->before = smaller(m->before, at > run->begin ? at - run->begin : 0);
    m->shortest = smaller(m->shortest, length);
    m->longest = larger(m->longest, length);
    m->covered += at + length - begin;
    m->exact += at == run->first;
    m->early += run->first < at;
    m->strides.count++;
    if (covered)
        cover(covered, begin, at + length);
}

static measure measure_name(const trial *t, uintptr_t name, od_span *covered)
{
    const od_named_runs *all = t->all;
    const limits limit = limits_of(t, name);
    const bool neighbour = has_neighbour(t, name);
    measure m = {.strides.stride = t->stride, .before = SIZE_MAX, .shortest = SIZE_MAX};
    uint32_t last = all->nruns;
    for (uintptr_t at = name;; at += t->stride) {
        uint32_t n = find_run(all, at, m.longest); /* of a lower triangle ranges begin ever later */
        const od_page_run *run = &all->runs[n];
        if (n == all->nruns || n == last || (at != name && is_others(t, at, run, m.strides.count, neighbour)))
            break;
        add_range(&m, run, at, length_in(t, limit, at, run->end), covered ? &covered[n] : NULL);
        last = n;
        if (!t->stride)
            break;
    }
    m.is_even = m.strides.count && m.longest - m.shortest < od_window_page(); /* they need not fill their last pages */
    m.strides.length = m.is_even ? m.shortest : m.longest; /* of a triangle the longest range counts */
    return m;
}

/* --- one stride for all names ------------------------------------------------------- */

typedef struct score {
    size_t stride;
    int64_t value; /* bytes of what was touched that belong to a name count for it, what it says of each name against */
    uint32_t uneven; /* names whose ranges have several lengths */
    size_t lengths; /* added up */
    uint32_t exact, early;
    uint32_t rows; /* in which all places of the array lie */
} score;

static score score_of(const trial *t, od_span *covered)
{
    enum { WORTH = 4 }; /* half of what is said of a triangle was not touched */
    const od_named_runs *all = t->all;
    score s = {.stride = t->stride, .rows = t->places.nrests};
    memset(covered, 0, all->nruns * sizeof *covered);
    for (uint32_t i = 0; i < all->nnames; i++) {
        measure said = measure_name(t, all->names[i], covered);
        s.value -= (int64_t)(said.strides.count * said.longest);
        s.uneven += !said.is_even;
        s.lengths += said.strides.length;
        s.exact += said.exact;
        s.early += said.early;
    }
    for (uint32_t i = 0; i < all->nruns; i++)
        s.value += WORTH * (int64_t)(covered[i].end - covered[i].begin);
    return s;
}

static size_t roundness(const score *s)
{
    return s->stride & -s->stride;
}

static bool are_near(size_t a, size_t b)
{
    return larger(a, b) - smaller(a, b) < a / 8;
}

/* Of two that explain about as much. Names are the first elements of what is touched; what seems a triangle under one
 * stride is a tile under another, by a diagonal of which its columns begin; tiles lie in rows, and a wrong stride sees
 * a row of its own in many of their columns. */
static bool is_likelier(const score *a, const score *b)
{
    if (a->early / 2 > b->early || b->early / 2 > a->early)
        return a->early < b->early;
    if (a->uneven != b->uneven)
        return a->uneven < b->uneven;
    if (a->rows != b->rows && are_near(a->stride, b->stride))
        return a->rows < b->rows;
    if (a->lengths / 2 > b->lengths || b->lengths / 2 > a->lengths) /* one goes down the diagonal of a triangle */
        return a->lengths > b->lengths;
    if (a->exact != b->exact)
        return a->exact > b->exact;
    return roundness(a) > roundness(b);
}

/* What is found of other kernels or tiles may say which of the two it is. */
static bool is_rival(const score *best, const score *other)
{
    return other->stride != best->stride && other->uneven == best->uneven &&
           other->rows <= best->rows + best->rows / 2 &&
           (other->exact >= best->exact / 4 || roundness(other) > roundness(best));
}

/* Around how many names, how many ranges behind each of them are looked at, and how many strides are tried for each. */
enum { NAMES_TRIED = 8, RUNS_TRIED = 8, STRIDES_TRIED = 10 };

typedef struct search {
    trial trial;
    od_span *covered; /* by run: what names explain of it */
    bool knows; /* the first one that is tried is known */
    score tried[NAMES_TRIED * RUNS_TRIED * STRIDES_TRIED + 1];
    uint32_t ntried;
} search;

static bool was_tried(const search *s, size_t stride)
{
    for (uint32_t i = 0; i < s->ntried; i++)
        if (s->tried[i].stride == stride)
            return true;
    return false;
}

static void try_stride(search *s, size_t stride)
{
    begin_trial(&s->trial, stride);
    s->tried[s->ntried++] = score_of(&s->trial, s->covered);
}

static void try_another(search *s, size_t stride)
{
    if (stride && !was_tried(s, stride))
        try_stride(s, stride);
}

/* Another one than is known already has to explain much more: what is touched of a tile can lie in many ways. */
static void try_known(search *s, size_t known)
{
    if (!known)
        return;
    s->knows = true;
    try_stride(s, known);
    s->tried[0].value += s->tried[0].value > 0 ? s->tried[0].value / 4 : 0;
}

static bool is_close(const score *s, int64_t most)
{
    return s->value >= most - most / 8;
}

/* Zero: there is none, which is sure where none has been found. */
static score choose(const search *s, bool *is_sure)
{
    score best = {0};
    int64_t most = 0;
    for (uint32_t i = 0; i < s->ntried; i++)
        most = s->tried[i].value > most ? s->tried[i].value : most;
    for (uint32_t i = 0; i < s->ntried; i++)
        if (is_close(&s->tried[i], most) && (!best.stride || is_likelier(&s->tried[i], &best)))
            best = s->tried[i];
    *is_sure = true;
    if (s->knows && is_close(&s->tried[0], most))
        return s->tried[0];
    for (uint32_t i = 0; i < s->ntried; i++)
        *is_sure &= !is_close(&s->tried[i], most) || !is_rival(&best, &s->tried[i]);
    return best;
}

/* From the name to where the ranges begin that come next. Of a triangle each begins an element behind, or before. */
static void try_around(search *s, uintptr_t name, uint32_t own)
{
    static const size_t steps[] = {64, 4096, 1}, elements[] = {4, 8, 16};
    const od_named_runs *all = s->trial.all;
    for (uint32_t i = own + 1; i < all->nruns && i <= own + RUNS_TRIED; i++) {
        size_t exact = all->runs[i].first - name;
        try_another(s, all->runs[i].begin - all->runs[own].begin);
        for (int j = 0; j < 3; j++)
            try_another(s, exact / steps[j] * steps[j]);
        for (int j = 0; j < 3 && exact > elements[j]; j++) {
            try_another(s, exact - elements[j]);
            try_another(s, exact + elements[j]);
        }
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
    const trial single = {.all = t->all, .names = t->names, .places = t->places, .is_last = true};
    if (find_run(t->all, name, 1) == t->all->nruns)
        return (od_strides){0};
    measure one = measure_name(&single, name, NULL), many = measure_name(t, name, NULL);
    measure best = many.strides.count > FEW && many.covered > one.covered ? many : one;
    best.strides.before = before_name(t->all, name, &best);
    return best.strides;
}

static bool infer(search *s, const od_named_runs *all, size_t known, od_strides *found)
{
    bool is_sure;
    try_known(s, known);
    try_names(s, all);
    begin_trial(&s->trial, choose(s, &is_sure).stride);
    s->trial.is_last = true;
    for (uint32_t i = 0; i < all->nnames; i++)
        found[i] = strides_of(&s->trial, all->names[i]);
    return is_sure;
}

bool od_strides_infer(const od_named_runs *all, size_t known, od_strides *found)
{
    size_t bytes = all->nnames * sizeof *all->names;
    uintptr_t *names = od_malloc(bytes), *rest = od_malloc(bytes + all->nplaces * sizeof *all->places);
    od_span *covered = od_malloc(((size_t)all->nruns + 1) * sizeof *covered);
    bool is_sure = false;
    memset(found, 0, all->nnames * sizeof *found);
    if (names && rest && covered && all->nplaces) {
        memcpy(names, all->names, bytes);
        qsort(names, all->nnames, sizeof *names, by_address);
        od_named_runs ascending = *all;
        ascending.names = names;
        search s = {.trial = {.all = &ascending,
                              .names = {.at = names, .count = all->nnames, .rest = rest},
                              .places = {.at = all->places, .count = all->nplaces, .rest = rest + all->nnames}},
                    .covered = covered};
        is_sure = infer(&s, all, known, found);
    }
    free(names);
    free(rest);
    free(covered);
    return is_sure;
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
