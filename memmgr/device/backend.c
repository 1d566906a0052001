/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What all back-ends share: taking the pools once, and the one way to a copy. Every
 * transfer passes the bounds check here, in every build, so that a wrong offset
 * becomes an error message and never touches memory that is not ours.
 */
#include "memmgr/device/backend.h"

#include "memmgr/data/transfer.h"
#include "util/log.h"

#include <stdint.h>
#include <string.h>

enum { PROBE_BYTES = 64 }; /* behind each pool, used by nobody else */

enum { FEWEST_PAGES = 4 }; /* of windows, in a pool */

size_t od_backend_granule(const od_backend *backend)
{
    return backend->windows && backend->windows->page ? backend->windows->page(backend->state) : 1;
}

/* So that data in windows and others fill it whatever their order (od_pool_alloc_aligned). */
static size_t whole_pages(od_backend *backend, size_t bytes)
{
    size_t page = od_backend_granule(backend);
    if (bytes / page >= FEWEST_PAGES)
        return bytes - bytes % page;
    backend->windows = page > 1 ? NULL : backend->windows;
    return bytes;
}

static void give_pools_back(od_backend *backend)
{
    for (unsigned k = 0; k < backend->ndevices; k++) {
        backend->ops->free(backend->state, k, backend->pool_address[k]);
        backend->pool_address[k] = NULL;
        backend->pool_bytes[k] = 0;
    }
    backend->ndevices = 0;
}

unsigned od_backend_slows(const od_backend *backend, const char *kernel, unsigned k)
{
    unsigned times = 1;
    for (unsigned i = 0; i < backend->nslowed; i++)
        if (strstr(kernel, backend->slowed[i].kernel))
            times = backend->slowed[i].times[k];
    return times;
}

od_status od_backend_take_pools(od_backend *backend, unsigned ndevices, size_t bytes)
{
    backend->ndevices = 0;
    if (backend->ops->interface_version != OD_BACKEND_INTERFACE) {
        od_log(OD_LOG_ERROR, "backend", "back-end %s has interface version %u, this library has %u", backend->ops->name,
               backend->ops->interface_version, (unsigned)OD_BACKEND_INTERFACE);
        return OD_EINVAL;
    }
    if (ndevices > OD_MAX_DEVICES) {
        od_log(OD_LOG_ERROR, "backend", "%u devices, at most %u are supported", ndevices, (unsigned)OD_MAX_DEVICES);
        return OD_EINVAL;
    }
    bytes = whole_pages(backend, bytes);
    for (unsigned k = 0; k < ndevices; k++) {
        od_status status = OD_ENOMEM;
        if (bytes <= PTRDIFF_MAX - PROBE_BYTES)
            status = backend->ops->alloc(backend->state, k, bytes + PROBE_BYTES, &backend->pool_address[k]);
        if (status) {
            give_pools_back(backend);
            return status;
        }
        backend->pool_bytes[k] = bytes;
        backend->ndevices = k + 1;
    }
    return OD_OK;
}

void od_backend_release(od_backend *backend)
{
    if (!backend->ops)
        return;
    give_pools_back(backend);
    backend->ops->destroy(backend->state);
    backend->ops = NULL;
    backend->state = NULL;
}

size_t od_backend_pool_bytes(const od_backend *backend, unsigned k)
{
    return __atomic_load_n(&backend->pool_bytes[k], __ATOMIC_ACQUIRE);
}

void od_backend_trim(od_backend *backend, unsigned k, size_t bytes)
{
    size_t now = od_backend_pool_bytes(backend, k);
    while (now > bytes && !__atomic_compare_exchange_n(&backend->pool_bytes[k], &now, bytes, false, __ATOMIC_ACQ_REL,
                                                       __ATOMIC_ACQUIRE))
        continue;
    if (now > bytes && backend->ops->trim)
        backend->ops->trim(backend->state, k, bytes + PROBE_BYTES);
}

od_status od_backend_commit(const od_backend *backend, unsigned k, size_t offset, size_t bytes)
{
    return backend->ops->commit ? backend->ops->commit(backend->state, k, offset, bytes) : OD_OK;
}

enum { PROBES = 3 };

bool od_backend_answers(od_backend *backend, unsigned k)
{
    unsigned char sent[PROBE_BYTES], received[PROBE_BYTES];
    for (int i = 0; i < PROBES; i++) {
        char *probe = (char *)backend->pool_address[k] + od_backend_pool_bytes(backend, k); /* it may come nearer */
        memset(sent, 0x5a + i, sizeof sent);
        memset(received, 0, sizeof received);
        bool ok = !backend->ops->copy(backend->state, (int)k, probe, OD_HOST, sent, sizeof sent) &&
                  !backend->ops->copy(backend->state, OD_HOST, received, (int)k, probe, sizeof received);
        if (ok && memcmp(sent, received, sizeof sent) == 0)
            return true;
    }
    return false;
}

/* True where [offset, offset + bytes) lies inside [0, size), without overflow. */
static bool is_inside(size_t offset, size_t bytes, size_t size)
{
    return offset <= size && bytes <= size - offset;
}

static bool is_place(const od_backend *backend, int place)
{
    return place == OD_HOST || place == OD_SPILL || (place >= 0 && (unsigned)place < backend->ndevices);
}

static od_status refuse(const od_transfer *transfer, const char *why)
{
    od_log(OD_LOG_ERROR, "backend", "refused to copy %zu bytes from place %d to place %d: %s", transfer->bytes,
           transfer->from, transfer->to, why);
    return OD_EDEVICE;
}

