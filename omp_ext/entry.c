/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What has been learnt about compiled code: a small hash table by address and footprint. See entry.h. */
#include "omp_ext/entry.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

enum { BUCKETS = 1024, NUMBERS = 1 << 16 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the buckets */
static od_entry *buckets[BUCKETS];
static od_entry *_Atomic numbered[NUMBERS];
static int32_t last_number;
static double total_seconds;
static uint64_t total_runs;

static size_t bucket_of(const void *code, size_t footprint)
{
    uint64_t h = (uint64_t)(uintptr_t)code * UINT64_C(0x9e3779b97f4a7c15) ^ footprint * UINT64_C(0xc2b2ae3d27d4eb4f);
    return (size_t)(h >> 54) % BUCKETS;
}

static od_entry *find_or_make(od_entry **bucket, const void *code, size_t footprint)
{
    for (od_entry *entry = *bucket; entry; entry = entry->next)
        if (entry->code == code && entry->footprint == footprint)
            return entry;
    od_entry *entry = calloc(1, sizeof *entry);
    if (!entry)
        return NULL;
    entry->code = code;
    entry->footprint = footprint;
    if (last_number + 1 < NUMBERS) {
        entry->number = ++last_number;
        numbered[entry->number] = entry;
    }
    entry->next = *bucket;
    *bucket = entry;
    return entry;
}

od_entry *od_entry_get(const void *code, size_t footprint)
{
    pthread_mutex_lock(&lock);
    od_entry *entry = find_or_make(&buckets[bucket_of(code, footprint)], code, footprint);
    pthread_mutex_unlock(&lock);
    return entry;
}

od_entry *od_entry_numbered(int32_t number)
{
    return numbered[number];
}

void od_entry_record(od_entry *entry, double seconds)
{
    entry->runs++;
    entry->duration += (seconds - entry->duration) / (double)entry->runs;
    total_runs++;
    total_seconds += seconds;
}

double od_entry_duration(const od_entry *entry)
{
    if (entry && entry->runs)
        return entry->duration;
    return total_runs ? total_seconds / (double)total_runs : 1e-3;
}
