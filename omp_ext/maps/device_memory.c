/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Addresses that belong to one device. See device_memory.h.
 *
 * Disjoint ranges in a tree by address; with none, which is the common case, the answer is one atomic read.
 */
#define _GNU_SOURCE /* process_vm_readv */
#include "omp_ext/maps/device_memory.h"

#include "omp_ext/remote/numbers.h"
#include "omp_ext/runtime/runtime.h"
#include "util/container/tree.h"
#include "util/lock.h"
#include "util/memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

typedef struct range {
    od_tree_node node; /* in ranges.tree, by base */
    uintptr_t base;
    size_t size; /* bytes, not 0 */
    int device;
} range;

typedef struct ranges {
    od_lock lock; /* protects the tree */
    od_tree tree;
    atomic_size_t count; /* of the tree, to be read without the lock */
} ranges;

static ranges allocated = {.lock = OD_LOCK_OF(OD_LOCK_ALLOCATED)};
static ranges foreign = {.lock = OD_LOCK_OF(OD_LOCK_FOREIGN)};

/* One that overlaps [base, base+size): being disjoint, the last that begins before its end overlaps if any does.
 * Locked. */
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
    od_lock_take(&r->lock);
    const range *hit = find(r, base, size);
    int device = hit ? hit->device : -1;
    od_lock_give(&r->lock);
    return device;
}

static bool insert(ranges *r, uintptr_t base, size_t size, int device)
{
    range *added = od_malloc(sizeof *added);
    if (!added)
        return false;
    *added = (range){.base = base, .size = size ? size : 1, .device = device};
    od_tree_insert(&r->tree, &added->node, (od_tree_key){base, 0});
    atomic_fetch_add(&r->count, 1);
    return true;
}

static bool add(ranges *r, uintptr_t base, size_t size, int device)
{
    od_lock_take(&r->lock);
    bool ok = find(r, base, size) || insert(r, base, size, device);
    od_lock_give(&r->lock);
    return ok;
}

static void drop(ranges *r, uintptr_t base)
{
    if (!atomic_load(&r->count))
        return;
    od_lock_take(&r->lock);
    range *known = find(r, base, 1);
    if (known) {
        od_tree_remove(&r->tree, &known->node);
        atomic_fetch_sub(&r->count, 1);
    }
    od_lock_give(&r->lock);
    free(known);
}

int od_device_of_address(uintptr_t address)
{
    return device_of(&allocated, address, 1);
}

/* The words of a range, at most OD_CARRIED_BYTES of it; the number of those that can be read: none where
 * OMPDARTS_DEBUG=check guards it. */
static size_t read_words(uintptr_t base, size_t size, uintptr_t *words)
{
    size_t skipped = -base % sizeof *words, bytes = size < OD_CARRIED_BYTES ? size : OD_CARRIED_BYTES;
    if (bytes < skipped + sizeof *words)
        return 0;
    struct iovec to = {words, (bytes - skipped) / sizeof *words * sizeof *words};
    struct iovec from = {(void *)(base + skipped), to.iov_len};
    ssize_t got = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
    return got > 0 ? (size_t)got / sizeof *words : 0;
}

static atomic_bool shown;

void od_addresses_note_shown(void)
{
    atomic_store(&shown, true);
}

uintptr_t od_address_stored(uintptr_t base, size_t size)
{
    bool ours = atomic_load(&shown);
    if (!ours && !atomic_load(&allocated.count))
        return 0;
    uintptr_t words[OD_CARRIED_BYTES / sizeof(uintptr_t)];
    size_t n = read_words(base, size, words);
    for (size_t i = 0; i < n; i++)
        if (od_device_of_address(words[i]) >= 0 || (ours && od_runtime_pool_of(words[i]) != OD_NOWHERE))
            return words[i];
    return 0;
}

bool od_allocated_add(uintptr_t base, size_t size, int device)
{
    return add(&allocated, base, size, device);
}

void od_allocated_remove(uintptr_t base)
{
    drop(&allocated, base);
}

bool od_foreign_add(uintptr_t base, size_t size, int device)
{
    return add(&foreign, base, size, device);
}

void od_foreign_remove(uintptr_t base)
{
    drop(&foreign, base);
}

bool od_foreign_any(void)
{
    return atomic_load(&foreign.count) != 0;
}

int od_foreign_device(uintptr_t base, size_t size)
{
    int device = device_of(&foreign, base, size);
    if (device != OD_FIRST_DEVICE)
        return device;
    return od_remote_is_on() ? od_runtime_virtual_number() : od_runtime_device_number(0);
}

void od_device_memory_locks(void (*visit)(od_lock *lock))
{
    visit(&allocated.lock);
    visit(&foreign.lock);
}
