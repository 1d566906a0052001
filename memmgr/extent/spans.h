/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Spans of addresses: of many ranges those that overlap, directly or through others, make one span. Ranges that only
 * touch do not overlap.
 */
#ifndef OD_MEMMGR_EXTENT_SPANS_H
#define OD_MEMMGR_EXTENT_SPANS_H

#include <stddef.h>
#include <stdint.h>

typedef struct od_span {
    uintptr_t begin, end;
} od_span;

/* Puts the ranges in order and makes spans of them, in place. Returns how many. */
size_t od_spans_make(od_span *ranges, size_t count);
/* The range grows by all spans that it overlaps. */
void od_spans_widen(const od_span *spans, size_t count, od_span *range);

#endif
