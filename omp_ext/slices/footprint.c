/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See footprint.h. */
#include "omp_ext/slices/footprint.h"

#include "memmgr/window/window.h"
#include "util/memory.h"

#include <stdlib.h>

/* --- what one run has touched ---------------------------------------------------- */

od_touched *od_touched_create(const od_footprint *f)
{
    od_touched *touched = od_calloc(1, sizeof *touched + f->arguments * sizeof touched->pages[0]);
    if (touched) {
        touched->arguments = f->arguments;
        touched->slices = f->slices;
        touched->learns = !od_footprint_is_known(f);
    }
    return touched;
}

void od_touched_destroy(od_touched *touched)
{
    for (unsigned i = 0; touched && i < touched->arguments; i++) {
        od_page_set_free(&touched->pages[i].read);
        od_page_set_free(&touched->pages[i].written);
        od_page_set_free(&touched->pages[i].ahead);
        od_page_set_free(&touched->pages[i].opened);
    }
    free(touched);
}

/* --- what all have --------------------------------------------------------------- */

od_footprint *od_footprint_create(unsigned arguments, unsigned slices)
{
    od_footprint *f;
    if (arguments > OD_TOUCHED_ARGUMENTS)
        arguments = OD_TOUCHED_ARGUMENTS;
    f = od_calloc(1, sizeof *f + (size_t)arguments * slices * sizeof f->pages[0]);
    if (f) {
        f->arguments = arguments;
        f->slices = slices;
    }
    return f;
}

void od_footprint_destroy(od_footprint *f)
{
    for (unsigned i = 0; f && i < f->arguments * f->slices; i++) {
        od_page_set_free(&f->pages[i].read);
        od_page_set_free(&f->pages[i].written);
        od_page_set_free(&f->pages[i].opened);
    }
    free(f);
}

static const od_slice_pages *at(const od_footprint *f, unsigned argument, unsigned slice)
{
    return &f->pages[argument * f->slices + slice];
}

static bool add(od_slice_pages *to, const od_touched_pages *from)
{
    bool read = od_page_set_add_all(&to->read, &from->read);
    bool written = od_page_set_add_all(&to->written, &from->written);
    bool opened = od_page_set_add_all(&to->opened, &from->opened);
    return read || written || opened;
}

bool od_footprint_add(od_footprint *f, unsigned slice, const od_touched *touched)
{
    bool more = false;
    static uint64_t stamps; /* od_runtime.lock */
    for (unsigned i = 0; i < f->arguments && i < touched->arguments; i++) {
        if (touched->learns)
            f->pages[i * f->slices + slice].lowest = touched->pages[i].lowest;
        if (add(&f->pages[i * f->slices + slice], &touched->pages[i])) {
            f->stamp[i] = ++stamps;
            f->judged = false;
            more = true;
        }
    }
    return more;
}

/* --- grain ----------------------------------------------------------------------- */

static uint64_t first_iteration(const od_footprint *f, uint64_t trip_count, unsigned slice)
{
    return od_slice_of(&(od_slice){.index = slice, .count = f->slices}, trip_count).first;
}

/* Bytes from what one iteration writes to what the next one does; 0: they are not always the same. The first slice may
 * begin with iterations that write nothing. */
static uint64_t stride_of(const od_footprint *f, unsigned argument, uint64_t trip_count)
{
    uint64_t stride = 0;
    for (unsigned s = f->slices > 2 ? 1 : 0; s + 1 < f->slices; s++) {
        uintptr_t here = at(f, argument, s)->lowest, next = at(f, argument, s + 1)->lowest;
        uint64_t iterations = first_iteration(f, trip_count, s + 1) - first_iteration(f, trip_count, s);
        if (!here || next <= here || !iterations || (next - here) % iterations)
            return 0;
        uint64_t found = (next - here) / iterations;
        if (stride && found != stride)
            return 0;
        stride = found;
    }
    return stride;
}

/* The lowest address that the second slice writes is where its first iteration does. */
static bool grain_of(const od_footprint *f, unsigned argument, uint64_t trip_count, od_grain *grain)
{
    uint64_t page = od_window_page(), stride = stride_of(f, argument, trip_count), every = page, more = 0;
    if (!stride)
        return false;
    while (every % 2 == 0 && every / 2 * stride % page == 0)
        every /= 2;
    uintptr_t lowest = at(f, argument, 1)->lowest;
    while (more < every && (lowest + more * stride) % page)
        more++;
    *grain = (od_grain){every, (first_iteration(f, trip_count, 1) + more) % every};
    return more < every;
}

bool od_footprint_grain(const od_footprint *f, uint64_t trip_count, od_grain *grain)
{
    enum { GRAINS = 4 }; /* in a slice, at least */
    bool found = false, is_so = true;
    for (unsigned i = 0; i < f->arguments && f->slices > 1 && !found; i++)
        found = grain_of(f, i, trip_count, grain);
    if (!found || grain->every * GRAINS > trip_count / f->slices)
        return false;
    for (unsigned s = 1; s < f->slices; s++)
        is_so &= first_iteration(f, trip_count, s) % grain->every == grain->phase;
    return !is_so;
}

