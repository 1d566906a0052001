/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Attached pointers: words inside a region's memory, the *slots*, that lead to other host memory.
 *
 * On a device a slot holds the address of the copy there (memmgr/data/relocation.h); on the host it keeps the value
 * that it had when it was attached, also when contents are written back around it. A region and the data that outlive
 * it share one set. The caller holds the engine's lock.
 */
#ifndef OD_MEMMGR_DATA_ATTACH_H
#define OD_MEMMGR_DATA_ATTACH_H

#include "util/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct od_attachment {
    uintptr_t slot;    /* host address of the pointer */
    uintptr_t pointer; /* what the host has there */
    uintptr_t begin;   /* what it leads to: it may point before that */
    size_t size;       /* bytes */
} od_attachment;

typedef struct od_attachments od_attachments;

/* With one user. NULL: out of memory. */
od_attachments *od_attachments_create(void);
od_attachments *od_attachments_hold(od_attachments *set); /* may be NULL; returns it */
/* The last user frees it. */
void od_attachments_release(od_attachments *set); /* may be NULL */

/* In place of what the slot led to before, if anything. */
od_status od_attachments_set(od_attachments *set, const od_attachment *attachment);
size_t od_attachments_count(const od_attachments *set); /* may be NULL */
/* The lowest slot in [from, end), or NULL. set may be NULL. */
const od_attachment *od_attachments_next(const od_attachments *set, uintptr_t from, uintptr_t end);
/* True where a slot, or a part of one, lies in [base, base+size). set may be NULL. */
bool od_attachments_overlap(const od_attachments *set, uintptr_t base, size_t size);
/* Contents of [base, base+size) that have come from a device, at `from`, go to the host's memory, but for the slots:
 * these get the host's values if they have others. At no time does the host see a device's address. set may be
 * NULL. */
void od_attachments_deliver(const od_attachments *set, uintptr_t base, size_t size, const char *from);

#endif
