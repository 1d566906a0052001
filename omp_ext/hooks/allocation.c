/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Device memory that the program allocates or associates itself. */
#include "omp_ext/libomp/ompt.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/maps/device_memory.h"
#include "omp_ext/runtime/runtime.h"
#include "util/log.h"

/* False: it is not known where the memory lies, and it must be given back. */
static bool note(const void *address, size_t size, int device)
{
    return !address || device == REAL(omp_get_initial_device)() ||
           od_allocated_add((uintptr_t)address, size, device);
}

void *omp_target_alloc(size_t size, int device)
{
    const void *before = od_ompt_api_at(__builtin_return_address(0));
    void *address = od_runtime_target_alloc(size, device);
    od_ompt_api_at(before);
    if (note(address, size, device))
        return address;
    REAL(omp_target_free)(address, device);
    return NULL;
}

void omp_target_free(void *address, int device)
{
    if (address)
        od_allocated_remove((uintptr_t)address);
    const void *before = od_ompt_api_at(__builtin_return_address(0));
    REAL(omp_target_free)(address, device);
    od_ompt_api_at(before);
}

/* LLVM's own: memory of the device even where omp_target_alloc() gives out another kind. */
void *llvm_omp_target_alloc_device(size_t size, int device);
void *llvm_omp_target_alloc_device(size_t size, int device)
{
    void *address = REAL(llvm_omp_target_alloc_device)(size, device);
    if (note(address, size, device))
        return address;
    REAL(llvm_omp_target_free_device)(address, device);
    return NULL;
}

void llvm_omp_target_free_device(void *address, int device);
void llvm_omp_target_free_device(void *address, int device)
{
    if (address)
        od_allocated_remove((uintptr_t)address);
    REAL(llvm_omp_target_free_device)(address, device);
}

typedef struct od_occupant {
    od_mapping mapping;
    bool held; /* by ompx_hold */
} od_occupant;

/* A region of the virtual device begins there: libomptarget would know it as a mapping. */
static bool begins_region(const void *host, int device, od_occupant *occupant)
{
    if (!od_runtime_started() || device != od_runtime_virtual_number())
        return false;
    od_engine *engine = od_runtime_lock();
    const od_region *region = od_directory_find_region(od_engine_directory(engine), (uintptr_t)host, 0);
    bool begins = region && region->base == (uintptr_t)host;
    if (begins)
        *occupant = (od_occupant){od_region_mapping(region), region->holds > 0};
    od_runtime_unlock();
    return begins;
}

/* Makes it a mapping of libomptarget's for as long as that is asked about it. */
static void show_to_libomptarget(const od_occupant *occupant, int device, bool begin)
{
    const od_mapping *mapping = &occupant->mapping;
    void *base = (void *)mapping->origin, *address = (void *)mapping->begin;
    int64_t size = (int64_t)mapping->size, type = occupant->held ? OD_MAP_HOLD : begin ? 0 : OD_MAP_DELETE;
    if (begin)
        REAL(__tgt_target_data_begin_mapper)(NULL, device, 1, &base, &address, &size, &type, NULL, NULL);
    else
        REAL(__tgt_target_data_end_mapper)(NULL, device, 1, &base, &address, &size, &type, NULL, NULL);
}

/* An association with a device other than the virtual one concerns only constructs that name that. */
int omp_target_associate_ptr(const void *host, const void *device_address, size_t size, size_t offset, int device)
{
    od_occupant occupant;
    bool occupied = begins_region(host, device, &occupant);
    if (occupied)
        show_to_libomptarget(&occupant, device, true);
    const void *before = od_ompt_api_at(__builtin_return_address(0));
    int failed = REAL(omp_target_associate_ptr)(host, device_address, size, offset, device);
    od_ompt_api_at(before);
    if (occupied)
        show_to_libomptarget(&occupant, device, false);
    if (!failed && device == od_runtime_virtual_number() && !od_foreign_add((uintptr_t)host, size, device))
        od_log(OD_LOG_ERROR, "omp", "out of host memory: the association of %p is not known to the scheduler", host);
    return failed;
}

int omp_target_disassociate_ptr(const void *host, int device)
{
    od_occupant occupant;
    bool occupied = begins_region(host, device, &occupant);
    if (occupied)
        show_to_libomptarget(&occupant, device, true);
    const void *before = od_ompt_api_at(__builtin_return_address(0));
    int failed = REAL(omp_target_disassociate_ptr)(host, device);
    od_ompt_api_at(before);
    if (occupied)
        show_to_libomptarget(&occupant, device, false);
    if (!failed && device == od_runtime_virtual_number())
        od_foreign_remove((uintptr_t)host);
    return failed;
}
