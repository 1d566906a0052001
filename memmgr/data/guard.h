/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Guard: page protection of host memory of which devices keep copies (OMPDARTS_DEBUG=check).
 *
 * Outside regions a copy may outlive the task that made it (od_datum.keep): then nothing but OpenMP's own ordering
 * keeps the host from changing a datum behind the copy, or from reading what only a device has. The guard makes the
 * memory management unit look: while such a copy is kept, the datum's pages cannot be written; while the only current
 * contents are on a device, they cannot be read either. Data in regions are never protected: there the host may use
 * its own copy.
 *
 * Only pages that lie wholly inside one datum are protected, so that what else is on a page stays accessible.
 * od_guard_update() is called under the engine's lock. A lock of the guard's own, held for no allocation, lets a signal
 * handler ask od_guard_find().
 */
#ifndef OD_MEMMGR_DATA_GUARD_H
#define OD_MEMMGR_DATA_GUARD_H

#include "memmgr/data/directory.h"

typedef enum od_guard_access {
    OD_GUARD_OPEN,     /* not protected */
    OD_GUARD_READABLE, /* the host's copy is current, and devices have copies */
    OD_GUARD_CLOSED,   /* only devices have the current contents */
} od_guard_access;

typedef struct od_guarded {
    uintptr_t begin, end; /* the protected pages */
    uintptr_t base;       /* of the datum */
    size_t size;          /* bytes */
    const void *user;     /* od_datum.user */
    od_guard_access access;
} od_guarded;

typedef struct od_guard od_guard;

/* NULL: out of memory. */
od_guard *od_guard_create(void);
/* Lifts every protection. */
void od_guard_destroy(od_guard *guard);

/* Protects the data of the directory as their state now asks for. OD_ENOMEM: out of memory, or more tiles than the
 * system can protect; those that could not be protected are open. */
od_status od_guard_update(od_guard *guard, const od_directory *directory);

/* The library is about to write the range: opens the datum there until the next update. */
void od_guard_lift(od_guard *guard, uintptr_t base, size_t size);
/* Opens everything until the next update. Makes nothing but system calls: for the child of a fork. */
void od_guard_lift_all(od_guard *guard);

/* The protected datum whose pages contain the address. False: none. */
bool od_guard_find(od_guard *guard, uintptr_t address, od_guarded *found);
/* From now on the datum at `base` stays open. False: the guard remembers no more such data. */
bool od_guard_exempt(od_guard *guard, uintptr_t base);

/* For a fork: nobody else holds the guard's lock in between. */
void od_guard_lock(od_guard *guard);
void od_guard_unlock(od_guard *guard);

#endif
