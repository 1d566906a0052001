/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See footprint.h. */
#include "omp_ext/slices/footprint.h"

#include "util/memory.h"

od_footprint *od_footprint_create(unsigned arguments, unsigned slices)
{
    od_footprint *f;
    if (arguments > OD_TOUCHED_ARGUMENTS)
        arguments = OD_TOUCHED_ARGUMENTS;
    f = od_calloc(1, sizeof *f + (size_t)arguments * slices * slices * sizeof f->pages[0]);
    if (f) {
        f->arguments = arguments;
        f->slices = slices;
    }
    return f;
}

static size_t index_of(const od_footprint *f, unsigned argument, unsigned slice, unsigned share)
{
    return ((size_t)argument * f->slices + slice) * f->slices + share;
}

static const od_touched_pages *at(const od_footprint *f, unsigned argument, unsigned slice, unsigned share)
{
    return &f->pages[index_of(f, argument, slice, share)];
}

static uint16_t larger(uint16_t a, uint16_t b)
{
    return a > b ? a : b;
}

void od_footprint_add(od_footprint *f, unsigned slice, const od_touched *touched)
{
    for (unsigned i = 0; i < f->arguments && i < touched->arguments; i++)
        for (unsigned j = 0; j < f->slices; j++) {
            od_touched_pages *to = &f->pages[index_of(f, i, slice, j)];
            const od_touched_pages *from = &touched->pages[i * touched->shares + j];
            to->read = larger(to->read, from->read);
            to->written = larger(to->written, from->written);
        }
}

/* Who writes most of a share; `slices`: nobody. */
static unsigned owner_of(const od_footprint *f, unsigned argument, unsigned share)
{
    unsigned owner = f->slices;
    for (unsigned s = 0; s < f->slices; s++) {
        uint16_t written = at(f, argument, s, share)->written;
        if (written && (owner == f->slices || written > at(f, argument, owner, share)->written))
            owner = s;
    }
    return owner;
}

static bool is_known(const od_footprint *f, unsigned argument)
{
    for (unsigned s = 0; s < f->slices; s++)
        for (unsigned j = 0; j < f->slices; j++)
            if (at(f, argument, s, j)->read || at(f, argument, s, j)->written)
                return true;
    return false;
}

od_share_use od_footprint_use(const od_footprint *f, unsigned argument, unsigned slice, unsigned share)
{
    if (argument >= f->arguments || !is_known(f, argument))
        return slice == share ? OD_SHARE_READ : OD_SHARE_UNUSED;
    unsigned owner = owner_of(f, argument, share);
    if (owner < f->slices)
        return owner == slice ? OD_SHARE_OWNED : OD_SHARE_UNUSED;
    return at(f, argument, slice, share)->read > OD_FEW_PAGES ? OD_SHARE_READ : OD_SHARE_UNUSED;
}

bool od_footprint_is_known(const od_footprint *f)
{
    for (unsigned i = 0; i < f->arguments; i++)
        if (is_known(f, i))
            return true;
    return false;
}

static bool clashes_in(const od_footprint *f, unsigned argument, unsigned share)
{
    unsigned owner = owner_of(f, argument, share);
    for (unsigned s = 0; owner < f->slices && s < f->slices; s++) {
        const od_touched_pages *pages = at(f, argument, s, share);
        if (s != owner && (pages->read > OD_FEW_PAGES || pages->written > OD_FEW_PAGES))
            return true;
    }
    return false;
}

bool od_footprint_clashes(const od_footprint *f)
{
    for (unsigned i = 0; i < f->arguments; i++)
        for (unsigned j = 0; j < f->slices; j++)
            if (clashes_in(f, i, j))
                return true;
    return false;
}
