/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Addresses that belong to one device. See device_memory.h.
 *
 * Programs hold few such ranges, so an array is searched; with none, which is the
 * common case, the answer is one atomic read.
 */
#include "omp_ext/device_memory.h"

#include "omp_ext/real.h"
#include "omp_ext/runtime.h"
#include "util/log.h"

#include <stdatomic.h>
#include <stdlib.h>

typedef struct range {
    uintptr_t base;
    size_t size;
    int device;
} range;

typedef struct ranges {
    pthread_mutex_t lock; /* protects the rest but count's reads */
    range *all;
    atomic_size_t count;
    size_t capacity;
} ranges;

static ranges allocated = {.lock = PTHREAD_MUTEX_INITIALIZER};
static ranges foreign = {.lock = PTHREAD_MUTEX_INITIALIZER};

static range *find(ranges *r, uintptr_t base, size_t size)
{
    uintptr_t end = base + (size ? size : 1);
    for (size_t i = 0; i < r->count; i++)
        if (r->all[i].base < end && base < r->all[i].base + r->all[i].size)
            return &r->all[i];
    return NULL;
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

static bool reserve(ranges *r)
{
    if (r->count < r->capacity)
        return true;
    size_t capacity = r->capacity ? 2 * r->capacity : 16;
    range *all = realloc(r->all, capacity * sizeof *all);
    if (!all)
        return false;
    r->all = all;
    r->capacity = capacity;
    return true;
}

static bool add(ranges *r, uintptr_t base, size_t size, int device)
{
    pthread_mutex_lock(&r->lock);
    range *known = find(r, base, size);
    bool ok = known || reserve(r);
    if (ok && !known)
        r->all[r->count++] = (range){base, size ? size : 1, device};
    pthread_mutex_unlock(&r->lock);
    return ok;
}

static void drop(ranges *r, uintptr_t base)
{
    if (!atomic_load(&r->count))
        return;
    pthread_mutex_lock(&r->lock);
    range *known = find(r, base, 1);
    if (known)
        *known = r->all[--r->count];
    pthread_mutex_unlock(&r->lock);
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
    void *address = REAL(omp_target_alloc)(size, device);
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
    REAL(omp_target_free)(address, device);
}

int omp_target_associate_ptr(const void *host, const void *device_address, size_t size, size_t offset, int device)
{
    int failed = REAL(omp_target_associate_ptr)(host, device_address, size, offset, device);
    if (!failed && !od_foreign_add((uintptr_t)host, size, device))
        od_log(OD_LOG_ERROR, "omp", "out of host memory: the association of %p is not known to the scheduler", host);
    return failed;
}

int omp_target_disassociate_ptr(const void *host, int device)
{
    od_foreign_remove((uintptr_t)host);
    return REAL(omp_target_disassociate_ptr)(host, device);
}
