/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See window.h. */
#include "memmgr/window/window.h"

#include "memmgr/data/spill.h"
#include "util/memory.h"

#include <stdlib.h>

enum { VIEWS = 2 }; /* of each device */

/* The array's first byte lies in its page as it does in the host's. */
static size_t phase(const od_window *window)
{
    return window->base - od_window_page_begin(window->base);
}

typedef struct page_range {
    size_t first, end;
} page_range;

static page_range pages_of(const od_window *window, uintptr_t base, size_t size)
{
    size_t begin = base - window->base + phase(window), end = begin + size;
    return (page_range){begin / window->page, (end + window->page - 1) / window->page};
}

size_t od_window_occupies(const od_window *window, uintptr_t base, size_t size)
{
    page_range pages = pages_of(window, base, size);
    return (pages.end - pages.first) * window->page;
}

size_t od_window_alignment(const od_window *window)
{
    return window->ops->page ? window->page : 0;
}

static void give_back(const od_window *window, unsigned nviews)
{
    size_t bytes = od_window_occupies(window, window->base, window->size);
    for (unsigned k = 0; k < nviews; k++) {
        od_window_view view = window->view[k];
        if (!view.kernel)
            continue;
        view.kernel -= phase(window);
        view.copies -= phase(window);
        window->ops->give_back(window->state, k, bytes, &view);
    }
}

static od_status reserve(od_window *w, unsigned k)
{
    od_window_view view = {0};
    od_status status = w->ops->reserve(w->state, k, od_window_occupies(w, w->base, w->size), &view);
    if (status)
        return status;
    w->view[k] = (od_window_view){view.kernel + phase(w), view.copies + phase(w), view.own};
    return OD_OK;
}

/* Without views. */
static od_window *make(const od_window_ops *ops, void *state, unsigned ndevices, uintptr_t base, size_t size)
{
    od_window *w = od_calloc(1, sizeof *w + (ndevices + 1) * sizeof w->view[0]);
    if (!w)
        return NULL;
    *w = (od_window){.base = base, .size = size, .users = 1, .ndevices = ndevices, .ops = ops, .state = state};
    w->page = ops->page ? ops->page(state) : od_window_page();
    return w;
}

od_status od_window_create(const od_window_ops *ops, void *state, unsigned ndevices, uintptr_t base, size_t size,
                           od_window **window)
{
    if (!od_space_admits(VIEWS * ndevices * od_window_span(base, size)))
        return OD_EDEVICE;
    od_window *w = make(ops, state, ndevices, base, size);
    if (!w)
        return OD_ENOMEM;
    for (unsigned k = 0; k < ndevices; k++) {
        od_status status = reserve(w, k);
        if (status) {
            give_back(w, k);
            free(w);
            return status;
        }
    }
    *window = w;
    return OD_OK;
}

od_status od_window_create_shared(const od_window_ops *ops, void *state, unsigned ndevices, uintptr_t base, size_t size,
                                  od_spill *area, od_window **window)
{
    od_window *w = make(ops, state, ndevices, base, size);
    char *memory = od_spill_address(area, base);
    if (!w)
        return OD_ENOMEM;
    w->area = area;
    od_spill_hold(area);
    for (unsigned k = 0; k < ndevices; k++)
        w->view[k] = (od_window_view){.kernel = memory, .copies = memory};
    *window = w;
    return OD_OK;
}

od_status od_window_reserve_outside(od_window *window)
{
    if (window->view[window->ndevices].kernel)
        return OD_OK;
    return od_space_admits(VIEWS * od_window_span(window->base, window->size)) ? reserve(window, window->ndevices)
                                                                               : OD_EDEVICE;
}

od_window *od_window_hold(od_window *window)
{
    if (window)
        window->users++;
    return window;
}

void od_window_release(od_window *window)
{
    if (!window || --window->users)
        return;
    if (window->area)
        od_spill_release(window->area);
    else
        give_back(window, window->ndevices + 1);
    od_places_free(&window->tiling.places);
    free(window->cut);
    free(window);
}

char *od_window_kernel(const od_window *window, unsigned k, uintptr_t address)
{
    return window->view[k].kernel + (address - window->base);
}

char *od_window_copies(const od_window *window, unsigned k, uintptr_t address)
{
    return window->view[k].copies + (address - window->base);
}

bool od_window_contains(const od_window *window, uintptr_t base, size_t size)
{
    return base >= window->base && base - window->base <= window->size && size <= window->size - (base - window->base);
}

/* Before the array's first byte where that is not at the beginning of its page. */
static char *page_in(char *view, const od_window *window, uintptr_t address)
{
    return view + (ptrdiff_t)(od_window_page_begin(address) - window->base);
}

od_status od_window_protect(const od_window *window, unsigned k, uintptr_t base, size_t size, od_window_access access)
{
    char *pages = page_in(window->view[k].kernel, window, base);
    return window->ops->protect(window->state, k, pages, od_window_span(base, size), access);
}

od_status od_window_discard(const od_window *window, unsigned k, uintptr_t base, size_t size)
{
    char *pages = page_in(window->view[k].copies, window, base);
    return window->ops->discard(window->state, k, pages, od_window_span(base, size));
}

od_status od_window_back(const od_window *window, unsigned k, uintptr_t base, size_t size, size_t offset)
{
    page_range pages = pages_of(window, base, size);
    return window->ops->back(window->state, k, window->view[k].own, (uint32_t)pages.first,
                             (uint32_t)(pages.end - pages.first), offset);
}

void od_window_strip(const od_window *window, unsigned k, uintptr_t base, size_t size, size_t offset)
{
    page_range pages = pages_of(window, base, size);
    window->ops->strip(window->state, k, window->view[k].own, (uint32_t)pages.first,
                       (uint32_t)(pages.end - pages.first), offset);
}
