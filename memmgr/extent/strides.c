/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See strides.h. */
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

/* --- one stride ---------------------------------------------------------------- */

/* Where other names begin, seen from this one's nearest range before. */
static size_t length_to_others(const od_named_runs *all, uintptr_t name, size_t stride)
{
    size_t length = stride ? stride : SIZE_MAX;
    for (uint32_t i = 0; i < all->nnames; i++) {
        uintptr_t other = all->names[i];
        if (!stride && other <= name)
            continue;
        size_t distance = other > name ? other - name : name - other;
        size_t rest = stride ? distance % stride : distance;
        if (rest && stride && other < name)
            rest = stride - rest;
        if (rest && rest < length)
            length = rest;
    }
    return length;
}

/* The next range is another name's. */
static bool is_others(const od_named_runs *all, uintptr_t address)
{
    for (uint32_t i = 0; i < all->nnames; i++)
        if (all->names[i] == address)
            return true;
    return false;
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

static measure measure_stride(const od_named_runs *all, uintptr_t name, size_t stride, od_span *covered)
{
    size_t limit = length_to_others(all, name, stride), least = SIZE_MAX, most = 0;
    measure m = {.strides.stride = stride, .before = SIZE_MAX};
    uint32_t last = all->nruns;
    for (uintptr_t at = name;; at += stride) {
        uint32_t run = find_run(all, at, most); /* of a lower triangle ranges begin ever later */
        if (run == all->nruns || run == last || (at != name && is_others(all, at)))
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

static score score_of(const od_named_runs *all, size_t stride, od_span *covered)
{
    enum { WORTH = 4 }; /* half of what is said of a triangle was not touched */
    score s = {.stride = stride};
    memset(covered, 0, all->nruns * sizeof *covered);
    for (uint32_t i = 0; i < all->nnames; i++) {
        measure said = measure_stride(all, all->names[i], stride, covered);
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

static void try_stride(const od_named_runs *all, size_t stride, od_span *covered, score *best)
{
    if (!stride || stride == best->stride)
        return;
    score s = score_of(all, stride, covered);
    if (is_better(&s, best))
        *best = s;
}

/* From the name to where the ranges begin that come next. */
static void try_around(const od_named_runs *all, uintptr_t name, od_span *covered, score *best)
{
    enum { TRIED = 8, FINE = 64, COARSE = 4096 };
    uint32_t own = find_run(all, name, 1);
    for (uint32_t i = own + 1; i < all->nruns && i <= own + TRIED; i++) {
        size_t exact = all->runs[i].first - name;
        try_stride(all, all->runs[i].begin - all->runs[own].begin, covered, best);
        try_stride(all, exact, covered, best);
        try_stride(all, exact / FINE * FINE, covered, best);
        try_stride(all, exact / COARSE * COARSE, covered, best);
    }
}

/* Another one than is known already has to explain much more: what is touched of a tile can lie in many ways. */
static score score_of_known(const od_named_runs *all, size_t known, od_span *covered)
{
    score s = known ? score_of(all, known, covered) : (score){0};
    s.value += s.value > 0 ? s.value / 4 : 0;
    return s;
}

static size_t best_stride(const od_named_runs *all, size_t known)
{
    od_span *covered = od_malloc(((size_t)all->nruns + 1) * sizeof *covered);
    score best = covered ? score_of_known(all, known, covered) : (score){0};
    for (uint32_t i = 0; covered && i < all->nnames; i++)
        try_around(all, all->names[i], covered, &best);
    free(covered);
    return best.stride;
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

static od_strides strides_of(const od_named_runs *all, uintptr_t name, size_t stride)
{
    enum { FEW = 3 }; /* ranges that may lie so by chance */
    uint32_t own = find_run(all, name, 1);
    if (own == all->nruns)
        return (od_strides){0};
    measure one = measure_stride(all, name, 0, NULL), many = measure_stride(all, name, stride, NULL);
    measure best = many.strides.count > FEW && many.covered > one.covered ? many : one;
    best.strides.before = before_name(all, name, &best);
    return best.strides;
}

void od_strides_infer(const od_named_runs *all, size_t known, od_strides *found)
{
    size_t stride = best_stride(all, known);
    for (uint32_t i = 0; i < all->nnames; i++)
        found[i] = strides_of(all, all->names[i], stride);
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
