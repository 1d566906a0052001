/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See footprint.h. */
#include "memmgr/window/footprint.h"

#include "memmgr/window/page.h"

#include <stdlib.h>

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

/* The number of runs: none contains it. */
static uint32_t find_run(const od_named_runs *all, uintptr_t address)
{
    uint32_t low = 0, high = all->nruns;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (all->runs[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < all->nruns && all->runs[low].begin <= address ? low : all->nruns;
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

typedef struct measure {
    od_footprint footprint;
    size_t covered; /* bytes of what was touched */
} measure;

static measure measure_stride(const od_named_runs *all, uintptr_t name, size_t stride)
{
    size_t limit = length_to_others(all, name, stride), least = SIZE_MAX, most = 0;
    measure m = {.footprint.stride = stride};
    uint32_t last = all->nruns;
    for (uintptr_t at = name;; at += stride) {
        uint32_t run = find_run(all, at);
        if (run == all->nruns || run == last || (at != name && is_others(all, at)))
            break;
        size_t length = all->runs[run].end - at;
        length = length < limit ? length : limit;
        least = length < least ? length : least;
        most = length > most ? length : most;
        m.covered += length;
        m.footprint.count++;
        last = run;
        if (!stride)
            break;
    }
    /* All of one length end in a page that they need not fill. Of several lengths (a triangle) the tile is the longest. */
    m.footprint.length = most - least < od_window_page() ? least : most;
    return m;
}

/* --- of all strides -------------------------------------------------------------- */

static unsigned roundness(size_t stride)
{
    return stride ? (unsigned)__builtin_ctzl(stride) : 64;
}

static void keep_better(measure *best, measure other)
{
    bool rounder = roundness(other.footprint.stride) > roundness(best->footprint.stride);
    if (other.covered > best->covered || (other.covered == best->covered && rounder))
        *best = other;
}

static void try_stride(const od_named_runs *all, uintptr_t name, size_t stride, measure *best)
{
    enum { FEW = 3 }; /* ranges that may lie so by chance */
    if (!stride)
        return;
    measure m = measure_stride(all, name, stride);
    if (m.footprint.count > FEW)
        keep_better(best, m);
}

/* Of the first run: what lies in front of the name, and is no other name's. */
static size_t before_name(const od_named_runs *all, uintptr_t name, const od_page_run *run)
{
    uintptr_t page = od_window_page_begin(name);
    if (run->begin == page)
        return 0;
    for (uint32_t i = 0; i < all->nnames; i++)
        if (all->names[i] >= run->begin && all->names[i] < name)
            return 0;
    return name - run->begin;
}

od_footprint od_footprint_infer(const od_named_runs *all, uint32_t which)
{
    enum { TRIED = 32, FINE = 64, COARSE = 4096 };
    uintptr_t name = all->names[which];
    uint32_t own = find_run(all, name);
    if (own == all->nruns)
        return (od_footprint){0};
    const od_page_run *run = &all->runs[own];
    measure best = measure_stride(all, name, 0);
    for (uint32_t i = own + 1; i < all->nruns && i <= own + TRIED; i++) {
        size_t exact = all->runs[i].first - name;
        try_stride(all, name, all->runs[i].begin - run->begin, &best);
        try_stride(all, name, exact, &best);
        try_stride(all, name, exact / FINE * FINE, &best);
        try_stride(all, name, exact / COARSE * COARSE, &best);
    }
    best.footprint.before = before_name(all, name, run);
    return best.footprint;
}

bool od_footprints_are_equal(const od_footprint *a, const od_footprint *b)
{
    return a->before == b->before && a->length == b->length && a->stride == b->stride && a->count == b->count;
}
