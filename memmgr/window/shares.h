/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Shares: an array divided into so many consecutive parts of about as many whole pages. */
#ifndef OD_MEMMGR_WINDOW_SHARES_H
#define OD_MEMMGR_WINDOW_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct od_shares {
    uintptr_t base; /* host range of the array */
    size_t size;
    unsigned count;
} od_shares;

/* False: it has not two pages for each, and is all in the first one. */
bool od_shares_are_pages(const od_shares *shares);
/* Where one begins; that with the number `count` is the end of the array. */
uintptr_t od_share_begin(const od_shares *shares, unsigned index);
/* Which one an address in the array is in. */
unsigned od_share_of(const od_shares *shares, uintptr_t address);

#endif
