/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See cut.h. */
#include "memmgr/window/cut.h"

#include "memmgr/window/window.h"
#include "util/memory.h"

#include <string.h>

enum { CELLS_OF_SHARE = 64 }; /* at most, in the mean */

static size_t bytes_of(unsigned most)
{
    return sizeof(od_cut) + (most + 1) * sizeof(uintptr_t);
}

od_cut *od_cut_create(const od_shares *shares)
{
    unsigned most = CELLS_OF_SHARE * shares->count;
    od_cut *cut = od_calloc(1, bytes_of(most));
    if (!cut)
        return NULL;
    cut->shares = *shares;
    cut->most = most;
    cut->cells = od_shares_are_pages(shares) ? shares->count : 1;
    for (unsigned j = 0; j <= cut->cells; j++)
        cut->begin[j] = od_share_begin(shares, j);
    return cut;
}

od_cut *od_cut_copy(const od_cut *cut)
{
    od_cut *copy = od_malloc(bytes_of(cut->most));
    if (copy)
        memcpy(copy, cut, bytes_of(cut->most));
    return copy;
}

unsigned od_cut_find(const od_cut *cut, uintptr_t address)
{
    unsigned first = 0, end = cut->cells;
    while (end - first > 1) {
        unsigned middle = first + (end - first) / 2;
        if (address >= cut->begin[middle])
            first = middle;
        else
            end = middle;
    }
    return first;
}

bool od_cut_add(od_cut *cut, uint32_t page)
{
    uintptr_t at = od_window_page_begin(cut->shares.base) + page * od_window_page();
    if (at <= cut->shares.base || at >= cut->shares.base + cut->shares.size || cut->cells == cut->most)
        return false;
    unsigned i = od_cut_find(cut, at);
    if (cut->begin[i] == at)
        return false;
    memmove(&cut->begin[i + 2], &cut->begin[i + 1], (cut->cells - i) * sizeof cut->begin[0]);
    cut->begin[i + 1] = at;
    cut->cells++;
    return true;
}

bool od_cut_stamp(od_cut *cut, uint64_t stamp)
{
    enum { STAMPS = sizeof cut->stamp / sizeof cut->stamp[0] };
    for (unsigned i = 0; i < STAMPS; i++)
        if (cut->stamp[i] == stamp)
            return false;
    cut->stamp[cut->stamps++ % STAMPS] = stamp;
    return true;
}

od_cell od_cut_cell(const od_cut *cut, unsigned index)
{
    uintptr_t begin = cut->begin[index], end = cut->begin[index + 1];
    return (od_cell){.base = begin,
                     .size = end - begin,
                     .share = od_share_of(&cut->shares, begin),
                     .pages = {od_page_of(cut->shares.base, begin), od_page_of(cut->shares.base, end - 1) + 1}};
}
