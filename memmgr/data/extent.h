/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Extents: which host bytes a datum consists of. Mostly one range; a tile of a column-major matrix is many, one per
 * column, which are one datum all the same.
 *
 * Its bytes are counted through all pieces, in order of addresses: what a range of addresses has in common with an
 * extent is therefore one slice of it. At every place the pieces lie as far apart as in the program's memory.
 */
#ifndef OD_MEMMGR_DATA_EXTENT_H
#define OD_MEMMGR_DATA_EXTENT_H

#include "memmgr/data/spans.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct od_piece {
    uintptr_t begin; /* host address */
    size_t size;
    size_t offset; /* bytes in the pieces before it */
} od_piece;

typedef struct od_pieces {
    uint32_t count; /* two at least */
    size_t size;    /* of all */
    size_t span;    /* of all pages that they touch */
    od_piece at[];  /* in order of addresses, none touches the next */
} od_pieces;

typedef struct od_extent {
    uintptr_t base;
    size_t size;
    const od_pieces *pieces; /* NULL: [base, base + size) */
} od_extent;

typedef struct od_slice {
    size_t offset, bytes;
} od_slice;

/* Of spans in order, two at least, that do not touch; malloc'ed. NULL: out of memory. */
od_pieces *od_pieces_make(const od_span *spans, uint32_t count);
bool od_pieces_are_equal(const od_pieces *a, const od_pieces *b); /* either may be NULL */

uint32_t od_extent_count(od_extent extent);
od_piece od_extent_piece(od_extent extent, uint32_t i);
uintptr_t od_extent_end(od_extent extent);
bool od_extent_contains(od_extent extent, uintptr_t address);
/* Its bytes in [begin, end). */
od_slice od_extent_slice(od_extent extent, uintptr_t begin, uintptr_t end);
/* The i-th piece cut to the slice; size 0: it is not in it. */
od_piece od_extent_cut(od_extent extent, uint32_t i, od_slice slice);
/* Within host memory; `to` and `from` are where its first byte lies. */
void od_extent_copy(od_extent extent, char *to, const char *from, od_slice slice);

#endif
