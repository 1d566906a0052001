/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See spans.h. */
#include "memmgr/extent/spans.h"

#include <stdlib.h>

static int by_begin(const void *a, const void *b)
{
    const od_span *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

size_t od_spans_make(od_span *ranges, size_t count)
{
    size_t n = 0;
    if (count)
        qsort(ranges, count, sizeof *ranges, by_begin);
    for (size_t i = 0; i < count; i++)
        if (n && ranges[i].begin < ranges[n - 1].end)
            ranges[n - 1].end = ranges[i].end > ranges[n - 1].end ? ranges[i].end : ranges[n - 1].end;
        else
            ranges[n++] = ranges[i];
    return n;
}

/* The first span that ends behind the address. */
static size_t first_behind(const od_span *spans, size_t count, uintptr_t address)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (spans[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void od_spans_widen(const od_span *spans, size_t count, od_span *range)
{
    for (size_t i = first_behind(spans, count, range->begin); i < count && spans[i].begin < range->end; i++) {
        range->begin = spans[i].begin < range->begin ? spans[i].begin : range->begin;
        range->end = spans[i].end > range->end ? spans[i].end : range->end;
    }
}
