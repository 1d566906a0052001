/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What kernels can do with parts of arrays in their devices' windows, whoever uses them.
 *
 * A part stays as its last kernel has left it where that can do no harm: a tile of a column-major matrix is a range of
 * pages in each column, and to protect them one by one around each kernel takes longer than many kernels do. What is
 * current on a device can be read there. What is current nowhere else, and on its way to no other place, can be written
 * as well: whatever a kernel writes to it then is part of its contents, named or not. Other places get it by a
 * transfer, before which it is protected (od_runtime_share_part), or by page faults, which close it; nothing is left
 * of it where its replica ends.
 *
 * The system protects only so many ranges apart from what is around them. Where there are more, those go that have not
 * been used for longest.
 */
#include "omp_ext/runtime/internal.h"

#include "omp_ext/process/fatal.h"

/* od_datum.shown: parts that are not closed on every device, least recently used first */
static od_list shown = {.root = {&shown.root, &shown.root}};
static size_t nranges; /* of which they consist, on all devices together */

/* Of what the system permits, parts have two thirds, single pages the rest. */
static size_t a_third(void)
{
    static size_t most;
    if (!most)
        most = od_runtime.backend.windows->most_ranges(od_runtime.backend.state) / 3;
    return most;
}

size_t od_runtime_most_pages(void)
{
    return a_third();
}

/* --- protection ------------------------------------------------------------------- */

static bool protect_part(const od_datum *d, unsigned k, od_window_access access)
{
    od_shape shape = od_datum_shape(d);
    for (uint32_t i = 0, n = od_shape_count(shape); i < n; i++) {
        od_piece piece = od_shape_piece(shape, i);
        if (od_window_protect(d->window, k, piece.begin, piece.size, access))
            return false;
    }
    return true;
}

static void fail(void)
{
    od_fatal("the system cannot protect the pages of so many parts of arrays one by one: use fewer of them, or "
             "OMPDARTS_COHERENCE=depend");
}

/* --- the list ---------------------------------------------------------------------- */

/* It is the most recently used one, or none of them any more. */
static void note_use(od_datum *d)
{
    if (od_list_contains(&d->shown))
        od_list_remove(&shown, &d->shown);
    if (!od_placeset_is_empty(d->visible))
        od_list_push_back(&shown, &d->shown);
}

void od_runtime_note_shown(od_datum *d, unsigned k, od_window_access access)
{
    uint32_t n = od_shape_count(od_datum_shape(d));
    nranges -= od_placeset_has(d->visible, k) ? n : 0;
    nranges += access != OD_WINDOW_CLOSED ? n : 0;
    (access != OD_WINDOW_CLOSED ? od_placeset_add : od_placeset_remove)(&d->visible, k);
    d->replica[k].shown = access;
    if (access != OD_WINDOW_CLOSED || od_placeset_is_empty(d->visible))
        note_use(d);
}

/* As far as the system permits. Parts that kernels use stay. */
static void try_to_close(od_datum *d, unsigned k)
{
    if (!od_placeset_has(d->visible, k) || od_runtime_granted(d, k) != OD_WINDOW_CLOSED)
        return;
    if (protect_part(d, k, OD_WINDOW_CLOSED))
        od_runtime_note_shown(d, k, OD_WINDOW_CLOSED);
    else
        d->replica[k].shown = OD_WINDOW_MIXED; /* some of its ranges are closed: it has to be shown again */
}

/* Until there are no more than so many ranges, as far as that can be. */
static void close_oldest(size_t most)
{
    if (nranges <= most)
        return;
    od_list_each(node, &shown) {
        od_datum *d = od_container_of(node, od_datum, shown);
        od_placeset_walk at = od_placeset_begin(d->visible);
        while (!d->lent && od_placeset_next(&at))
            try_to_close(d, at.place);
        if (nranges <= most)
            return;
    }
}

/* --- what is done with them ---------------------------------------------------------- */

void od_runtime_protect(const od_window *window, unsigned k, uintptr_t base, size_t size, od_window_access access)
{
    if (!od_window_protect(window, k, base, size, access))
        return;
    close_oldest(0);
    if (od_window_protect(window, k, base, size, access))
        fail();
}

void od_runtime_show(od_datum *d, unsigned k, od_window_access access)
{
    if (d->replica[k].shown == access) {
        note_use(d);
        return;
    }
    if (!protect_part(d, k, access)) {
        close_oldest(0);
        if (!protect_part(d, k, access))
            fail();
    }
    od_runtime_note_shown(d, k, access);
    close_oldest(2 * a_third());
}

void od_runtime_hide_part(od_datum *d, unsigned k)
{
    if (od_runtime_granted(d, k) == OD_WINDOW_CLOSED)
        od_runtime_show(d, k, OD_WINDOW_CLOSED);
}

void od_runtime_hide_unused(od_datum *d)
{
    for (od_placeset_walk at = od_placeset_begin(d->visible); od_placeset_next(&at);)
        od_runtime_hide_part(d, at.place);
}

void od_runtime_hide_window(const od_window *window, unsigned k)
{
    od_list_each(node, &shown) {
        od_datum *d = od_container_of(node, od_datum, shown);
        if (d->window == window && !d->lent)
            try_to_close(d, k);
    }
}

/* Whether its contents are there and nowhere else, and nobody is about to have them. */
static bool is_only_there(const od_datum *d, unsigned k, bool written)
{
    return (written || od_placeset_is_only(d->valid, k)) && !d->transfers;
}

void od_runtime_leave_part(od_datum *d, unsigned k, bool written)
{
    od_window_access access = od_runtime_granted(d, k);
    bool present = d->replica[k].state == OD_PRESENT;
    if (present && is_only_there(d, k, written))
        access = OD_WINDOW_OPEN;
    else if (present && access == OD_WINDOW_CLOSED && od_placeset_has(d->valid, k) && !d->writers)
        access = OD_WINDOW_READABLE;
    od_runtime_show(d, k, access);
}

void od_runtime_share_part(od_datum *d, unsigned k)
{
    od_window_access access = d->replica[k].shown;
    bool may_be_open = access == OD_WINDOW_OPEN || access == OD_WINDOW_MIXED;
    if (d->replica[k].state == OD_LEAVING)
        od_runtime_hide_part(d, k);
    else if (may_be_open && od_runtime_granted(d, k) != OD_WINDOW_OPEN)
        od_runtime_show(d, k, OD_WINDOW_READABLE);
}
