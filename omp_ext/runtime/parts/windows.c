/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Windows of regions in parts: made, and their pages given back. Under the lock. */
#include "omp_ext/runtime/internal.h"

#include "memmgr/data/spill.h"
#include "omp_ext/process/signals/faults.h"
#include "util/log.h"

/* A program that alternates between parts and the whole moves the array with each change. */
enum { MOST_JOINS = 8 };

/* The driver brings kernels what they have not named. */
static bool shares(void)
{
    return od_runtime.backend.windows && od_runtime.backend.windows->share;
}

bool od_runtime_guards_parts(void)
{
    return od_runtime.options.coherence != OD_COHERENCE_DEPEND && !shares();
}

bool od_runtime_forgives_parts(void)
{
    return od_runtime_guards_parts() || shares();
}

static void keep_whole(od_region *region, const char *why)
{
    region->joins = MOST_JOINS + 1;
    od_log(OD_LOG_INFO, "runtime", "the %zu bytes at %#lx are not divided into parts: %s", region->size,
           (unsigned long)region->base, why);
}

/* Whether kernels can be kept from what their tasks have not named. */
static bool can_watch(od_region *region)
{
    if (!od_runtime_guards_parts())
        return true;
    if (od_runtime.options.debug.check != OD_CHECK_OFF) {
        keep_whole(region, "OMPDARTS_DEBUG=check needs the signal SIGSEGV for itself");
        return false;
    }
    od_status status = od_runtime_watch_pages();
    if (status)
        keep_whole(region, status == OD_EBUSY ? "the program has a handler for the signal SIGSEGV" : "out of threads");
    return !status;
}

static void open_window(const od_window *window)
{
    for (unsigned k = 0; k < window->ndevices; k++) {
        uintptr_t begin = (uintptr_t)window->view[k].kernel;
        if (od_runtime_guards_parts())
            od_faults_add(begin, begin + window->size);
        else
            od_window_protect(window, k, window->base, window->size, OD_WINDOW_OPEN);
    }
}

bool od_runtime_may_divide(const od_region *region)
{
    return od_runtime.backend.windows && region->joins <= MOST_JOINS;
}

/* All views are the region's spill area, in memory that is shared. OD_EFULL: its contents are not there yet. */
static od_status share(od_engine *engine, od_region *region, od_window **window)
{
    const od_backend *backend = &od_runtime.backend;
    void *memory;
    od_status status = od_engine_gather(engine, region);
    if (status == OD_OK && backend->windows->share(backend->state, region->size, &memory))
        status = OD_EDEVICE;
    if (status == OD_EDEVICE)
        keep_whole(region, "there is no memory that is shared for it");
    if (status)
        return status;
    od_spill_move(region->spill, memory, backend->windows->unshare, backend->state);
    return od_window_create_shared(backend->windows, backend->state, backend->ndevices, region->base, region->size,
                                   region->spill, window);
}

static od_status reserve(od_region *region, od_window **window)
{
    const od_backend *backend = &od_runtime.backend;
    if (od_window_create(backend->windows, backend->state, backend->ndevices, region->base, region->size, window)) {
        keep_whole(region, "there are not enough addresses");
        return OD_EDEVICE;
    }
    open_window(*window);
    return OD_OK;
}

od_status od_runtime_divide(od_engine *engine, od_region *region)
{
    od_window *window;
    if (region->window)
        return OD_OK;
    if (!od_runtime_may_divide(region) || !can_watch(region))
        return OD_EDEVICE;
    od_status status = shares() ? share(engine, region, &window) : reserve(region, &window);
    if (status)
        return status;
    od_runtime.divided = true;
    status = od_engine_divide(engine, region, window, od_runtime_forgives_parts());
    if (status) {
        od_window_release(window);
        return status;
    }
    od_runtime_recall_tiling(window);
    return OD_OK;
}

typedef struct neighbour {
    const od_window *window;
    unsigned k;
    bool resident;
} neighbour;

static bool is_resident(od_datum *d, void *arg)
{
    neighbour *n = arg;
    n->resident |= d->window == n->window && d->replica[n->k].state != OD_ABSENT;
    return !n->resident;
}

/* Another part uses memory of the page. */
static bool is_shared(const od_datum *d, unsigned k, uintptr_t page)
{
    neighbour n = {d->window, k, false};
    od_directory_visit(od_engine_directory(od_runtime.engine), page, od_window_page(), is_resident, &n);
    return n.resident;
}

static void discard_piece(const od_datum *d, unsigned k, od_piece piece)
{
    uintptr_t begin = od_window_page_begin(piece.begin), end = od_window_page_end(piece.begin + piece.size);
    if (is_shared(d, k, begin))
        begin += od_window_page();
    if (begin < end && is_shared(d, k, end - od_window_page()))
        end -= od_window_page();
    if (begin < end && od_window_discard(d->window, k, begin, end - begin))
        od_log(OD_LOG_DEBUG, "runtime", "%zu bytes of device %u could not be given back", end - begin, k);
}

void od_runtime_occupy(void *driver, od_datum *d, unsigned k)
{
    const od_backend *backend = &od_runtime.backend;
    size_t offset = d->replica[k].offset;
    od_status status = OD_OK;
    (void)driver;
    if (!d->window)
        status = od_backend_commit(backend, k, offset, d->size);
    else if (od_window_alignment(d->window))
        status = od_window_back(d->window, k, d->base, d->size, offset);
    if (status)
        od_log(OD_LOG_ERROR, "runtime", "device %u could not map memory for %zu bytes", k, d->size);
}

void od_runtime_discard_part(void *driver, od_datum *d, unsigned k)
{
    (void)driver;
    od_shape shape = od_datum_shape(d);
    if (d->window->area) /* the driver evicts what it lacks room for */
        return;
    if (od_window_alignment(d->window)) {
        od_window_strip(d->window, k, d->base, d->size, d->replica[k].offset);
        return;
    }
    od_runtime_hide_part(d, k);
    for (uint32_t i = 0, n = od_shape_count(shape); i < n; i++)
        discard_piece(d, k, od_shape_piece(shape, i));
}
