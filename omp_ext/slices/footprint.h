/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Footprints: which pages of its arrays each slice of a kernel uses.
 *
 * Page faults of its runs give, per argument and slice, the pages that were read and written. Arrays are cut where
 * ranges of them begin and end (memmgr/window/cut.h), so that the cells of a cut are what slices use alone, and what
 * they use together with their neighbours, as halos. A cell that is written has one owner, the slice that writes most
 * of it, and is a part of that one's task; a cell that nobody writes is one of all tasks that read it. The rest is left
 * to page faults: pages that several slices use and one writes, and what another slice writes in the same launch.
 */
#ifndef OD_OMP_EXT_SLICES_FOOTPRINT_H
#define OD_OMP_EXT_SLICES_FOOTPRINT_H

#include "omp_ext/runtime/work.h"
#include "omp_ext/slices/slice.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct od_slice_pages {
    od_page_set read, written, opened; /* as in od_touched_pages, of all launches */
    uintptr_t lowest;                  /* likewise, of the one that was to show what slices use */
} od_slice_pages;

typedef struct od_footprint {
    unsigned arguments, slices;           /* arrays have as many equal shares */
    uint64_t stamp[OD_TOUCHED_ARGUMENTS]; /* another one, of all footprints, after each change; 0: nothing is known */
    bool judged, clashes;                 /* the second is what od_footprint_clashes() has found */
    od_slice_pages pages[];               /* by argument and slice */
} od_footprint;

/* NULL: out of memory. */
od_touched *od_touched_create(const od_footprint *footprint);
void od_touched_destroy(od_touched *touched); /* may be NULL */

/* NULL: out of memory. */
od_footprint *od_footprint_create(unsigned arguments, unsigned slices);
void od_footprint_destroy(od_footprint *footprint); /* may be NULL */
/* What a run of a slice has touched is added. True: some of it was not known. */
bool od_footprint_add(od_footprint *footprint, unsigned slice, const od_touched *touched);
/* Neighbours write to one page where slices do not begin at the first byte of one. Where an argument is written at
 * addresses that are linear in the iteration: how slices of so many iterations do. False: there is no such grain, or
 * none but with slices of very different size, or they do already. */
bool od_footprint_grain(const od_footprint *footprint, uint64_t trip_count, od_grain *grain);
/* Cells are to begin and end where slices' ranges do. True: the cut is another one now. */
bool od_footprint_divide(const od_footprint *footprint, unsigned argument, od_cut *cut);

typedef enum od_cell_use { OD_CELL_UNUSED, OD_CELL_READ, OD_CELL_OWNED } od_cell_use;

/* What a slice's task is to have of a cell. Slices of which nothing is known have their own share, to read. */
od_cell_use od_footprint_use(const od_footprint *footprint, unsigned argument, unsigned slice, const od_cell *cell);
/* A page of an array that one of two slices of any kernels has been seen to write has been used by the other one, too:
 * the array is argument `a` of slice s of the one, and argument `b` of slice t of the other. */
bool od_footprint_excludes(const od_footprint *f, unsigned a, unsigned s, const od_footprint *other, unsigned b,
                           unsigned t);
/* The slice has been seen to write the page; else, to use it. */
bool od_footprint_has(const od_footprint *f, unsigned argument, unsigned slice, uint32_t page, bool write);
/* True once a slice has touched anything. */
bool od_footprint_is_known(const od_footprint *footprint);
/* True where slices use more than a few pages of what others write. */
bool od_footprint_clashes(od_footprint *footprint);

#endif
