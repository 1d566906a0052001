/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See page_set.h. */
#include "memmgr/extent/page_set.h"

#include "util/container/array.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_RANGES = 1024 };

uint32_t od_page_range_length(od_page_range range)
{
    return range.end > range.first ? range.end - range.first : 0;
}

void od_page_set_free(od_page_set *set)
{
    free(set->range);
    *set = (od_page_set){0};
}

/* The first range that ends at the page or behind it. */
static uint32_t first_behind(const od_page_set *set, uint32_t page)
{
    uint32_t low = 0, high = set->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (set->range[middle].end < page)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool insert(od_page_set *set, uint32_t at, od_page_range range)
{
    if (set->count == MOST_RANGES ||
        !od_array_reserve(&set->range, &set->room, (uint64_t)set->count + 1, sizeof *set->range))
        return false;
    memmove(&set->range[at + 1], &set->range[at], (set->count - at) * sizeof *set->range);
    set->range[at] = range;
    set->count++;
    return true;
}

bool od_page_set_add(od_page_set *set, od_page_range range)
{
    if (!od_page_range_length(range))
        return false;
    uint32_t first = first_behind(set, range.first), end = first;
    while (end < set->count && set->range[end].first <= range.end)
        end++;
    if (first == end)
        return insert(set, first, range);
    od_page_range *joined = &set->range[first], before = *joined;
    uint32_t last = set->range[end - 1].end;
    joined->first = range.first < before.first ? range.first : before.first;
    joined->end = range.end > last ? range.end : last;
    memmove(joined + 1, &set->range[end], (set->count - end) * sizeof *joined);
    set->count -= end - first - 1;
    return joined->first != before.first || joined->end != before.end;
}

bool od_page_set_add_all(od_page_set *set, const od_page_set *other)
{
    bool more = false;
    for (uint32_t i = 0; i < other->count; i++)
        more |= od_page_set_add(set, other->range[i]);
    return more;
}

uint32_t od_page_set_length(const od_page_set *set)
{
    uint32_t pages = 0;
    for (uint32_t i = 0; i < set->count; i++)
        pages += od_page_range_length(set->range[i]);
    return pages;
}

static od_page_range common(od_page_range a, od_page_range b)
{
    return (od_page_range){a.first > b.first ? a.first : b.first, a.end < b.end ? a.end : b.end};
}

uint32_t od_page_set_common(const od_page_set *set, od_page_range range)
{
    uint32_t pages = 0;
    for (uint32_t i = first_behind(set, range.first); i < set->count && set->range[i].first < range.end; i++)
        pages += od_page_range_length(common(set->range[i], range));
    return pages;
}

uint32_t od_page_set_common_all(const od_page_set *set, const od_page_set *other)
{
    uint32_t pages = 0;
    for (uint32_t i = 0; i < other->count; i++)
        pages += od_page_set_common(set, other->range[i]);
    return pages;
}

od_page_range od_page_set_around(const od_page_set *set, uint32_t page)
{
    od_page_range around = {page, page + 1};
    for (uint32_t i = first_behind(set, page); i < set->count && set->range[i].first <= page + 1; i++) {
        around.first = set->range[i].first < around.first ? set->range[i].first : around.first;
        around.end = set->range[i].end > around.end ? set->range[i].end : around.end;
    }
    return around;
}
