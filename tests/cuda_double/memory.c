/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Device memory. An allocation ends, up to its alignment, at a page that cannot be touched, and is unmapped when it is
 * freed: a kernel that reads beyond it or after its end is stopped by the machine.
 */
#include "double.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { ALIGNMENT = 256 };

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

static bool contains(cd_allocation *a, uintptr_t address)
{
    return a->reserved ? address - a->address < a->mapped && cd_reserved_run(a, address, 1)
                       : address >= a->address && address - a->address < a->bytes;
}

cd_allocation *cd_allocation_find(uintptr_t address)
{
    for (cd_allocation *a = cd.allocations; a; a = a->next)
        if (contains(a, address))
            return a;
    return NULL;
}

od_cu_result cd_allocation_check(const char *what, uintptr_t address, size_t bytes, const cd_device *device,
                                 cd_allocation **allocation)
{
    cd_allocation *a = cd_allocation_find(address);
    if (!a)
        return cd_misuse(OD_CU_INVALID_VALUE, "%s: %#zx is not device memory, or was freed", what, (size_t)address);
    size_t most = a->reserved ? cd_reserved_run(a, address, bytes) : a->bytes - (address - a->address);
    if (bytes > most)
        return cd_misuse(OD_CU_INVALID_VALUE, "%s: %zu bytes from %#zx end %zu beyond the memory that begins at %#zx",
                         what, bytes, (size_t)address, bytes - most, (size_t)a->address);
    if (!a->managed && a->context->device != device)
        return cd_misuse(OD_CU_INVALID_VALUE, "%s: %#zx is memory of device %u, not of device %u", what,
                         (size_t)address, a->context->device->ordinal, device->ordinal);
    if (allocation)
        *allocation = a;
    return OD_CU_SUCCESS;
}

od_cu_result cuda_double_check_range(const char *what, const void *address, size_t bytes, od_cu_context context)
{
    pthread_mutex_lock(&cd.lock);
    od_cu_result result = cd_allocation_check(what, (uintptr_t)address, bytes, context->device, NULL);
    pthread_mutex_unlock(&cd.lock);
    return result;
}

od_cu_result cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
    od_cu_result result = cd_enter(CD_cuMemGetInfo_v2, CD_CONTEXT);
    if (result)
        return result;
    *free_bytes = cd.settings.memory - cd.settings.others - cd_current()->device->used;
    *total_bytes = cd.settings.memory;
    return cd_leave(OD_CU_SUCCESS);
}

