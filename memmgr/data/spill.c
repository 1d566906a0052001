/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Spill areas. The remembered parts are a sorted array of disjoint ranges that do not touch: they arise where a
 * program uses one array in sections that overlap, which few do, and then there are few.
 */
#define _GNU_SOURCE 1 /* MAP_ANONYMOUS, MAP_NORESERVE */

#include "memmgr/data/spill.h"

#include "util/container/array.h"
#include "util/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef struct part {
    uintptr_t begin, end;
} part;

struct od_spill {
    uintptr_t base;
    size_t size;
    size_t *total; /* of all areas, or NULL */
    void *memory;  /* malloc'ed where it is SMALL, else mapped; or another's, with what gives it back */
    void (*give)(void *state, void *memory);
    void *state;
    unsigned users;
    part *parts; /* malloc'ed */
    size_t nparts;
    uint32_t capacity;
};

enum { SMALL = 1 << 20 }; /* bytes: mapping it, and the page faults, would take longer than using it */

/* Large pages, where there are any: most of an area is written soon. */
static void *take_memory(size_t size)
{
    if (size < SMALL)
        return od_malloc(size);
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    madvise(memory, size, MADV_HUGEPAGE);
    return memory;
}

static void give_memory(const od_spill *spill)
{
    if (spill->give)
        spill->give(spill->state, spill->memory);
    else if (spill->size < SMALL)
        free(spill->memory);
    else
        munmap(spill->memory, spill->size);
}

od_spill *od_spill_create(uintptr_t base, size_t size, size_t *total)
{
    od_spill *spill = od_calloc(1, sizeof *spill);
    if (!spill)
        return NULL;
    spill->memory = take_memory(size);
    if (!spill->memory) {
        free(spill);
        return NULL;
    }
    spill->base = base;
    spill->size = size;
    spill->users = 1;
    spill->total = total;
    if (total)
        *total += size;
    return spill;
}

void od_spill_hold(od_spill *spill)
{
    spill->users++;
}

void od_spill_release(od_spill *spill)
{
    if (!spill || --spill->users)
        return;
    if (spill->total)
        *spill->total -= spill->size;
    give_memory(spill);
    free(spill->parts);
    free(spill);
}

void od_spill_move(od_spill *spill, void *memory, void (*give)(void *state, void *memory), void *state)
{
    for (size_t i = 0; i < spill->nparts; i++) {
        size_t offset = spill->parts[i].begin - spill->base, bytes = spill->parts[i].end - spill->parts[i].begin;
        memcpy((char *)memory + offset, (const char *)spill->memory + offset, bytes);
    }
    give_memory(spill);
    spill->memory = memory;
    spill->give = give;
    spill->state = state;
}

void *od_spill_address(const od_spill *spill, uintptr_t address)
{
    return (char *)spill->memory + (address - spill->base);
}

/* Index of the first part that ends after `address` (at it: if `touching`). */
static size_t find(const od_spill *spill, uintptr_t address, bool touching)
{
    size_t low = 0, high = spill->nparts;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        bool before = touching ? spill->parts[middle].end < address : spill->parts[middle].end <= address;
        if (before)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static od_status reserve(od_spill *spill)
{
    bool has_room = od_array_reserve(&spill->parts, &spill->capacity, spill->nparts + 1, sizeof *spill->parts);
    return has_room ? OD_OK : OD_ENOMEM;
}

/* Replaces parts [i, j) by n new ones, n - (j - i) at most 1: room for that has been reserved. */
static void replace(od_spill *spill, size_t i, size_t j, const part *parts, size_t n)
{
    memmove(spill->parts + i + n, spill->parts + j, (spill->nparts - j) * sizeof *parts);
    memcpy(spill->parts + i, parts, n * sizeof *parts);
    spill->nparts += n;
    spill->nparts -= j - i;
}

od_status od_spill_keep(od_spill *spill, uintptr_t base, size_t size)
{
    part merged = {base, base + size};
    if (reserve(spill))
        return OD_ENOMEM;
    size_t i = find(spill, base, true), j = i;
    for (; j < spill->nparts && spill->parts[j].begin <= merged.end; j++) {
        if (spill->parts[j].begin < merged.begin)
            merged.begin = spill->parts[j].begin;
        if (spill->parts[j].end > merged.end)
            merged.end = spill->parts[j].end;
    }
    replace(spill, i, j, &merged, 1);
    return OD_OK;
}

bool od_spill_first(const od_spill *spill, uintptr_t base, size_t size, uintptr_t *begin, size_t *bytes)
{
    size_t i = spill ? find(spill, base, false) : 0;
    if (!spill || i == spill->nparts || spill->parts[i].begin >= base + size)
        return false;
    uintptr_t end = spill->parts[i].end < base + size ? spill->parts[i].end : base + size;
    *begin = spill->parts[i].begin > base ? spill->parts[i].begin : base;
    *bytes = end - *begin;
    return true;
}

od_cover od_spill_cover(const od_spill *spill, uintptr_t base, size_t size)
{
    uintptr_t begin;
    size_t bytes;
    if (!od_spill_first(spill, base, size, &begin, &bytes))
        return OD_COVER_NONE;
    return bytes == size ? OD_COVER_WHOLE : OD_COVER_PART;
}

od_status od_spill_take(od_spill *spill, uintptr_t base, size_t size)
{
    uintptr_t end = base + size;
    part rest[2];
    size_t n = 0;
    if (reserve(spill))
        return OD_ENOMEM;
    size_t i = find(spill, base, false), j = i;
    while (j < spill->nparts && spill->parts[j].begin < end)
        j++;
    if (j == i)
        return OD_OK;
    if (spill->parts[i].begin < base)
        rest[n++] = (part){spill->parts[i].begin, base};
    if (spill->parts[j - 1].end > end)
        rest[n++] = (part){end, spill->parts[j - 1].end};
    replace(spill, i, j, rest, n);
    return OD_OK;
}
