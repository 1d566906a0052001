/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See merge.h. */
#include "omp_ext/slices/gpus/merge.h"

#include "util/memory.h"

#include <stdlib.h>
#include <string.h>

enum { WORD = sizeof(uint64_t), BLOCK = 4096 };

/* How many bytes from `at` on belong to the same word. */
static size_t rest_of_word(const od_merge *merge, size_t at)
{
    size_t bytes = WORD - (merge->base + at) % WORD;
    return bytes < merge->size - at ? bytes : merge->size - at;
}

static size_t word_of(const od_merge *merge, size_t at)
{
    return (merge->base % WORD + at) / WORD;
}

bool od_merge_begin(od_merge *merge, uintptr_t base, size_t size, const char *before)
{
    *merge = (od_merge){.base = base, .size = size, .before = before};
    merge->merged = od_malloc(size + 1);
    merge->owner = od_calloc(size / WORD + 2, 1);
    if (!merge->merged || !merge->owner)
        return false;
    memcpy(merge->merged, before, size);
    return true;
}

void od_merge_free(od_merge *merge)
{
    free(merge->merged);
    free(merge->owner);
    *merge = (od_merge){0};
}

/* The next word that differs, from *at on; its bytes. 0: there is none. */
static size_t next_change(const od_merge *merge, const char *after, size_t *at)
{
    while (*at < merge->size) {
        size_t left = merge->size - *at, block = BLOCK - (merge->base + *at) % WORD;
        block = block < left ? block : left;
        if (!memcmp(merge->before + *at, after + *at, block)) {
            *at += block;
            continue;
        }
        size_t bytes = rest_of_word(merge, *at);
        if (memcmp(merge->before + *at, after + *at, bytes))
            return bytes;
        *at += bytes;
    }
    return 0;
}

bool od_merge_add(od_merge *merge, unsigned slice, const char *after)
{
    size_t bytes;
    bool alone = true;
    for (size_t at = 0; (bytes = next_change(merge, after, &at)); at += bytes) {
        uint8_t *owner = &merge->owner[word_of(merge, at)];
        alone &= !*owner || *owner == slice + 1;
        *owner = (uint8_t)(slice + 1);
        memcpy(merge->merged + at, after + at, bytes);
    }
    return alone;
}

bool od_merge_leads_to(const od_merge *merge, const char *after, uintptr_t begin, uintptr_t end)
{
    size_t bytes;
    for (size_t at = 0; (bytes = next_change(merge, after, &at)); at += bytes) {
        uint64_t word;
        if (bytes < WORD)
            continue;
        memcpy(&word, after + at, WORD);
        if (word - begin < end - begin)
            return true;
    }
    return false;
}
