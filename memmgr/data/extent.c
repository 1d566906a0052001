/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See extent.h. */
#include "memmgr/data/extent.h"

#include "memmgr/window/page.h"
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

uint32_t od_extent_count(od_extent extent)
{
    return extent.pieces ? extent.pieces->count : 1;
}

od_piece od_extent_piece(od_extent extent, uint32_t i)
{
    return extent.pieces ? extent.pieces->at[i] : (od_piece){extent.base, extent.size, 0};
}

uintptr_t od_extent_end(od_extent extent)
{
    od_piece last = od_extent_piece(extent, od_extent_count(extent) - 1);
    return last.begin + last.size;
}

/* The first piece that ends behind the address; the number of pieces: there is none. */
static uint32_t piece_behind(od_extent extent, uintptr_t address)
{
    uint32_t low = 0, high = od_extent_count(extent);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        od_piece piece = od_extent_piece(extent, middle);
        if (piece.begin < address && address - piece.begin >= piece.size)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool od_extent_contains(od_extent extent, uintptr_t address)
{
    uint32_t i = piece_behind(extent, address);
    return i < od_extent_count(extent) && address - od_extent_piece(extent, i).begin < od_extent_piece(extent, i).size;
}

/* How many of its bytes lie before the address. */
static size_t bytes_before(od_extent extent, uintptr_t address)
{
    uint32_t i = piece_behind(extent, address);
    if (i == od_extent_count(extent))
        return extent.size;
    od_piece piece = od_extent_piece(extent, i);
    return piece.offset + (address > piece.begin ? address - piece.begin : 0);
}

od_slice od_extent_slice(od_extent extent, uintptr_t begin, uintptr_t end)
{
    size_t from = bytes_before(extent, begin), to = bytes_before(extent, end);
    return (od_slice){from, to > from ? to - from : 0};
}

od_piece od_extent_cut(od_extent extent, uint32_t i, od_slice slice)
{
    od_piece piece = od_extent_piece(extent, i);
    size_t end = piece.offset + piece.size, last = slice.offset + slice.bytes;
    size_t skipped = slice.offset > piece.offset ? slice.offset - piece.offset : 0;
    end = end < last ? end : last;
    if (skipped >= piece.size || end <= piece.offset + skipped)
        return (od_piece){0};
    return (od_piece){piece.begin + skipped, end - piece.offset - skipped, piece.offset + skipped};
}

void od_extent_copy(od_extent extent, char *to, const char *from, od_slice slice)
{
    for (uint32_t i = 0, n = od_extent_count(extent); i < n; i++) {
        od_piece piece = od_extent_cut(extent, i, slice);
        if (piece.size)
            memcpy(to + (piece.begin - extent.base), from + (piece.begin - extent.base), piece.size);
    }
}
