/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What slices have made of copies of a datum, put together: on plain memory. */
#ifndef OD_OMP_EXT_SLICES_MERGE_H
#define OD_OMP_EXT_SLICES_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct od_merge {
    uintptr_t base;     /* where it lies in the program's memory: words begin at multiples of 8 */
    size_t size;        /* bytes */
    const char *before; /* what slices have found */
    char *merged;       /* malloc'ed: with what has been added so far */
    uint8_t *owner;     /* malloc'ed, by word: one more than the slice that has changed it; 0: none has */
} od_merge;

/* False: out of memory. */
bool od_merge_begin(od_merge *merge, uintptr_t base, size_t size, const char *before);
void od_merge_free(od_merge *merge);
/* What the slice has left is added. False: it has changed a word that another slice has changed, too. */
bool od_merge_add(od_merge *merge, unsigned slice, const char *after);
/* Whether a word that a slice has changed holds a value from `begin` up to `end`. */
bool od_merge_leads_to(const od_merge *merge, const char *after, uintptr_t begin, uintptr_t end);

#endif
