/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Footprints: which shares of its arrays each slice of a kernel uses.
 *
 * Page faults of its runs count, per argument, slice and share, the pages that were read and written there; after a few
 * the rest of the share is not counted any more. Each share that is written has one owner, the slice that writes most
 * of it. It is a part of the owner's task; a share that nobody writes is one of all tasks that read more than a few
 * pages of it. Fewer pages are left to page faults, in halos and where a share ends beside a slice's last iteration.
 */
#ifndef OD_OMP_EXT_SLICES_FOOTPRINT_H
#define OD_OMP_EXT_SLICES_FOOTPRINT_H

#include "omp_ext/runtime/work.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct od_footprint {
    unsigned arguments, slices; /* there are as many shares */
    od_touched_pages pages[];   /* by argument, slice, share */
} od_footprint;

/* NULL: out of memory. */
od_footprint *od_footprint_create(unsigned arguments, unsigned slices);
/* What a run of a slice has touched is added. */
void od_footprint_add(od_footprint *footprint, unsigned slice, const od_touched *touched);

typedef enum od_share_use { OD_SHARE_UNUSED, OD_SHARE_READ, OD_SHARE_OWNED } od_share_use;

/* What a slice's task is to have of a share. Slices of which nothing is known have their own, to read. */
od_share_use od_footprint_use(const od_footprint *footprint, unsigned argument, unsigned slice, unsigned share);
/* True once a slice has touched anything. */
bool od_footprint_is_known(const od_footprint *footprint);
/* True where slices use more than a few pages of what others write. */
bool od_footprint_clashes(const od_footprint *footprint);

#endif
