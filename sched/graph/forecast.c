/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Counts by address. See forecast.h. */
#include "sched/graph/forecast.h"
#include "util/memory.h"

#include <stddef.h>
#include <stdlib.h>

typedef struct entry {
    uintptr_t address;
    uint32_t count; /* never 0 */
    struct entry *next;
} entry;

struct od_forecast {
    size_t entries;
    unsigned bits; /* 2^bits buckets */
    entry **bucket;
};

enum { FIRST_BITS = 8, LAST_BITS = 24 };

od_forecast *od_forecast_create(void)
{
    od_forecast *f = od_calloc(1, sizeof *f);
    if (!f)
        return NULL;
    f->bits = FIRST_BITS;
    f->bucket = od_calloc((size_t)1 << f->bits, sizeof(entry *));
    if (!f->bucket) {
        free(f);
        return NULL;
    }
    return f;
}

void od_forecast_destroy(od_forecast *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < (size_t)1 << f->bits; i++)
        while (f->bucket[i]) {
            entry *e = f->bucket[i];
            f->bucket[i] = e->next;
            free(e);
        }
    free(f->bucket);
    free(f);
}

static size_t slot(unsigned bits, uintptr_t address)
{
    return (size_t)(((uint64_t)address * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - bits));
}

static entry **locate(const od_forecast *f, uintptr_t address)
{
    entry **at = &f->bucket[slot(f->bits, address)];
    while (*at && (*at)->address != address)
        at = &(*at)->next;
    return at;
}

/* Twice the buckets; without memory the chains just get longer. */
static void grow(od_forecast *f)
{
    unsigned bits = f->bits + 1;
    entry **bucket = bits > LAST_BITS ? NULL : od_calloc((size_t)1 << bits, sizeof(entry *));
    if (!bucket)
        return;
    for (size_t i = 0; i < (size_t)1 << f->bits; i++)
        while (f->bucket[i]) {
            entry *e = f->bucket[i];
            f->bucket[i] = e->next;
            e->next = bucket[slot(bits, e->address)];
            bucket[slot(bits, e->address)] = e;
        }
    free(f->bucket);
    f->bucket = bucket;
    f->bits = bits;
}

static uint32_t insert(od_forecast *f, uintptr_t address, uint32_t count)
{
    entry *e = od_malloc(sizeof *e);
    if (!e)
        return 0;
    if (++f->entries > (size_t)1 << f->bits)
        grow(f);
    entry **at = &f->bucket[slot(f->bits, address)];
    *e = (entry){address, count, *at};
    *at = e;
    return count;
}

uint32_t od_forecast_add(od_forecast *f, uintptr_t address, int change)
{
    entry **at = locate(f, address);
    entry *e = *at;
    if (!e)
        return change > 0 ? insert(f, address, (uint32_t)change) : 0;
    int64_t count = (int64_t)e->count + change;
    if (count > 0)
        return e->count = (uint32_t)count;
    *at = e->next;
    free(e);
    f->entries--;
    return 0;
}

uint32_t od_forecast_get(const od_forecast *f, uintptr_t address)
{
    const entry *e = *locate(f, address);
    return e ? e->count : 0;
}
