/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See shape.h. */
#include "memmgr/extent/shape.h"

#include "memmgr/extent/page.h"
#include "util/memory.h"

#include <string.h>

od_pieces *od_pieces_make(const od_span *spans, uint32_t count)
{
    od_pieces *pieces = od_malloc(sizeof *pieces + count * sizeof pieces->at[0]);
    uintptr_t paged = 0; /* end of the last page that has been counted */
    if (!pieces)
        return NULL;
    *pieces = (od_pieces){.count = count};
    for (uint32_t i = 0; i < count; i++) {
        size_t size = spans[i].end - spans[i].begin;
        uintptr_t from = od_window_page_begin(spans[i].begin), to = od_window_page_end(spans[i].end);
        pieces->at[i] = (od_piece){spans[i].begin, size, pieces->size};
        pieces->size += size;
        pieces->span += to - (from > paged ? from : paged);
        paged = to;
    }
    return pieces;
}

bool od_pieces_are_equal(const od_pieces *a, const od_pieces *b)
{
    if (!a || !b || a->count != b->count)
        return a == b;
    return !memcmp(a->at, b->at, a->count * sizeof a->at[0]);
}

uint32_t od_shape_count(od_shape shape)
{
    return shape.pieces ? shape.pieces->count : 1;
}

od_piece od_shape_piece(od_shape shape, uint32_t i)
{
    return shape.pieces ? shape.pieces->at[i] : (od_piece){shape.base, shape.size, 0};
}

uintptr_t od_shape_end(od_shape shape)
{
    od_piece last = od_shape_piece(shape, od_shape_count(shape) - 1);
    return last.begin + last.size;
}

/* The first piece that ends behind the address; the number of pieces: there is none. */
static uint32_t piece_behind(od_shape shape, uintptr_t address)
{
    uint32_t low = 0, high = od_shape_count(shape);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        od_piece piece = od_shape_piece(shape, middle);
        if (piece.begin < address && address - piece.begin >= piece.size)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool od_shape_contains(od_shape shape, uintptr_t address)
{
    uint32_t i = piece_behind(shape, address);
    return i < od_shape_count(shape) && address - od_shape_piece(shape, i).begin < od_shape_piece(shape, i).size;
}

bool od_shape_first(od_shape shape, uintptr_t begin, uintptr_t end, od_span *range)
{
    uint32_t i = begin < end ? piece_behind(shape, begin) : od_shape_count(shape);
    if (i == od_shape_count(shape))
        return false;
    od_piece piece = od_shape_piece(shape, i);
    if (piece.begin >= end)
        return false;
    *range = (od_span){piece.begin, piece.begin + piece.size};
    return true;
}

/* How many of its bytes lie before the address. */
static size_t bytes_before(od_shape shape, uintptr_t address)
{
    uint32_t i = piece_behind(shape, address);
    if (i == od_shape_count(shape))
        return shape.size;
    od_piece piece = od_shape_piece(shape, i);
    return piece.offset + (address > piece.begin ? address - piece.begin : 0);
}

od_stretch od_shape_overlap(od_shape shape, uintptr_t begin, uintptr_t end)
{
    size_t from = bytes_before(shape, begin), to = bytes_before(shape, end);
    return (od_stretch){from, to > from ? to - from : 0};
}

od_piece od_shape_cut(od_shape shape, uint32_t i, od_stretch stretch)
{
    od_piece piece = od_shape_piece(shape, i);
    size_t end = piece.offset + piece.size, last = stretch.offset + stretch.bytes;
    size_t skipped = stretch.offset > piece.offset ? stretch.offset - piece.offset : 0;
    end = end < last ? end : last;
    if (skipped >= piece.size || end <= piece.offset + skipped)
        return (od_piece){0};
    return (od_piece){piece.begin + skipped, end - piece.offset - skipped, piece.offset + skipped};
}

void od_shape_copy(od_shape shape, char *to, const char *from, od_stretch stretch)
{
    for (uint32_t i = 0, n = od_shape_count(shape); i < n; i++) {
        od_piece piece = od_shape_cut(shape, i, stretch);
        if (piece.size)
            memcpy(to + (piece.begin - shape.base), from + (piece.begin - shape.base), piece.size);
    }
}