static od_status check_places(const od_backend *backend, const od_transfer *transfer)
{
    if (!is_place(backend, transfer->from) || !is_place(backend, transfer->to))
        return refuse(transfer, "there is no such device");
    if (transfer->from == transfer->to)
        return refuse(transfer, "it is the same place");
    if (transfer->from < OD_SPILL && transfer->to < OD_SPILL && !backend->ops->peer)
        return refuse(transfer, "this back-end does not copy between devices");
    return OD_OK;
}

static bool is_in_window(const od_datum *d)
{
    return od_window_contains(d->window, d->base, od_shape_end(od_datum_shape(d)) - d->base);
}

/* The address of a transfer's bytes, or of its datum's first byte where that is in pieces, at one of its places, where
 * its datum begins at `pool_offset`, or in its window. False: the bytes are not all there, or nowhere. */
static bool locate(const od_backend *backend, const od_transfer *transfer, int place, size_t pool_offset,
                   void **address)
{
    size_t offset = transfer->datum->pieces ? 0 : transfer->offset;
    if (place == OD_HOST) {
        bool lands = transfer->landing && place == transfer->to;
        *address = lands ? transfer->landing : (void *)(transfer->datum->base + offset);
        return true;
    }
    if (place == OD_SPILL) {
        *address = (char *)transfer->spill + offset;
        return transfer->spill;
    }
    const od_window *window = transfer->datum->window;
    if (window) {
        *address = od_window_copies(window, (unsigned)place, transfer->datum->base) + offset;
        return is_in_window(transfer->datum);
    }
    size_t limit = od_backend_pool_bytes(backend, (unsigned)place);
    if (!is_inside(pool_offset, transfer->offset, limit) ||
        !is_inside(pool_offset + transfer->offset, transfer->bytes, limit))
        return false;
    *address = (char *)backend->pool_address[place] + pool_offset + transfer->offset;
    return true;
}

/* The copy that a transfer stands for. OD_OK with `bytes` 0: it was between two parts of host memory, and is done. */
static od_status prepare(const od_backend *backend, const od_transfer *transfer, od_copy *copy)
{
    void *from, *to;
    od_status status = check_places(backend, transfer);
    if (status)
        return status;
    if (!is_inside(transfer->offset, transfer->bytes, transfer->datum->size))
        return refuse(transfer, "it reaches outside the datum");
    if (!locate(backend, transfer, transfer->from, transfer->from_offset, &from) ||
        !locate(backend, transfer, transfer->to, transfer->to_offset, &to))
        return refuse(transfer, "it reaches outside the device's pool");
    bool from_host = transfer->from >= OD_SPILL, to_host = transfer->to >= OD_SPILL;
    *copy = (od_copy){.to = to_host ? OD_HOST : transfer->to,
                      .from = from_host ? OD_HOST : transfer->from,
                      .to_address = to,
                      .from_address = from,
                      .bytes = transfer->bytes,
                      .for_writing = transfer->for_writing};
    if (to == from) /* one memory for all, of which only the place changes */
        return OD_OK;
    if (transfer->datum->pieces) {
        copy->pieces = transfer->datum->pieces;
    } else if (from_host && to_host) {
        memcpy(to, from, transfer->bytes);
        copy->bytes = 0;
    } else if (from_host || to_host) {
        copy->host_base = (from_host ? (uintptr_t)from : (uintptr_t)to) - transfer->offset;
        copy->host_bytes = transfer->datum->size;
        if (transfer->landing) { /* is given back soon */
            copy->host_base = (uintptr_t)to;
            copy->host_bytes = 0;
        }
    }
    return OD_OK;
}

/* One after the other, where only some are to be copied, or the back-end does not know better. */
static od_status copy_each(const od_backend *backend, const od_copy *copy, od_stretch stretch)
{
    od_shape shape = {copy->pieces->at[0].begin, copy->pieces->size, copy->pieces};
    od_status status = OD_OK;
    for (uint32_t i = 0, n = od_shape_count(shape); i < n && !status; i++) {
        od_piece piece = od_shape_cut(shape, i, stretch);
        size_t at = piece.begin - shape.base;
        if (piece.size)
            status = backend->ops->copy(backend->state, copy->to, (char *)copy->to_address + at, copy->from,
                                        (const char *)copy->from_address + at, piece.size);
    }
    return status;
}

static od_status copy_pieces(const od_backend *backend, const od_copy *copy, const od_transfer *transfer)
{
    od_stretch stretch = {transfer->offset, transfer->bytes};
    if (copy->from == OD_HOST && copy->to == OD_HOST) {
        od_shape_copy(od_datum_shape(transfer->datum), copy->to_address, copy->from_address, stretch);
        return OD_OK;
    }
    if (backend->ops->copy_pieces && stretch.bytes == transfer->datum->size)
        return backend->ops->copy_pieces(backend->state, copy);
    return copy_each(backend, copy, stretch);
}

od_status od_backend_copy(od_backend *backend, const od_transfer *transfer)
{
    od_copy copy;
    od_status status = prepare(backend, transfer, &copy);
    if (status || !copy.bytes)
        return status;
    if (copy.pieces)
        return copy_pieces(backend, &copy, transfer);
    return backend->ops->copy(backend->state, copy.to, copy.to_address, copy.from, copy.from_address, copy.bytes);
}

od_status od_backend_start(od_backend *backend, const od_transfer *transfer, od_ticket **ticket)
{
    od_copy copy;
    *ticket = NULL;
    if (!backend->ops->start)
        return od_backend_copy(backend, transfer);
    od_status status = prepare(backend, transfer, &copy);
    if (status || !copy.bytes)
        return status;
    if (copy.pieces)
        return copy_pieces(backend, &copy, transfer);
    return backend->ops->start(backend->state, &copy, ticket);
}
