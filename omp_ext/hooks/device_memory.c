/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Addresses that belong to one device. See device_memory.h.
 *
 * Disjoint ranges in a tree by address; with none, which is the common case, the answer is one atomic read.
 */
#include "omp_ext/hooks/device_memory.h"

#include "omp_ext/libomp/ompt.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/runtime/runtime.h"
#include "util/container/tree.h"
#include "util/log.h"

#include <stdatomic.h>
#include <stdlib.h>

typedef struct range {
    od_tree_node node; /* in ranges.tree, by base */
    uintptr_t base;
    size_t size; /* bytes, not 0 */
    int device;
} range;

typedef struct ranges {
    pthread_mutex_t lock; /* protects the tree */
    od_tree tree;
    atomic_size_t count; /* of the tree, to be read without the lock */
} ranges;

static ranges allocated = {.lock = PTHREAD_MUTEX_INITIALIZER};
static ranges foreign = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* One that overlaps [base, base+size): being disjoint, the last that begins before its end overlaps if any does. Locked. */
static range *find(const ranges *r, uintptr_t base, size_t size)
{
    od_tree_node *node = od_tree_floor(&r->tree, (od_tree_key){base + (size ? size - 1 : 0), 0});
    range *last = node ? od_container_of(node, range, node) : NULL;
    return last && (last->base >= base || base - last->base < last->size) ? last : NULL;
}

static int device_of(ranges *r, uintptr_t base, size_t size)
{
    if (!atomic_load(&r->count))
        return -1;
    pthread_mutex_lock(&r->lock);
    const range *hit = find(r, base, size);
    int device = hit ? hit->device : -1;
    pthread_mutex_unlock(&r->lock);
    return device;
}

static bool insert(ranges *r, uintptr_t base, size_t size, int device)
{
    range *added = malloc(sizeof *added);
    if (!added)
        return false;
    *added = (range){.base = base, .size = size ? size : 1, .device = device};
    od_tree_insert(&r->tree, &added->node, (od_tree_key){base, 0});
    atomic_fetch_add(&r->count, 1);
    return true;
}

static bool add(ranges *r, uintptr_t base, size_t size, int device)
{
    pthread_mutex_lock(&r->lock);
    bool ok = find(r, base, size) || insert(r, base, size, device);
    pthread_mutex_unlock(&r->lock);
    return ok;
}

static void drop(ranges *r, uintptr_t base)
{
    if (!atomic_load(&r->count))
        return;
    pthread_mutex_lock(&r->lock);
    range *known = find(r, base, 1);
    if (known) {
        od_tree_remove(&r->tree, &known->node);
        atomic_fetch_sub(&r->count, 1);
    }
    pthread_mutex_unlock(&r->lock);
    free(known);
}

int od_device_of_address(uintptr_t address)
{
    return device_of(&allocated, address, 1);
}

bool od_foreign_add(uintptr_t base, size_t size, int device)
{
    return add(&foreign, base, size, device);
}

void od_foreign_remove(uintptr_t base)
{
    drop(&foreign, base);
}

int od_foreign_device(uintptr_t base, size_t size)
{
    int device = device_of(&foreign, base, size);
    return device == OD_FIRST_DEVICE ? od_runtime_device_number(0) : device;
}

void od_device_memory_locks(int (*visit)(pthread_mutex_t *lock))
{
    visit(&allocated.lock);
    visit(&foreign.lock);
}

/* --- our entry points ---------------------------------------------------- */

void *omp_target_alloc(size_t size, int device)
{
    const void *before = od_ompt_api_at(__builtin_return_address(0));
    void *address = REAL(omp_target_alloc)(size, device);
    od_ompt_api_at(before);
    if (address && device != REAL(omp_get_initial_device)() && !add(&allocated, (uintptr_t)address, size, device)) {
        REAL(omp_target_free)(address, device);
        return NULL;
    }
    return address;
}

void omp_target_free(void *address, int device)
{
    if (address)
        drop(&allocated, (uintptr_t)address);
    const void *before = od_ompt_api_at(__builtin_return_address(0));
    REAL(omp_target_free)(address, device);
    od_ompt_api_at(before);
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
