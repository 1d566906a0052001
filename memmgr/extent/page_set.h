/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sets of an array's pages, as ranges; pages are counted from the one in which the array begins. */
#ifndef OD_MEMMGR_EXTENT_PAGE_SET_H
#define OD_MEMMGR_EXTENT_PAGE_SET_H

#include <stdbool.h>
#include <stdint.h>

typedef struct od_page_range {
    uint32_t first, end; /* none where first >= end */
} od_page_range;

uint32_t od_page_range_length(od_page_range range);

/* Empty as zeros. */
typedef struct od_page_set {
    od_page_range *range; /* in order, with gaps between them; malloc'ed */
    uint32_t count, room;
} od_page_set;

void od_page_set_free(od_page_set *set); /* empty again */
/* True: the set has become larger. What it has no memory for, or too many ranges, is left out. */
bool od_page_set_add(od_page_set *set, od_page_range range);
bool od_page_set_add_all(od_page_set *set, const od_page_set *other);
uint32_t od_page_set_length(const od_page_set *set);
/* How many pages of the range, of the other set, it has. */
uint32_t od_page_set_common(const od_page_set *set, od_page_range range);
uint32_t od_page_set_common_all(const od_page_set *set, const od_page_set *other);
/* The page, and what the set has next to it on both sides. */
od_page_range od_page_set_around(const od_page_set *set, uint32_t page);

#endif
