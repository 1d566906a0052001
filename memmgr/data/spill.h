/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Spill area: host memory in which a region's contents live while they are on no device.
 *
 * Inside a region the program's own memory and the devices' contents are two different things in OpenMP. What is
 * evicted before the region closes goes to the spill area, so that the program's memory changes only where OpenMP says
 * so. It is as large as the region, reserved at the first eviction, and takes physical memory only where something was
 * spilled. It also remembers which parts hold current contents of which there is no datum any more. Sizes in bytes; the
 * caller holds the engine's lock.
 */
#ifndef OD_MEMMGR_DATA_SPILL_H
#define OD_MEMMGR_DATA_SPILL_H

#include "util/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct od_spill od_spill;

typedef enum od_cover { OD_COVER_NONE, OD_COVER_PART, OD_COVER_WHOLE } od_cover;

/* For the host range [base, base+size), with one user. Its size is added to *total, unless NULL, as long as it lives.
 * NULL: out of (virtual) memory. */
od_spill *od_spill_create(uintptr_t base, size_t size, size_t *total);
void od_spill_hold(od_spill *spill);
/* The last user frees it. */
void od_spill_release(od_spill *spill); /* may be NULL */

/* Its contents move to other memory, as large as it is, which the last user gives back. Nothing is under way there. */
void od_spill_move(od_spill *spill, void *memory, void (*give)(void *state, void *memory), void *state);

/* Where the contents of a host address of the region are spilled. */
void *od_spill_address(const od_spill *spill, uintptr_t address);

/* Remembers that the area holds the current contents of the range. */
od_status od_spill_keep(od_spill *spill, uintptr_t base, size_t size);
/* How much of the range is remembered. spill may be NULL. */
od_cover od_spill_cover(const od_spill *spill, uintptr_t base, size_t size);
/* The first remembered part inside the range, cut to it. False: none. */
bool od_spill_first(const od_spill *spill, uintptr_t base, size_t size, uintptr_t *part, size_t *bytes);
/* Forgets the range: it is a datum's now. OD_ENOMEM: nothing was changed. */
od_status od_spill_take(od_spill *spill, uintptr_t base, size_t size);

#endif
