/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A cut: an array divided into cells of whole pages. At first there is one for each of some equal shares; cells are
 * divided further where what uses them begins or ends. Pages are counted from the one in which the array begins.
 */
#ifndef OD_MEMMGR_WINDOW_CUT_H
#define OD_MEMMGR_WINDOW_CUT_H

#include "memmgr/extent/page_set.h"
#include "memmgr/window/shares.h"

typedef struct od_cell {
    uintptr_t base; /* host range */
    size_t size;
    unsigned share;      /* in which it lies */
    od_page_range pages; /* that it begins in, up to the one that the next cell begins in */
} od_cell;

typedef struct od_cut {
    od_shares shares;
    unsigned cells, most; /* of them */
    unsigned divisions;   /* how often it has become another one */
    uint64_t stamp[8];    /* of what has divided it last: see od_cut_stamp */
    unsigned stamps;
    uintptr_t begin[];    /* of each cell, and the array's end */
} od_cut;

/* NULL: out of memory. The caller frees it. */
od_cut *od_cut_create(const od_shares *shares);
od_cut *od_cut_copy(const od_cut *cut);
/* A cell is to begin with this page. False: one does, it is none of the array's, or there are enough. */
bool od_cut_add(od_cut *cut, uint32_t page);
/* Remembers that this divides it. False: it has done so before, as far as that is remembered. */
bool od_cut_stamp(od_cut *cut, uint64_t stamp);
od_cell od_cut_cell(const od_cut *cut, unsigned index);
/* Which one an address in the array is in. */
unsigned od_cut_find(const od_cut *cut, uintptr_t address);

#endif