/* --- cuts ------------------------------------------------------------------------- */

static bool divide_by(od_cut *cut, const od_page_set *set)
{
    bool divided = false;
    for (uint32_t i = 0; i < set->count; i++) {
        divided |= od_cut_add(cut, set->range[i].first);
        divided |= od_cut_add(cut, set->range[i].end);
    }
    return divided;
}

bool od_footprint_divide(const od_footprint *f, unsigned argument, od_cut *cut)
{
    bool divided = false;
    if (argument >= f->arguments || !od_cut_stamp(cut, f->stamp[argument]))
        return false;
    for (unsigned s = 0; s < f->slices; s++) {
        divided |= divide_by(cut, &at(f, argument, s)->written);
        divided |= divide_by(cut, &at(f, argument, s)->read);
    }
    return divided;
}

/* --- cells -------------------------------------------------------------------------- */

/* Who has been seen to write most of a cell, or may have; `slices`: nobody. Of equals the slice of its share. */
static unsigned owner_of(const od_footprint *f, unsigned argument, const od_cell *cell)
{
    unsigned owner = f->slices;
    uint32_t most = 0, most_opened = 0;
    for (unsigned s = 0; s < f->slices; s++) {
        const od_slice_pages *pages = at(f, argument, s);
        uint32_t opened = od_page_set_common(&pages->opened, cell->pages);
        uint32_t written = opened ? od_page_set_common(&pages->written, cell->pages) : 0;
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

/* A few pages that others use, too. Whoever had them in its task would not begin while another slice's page fault has
 * them: they are left to page faults. */
static bool is_contested(const od_footprint *f, unsigned argument, unsigned owner, const od_cell *cell)
{
    if (od_page_range_length(cell->pages) > OD_FEW_PAGES)
        return false;
    for (unsigned s = 0; s < f->slices; s++)
        if (s != owner && (od_page_set_common(&at(f, argument, s)->written, cell->pages) ||
                           od_page_set_common(&at(f, argument, s)->read, cell->pages)))
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
    if (argument >= f->arguments || !f->stamp[argument])
        return slice == cell->share ? OD_CELL_READ : OD_CELL_UNUSED;
    unsigned owner = owner_of(f, argument, cell);
    if (owner < f->slices)
        return owner == slice && !is_contested(f, argument, owner, cell) ? OD_CELL_OWNED : OD_CELL_UNUSED;
    uint32_t read = od_page_set_common(&at(f, argument, slice)->read, cell->pages);
    return is_much(read, cell) ? OD_CELL_READ : OD_CELL_UNUSED;
}

bool od_footprint_is_known(const od_footprint *f)
{
    for (unsigned i = 0; i < f->arguments; i++)
        if (f->stamp[i])
            return true;
    return false;
}

/* --- other kernels' slices --------------------------------------------------------- */

bool od_footprint_excludes(const od_footprint *f, unsigned a, unsigned s, const od_footprint *other, unsigned b,
                           unsigned t)
{
    const od_slice_pages *own = at(f, a, s), *theirs = at(other, b, t);
    return od_page_set_common_all(&own->written, &theirs->written) ||
           od_page_set_common_all(&own->written, &theirs->read) || od_page_set_common_all(&own->read, &theirs->written);
}

bool od_footprint_has(const od_footprint *f, unsigned argument, unsigned slice, uint32_t page, bool write)
{
    const od_slice_pages *pages = at(f, argument, slice);
    od_page_range range = {page, page + 1};
    return od_page_set_common(&pages->written, range) || (!write && od_page_set_common(&pages->read, range));
}

/* --- clashes ------------------------------------------------------------------------ */

/* More than a few pages, and most of what the one of them uses. */
static bool clash(const od_page_set *written, const od_page_set *used)
{
    uint32_t common = od_page_set_common_all(written, used), length = od_page_set_length(used);
    uint32_t least = od_page_set_length(written);
    least = least < length ? least : length;
    return common > OD_FEW_PAGES && 2 * common > least;
}

static bool clashes_in(const od_footprint *f, unsigned argument)
{
    for (unsigned s = 0; s < f->slices; s++)
        for (unsigned t = 0; t < f->slices; t++)
            if (s != t && (clash(&at(f, argument, s)->written, &at(f, argument, t)->read) ||
                           clash(&at(f, argument, s)->written, &at(f, argument, t)->written)))
                return true;
    return false;
}

bool od_footprint_clashes(od_footprint *f)
{
    if (f->judged)
        return f->clashes;
    f->judged = true;
    f->clashes = false;
    for (unsigned i = 0; i < f->arguments && !f->clashes; i++)
        f->clashes = clashes_in(f, i);
    return f->clashes;
}
