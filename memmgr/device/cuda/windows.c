/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Windows on GPUs: ranges of addresses, behind whose pages is memory of the pool's while parts of the array are
 * resident. A part's block in the pool has as many pieces as its part touches pages, and each page has been offered
 * one by each part that touches it. The first one of them is its memory, which so has two addresses: the pool's is
 * not used meanwhile. When that part leaves before others, its piece and the next one exchange their memory, so that
 * the contents stay, and the block can be used by others.
 *
 * Nothing stops a kernel that uses what its task has not named: the device's page faults are the driver's. So there
 * are windows only where depend clauses are trusted (OMPDARTS_COHERENCE=depend).
 */
#include "memmgr/device/cuda/cuda.h"
#include "util/memory.h"

#include <stdlib.h>

typedef struct window {
    od_cu_address begin;
    uint32_t first[]; /* by page: the piece that is behind it, the first one that has been offered, or OD_NO_PIECE */
} window;

static od_cuda_device *device(void *state, unsigned k)
{
    return &((od_cuda *)state)->device[k];
}

static size_t page_bytes(void *state)
{
    return ((od_cuda *)state)->page;
}

static od_status reserve(void *state, unsigned k, size_t bytes, od_window_view *view)
{
    od_cuda_device *d = device(state, k);
    size_t npages = bytes / d->cuda->page;
    window *w = d->extent.memory ? od_malloc(sizeof *w + npages * sizeof w->first[0]) : NULL;
    if (!w || od_cuda_enter(d)) {
        free(w);
        return OD_EDEVICE;
    }
    od_cu_result result = d->cuda->cu.address_reserve(&w->begin, bytes, 0, 0, 0);
    od_cuda_leave(d);
    if (result) {
        free(w);
        return OD_EDEVICE;
    }
    for (size_t i = 0; i < npages; i++)
        w->first[i] = OD_NO_PIECE;
    char *address = (char *)(uintptr_t)w->begin;
    *view = (od_window_view){.kernel = address, .copies = address, .own = w};
    return OD_OK;
}

static void give_back(void *state, unsigned k, size_t bytes, const od_window_view *view)
{
    od_cuda_device *d = device(state, k);
    window *w = view->own;
    if (!od_cuda_enter(d)) {
        od_cuda_check(d, d->cuda->cu.address_free(w->begin, bytes), "giving the addresses of an array back");
        od_cuda_leave(d);
    }
    free(w);
}

/* Kernels may do anything with all that there is. */
static od_status protect(void *state, unsigned k, char *kernel, size_t bytes, od_window_access access)
{
    (void)state, (void)k, (void)kernel, (void)bytes, (void)access;
    return OD_OK;
}

/* --- pages ------------------------------------------------------------------------ */

static od_cu_address address_of(const od_extent *extent, uint32_t piece)
{
    return extent->begin + piece * extent->piece;
}

static od_cu_result map(const od_cuda_device *d, od_cu_address address, od_cu_memory memory)
{
    const od_cu_driver *cu = &d->cuda->cu;
    const od_extent *extent = &d->extent;
    od_cu_result result = cu->memory_map(address, extent->piece, 0, memory, 0);
    return result ? result : cu->memory_access(address, extent->piece, extent->access, extent->naccess);
}

/* Their memory is behind each other's addresses. */
static od_cu_result exchange(od_cuda_device *d, uint32_t a, uint32_t b)
{
    od_extent *extent = &d->extent;
    od_cu_memory memory = extent->memory[a];
    od_cu_result result = d->cuda->cu.memory_unmap(address_of(extent, a), extent->piece);
    if (!result)
        result = d->cuda->cu.memory_unmap(address_of(extent, b), extent->piece);
    extent->memory[a] = extent->memory[b];
    extent->memory[b] = memory;
    if (!result)
        result = map(d, address_of(extent, a), extent->memory[a]);
    return result ? result : map(d, address_of(extent, b), extent->memory[b]);
}

static od_cu_result offer(od_cuda_device *d, window *w, uint32_t page, uint32_t piece)
{
    od_extent *extent = &d->extent;
    uint32_t first = w->first[page];
    if (first != OD_NO_PIECE) {
        extent->next[piece] = extent->next[first];
        extent->next[first] = piece;
        return OD_CU_SUCCESS;
    }
    od_cu_result result = map(d, w->begin + page * extent->piece, extent->memory[piece]);
    extent->next[piece] = OD_NO_PIECE;
    w->first[page] = result ? OD_NO_PIECE : piece;
    return result;
}

static od_cu_result withdraw(od_cuda_device *d, window *w, uint32_t page, uint32_t piece)
{
    od_extent *extent = &d->extent;
    uint32_t *link = &w->first[page];
    while (*link != piece && *link != OD_NO_PIECE)
        link = &extent->next[*link];
    if (*link == OD_NO_PIECE) /* it could not be mapped */
        return OD_CU_SUCCESS;
    *link = extent->next[piece];
    if (link != &w->first[page])
        return OD_CU_SUCCESS;
    return *link == OD_NO_PIECE ? d->cuda->cu.memory_unmap(w->begin + page * extent->piece, extent->piece)
                                : exchange(d, piece, *link);
}

typedef od_cu_result step(od_cuda_device *d, window *w, uint32_t page, uint32_t piece);

/* All pages, even where one fails: what has been offered is known. */
static od_status for_each(od_cuda_device *d, window *w, uint32_t first, uint32_t count, size_t offset, step *one)
{
    uint32_t piece = (uint32_t)(offset / d->extent.piece);
    od_cu_result result = OD_CU_SUCCESS;
    bool entered = !atomic_load(&d->lost) && !od_cuda_enter(d);
    pthread_mutex_lock(&d->lock);
    for (uint32_t i = 0; i < count; i++) {
        od_cu_result now = one(d, w, first + i, piece + i);
        result = result ? result : now;
    }
    pthread_mutex_unlock(&d->lock);
    if (!entered)
        return OD_EDEVICE;
    od_status status = od_cuda_check(d, result, "mapping the pages of an array");
    od_cuda_leave(d);
    return status;
}

/* Where that fails contents of others may be lost, which can be told only by the device being lost. */
static void strip(void *state, unsigned k, void *own, uint32_t first, uint32_t count, size_t offset)
{
    od_cuda_device *d = device(state, k);
    if (for_each(d, own, first, count, offset, withdraw))
        atomic_store(&d->lost, true);
}

/* The driver may have got no memory for its own tables. */
static od_status back(void *state, unsigned k, void *own, uint32_t first, uint32_t count, size_t offset)
{
    od_cuda_device *d = device(state, k);
    od_status status = for_each(d, own, first, count, offset, offer);
    if (!status || atomic_load(&d->lost) || !od_reserve_spare(d))
        return status;
    strip(state, k, own, first, count, offset);
    return for_each(d, own, first, count, offset, offer);
}

const od_window_ops od_cuda_windows = {
    .reserve = reserve, .give_back = give_back, .protect = protect, .page = page_bytes, .back = back, .strip = strip};
