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

static bool is_empty(const od_touched_pages *pages)
{
    return !od_page_range_length(pages->read) && !od_page_range_length(pages->opened);
}

/* Nothing is known of the slice: it has had its own share, whose use is no page fault. */
static bool has_had_its_share(const od_footprint *f, unsigned argument, unsigned slice, const od_touched *touched)
{
    for (unsigned j = 0; j < f->slices; j++)
        if (!is_empty(at(f, argument, slice, j)))
            return false;
    return !touched->learns;
}

static bool add_range(od_page_range *to, od_page_range range)
{
    od_page_range before = *to;
    *to = od_page_range_around(before, range);
    return to->first != before.first || to->end != before.end;
}

static bool add_argument(od_footprint *f, unsigned argument, unsigned slice, const od_touched *touched)
{
    const od_page_range all = {0, UINT32_MAX};
    bool changed = false, has_it = has_had_its_share(f, argument, slice, touched);
    for (unsigned j = 0; j < f->slices; j++) {
        od_touched_pages *to = &f->pages[index_of(f, argument, slice, j)];
        const od_touched_pages *from = &touched->pages[argument * touched->shares + j];
        changed |= add_range(&to->read, has_it && j == slice ? all : from->read);
        changed |= add_range(&to->written, from->written);
        changed |= add_range(&to->opened, from->opened);
    }
    return changed;
}

void od_footprint_add(od_footprint *f, unsigned slice, const od_touched *touched)
{
    static uint64_t stamps; /* od_runtime.lock */
    for (unsigned i = 0; i < f->arguments && i < touched->arguments; i++)
        if (add_argument(f, i, slice, touched))
            f->stamp[i] = ++stamps;
}

static bool divide_by(od_cut *cut, od_page_range range)
{
    if (!od_page_range_length(range))
        return false;
    bool first = od_cut_add(cut, range.first), end = od_cut_add(cut, range.end);
    return first || end;
}

bool od_footprint_divide(const od_footprint *f, unsigned argument, od_cut *cut)
{
    bool divided = false;
    if (argument >= f->arguments || od_cut_has(cut, f->stamp[argument]))
        return false;
    for (unsigned s = 0; s < f->slices; s++)
        for (unsigned j = 0; j < f->slices; j++) {
            divided |= divide_by(cut, at(f, argument, s, j)->written);
            divided |= divide_by(cut, at(f, argument, s, j)->read);
        }
    return divided;
}

static uint32_t in_cell(od_page_range range, const od_cell *cell)
{
    return od_page_range_length(od_page_range_common(range, cell->pages));
}

/* Who has been seen to write most of a cell, or may have; `slices`: nobody. Of equals the slice of its share. */
static unsigned owner_of(const od_footprint *f, unsigned argument, const od_cell *cell)
{
    unsigned owner = f->slices;
    uint32_t most = 0, most_opened = 0;
    for (unsigned s = 0; s < f->slices; s++) {
        const od_touched_pages *pages = at(f, argument, s, cell->share);
        uint32_t written = in_cell(pages->written, cell), opened = in_cell(pages->opened, cell);
        bool more = written > most || (written == most && opened > most_opened);
        bool own = opened && written == most && opened == most_opened && s == cell->share;
        if (more || own) {
            owner = s;
            most = written;
            most_opened = opened;
        }
    }
    return owner;
}

static bool is_known(const od_footprint *f, unsigned argument)
{
    for (unsigned s = 0; s < f->slices; s++)
        for (unsigned j = 0; j < f->slices; j++)
            if (!is_empty(at(f, argument, s, j)))
                return true;
    return false;
}

/* It is worth a transfer. */
static bool is_much(uint32_t pages, const od_cell *cell)
{
    return pages > OD_FEW_PAGES || 2 * pages >= od_page_range_length(cell->pages);
}

od_cell_use od_footprint_use(const od_footprint *f, unsigned argument, unsigned slice, const od_cell *cell)
{
    if (argument >= f->arguments || !is_known(f, argument))
        return slice == cell->share ? OD_CELL_READ : OD_CELL_UNUSED;
    unsigned owner = owner_of(f, argument, cell);
    if (owner < f->slices)
        return owner == slice ? OD_CELL_OWNED : OD_CELL_UNUSED;
    return is_much(in_cell(at(f, argument, slice, cell->share)->read, cell), cell) ? OD_CELL_READ : OD_CELL_UNUSED;
}

bool od_footprint_is_known(const od_footprint *f)
{
    for (unsigned i = 0; i < f->arguments; i++)
        if (is_known(f, i))
            return true;
    return false;
}

/* More than a few pages, and most of what the one of them uses. */
static bool clash(od_page_range written, od_page_range used)
{
    uint32_t common = od_page_range_length(od_page_range_common(written, used));
    return common > OD_FEW_PAGES && 2 * common > od_page_range_length(used);
}

static bool clashes_in(const od_footprint *f, unsigned argument, unsigned share)
{
    unsigned owner = 0;
    for (unsigned s = 1; s < f->slices; s++)
        if (od_page_range_length(at(f, argument, s, share)->written) >
            od_page_range_length(at(f, argument, owner, share)->written))
            owner = s;
    od_page_range written = at(f, argument, owner, share)->written;
    for (unsigned s = 0; s < f->slices; s++) {
        const od_touched_pages *pages = at(f, argument, s, share);
        if (s != owner && (clash(written, pages->read) || clash(written, pages->written)))
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
