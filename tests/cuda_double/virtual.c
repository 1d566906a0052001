/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Virtual memory management: addresses that are reserved, memory that is created, and which memory is behind which
 * addresses, perhaps behind several. What is not mapped, or nobody may access, stops whoever touches it. All memory is
 * in one file without a name, so that each address of it shows the same contents.
 */
#include "double.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct cd_memory {
    cd_device *device;
    off_t offset; /* in the file */
    size_t bytes;
    unsigned maps;
    bool released;
    struct cd_memory *next;
} cd_memory;

typedef struct cd_mapping {
    uintptr_t address;
    size_t bytes;
    cd_memory *memory;
    bool accessible;
    struct cd_mapping *next;
} cd_mapping;

static bool is_multiple(size_t bytes)
{
    return bytes && cd.settings.granularity && bytes % cd.settings.granularity == 0;
}

static od_cu_result begin(cd_call call)
{
    od_cu_result result = cd_enter(call, CD_INITIALIZED);
    if (!result && !cd.settings.granularity)
        result = cd_leave(CD_NOT_SUPPORTED);
    return result;
}

static cd_allocation *find_reservation(uintptr_t address, size_t bytes)
{
    for (cd_allocation *a = cd.allocations; a; a = a->next)
        if (a->reserved && address >= a->address && address - a->address <= a->mapped &&
            bytes <= a->mapped - (address - a->address))
            return a;
    return NULL;
}

static cd_mapping *mapping_at(uintptr_t address)
{
    cd_mapping *m = cd.mappings;
    while (m && (address < m->address || address - m->address >= m->bytes))
        m = m->next;
    return m;
}

size_t cd_reserved_run(cd_allocation *a, uintptr_t address, size_t most)
{
    const cd_mapping *m;
    size_t bytes = 0;
    while (bytes < most && (m = mapping_at(address + bytes)) && m->accessible) {
        a->context = m->memory->device->context;
        bytes += m->bytes - (address + bytes - m->address);
    }
    return bytes;
}

/* The file; -1: there is none. */
static int file(void)
{
    static int file = -1;
    if (file < 0)
        file = memfd_create("cuda_double", MFD_CLOEXEC);
    return file;
}

/* Where the next memory is in it. */
static off_t end;

static bool extend(size_t bytes)
{
    if (ftruncate(file(), end + (off_t)bytes))
        return false;
    end += (off_t)bytes;
    return true;
}

static bool is_for_device(const od_cu_memory_properties *p)
{
    return p && p->type == OD_CU_MEMORY_PINNED && p->location.type == OD_CU_LOCATION_DEVICE && p->location.id >= 0 &&
           (unsigned)p->location.id < cd.settings.ndevices;
}

od_cu_result cuMemGetAllocationGranularity(size_t *bytes, const od_cu_memory_properties *properties, int option)
{
    (void)option;
    od_cu_result result = begin(CD_cuMemGetAllocationGranularity);
    if (result)
        return result;
    *bytes = cd.settings.granularity;
    return cd_leave(is_for_device(properties) ? OD_CU_SUCCESS : OD_CU_INVALID_VALUE);
}

od_cu_result cuMemAddressReserve(od_cu_address *address, size_t bytes, size_t alignment, od_cu_address wish,
                                 unsigned long long flags)
{
    od_cu_result result = begin(CD_cuMemAddressReserve);
    if (result)
        return result;
    if (!is_multiple(bytes) || alignment || wish % cd.settings.granularity || flags)
        return cd_leave(OD_CU_INVALID_VALUE);
    cd_allocation *a = calloc(1, sizeof *a);
    void *mapping = mmap((void *)(uintptr_t)wish, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!a || mapping == MAP_FAILED) {
        free(a);
        return cd_leave(OD_CU_OUT_OF_MEMORY);
    }
    *a = (cd_allocation){.address = (uintptr_t)mapping,
                         .mapping = mapping,
                         .mapped = bytes,
                         .of_module = true,
                         .reserved = true,
                         .next = cd.allocations};
    cd.allocations = a;
    *address = a->address;
    return cd_leave(OD_CU_SUCCESS);
}

od_cu_result cuMemAddressFree(od_cu_address address, size_t bytes)
{
    od_cu_result result = begin(CD_cuMemAddressFree);
    if (result)
        return result;
    cd_allocation **link = &cd.allocations;
    while (*link && (!(*link)->reserved || (*link)->address != address))
        link = &(*link)->next;
    cd_allocation *a = *link;
    if (!a || a->mapped != bytes)
        return cd_leave(cd_misuse(OD_CU_INVALID_VALUE, "%zu bytes at %#llx have not been reserved", bytes, address));
    for (const cd_mapping *m = cd.mappings; m; m = m->next)
        if (m->address >= a->address && m->address - a->address < bytes)
            return cd_leave(cd_misuse(OD_CU_INVALID_VALUE, "the addresses at %#llx still have memory", address));
    *link = a->next;
    munmap(a->mapping, a->mapped);
    free(a);
    return cd_leave(OD_CU_SUCCESS);
}

od_cu_result cuMemCreate(od_cu_memory *memory, size_t bytes, const od_cu_memory_properties *properties,
                         unsigned long long flags)
{
    od_cu_result result = begin(CD_cuMemCreate);
    if (result)
        return result;
    if (!is_multiple(bytes) || !is_for_device(properties) || flags)
        return cd_leave(OD_CU_INVALID_VALUE);
    cd_device *device = &cd.devices[properties->location.id];
    cd_memory *m = bytes <= cd.settings.memory - cd.settings.others - device->used ? calloc(1, sizeof *m) : NULL;
    if (!m || !extend(bytes)) {
        free(m);
        return cd_leave(OD_CU_OUT_OF_MEMORY);
    }
    *m = (cd_memory){.device = device, .offset = end - (off_t)bytes, .bytes = bytes, .next = cd.memories};
    cd.memories = m;
    device->used += bytes;
    *memory = (uintptr_t)m;
    return cd_leave(OD_CU_SUCCESS);
}

