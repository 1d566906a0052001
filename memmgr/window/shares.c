/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See shares.h. */
#include "memmgr/window/shares.h"

#include "memmgr/window/window.h"

bool od_shares_are_pages(const od_shares *shares)
{
    return shares->size / shares->count >= 2 * od_window_page();
}

uintptr_t od_share_begin(const od_shares *shares, unsigned index)
{
    if (index == 0)
        return shares->base;
    if (index >= shares->count || !od_shares_are_pages(shares))
        return shares->base + shares->size;
    size_t more = shares->size % shares->count, before = index < more ? index : more;
    uintptr_t at = od_window_page_begin(shares->base + shares->size / shares->count * index + before);
    return at < shares->base ? shares->base : at;
}

unsigned od_share_of(const od_shares *shares, uintptr_t address)
{
    unsigned index = 0;
    while (index + 1 < shares->count && address >= od_share_begin(shares, index + 1))
        index++;
    return index;
}
