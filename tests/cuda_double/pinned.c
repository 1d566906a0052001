/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Host memory that was pinned: registered, or allocated so. Pages belong to one registration at most.
 */
#include "double.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { REGISTER_FLAGS = 15, ALLOC_FLAGS = 7 };

static uintptr_t page_of(uintptr_t address)
{
    return address / CD_PAGE;
}

static bool overlaps(const cd_pinned *p, uintptr_t address, size_t bytes)
{
    return address < p->address + p->bytes && p->address < address + bytes;
}

/* --- memory that is mapped anew while it is registered ----------------------- */

/* A registration keeps its pages; what is mapped at their addresses later has others. To tell these apart, registered
 * pages are given a mark that a new mapping does not have: they are left out of core dumps. */

static void mark(const cd_pinned *p, int advice)
{
    uintptr_t begin = p->address / CD_PAGE * CD_PAGE, end = p->address + p->bytes;
    if (cd.settings.watch_pins && !p->allocated)
        madvise((void *)begin, (end - begin + CD_PAGE - 1) / CD_PAGE * CD_PAGE, advice);
}

static bool has_mark(uintptr_t begin, uintptr_t end)
{
    char line[512];
    uintptr_t low = 0, high = 0, first, last, marked = begin;
    FILE *maps = fopen("/proc/self/smaps", "r");
    while (maps && marked < end && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &first, &last) == 2) {
            low = first;
            high = last;
        } else if (strncmp(line, "VmFlags:", 8) == 0 && strstr(line, " dd") && low <= marked && marked < high) {
            marked = high;
        }
    }
    if (maps)
        fclose(maps);
    return marked >= end;
}

static od_cu_result check_mark(const cd_pinned *p, uintptr_t address, size_t bytes)
{
    if (!cd.settings.watch_pins || p->allocated || has_mark(address, address + bytes))
        return OD_CU_SUCCESS;
    return cd_misuse(OD_CU_INVALID_VALUE, "the memory at %#zx is not any more what was registered at %#zx",
                     (size_t)address, (size_t)p->address);
}

/* --- registrations ------------------------------------------------------------ */

static od_cu_result find(uintptr_t address, size_t bytes, cd_pinned **pinned)
{
    *pinned = NULL;
    for (cd_pinned *p = cd.pinned; p; p = p->next) {
        if (!overlaps(p, address, bytes))
            continue;
        if (address < p->address || address + bytes > p->address + p->bytes)
            return OD_CU_INVALID_VALUE;
        *pinned = p;
        return OD_CU_SUCCESS;
    }
    return OD_CU_SUCCESS;
}

od_cu_result cd_pinned_find(uintptr_t address, size_t bytes, cd_pinned **pinned)
{
    od_cu_result result = find(address, bytes, pinned);
    return result || !*pinned ? result : check_mark(*pinned, address, bytes);
}

static od_cu_result add(uintptr_t address, size_t bytes, bool allocated)
{
    if (cd.settings.pin_limit && bytes > cd.settings.pin_limit - cd.pinned_bytes)
        return OD_CU_OUT_OF_MEMORY;
    cd_pinned *p = calloc(1, sizeof *p);
    if (!p)
        return OD_CU_OUT_OF_MEMORY;
    *p = (cd_pinned){.address = address,
                     .bytes = bytes,
                     .ordinal = cd_current()->device->ordinal,
                     .allocated = allocated,
                     .next = cd.pinned};
    mark(p, MADV_DONTDUMP);
    cd.pinned = p;
    cd.pinned_bytes += bytes;
    return OD_CU_SUCCESS;
}

/* Takes out the range of that kind that begins there: 0 and its bytes, or an error if it is in use. */
static od_cu_result take_out(uintptr_t address, bool allocated, size_t *bytes)
{
    cd_pinned **link = &cd.pinned;
    while (*link && ((*link)->address != address || (*link)->allocated != allocated))
        link = &(*link)->next;
    cd_pinned *p = *link;
    *bytes = p ? p->bytes : 0;
    if (!p)
        return OD_CU_SUCCESS;
    if (p->pending)
        return cd_misuse(OD_CU_INVALID_VALUE, "the pinned memory at %#zx is given up while %u copies are pending",
                         (size_t)address, p->pending);
    *link = p->next;
    cd.pinned_bytes -= p->bytes;
    mark(p, MADV_DODUMP);
    free(p);
    return OD_CU_SUCCESS;
}