static cd_memory **find_memory(od_cu_memory memory)
{
    cd_memory **link = &cd.memories;
    while (*link && (uintptr_t)*link != memory)
        link = &(*link)->next;
    return link;
}

/* Nobody has it any more. */
static void drop_unused(cd_memory *memory)
{
    if (!memory->released || memory->maps)
        return;
    memory->device->used -= memory->bytes;
    fallocate(file(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, memory->offset, (off_t)memory->bytes);
    *find_memory((uintptr_t)memory) = memory->next;
    free(memory);
}

od_cu_result cuMemRelease(od_cu_memory memory)
{
    od_cu_result result = begin(CD_cuMemRelease);
    if (result)
        return result;
    cd_memory *m = *find_memory(memory);
    if (!m || m->released)
        return cd_leave(cd_misuse(OD_CU_INVALID_VALUE, "%#llx is no memory, or was released", memory));
    m->released = true;
    drop_unused(m);
    return cd_leave(OD_CU_SUCCESS);
}

od_cu_result cuMemMap(od_cu_address address, size_t bytes, size_t offset, od_cu_memory memory, unsigned long long flags)
{
    od_cu_result result = begin(CD_cuMemMap);
    if (result)
        return result;
    cd_memory *m = *find_memory(memory);
    const cd_allocation *a = find_reservation((uintptr_t)address, bytes);
    if (!m || m->released || !a || !is_multiple(bytes) || (address - a->address) % cd.settings.granularity ||
        offset || bytes != m->bytes || flags)
        return cd_leave(cd_misuse(OD_CU_INVALID_VALUE, "%zu bytes cannot be mapped at %#llx", bytes, address));
    for (size_t at = 0; at < bytes; at += cd.settings.granularity)
        if (mapping_at((uintptr_t)address + at))
            return cd_leave(cd_misuse(OD_CU_INVALID_VALUE, "there is memory at %#llx already", address + at));
    cd_mapping *mapping = calloc(1, sizeof *mapping);
    if (!mapping || mmap((void *)(uintptr_t)address, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, file(), m->offset) ==
                        MAP_FAILED) {
        free(mapping);
        return cd_leave(OD_CU_OUT_OF_MEMORY);
    }
    *mapping = (cd_mapping){.address = (uintptr_t)address, .bytes = bytes, .memory = m, .next = cd.mappings};
    cd.mappings = mapping;
    m->maps++;
    return cd_leave(OD_CU_SUCCESS);
}

/* The mappings tile the range. */
static bool is_whole(uintptr_t address, size_t bytes)
{
    size_t at = 0;
    const cd_mapping *m;
    while (at < bytes && (m = mapping_at(address + at)) && m->address == address + at)
        at += m->bytes;
    return bytes && at == bytes;
}

static bool names(const od_cu_access *access, size_t count, const cd_device *device)
{
    while (count && (access[count - 1].location.id != (int)device->ordinal ||
                     access[count - 1].location.type != OD_CU_LOCATION_DEVICE ||
                     access[count - 1].flags != OD_CU_ACCESS_READ_WRITE))
        count--;
    return count;
}

od_cu_result cuMemSetAccess(od_cu_address address, size_t bytes, const od_cu_access *access, size_t count)
{
    od_cu_result result = begin(CD_cuMemSetAccess);
    if (result)
        return result;
    cd_allocation *a = find_reservation((uintptr_t)address, bytes);
    if (!a || !is_whole((uintptr_t)address, bytes))
        return cd_leave(cd_misuse(OD_CU_INVALID_VALUE, "not all of %zu bytes at %#llx is mapped", bytes, address));
    for (size_t i = 0; i < count; i++)
        if (access[i].location.id < 0 || (unsigned)access[i].location.id >= cd.settings.ndevices)
            return cd_leave(OD_CU_INVALID_DEVICE);
    for (size_t at = 0; at < bytes;) {
        cd_mapping *m = mapping_at((uintptr_t)address + at);
        m->accessible = names(access, count, m->memory->device);
        mprotect((void *)m->address, m->bytes, m->accessible ? PROT_READ | PROT_WRITE : PROT_NONE);
        at += m->bytes;
    }
    return cd_leave(OD_CU_SUCCESS);
}

static void unmap(cd_mapping *m)
{
    cd_mapping **link = &cd.mappings;
    while (*link != m)
        link = &(*link)->next;
    *link = m->next;
    mmap((void *)m->address, m->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    m->memory->maps--;
    drop_unused(m->memory);
    free(m);
}

od_cu_result cuMemUnmap(od_cu_address address, size_t bytes)
{
    od_cu_result result = begin(CD_cuMemUnmap);
    if (result)
        return result;
    cd_allocation *a = find_reservation((uintptr_t)address, bytes);
    if (!a || !is_whole((uintptr_t)address, bytes))
        return cd_leave(cd_misuse(OD_CU_INVALID_VALUE, "%zu bytes at %#llx are not whole mappings", bytes, address));
    for (size_t at = 0; at < bytes;) {
        cd_mapping *m = mapping_at((uintptr_t)address + at);
        at += m->bytes;
        unmap(m);
    }
    return cd_leave(OD_CU_SUCCESS);
}