static od_cu_result map(cd_allocation *a)
{
    size_t bytes = round_up(a->bytes, ALIGNMENT);
    size_t usable = round_up(bytes, CD_PAGE);
    a->mapped = usable + CD_PAGE;
    a->mapping = mmap(NULL, a->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (a->mapping == MAP_FAILED)
        return OD_CU_OUT_OF_MEMORY;
    mprotect((char *)a->mapping + usable, CD_PAGE, PROT_NONE);
    a->address = (uintptr_t)a->mapping + usable - bytes;
    return OD_CU_SUCCESS;
}

cd_allocation *cd_allocation_create(cd_context *context, size_t bytes, void *variable)
{
    size_t left = cd.settings.memory - cd.settings.others - context->device->used;
    if (bytes > left || round_up(bytes, ALIGNMENT) > left)
        return NULL;
    cd_allocation *a = calloc(1, sizeof *a);
    if (!a)
        return NULL;
    *a = (cd_allocation){.context = context, .address = (uintptr_t)variable, .bytes = bytes, .next = cd.allocations};
    if (!variable && map(a)) {
        free(a);
        return NULL;
    }
    context->device->used += round_up(bytes, ALIGNMENT);
    return cd.allocations = a;
}

static od_cu_result allocate(cd_call call, od_cu_address *address, size_t bytes)
{
    od_cu_result result = cd_enter(call, CD_CONTEXT);
    if (result)
        return result;
    if (!address || !bytes)
        return cd_leave(OD_CU_INVALID_VALUE);
    const cd_allocation *a = cd_allocation_create(cd_current(), bytes, NULL);
    if (a)
        *address = a->address;
    return cd_leave(a ? OD_CU_SUCCESS : OD_CU_OUT_OF_MEMORY);
}

od_cu_result cuMemAlloc_v2(od_cu_address *address, size_t bytes)
{
    return allocate(CD_cuMemAlloc_v2, address, bytes);
}

/* All memory can be touched by the host. Of managed memory there can be more than a device has. */
od_cu_result cuMemAllocManaged(od_cu_address *address, size_t bytes, unsigned flags)
{
    od_cu_result result = cd_enter(CD_cuMemAllocManaged, CD_CONTEXT);
    if (result)
        return result;
    cd_allocation *a = address && bytes && flags == OD_CU_ATTACH_GLOBAL ? calloc(1, sizeof *a) : NULL;
    if (!a)
        return cd_leave(OD_CU_INVALID_VALUE);
    *a = (cd_allocation){.context = cd_current(), .bytes = bytes, .managed = true, .next = cd.allocations};
    if (map(a)) {
        free(a);
        return cd_leave(OD_CU_OUT_OF_MEMORY);
    }
    cd.allocations = a;
    *address = a->address;
    return cd_leave(OD_CU_SUCCESS);
}

od_cu_result cuMemAdvise(od_cu_address address, size_t bytes, int advice, od_cu_device device)
{
    od_cu_result result = cd_enter(CD_cuMemAdvise, CD_INITIALIZED);
    if (result)
        return result;
    const cd_allocation *a = cd_allocation_find((uintptr_t)address);
    bool known = advice == OD_CU_READ_MOSTLY || advice == OD_CU_NOT_READ_MOSTLY;
    if (!a || !a->managed || bytes > a->bytes - (address - a->address))
        return cd_leave(cd_misuse(OD_CU_INVALID_VALUE, "advice on %zu bytes at %#llx, which are not managed", bytes,
                                  address));
    known &= device >= 0 && (unsigned)device < cd.settings.ndevices;
    return cd_leave(known ? OD_CU_SUCCESS : OD_CU_INVALID_VALUE);
}

/* The memory is there before the stream comes to it, which nobody can tell. */
od_cu_result cuMemAllocAsync(od_cu_address *address, size_t bytes, od_cu_stream handle)
{
    (void)handle;
    return allocate(CD_cuMemAllocAsync, address, bytes);
}

static void release(cd_allocation **link)
{
    cd_allocation *a = *link;
    *link = a->next;
    a->context->device->used -= a->reserved || a->managed ? 0 : round_up(a->bytes, ALIGNMENT);
    if (a->mapping)
        munmap(a->mapping, a->mapped);
    free(a);
}

void cd_allocation_drop(cd_allocation *allocation)
{
    cd_allocation **link = &cd.allocations;
    while (*link != allocation)
        link = &(*link)->next;
    release(link);
}

static od_cu_result free_at(od_cu_address address)
{
    cd_allocation **link = &cd.allocations;
    while (*link && ((*link)->address != address || (*link)->of_module))
        link = &(*link)->next;
    if (!*link)
        return cd_misuse(OD_CU_INVALID_VALUE, "no allocation begins at %#llx, or it was freed", address);
    if ((*link)->pending)
        return cd_misuse(OD_CU_INVALID_VALUE, "the allocation at %#llx is freed while %u copies are pending", address,
                         (*link)->pending);
    od_cu_result result = cd_context_health((*link)->context);
    release(link);
    return result;
}

/* The address decides, whatever context is current. Kernels may be using the memory: the call waits for all of them. */
od_cu_result cuMemFree_v2(od_cu_address address)
{
    od_cu_result result = cd_enter(CD_cuMemFree_v2, CD_CONTEXT_OR_LOST);
    if (result)
        return result;
    const cd_allocation *a = cd_allocation_find((uintptr_t)address);
    if (a && !a->pending)
        cd_kernels_drain(a->context);
    return cd_leave(free_at(address));
}

/* What is before it in the stream is over first. */
od_cu_result cuMemFreeAsync(od_cu_address address, od_cu_stream handle)
{
    od_cu_result result = cd_enter(CD_cuMemFreeAsync, CD_CONTEXT_OR_LOST);
    if (result)
        return result;
    cd_stream *stream;
    result = cd_stream_find(handle, &stream);
    if (result)
        return cd_leave(result);
    cd_stream_drain(stream);
    return cd_leave(free_at(address));
}

void cd_allocations_drop(const cd_context *context)
{
    for (cd_allocation **link = &cd.allocations; *link;) {
        if ((*link)->context == context) {
            cd.stats.leaked_allocations++;
            release(link);
        } else {
            link = &(*link)->next;
        }
    }
}