static od_cu_result allocate(cd_call call, void **address, size_t bytes, unsigned flags)
{
    od_cu_result result = cd_enter(call, CD_CONTEXT);
    if (result)
        return result;
    if (!address || !bytes || flags > ALLOC_FLAGS || bytes > SIZE_MAX - CD_PAGE)
        return cd_leave(OD_CU_INVALID_VALUE);
    void *memory = aligned_alloc(CD_PAGE, (bytes + CD_PAGE - 1) / CD_PAGE * CD_PAGE);
    result = memory ? add((uintptr_t)memory, bytes, true) : OD_CU_OUT_OF_MEMORY;
    if (result)
        free(memory);
    else
        *address = memory;
    return cd_leave(result);
}

od_cu_result cuMemHostAlloc(void **address, size_t bytes, unsigned flags)
{
    return allocate(CD_cuMemHostAlloc, address, bytes, flags);
}

od_cu_result cuMemAllocHost_v2(void **address, size_t bytes)
{
    return allocate(CD_cuMemAllocHost_v2, address, bytes, 0);
}

od_cu_result cuMemFreeHost(void *address)
{
    od_cu_result result = cd_enter(CD_cuMemFreeHost, CD_CONTEXT_OR_LOST);
    if (result)
        return result;
    size_t bytes;
    result = take_out((uintptr_t)address, true, &bytes);
    if (!result && !bytes)
        result = cd_misuse(OD_CU_INVALID_VALUE, "no allocated host memory begins at %p, or it was freed", address);
    if (!result)
        free(address);
    return cd_leave(result ? result : cd_context_health(cd_current()));
}

/* The pages are not anybody else's meanwhile. Entered and left with the lock. */
static void take_time(size_t bytes)
{
    if (cd.settings.pin_bandwidth <= 0)
        return;
    uint64_t end_ns = cd_now_ns() + (uint64_t)((double)bytes / cd.settings.pin_bandwidth * 1e9);
    pthread_mutex_unlock(&cd.lock);
    cd_sleep_until(end_ns);
    pthread_mutex_lock(&cd.lock);
}

od_cu_result cuMemHostRegister_v2(void *address, size_t bytes, unsigned flags)
{
    od_cu_result result = cd_enter(CD_cuMemHostRegister_v2, CD_CONTEXT);
    if (result)
        return result;
    uintptr_t begin = (uintptr_t)address;
    if (!begin || !bytes || flags > REGISTER_FLAGS || bytes > UINTPTR_MAX - begin)
        return cd_leave(OD_CU_INVALID_VALUE);
    for (const cd_pinned *p = cd.pinned; p; p = p->next)
        if (page_of(begin) <= page_of(p->address + p->bytes - 1) && page_of(p->address) <= page_of(begin + bytes - 1))
            return cd_leave(OD_CU_HOST_MEMORY_ALREADY_REGISTERED);
    result = add(begin, bytes, false);
    take_time(result ? 0 : bytes);
    return cd_leave(result);
}

od_cu_result cuMemHostUnregister(void *address)
{
    od_cu_result result = cd_enter(CD_cuMemHostUnregister, CD_CONTEXT_OR_LOST);
    if (result)
        return result;
    size_t bytes;
    result = take_out((uintptr_t)address, false, &bytes);
    if (!result && !bytes)
        result = OD_CU_HOST_MEMORY_NOT_REGISTERED;
    take_time(result ? 0 : bytes);
    return cd_leave(result ? result : cd_context_health(cd_current()));
}

od_cu_result cuPointerGetAttribute(void *data, int attribute, od_cu_address address)
{
    od_cu_result result = cd_enter(CD_cuPointerGetAttribute, CD_INITIALIZED);
    if (result)
        return result;
    const cd_allocation *a = cd_allocation_find((uintptr_t)address);
    cd_pinned *p = NULL;
    if (!a)
        (void)find((uintptr_t)address, 1, &p);
    if (!data || (!a && !p))
        return cd_leave(OD_CU_INVALID_VALUE);
    if (attribute == OD_CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
        *(unsigned *)data = a ? OD_CU_MEMORYTYPE_DEVICE : OD_CU_MEMORYTYPE_HOST;
    else if (attribute == OD_CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
        *(int *)data = (int)(a ? a->context->device->ordinal : p->ordinal);
    else
        return cd_leave(OD_CU_INVALID_VALUE);
    return cd_leave(OD_CU_SUCCESS);
}
