/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Memory at addresses of our own (CUDA's virtual memory management).
 *
 * A device's pool, taken so that it can be given back from its end while the rest is in use: one range of addresses,
 * and memory in pieces that is mapped there. Devices that reach each other's memory must be named for each range; where
 * they do not reach it, copies between them want memory of the ordinary kind.
 */
#define _GNU_SOURCE
#include "memmgr/device/cuda/cuda.h"

#include "util/log.h"
#include "util/memory.h"

#include <dlfcn.h>
#include <stdlib.h>

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

static bool has(const od_cuda_device *d, int attribute)
{
    int value = 0;
    return !d->cuda->cu.device_attribute(&value, attribute, d->gpu) && value;
}

/* Network adapters may read it, as with memory of the ordinary kind. */
static od_cu_memory_properties properties_of(const od_cuda_device *d)
{
    return (od_cu_memory_properties){.type = OD_CU_MEMORY_PINNED,
                                     .location = {OD_CU_LOCATION_DEVICE, d->gpu},
                                     .flags.rdma = has(d, OD_CU_CAN_MAP_RDMA)};
}

/* All GPUs that reach it, each once. False: one does not. */
static bool list_access(const od_cuda_device *d, od_cu_access *access, size_t *count)
{
    const od_cuda *cuda = d->cuda;
    *count = 0;
    for (unsigned k = 0; k < cuda->ndevices; k++) {
        const od_cuda_device *other = &cuda->device[k];
        size_t i = 0;
        while (i < *count && access[i].location.id != other->gpu)
            i++;
        if (i == *count)
            access[(*count)++] = (od_cu_access){{OD_CU_LOCATION_DEVICE, other->gpu}, OD_CU_ACCESS_READ_WRITE};
        if (other->gpu != d->gpu && !od_placeset_has(cuda->peers[k], d->k))
            return false;
    }
    return true;
}

static od_cu_result map_piece(od_cuda_device *d, size_t bytes)
{
    const od_cu_driver *cu = &d->cuda->cu;
    const od_cu_memory_properties properties = properties_of(d);
    od_extent *extent = &d->extent;
    od_cu_memory memory;
    od_cu_result result = cu->memory_create(&memory, bytes, &properties, 0);
    if (result)
        return result;
    result = cu->memory_map(extent->begin + extent->mapped, bytes, 0, memory, 0);
    if (result || !extent->memory)
        cu->memory_release(memory); /* it stays as long as it is mapped */
    else
        extent->memory[extent->mapped / extent->piece] = memory;
    extent->mapped += result ? 0 : bytes;
    return result;
}

static od_cu_result map_all(od_cuda_device *d)
{
    od_extent *extent = &d->extent;
    od_cu_result result = OD_CU_SUCCESS;
    size_t first = extent->reserved % extent->piece;
    if (first)
        result = map_piece(d, first);
    while (!result && extent->mapped < extent->reserved)
        result = map_piece(d, extent->piece);
    return result ? result
                  : d->cuda->cu.memory_access(extent->begin, extent->reserved, extent->access, extent->naccess);
}

static od_cu_result commit(od_cuda_device *d, size_t piece)
{
    const od_cu_driver *cu = &d->cuda->cu;
    const od_cu_memory_properties properties = properties_of(d);
    od_extent *extent = &d->extent;
    od_cu_address address = extent->begin + piece * extent->piece;
    od_cu_memory memory;
    if (extent->committed[piece])
        return OD_CU_SUCCESS;
    od_cu_result result = cu->memory_create(&memory, extent->piece, &properties, 0);
    if (result)
        return result;
    result = cu->memory_map(address, extent->piece, 0, memory, 0);
    cu->memory_release(memory);
    extent->committed[piece] = !result;
    return result ? result : cu->memory_access(address, extent->piece, extent->access, extent->naccess);
}

od_status od_extent_commit(od_cuda_device *d, size_t offset, size_t bytes)
{
    od_extent *extent = &d->extent;
    od_cu_result result = OD_CU_SUCCESS;
    pthread_mutex_lock(&d->lock);
    size_t last = (offset + (bytes ? bytes : 1) - 1) / extent->piece;
    for (size_t piece = offset / extent->piece; piece <= last && !result; piece++)
        result = commit(d, piece);
    pthread_mutex_unlock(&d->lock);
    return od_cuda_check(d, result, "mapping memory of the pool");
}

static od_cu_result uncommit_from(od_cuda_device *d, size_t stays)
{
    od_extent *extent = &d->extent;
    od_cu_result result = OD_CU_SUCCESS;
    for (size_t piece = stays / extent->piece; !result && piece < extent->mapped / extent->piece; piece++) {
        if (extent->committed[piece])
            result = d->cuda->cu.memory_unmap(extent->begin + piece * extent->piece, extent->piece);
        extent->committed[piece] &= result != OD_CU_SUCCESS;
    }
    extent->mapped = result ? extent->mapped : stays;
    return result;
}

/* What is behind the first bytes has no addresses of the pool's any more, and is given back. */
static od_cu_result unmap_from(od_cuda_device *d, size_t stays)
{
    od_extent *extent = &d->extent;
    if (extent->committed)
        return uncommit_from(d, stays);
    od_cu_result result = d->cuda->cu.memory_unmap(extent->begin + stays, extent->mapped - stays);
    for (size_t at = stays; !result && extent->memory && at < extent->mapped; at += extent->piece)
        d->cuda->cu.memory_release(extent->memory[at / extent->piece]);
    extent->mapped = result ? extent->mapped : stays;
    return result;
}

/* A process opens another's device memory, as MPI libraries do where an address on a device is given to them, only if
 * it is of the ordinary kind (CUDA's handles of memory between processes). */
static bool is_for_other_processes(void)
{
    return dlsym(RTLD_DEFAULT, "MPI_Init") != NULL;
}

/* Bytes of the least piece of memory; 0: it has none with addresses of its own. */
static size_t least_piece(const od_cuda_device *d)
{
    const od_cu_memory_properties properties = properties_of(d);
    size_t unit;
    bool any = has(d, OD_CU_HAS_VIRTUAL_MEMORY) &&
               !d->cuda->cu.granularity(&unit, &properties, OD_CU_LEAST_GRANULARITY);
    return any ? unit : 0;
}

size_t od_extent_unit(const od_cuda *cuda)
{
    od_cu_access access[OD_MAX_DEVICES];
    size_t count, unit = is_for_other_processes() ? 0 : least_piece(&cuda->device[0]);
    for (unsigned k = 0; k < cuda->ndevices && unit; k++)
        if (least_piece(&cuda->device[k]) != unit || !list_access(&cuda->device[k], access, &count))
            unit = 0;
    return unit;
}

static od_status make_pieces(od_extent *extent)
{
    size_t n = extent->reserved / extent->piece;
    extent->memory = od_calloc(n, sizeof *extent->memory);
    extent->next = od_malloc(n * sizeof *extent->next);
    return extent->memory && extent->next ? OD_OK : OD_ENOMEM;
}

/* All may be mapped, but the last piece alone is, for questions whether the device answers. */
static od_cu_result map_last(od_cuda_device *d)
{
    od_extent *extent = &d->extent;
    extent->mapped = extent->reserved;
    return commit(d, extent->reserved / extent->piece - 1);
}

static void forget(od_extent *extent)
{
    free(extent->committed);
    free(extent->memory);
    free(extent->next);
    *extent = (od_extent){0};
}

od_status od_extent_take(od_cuda_device *d, size_t bytes)
{
    const od_cu_driver *cu = &d->cuda->cu;
    od_extent *extent = &d->extent;
    size_t unit = least_piece(d), page = d->cuda->page;
    if (extent->begin || is_for_other_processes() || !unit || bytes < OD_LEAST_PIECES * unit)
        return OD_EINVAL;
    *extent = (od_extent){.reserved = round_up(bytes, unit), .piece = page ? page : round_up(bytes / OD_PIECES, unit)};
    if (d->cuda->managed)
        extent->reserved = round_up(bytes, extent->piece);
    if (!list_access(d, extent->access, &extent->naccess) || (page && make_pieces(extent)) ||
        (d->cuda->managed && !(extent->committed = od_calloc(extent->reserved / extent->piece, 1))) ||
        cu->address_reserve(&extent->begin, extent->reserved, 0, 0, 0)) {
        forget(extent);
        return OD_EINVAL;
    }
    od_cu_result result = d->cuda->managed ? map_last(d) : map_all(d);
    if (!result)
        return OD_OK;
    od_extent_give(d);
    if (result != OD_CU_OUT_OF_MEMORY)
        od_log(OD_LOG_INFO, "cuda", "device %u does not map memory (error %d)", d->k, result);
    return result == OD_CU_OUT_OF_MEMORY ? OD_EDEVICE : OD_EINVAL;
}

void od_extent_trim(od_cuda_device *d, size_t bytes)
{
    od_extent *extent = &d->extent;
    if (!extent->begin)
        return;
    pthread_mutex_lock(&d->lock);
    size_t first = extent->reserved % extent->piece, before = extent->mapped;
    size_t stays = bytes <= first ? first : first + round_up(bytes - first, extent->piece);
    if (stays && stays < before && !od_cuda_check(d, unmap_from(d, stays), "giving memory to others"))
        od_log(OD_LOG_INFO, "cuda", "device %u: others get %zu bytes of its memory, data keep %zu", d->k,
               before - stays, stays);
    pthread_mutex_unlock(&d->lock);
}

void od_extent_give(od_cuda_device *d)
{
    od_extent *extent = &d->extent;
    od_cu_result result = extent->mapped ? unmap_from(d, 0) : OD_CU_SUCCESS;
    if (!od_cuda_check(d, result, "giving its memory back"))
        od_cuda_check(d, d->cuda->cu.address_free(extent->begin, extent->reserved), "giving its addresses back");
    forget(extent);
}

/* --- at a given address ---------------------------------------------------------- */

static od_cu_result map_chosen(od_cuda_device *d, const od_chosen *c)
{
    const od_cu_driver *cu = &d->cuda->cu;
    const od_cu_memory_properties properties = properties_of(d);
    od_cu_access access[OD_MAX_DEVICES] = {{{OD_CU_LOCATION_DEVICE, d->gpu}, OD_CU_ACCESS_READ_WRITE}};
    size_t naccess = 1;
    od_cu_memory memory;
    if (d->cuda->ndevices > 1 && !list_access(d, access, &naccess)) {
        access[0] = (od_cu_access){{OD_CU_LOCATION_DEVICE, d->gpu}, OD_CU_ACCESS_READ_WRITE};
        naccess = 1;
    }
    od_cu_result result = cu->memory_create(&memory, c->bytes, &properties, 0);
    if (result)
        return result;
    result = cu->memory_map(c->begin, c->bytes, 0, memory, 0);
    cu->memory_release(memory);
    if (result)
        return result;
    result = cu->memory_access(c->begin, c->bytes, access, naccess);
    if (result)
        cu->memory_unmap(c->begin, c->bytes);
    return result;
}

od_status od_chosen_take(od_cuda_device *d, size_t bytes, od_cu_address at)
{
    const od_cu_driver *cu = &d->cuda->cu;
    size_t unit = least_piece(d);
    od_chosen *c = unit ? od_calloc(1, sizeof *c) : NULL;
    if (!c)
        return unit ? OD_ENOMEM : OD_EINVAL;
    c->bytes = round_up(bytes, unit);
    od_cu_result result = cu->address_reserve(&c->begin, c->bytes, 0, at, 0);
    bool is_there = !result && c->begin == at;
    if (is_there)
        result = map_chosen(d, c);
    if (is_there && !result) {
        pthread_mutex_lock(&d->lock);
        c->next = d->chosen;
        d->chosen = c;
        pthread_mutex_unlock(&d->lock);
        return OD_OK;
    }
    if (c->begin)
        cu->address_free(c->begin, c->bytes);
    free(c);
    od_log(OD_LOG_INFO, "cuda", "device %u: no %zu bytes at %#llx (error %d)", d->k, bytes, at, result);
    return is_there && result == OD_CU_OUT_OF_MEMORY ? OD_EDEVICE : OD_EINVAL;
}

bool od_chosen_give(od_cuda_device *d, od_cu_address at)
{
    pthread_mutex_lock(&d->lock);
    od_chosen **link = &d->chosen, *c;
    while (*link && (*link)->begin != at)
        link = &(*link)->next;
    if ((c = *link))
        *link = c->next;
    pthread_mutex_unlock(&d->lock);
    if (!c)
        return false;
    if (!od_cuda_check(d, d->cuda->cu.memory_unmap(c->begin, c->bytes), "giving its memory back"))
        od_cuda_check(d, d->cuda->cu.address_free(c->begin, c->bytes), "giving its addresses back");
    free(c);
    return true;
}
