/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Two sorted arrays of protected data: what is protected now, and what should be. An update visits the directory in
 * address order to make the second, walks both to open what changes, then protects what is new, and swaps them. See
 * guard.h.
 */
#define _GNU_SOURCE
#include "memmgr/data/guard.h"

#include "util/container/array.h"
#include "util/lock.h"
#include "util/memory.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    /* A protected range divides a mapping into up to three, of which a process has 65530 by default
     * (vm.max_map_count). */
    MAX_GUARDED = 16384,
    MAX_EXEMPT = 64,
};

typedef struct table {
    od_guarded *tile; /* ordered by address */
    size_t count;
    uint32_t capacity;
} table;

struct od_guard {
    od_lock lock;         /* protects `current` and `exempt` */
    table current;        /* protected */
    table wanted;         /* od_guard_update()'s */
    uintptr_t exempt[MAX_EXEMPT];
    size_t nexempt;
    uintptr_t page;   /* bytes */
    od_status status; /* of the update under way */
};

od_guard *od_guard_create(void)
{
    od_guard *guard = od_calloc(1, sizeof *guard);
    if (!guard)
        return NULL;
    if (od_lock_init(&guard->lock, OD_LOCK_GUARD)) {
        free(guard);
        return NULL;
    }
    guard->page = (uintptr_t)sysconf(_SC_PAGESIZE);
    return guard;
}

void od_guard_destroy(od_guard *guard)
{
    if (!guard)
        return;
    od_guard_lift_all(guard);
    od_lock_destroy(&guard->lock);
    free(guard->current.tile);
    free(guard->wanted.tile);
    free(guard);
}

/* --- what should be protected --------------------------------------------- */

static od_guard_access access_for(const od_datum *d)
{
    bool elsewhere = !od_placeset_is_empty(od_placeset_without(od_placeset_without(d->valid, OD_HOST), OD_SPILL));
    bool host_uses_it = d->stores || d->items || d->host_users || d->discarding || d->spill;
    if (d->region || !d->keep || !elsewhere || host_uses_it)
        return OD_GUARD_OPEN;
    return od_placeset_has(d->valid, OD_HOST) ? OD_GUARD_READABLE : OD_GUARD_CLOSED;
}

static bool append(table *t, const od_guarded *tile)
{
    if (!od_array_reserve(&t->tile, &t->capacity, t->count + 1, sizeof *t->tile))
        return false;
    t->tile[t->count++] = *tile;
    return true;
}

static bool want(od_datum *d, void *arg)
{
    od_guard *guard = arg;
    od_guarded tile = {.begin = (d->base + guard->page - 1) & ~(guard->page - 1),
                       .end = (d->base + d->size) & ~(guard->page - 1),
                       .base = d->base,
                       .size = d->size,
                       .user = d->user,
                       .access = access_for(d)};
    if (tile.access == OD_GUARD_OPEN || tile.begin >= tile.end)
        return true;
    bool fits = guard->wanted.count < MAX_GUARDED && append(&guard->wanted, &tile);
    if (!fits)
        guard->status = OD_ENOMEM;
    return fits;
}

/* --- protection -------------------------------------------------------------- */

/* Fails where the program has unmapped the memory meanwhile: then nothing is protected there. */
static void open_tile(od_guarded *tile)
{
    if (tile->access != OD_GUARD_OPEN)
        mprotect((void *)tile->begin, tile->end - tile->begin, PROT_READ | PROT_WRITE);
    tile->access = OD_GUARD_OPEN;
}

static void close_tile(od_guard *guard, od_guarded *tile)
{
    int protection = tile->access == OD_GUARD_READABLE ? PROT_READ : PROT_NONE;
    if (mprotect((void *)tile->begin, tile->end - tile->begin, protection) == 0)
        return;
    open_tile(tile); /* a part of it may have been closed */
    guard->status = OD_ENOMEM;
}

static bool is_same(const od_guarded *a, const od_guarded *b)
{
    return a->begin == b->begin && a->end == b->end && a->access == b->access;
}

/* Opens what is not wanted any more, or not in the same way. */
static void open_unwanted(od_guard *guard)
{
    size_t j = 0;
    for (size_t i = 0; i < guard->current.count; i++) {
        od_guarded *tile = &guard->current.tile[i];
        while (j < guard->wanted.count && guard->wanted.tile[j].begin < tile->begin)
            j++;
        if (j == guard->wanted.count || !is_same(tile, &guard->wanted.tile[j]))
            open_tile(tile);
    }
}

static bool is_exempt(const od_guard *guard, uintptr_t base)
{
    for (size_t i = 0; i < guard->nexempt; i++)
        if (guard->exempt[i] == base)
            return true;
    return false;
}

static void close_wanted(od_guard *guard)
{
    size_t i = 0;
    for (size_t j = 0; j < guard->wanted.count; j++) {
        od_guarded *tile = &guard->wanted.tile[j];
        while (i < guard->current.count && guard->current.tile[i].begin < tile->begin)
            i++;
        if (is_exempt(guard, tile->base))
            tile->access = OD_GUARD_OPEN;
        else if (i == guard->current.count || !is_same(&guard->current.tile[i], tile))
            close_tile(guard, tile);
    }
}

od_status od_guard_update(od_guard *guard, const od_directory *directory)
{
    guard->status = OD_OK;
    guard->wanted.count = 0;
    od_directory_visit(directory, 0, UINTPTR_MAX, want, guard);
    od_lock_take(&guard->lock);
    open_unwanted(guard);
    close_wanted(guard);
    table closed = guard->wanted;
    guard->wanted = guard->current;
    guard->current = closed;
    od_lock_give(&guard->lock);
    return guard->status;
}

/* The first tile that ends behind the address. The caller holds the lock. */
static size_t locate(const od_guard *guard, uintptr_t address)
{
    size_t low = 0, high = guard->current.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (guard->current.tile[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void od_guard_lift(od_guard *guard, uintptr_t base, size_t size)
{
    od_lock_take(&guard->lock);
    for (size_t i = locate(guard, base); i < guard->current.count && guard->current.tile[i].begin < base + size; i++)
        open_tile(&guard->current.tile[i]);
    od_lock_give(&guard->lock);
}

void od_guard_lift_all(od_guard *guard)
{
    for (size_t i = 0; i < guard->current.count; i++)
        open_tile(&guard->current.tile[i]);
}

bool od_guard_find(od_guard *guard, uintptr_t address, od_guarded *found)
{
    od_lock_take(&guard->lock);
    size_t i = locate(guard, address);
    bool hit = i < guard->current.count && guard->current.tile[i].begin <= address &&
               guard->current.tile[i].access != OD_GUARD_OPEN;
    if (hit)
        *found = guard->current.tile[i];
    od_lock_give(&guard->lock);
    return hit;
}

bool od_guard_exempt(od_guard *guard, uintptr_t base)
{
    od_lock_take(&guard->lock);
    bool fits = guard->nexempt < MAX_EXEMPT;
    if (fits)
        guard->exempt[guard->nexempt++] = base;
    for (size_t i = 0; fits && i < guard->current.count; i++)
        if (guard->current.tile[i].base == base)
            open_tile(&guard->current.tile[i]);
    od_lock_give(&guard->lock);
    return fits;
}

void od_guard_lock(od_guard *guard)
{
    od_lock_take(&guard->lock);
}

void od_guard_unlock(od_guard *guard)
{
    od_lock_give(&guard->lock);
}
