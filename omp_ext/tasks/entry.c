/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What has been learnt about compiled code: a small hash table by address and footprint. See entry.h. */
#define _GNU_SOURCE
#include "omp_ext/tasks/entry.h"
#include "omp_ext/slices/kernels.h"
#include "util/memory.h"

#include <link.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 1024, NUMBERS = 1 << 16 };

static od_lock lock = OD_LOCK_OF(OD_LOCK_ENTRIES); /* protects the buckets */
static od_entry *buckets[BUCKETS];
static od_entry *_Atomic numbered[NUMBERS];
static int32_t last_number;
static size_t nentries;
static double total_seconds;
static uint64_t total_runs;

static size_t bucket_of(const void *code, size_t footprint)
{
    uint64_t h = (uint64_t)(uintptr_t)code * UINT64_C(0x9e3779b97f4a7c15) ^ footprint * UINT64_C(0xc2b2ae3d27d4eb4f);
    return (size_t)(h >> 54) % BUCKETS;
}

static od_entry *find(od_entry *entry, const void *code, size_t footprint)
{
    while (entry && (entry->code != code || entry->footprint != footprint || entry->closed))
        entry = entry->next;
    return entry;
}

static od_entry *find_closed(od_entry *entry)
{
    while (entry && !entry->closed)
        entry = entry->next;
    return entry;
}

static od_entry *make(od_entry **bucket)
{
    od_entry *entry = od_calloc(1, sizeof *entry);
    if (!entry)
        return NULL;
    if (last_number + 1 < NUMBERS) {
        entry->number = ++last_number;
        numbered[entry->number] = entry;
    }
    entry->next = *bucket;
    *bucket = entry;
    nentries++;
    return entry;
}

/* The largest footprint with the same first four digits. */
static size_t class_of(size_t footprint)
{
    enum { DIGITS = 4 };
    unsigned rest = footprint >> DIGITS ? 64 - DIGITS - (unsigned)__builtin_clzll(footprint) : 0;
    return footprint | ((UINT64_C(1) << rest) - 1);
}

static od_entry *find_or_make(const void *code, size_t footprint)
{
    od_entry **bucket = &buckets[bucket_of(code, footprint)];
    od_entry *entry = find(*bucket, code, footprint);
    if (entry)
        return entry;
    if (nentries >= OD_ENTRY_EXACT && footprint != class_of(footprint))
        return find_or_make(code, class_of(footprint));
    entry = find_closed(*bucket);
    if (!entry)
        entry = make(bucket);
    if (entry) {
        entry->code = code;
        entry->footprint = footprint;
        entry->closed = false;
        atomic_store(&entry->reduces, OD_NOT_ASKED);
        atomic_store(&entry->excluded, OD_NOT_ASKED);
    }
    return entry;
}

od_entry *od_entry_get(const void *code, size_t footprint)
{
    od_lock_take(&lock);
    od_entry *entry = find_or_make(code, footprint);
    od_lock_give(&lock);
    return entry;
}

enum { LAST = 8 };

static atomic_uint nclosed; /* libraries */

od_entry *od_entry_of_task(const void *code)
{
    static _Thread_local struct {
        const void *code;
        od_entry *entry;
        unsigned nclosed; /* then */
    } last[LAST];
    size_t at = bucket_of(code, 0) % LAST;
    unsigned now = atomic_load_explicit(&nclosed, memory_order_acquire);
    if (last[at].code != code || last[at].nclosed != now) {
        od_entry *entry = od_entry_get(code, 0);
        if (!entry)
            return NULL;
        last[at].code = code;
        last[at].entry = entry;
        last[at].nclosed = now;
    }
    return last[at].entry;
}

od_entry *od_entry_numbered(int32_t number)
{
    return numbered[number];
}

static double power_of_two(double seconds)
{
    return exp2(round(log2(seconds)));
}

static void weigh(od_entry *entry)
{
    if (entry->cost.mean < entry->weight / 2 || entry->cost.mean > entry->weight * 2)
        entry->weight = power_of_two(entry->cost.mean);
}

void od_entry_profile(od_entry *entry, uint64_t runs, double mean, double deviation)
{
    entry->cost = (od_cost){.runs = runs, .mean = mean, .deviation = deviation};
    weigh(entry);
}

void od_entry_record(od_entry *entry, double seconds)
{
    od_cost_add(&entry->cost, seconds);
    weigh(entry);
    entry->news++;
    total_runs++;
    total_seconds += seconds;
}

bool od_entry_has_run(const od_entry *entry)
{
    return entry && (entry->cost.runs || entry->host.runs);
}

double od_entry_duration(const od_entry *entry)
{
    if (entry && entry->cost.runs)
        return entry->cost.mean;
    return total_runs ? total_seconds / (double)total_runs : 1e-3;
}

double od_entry_weight(const od_entry *entry)
{
    return entry->weight > 0 ? entry->weight : power_of_two(od_entry_duration(entry));
}

void od_entry_visit(void (*visit)(const od_entry *entry, void *arg), void *arg)
{
    od_lock_take(&lock);
    for (size_t i = 0; i < BUCKETS; i++)
        for (const od_entry *entry = buckets[i]; entry; entry = entry->next)
            visit(entry, arg);
    od_lock_give(&lock);
}

/* --- libraries that are closed ---------------------------------------------- */

typedef struct span {
    uintptr_t inside;     /* an address of the library */
    uintptr_t begin, end; /* what it occupies */
} span;

static int find_span(struct dl_phdr_info *object, size_t size, void *arg)
{
    span *s = arg;
    uintptr_t begin = UINTPTR_MAX, end = 0;
    (void)size;
    for (unsigned i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        uintptr_t at = object->dlpi_addr + segment->p_vaddr;
        if (segment->p_type != PT_LOAD)
            continue;
        begin = at < begin ? at : begin;
        end = at + segment->p_memsz > end ? at + segment->p_memsz : end;
    }
    if (s->inside < begin || s->inside >= end)
        return 0;
    s->begin = begin;
    s->end = end;
    return 1;
}

static void forget(od_entry *entry)
{
    entry->closed = true;
    entry->source = NULL;
    free(entry->text);
    entry->text = NULL;
    entry->cost = entry->host = (od_cost){0};
    od_slicing_destroy(entry->slicing);
    entry->slicing = NULL;
    entry->weight = 0;
    entry->speed_class = OD_SPEED_GENERAL;
    entry->has_speed_class = false;
    entry->profile_read = false;
    entry->news = 0;
    entry->kind = OD_ENTRY_UNKNOWN;
    entry->has_depends = entry->has_none = entry->branches = false;
    memset(entry->depend, 0, sizeof entry->depend);
}

void od_entry_forget_library(const void *inside)
{
    span s = {.inside = (uintptr_t)inside};
    dl_iterate_phdr(find_span, &s);
    od_lock_take(&lock);
    atomic_fetch_add(&nclosed, 1);
    for (size_t i = 0; i < BUCKETS; i++)
        for (od_entry *entry = buckets[i]; entry; entry = entry->next)
            if ((uintptr_t)entry->code >= s.begin && (uintptr_t)entry->code < s.end)
                forget(entry);
    od_lock_give(&lock);
}

void od_entry_locks(void (*visit)(od_lock *lock))
{
    visit(&lock);
}
