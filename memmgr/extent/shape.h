/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Shapes: which host bytes a datum consists of. Mostly one range; a tile of a column-major matrix is many, one per
 * column, which are one datum all the same.
 *
 * Its bytes are counted through all pieces, in order of addresses: what a range of addresses has in common with a
 * shape is therefore one stretch of it. At every place the pieces lie as far apart as in the program's memory.
 */
#ifndef OD_MEMMGR_EXTENT_SHAPE_H
#define OD_MEMMGR_EXTENT_SHAPE_H

#include "memmgr/extent/spans.h"

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

typedef struct od_shape {
    uintptr_t base;
    size_t size;
    const od_pieces *pieces; /* NULL: [base, base + size) */
} od_shape;

typedef struct od_stretch {
    size_t offset, bytes;
} od_stretch;

/* Of spans in order, two at least, that do not touch; malloc'ed. NULL: out of memory. */
od_pieces *od_pieces_make(const od_span *spans, uint32_t count);
bool od_pieces_are_equal(const od_pieces *a, const od_pieces *b); /* either may be NULL */

uint32_t od_shape_count(od_shape shape);
od_piece od_shape_piece(od_shape shape, uint32_t i);
uintptr_t od_shape_end(od_shape shape);
bool od_shape_contains(od_shape shape, uintptr_t address);
/* Its first range in [begin, end), which may reach beyond. False: it has none there. */
bool od_shape_first(od_shape shape, uintptr_t begin, uintptr_t end, od_span *range);
/* Its bytes in [begin, end). */
od_stretch od_shape_overlap(od_shape shape, uintptr_t begin, uintptr_t end);
/* The i-th piece cut to the stretch; size 0: it is not in it. */
od_piece od_shape_cut(od_shape shape, uint32_t i, od_stretch stretch);
/* Within host memory; `to` and `from` are where its first byte lies. */
void od_shape_copy(od_shape shape, char *to, const char *from, od_stretch stretch);

#endif
