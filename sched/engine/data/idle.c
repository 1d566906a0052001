/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Unused data outside regions that are on no device: still known, because they are likely to be used
 * again, but only so many of them. When another one is made, the two that have been idle longest are looked at; a
 * datum that has been used meanwhile, or that submitted tasks name, gets a second chance.
 *
 * Parts of an array whose region has closed have a list of their own, and fewer stay: each may be the last one that
 * keeps its window, which is some of the mappings that the system allows a process.
 *
 * Of a datum that is forgotten one thing must outlive it: that its depend clauses were incomplete
 * (od_datum.untrusted). A bit set of fixed size remembers it by address, and may take others for it: these are then
 * copied in and out with each task, which is slower and never wrong.
 */
#include "memmgr/data/spill.h"
#include "sched/engine/internal.h"
#include "util/memory.h"

#include <stdlib.h>

enum { MOST_IDLE = 16384, MOST_IDLE_PARTS = 64, LOOKED_AT = 2, HASHES = 3 };
enum { DOUBT_BITS = 1 << 22 }; /* half a MiB, taken when the first one is to be remembered */

/* --- what is not trusted -------------------------------------------------- */

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static uint32_t bit_of(uintptr_t base, unsigned i)
{
    return (uint32_t)mix(base + (i + 1) * UINT64_C(0x9e3779b97f4a7c15)) & (DOUBT_BITS - 1);
}

static void remember_doubt(od_engine *e, uintptr_t base)
{
    if (!e->doubted)
        e->doubted = od_calloc(DOUBT_BITS / 64, sizeof *e->doubted);
    e->doubts_all |= !e->doubted;
    for (unsigned i = 0; e->doubted && i < HASHES; i++) {
        uint32_t bit = bit_of(base, i);
        e->doubted[bit / 64] |= UINT64_C(1) << bit % 64;
    }
}

bool od_idle_doubts(const od_engine *e, uintptr_t base)
{
    bool all = e->doubted != NULL;
    for (unsigned i = 0; all && i < HASHES; i++) {
        uint32_t bit = bit_of(base, i);
        all = e->doubted[bit / 64] >> bit % 64 & 1;
    }
    return all || e->doubts_all;
}

/* --- what is idle --------------------------------------------------------- */

static od_list *list_of(od_engine *e, const od_datum *d)
{
    return d->window ? &e->idle_parts : &e->idle;
}

static void note(od_engine *e, od_datum *d)
{
    if (!d->region && !d->nreplicas && !d->touched && !od_list_contains(&d->idle))
        od_list_push_back(list_of(e, d), &d->idle);
}

void od_idle_settle(od_engine *e, od_datum *d)
{
    if (!od_datum_is_idle(d))
        return;
    if (!d->keep && od_datum_is_home(d)) {
        if (d->nreplicas)
            od_memory_drop_all(e, d, OD_NOWHERE);
        od_memory_release_host(e, d);
    }
    note(e, d);
}

/* The spill area remembers its contents. What has been remembered of it when memory ends is there all the same. */
static od_status keep_spilled(od_datum *d)
{
    od_shape shape = od_datum_shape(d);
    od_status status = OD_OK;
    for (uint32_t i = 0, n = od_shape_count(shape); i < n && !status; i++) {
        od_piece piece = od_shape_piece(shape, i);
        status = od_spill_keep(d->region->spill, piece.begin, piece.size);
    }
    return status;
}

od_status od_idle_forget(od_engine *e, od_datum *d)
{
    if (od_placeset_has(d->valid, OD_SPILL) && keep_spilled(d))
        return OD_ENOMEM;
    if (d->region && od_placeset_has(d->valid, OD_HOST))
        d->region->undefined = false;
    od_recipe_changed(e, d);
    od_memory_drop_all(e, d, OD_NOWHERE);
    od_memory_release_host(e, d);
    od_hook_forget(e, d);
    od_home_forget(e, d);
    if (od_list_contains(&d->idle))
        od_list_remove(list_of(e, d), &d->idle);
    od_directory_remove(e->directory, d);
    return OD_OK;
}

static bool deserves_a_chance(od_datum *d)
{
    bool deserves = d->used || d->forecast;
    d->used = false;
    return deserves;
}

static void look_at_oldest(od_engine *e, od_list *idle, size_t most)
{
    for (unsigned i = 0; i < LOOKED_AT && idle->count >= most; i++) {
        od_datum *d = od_container_of(od_list_pop_front(idle), od_datum, idle);
        if (d->region || d->nreplicas || !od_datum_can_be_forgotten(d)) /* listed again when it is idle */
            continue;
        if (deserves_a_chance(d)) {
            od_list_push_back(idle, &d->idle);
            continue;
        }
        if (d->untrusted)
            remember_doubt(e, d->base);
        od_idle_forget(e, d);
    }
}

void od_idle_make_place(od_engine *e)
{
    look_at_oldest(e, &e->idle, MOST_IDLE);
    look_at_oldest(e, &e->idle_parts, MOST_IDLE_PARTS);
}
