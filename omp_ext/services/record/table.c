/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Indexes of what a recording names: a hash table. See internal.h. */
#include "omp_ext/services/record/internal.h"
#include "util/memory.h"

#include <stdlib.h>

enum { FIRST_BUCKETS = 1024 };

static size_t bucket_of(const od_recording_table *t, uint64_t first, uint64_t second)
{
    uint64_t h = first * UINT64_C(0x9e3779b97f4a7c15) ^ second * UINT64_C(0xc2b2ae3d27d4eb4f);
    return (size_t)(h >> 20) % t->nbuckets;
}

static void grow(od_recording_table *t)
{
    size_t nbuckets = t->nbuckets ? 4 * t->nbuckets : FIRST_BUCKETS;
    od_recording_table larger = {
        .bucket = od_calloc(nbuckets, sizeof *larger.bucket), .nbuckets = nbuckets, .count = t->count};
    if (!larger.bucket) {
        if (!t->nbuckets)
            od_recording_give_up("out of memory");
        return;
    }
    for (size_t i = 0; i < t->nbuckets; i++)
        for (od_recording_key *k = t->bucket[i], *next; k; k = next) {
            od_recording_key **bucket = &larger.bucket[bucket_of(&larger, k->first, k->second)];
            next = k->next;
            k->next = *bucket;
            *bucket = k;
        }
    free(t->bucket);
    *t = larger;
}

uint32_t od_recording_index(od_recording_table *t, uint64_t first, uint64_t second, bool *is_new)
{
    *is_new = false;
    if (t->count >= t->nbuckets)
        grow(t);
    if (!t->nbuckets)
        return 0;
    od_recording_key **bucket = &t->bucket[bucket_of(t, first, second)];
    for (const od_recording_key *k = *bucket; k; k = k->next)
        if (k->first == first && k->second == second)
            return k->index;
    od_recording_key *added = od_malloc(sizeof *added);
    if (!added) {
        od_recording_give_up("out of memory");
        return 0;
    }
    *added = (od_recording_key){first, second, t->count, *bucket};
    *bucket = added;
    *is_new = true;
    return t->count++;
}
