/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A device's pool, taken so that it can be given back from its end while the rest is in use: one range of addresses,
 * and memory in pieces that is mapped there (CUDA's virtual memory management). Devices that reach each other's memory
 * must be named for each range; where they do not reach it, copies between them want memory of the ordinary kind.
 */
#define _GNU_SOURCE
#include "memmgr/device/cuda/cuda.h"

#include "util/log.h"

#include <dlfcn.h>

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
        if (other->gpu != d->gpu && !(cuda->peers[k] & OD_BIT(d->k)))
            return false;
    }
    return true;
}

static od_cu_result map_piece(od_cuda_device *d, size_t bytes)
{
    const od_cu_driver *cu = &d->cuda->cu;
    const od_cu_memory_properties properties = properties_of(d);
    od_cu_memory memory;
    od_cu_result result = cu->memory_create(&memory, bytes, &properties, 0);
    if (result)
        return result;
    result = cu->memory_map(d->extent.begin + d->extent.mapped, bytes, 0, memory, 0);
    cu->memory_release(memory); /* it stays as long as it is mapped */
    d->extent.mapped += result ? 0 : bytes;
    return result;
}

static od_cu_result map_all(od_cuda_device *d, const od_cu_access *access, size_t count)
{
    od_extent *extent = &d->extent;
    od_cu_result result = OD_CU_SUCCESS;
    size_t first = extent->reserved % extent->piece;
    if (first)
        result = map_piece(d, first);
    while (!result && extent->mapped < extent->reserved)
        result = map_piece(d, extent->piece);
    return result ? result : d->cuda->cu.memory_access(extent->begin, extent->reserved, access, count);
}

/* A process opens another's device memory, as MPI libraries do where an address on a device is given to them, only if
 * it is of the ordinary kind (CUDA's handles of memory between processes). */
static bool is_for_other_processes(void)
{
    return dlsym(RTLD_DEFAULT, "MPI_Init") != NULL;
}

od_status od_extent_take(od_cuda_device *d, size_t bytes)
{
    const od_cu_driver *cu = &d->cuda->cu;
    const od_cu_memory_properties properties = properties_of(d);
    od_cu_access access[OD_MAX_DEVICES];
    size_t unit, count;
    if (d->extent.begin || is_for_other_processes())
        return OD_EINVAL;
    if (!has(d, OD_CU_HAS_VIRTUAL_MEMORY) || !list_access(d, access, &count) ||
        cu->granularity(&unit, &properties, OD_CU_LEAST_GRANULARITY) || !unit || bytes < OD_LEAST_PIECES * unit)
        return OD_EINVAL;
    d->extent = (od_extent){.reserved = round_up(bytes, unit), .piece = round_up(bytes / OD_PIECES, unit)};
    if (cu->address_reserve(&d->extent.begin, d->extent.reserved, 0, 0, 0)) {
        d->extent = (od_extent){0};
        return OD_EINVAL;
    }
    od_cu_result result = map_all(d, access, count);
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
    size_t first = extent->reserved % extent->piece;
    size_t stays = bytes <= first ? first : first + round_up(bytes - first, extent->piece);
    if (stays && stays < extent->mapped &&
        !od_cuda_check(d, d->cuda->cu.memory_unmap(extent->begin + stays, extent->mapped - stays),
                       "giving memory to others")) {
        od_log(OD_LOG_INFO, "cuda", "device %u: others get %zu bytes of its memory, data keep %zu", d->k,
               extent->mapped - stays, stays);
        extent->mapped = stays;
    }
    pthread_mutex_unlock(&d->lock);
}

void od_extent_give(od_cuda_device *d)
{
    const od_cu_driver *cu = &d->cuda->cu;
    od_cu_result result = d->extent.mapped ? cu->memory_unmap(d->extent.begin, d->extent.mapped) : OD_CU_SUCCESS;
    if (!od_cuda_check(d, result, "giving its memory back"))
        od_cuda_check(d, cu->address_free(d->extent.begin, d->extent.reserved), "giving its addresses back");
    d->extent = (od_extent){0};
}
