/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Relocations: which words of a datum's device copy must hold addresses in other data's device copies.
 *
 * A task says it per datum that it uses: at this offset, the address of that datum's replica, shifted. What the words
 * of a replica hold, and for how many tasks, is kept with the replica: two tasks that want different things in one
 * word do not use the replica at once, and a word is written only where it does not hold the right address already.
 * All arrays are sorted by offset. The caller holds the engine's lock.
 */
#ifndef OD_MEMMGR_DATA_RELOCATION_H
#define OD_MEMMGR_DATA_RELOCATION_H

#include "memmgr/data/datum.h"
#include "util/status.h"

typedef struct od_relocation {
    size_t offset;     /* of the word, in bytes from the datum's begin */
    od_datum *pointee; /* the same task uses it */
    ptrdiff_t delta;   /* the word holds the address of the pointee's replica and this */
} od_relocation;

typedef struct od_relocations {
    uint32_t count;
    od_relocation at[]; /* each offset once */
} od_relocations;

/* Room for `capacity`, none in use. NULL: out of memory. free() frees it. */
od_relocations *od_relocations_create(uint32_t capacity);
void od_relocations_sort(od_relocations *r);

/* True where two tasks that want a and b (NULL: nothing) may use one replica at once. */
bool od_relocations_agree(const od_relocations *a, const od_relocations *b);

/* --- of a replica: `patches` is od_replica.patches, NULL as long as nothing was ever wanted ---------- */

bool od_patches_allow(const od_patches *patches, const od_relocations *wanted);
/* A task that wants this has the right to use the replica, and has it no longer. */
od_status od_patches_take(od_patches **patches, const od_relocations *wanted);
void od_patches_leave(od_patches *patches, const od_relocations *wanted);
/* The replica's contents are new: no word holds what it did. */
void od_patches_spoil(od_patches *patches); /* may be NULL */
void od_patches_free(od_patches *patches);  /* may be NULL */
bool od_patches_include(const od_patches *patches, size_t offset); /* may be NULL */

/* The words from wanted->at[*next] on that do not hold `address(arg, pointee)` + delta yet: the first, and as many
 * more as lie side by side and fit; they count as written. Their number, 0: there are none left. */
unsigned od_patches_due(od_patches *patches, const od_relocations *wanted, uint32_t *next, size_t *offset,
                        uintptr_t *values, unsigned room, uintptr_t (*address)(void *arg, const od_datum *pointee),
                        void *arg);

#endif
