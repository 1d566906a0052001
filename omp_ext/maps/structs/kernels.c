/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Structs for the time of a kernel: references, attached pointers, what device copies must hold. See structs.h. */
#define _POSIX_C_SOURCE 200809L
#include "omp_ext/process/fatal.h"
#include "omp_ext/process/memory.h"
#include "omp_ext/maps/structs/internal.h"

#include "omp_ext/libomp/real.h"
#include "omp_ext/maps/structs/relocate.h"
#include "omp_ext/libomp/thread.h"
#include "util/memory.h"
#include "util/thread.h"

#include <stdlib.h>
#include <string.h>

bool od_region_would_close(const od_region *region, int64_t type)
{
    bool hold = type & OD_MAP_HOLD;
    uint32_t count = hold ? region->holds : region->references, other = hold ? region->references : region->holds;
    return od_presence_give_back(&count, other, type & OD_MAP_DELETE);
}

/* --- attaching ------------------------------------------------------------------ */

bool od_region_attach(od_region *region, const od_attachment *is)
{
    bool first = !region->attachments;
    if (first)
        region->attachments = od_attachments_create();
    od_expect_memory(region->attachments && !od_attachments_set(region->attachments, is));
    od_structs_note_attached();
    return first;
}

void od_structs_attach(const od_structs *s, void (*attached)(void *arg, uintptr_t base, size_t size, bool first),
                       void *arg)
{
    for (uint32_t i = 0; s && i < s->nslots; i++) {
        const od_slot *slot = &s->slots[i];
        od_engine *engine = od_runtime_lock();
        od_region *region =
            od_directory_find_region(od_engine_directory(engine), slot->is.slot, sizeof slot->is.pointer);
        bool first = region && od_region_attach(region, &slot->is);
        uintptr_t base = region ? region->base : 0;
        size_t size = region ? region->size : 0;
        od_runtime_unlock();
        if (region)
            attached(arg, base, size, first);
    }
}

/* --- references ----------------------------------------------------------------- */

static od_section section_of(const od_holder *h)
{
    return (od_section){.begin = h->base, .size = h->size, .origin = h->origin, .hold = h->types & OD_MAP_HOLD};
}

/* OD_EFULL: data must be written back first. Locked. */
static od_status open(od_engine *engine, const od_holder *h)
{
    od_section section = section_of(h);
    od_status status = od_engine_region_open(engine, &section, !(h->types & OD_MAP_TO));
    if (!status)
        od_directory_find_region(od_engine_directory(engine), h->base, h->size)->launches++;
    return status;
}

static void attach_named(const od_structs *s, od_region *region)
{
    uint32_t i = od_structs_slots_from(s, region->base);
    for (; i < s->nslots && s->slots[i].is.slot - region->base < region->size; i++)
        if (s->slots[i].named)
            od_region_attach(region, &s->slots[i].is);
}

static bool enter(const od_structs *s, const od_holder *h)
{
    od_engine *engine = od_runtime_lock();
    od_status status = open(engine, h);
    if (!status)
        attach_named(s, od_directory_find_region(od_engine_directory(engine), h->base, h->size));
    od_runtime_unlock();
    od_expect_memory(status != OD_ENOMEM);
    if (status && status != OD_EFULL)
        od_fatal("a struct that a kernel maps extends data that are already mapped");
    return !status;
}

static od_request *request_part(const od_part *part, od_request_kind kind)
{
    od_request *request = NULL;
    od_engine *engine = od_runtime_lock();
    od_status status = od_engine_range_request(engine, part->begin, part->size, kind, &request);
    od_runtime_unlock();
    od_expect_memory(!status);
    if (request)
        request->inside = od_self.mode == OD_ON_DEVICE;
    return request;
}

void od_structs_enter(od_structs *s)
{
    const int64_t always = OD_MAP_ALWAYS | OD_MAP_TO;
    if (s)
        s->entered = true;
    for (uint32_t i = 0; s && i < s->holders.count; i++) {
        const od_holder *h = &s->holders.all[i];
        while (!enter(s, h)) {
            od_runtime_host_range(h->base, h->size, OD_REQUEST_SETTLE);
            od_thread_nap(100 * 1000);
        }
    }
    for (uint32_t i = 0; s && i < s->nparts; i++)
        if ((s->parts[i].type & always) == always)
            od_runtime_request(request_part(&s->parts[i], OD_REQUEST_PUSH));
}

/* --- giving them back ------------------------------------------------------------- */

/* Requests that are to be carried out as one. */
typedef struct bundle {
    od_request **all; /* malloc'ed; NULL ones among them */
    uint32_t count, nitems;
} bundle;

static void put(bundle *b, od_status status, od_request *request)
{
    od_expect_memory(!status);
    b->nitems += request ? request->nitems : 0;
    b->all[b->count++] = request;
}

static od_request *tie(bundle *b)
{
    od_request *one = b->nitems ? od_request_create(b->nitems) : NULL;
    od_expect_memory(!b->nitems || one);
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        for (uint32_t j = 0; b->all[i] && j < b->all[i]->nitems; j++)
            one->items[n++] = b->all[i]->items[j];
        od_request_destroy(b->all[i]);
    }
    free(b->all);
    if (one)
        one->inside = od_self.mode == OD_ON_DEVICE;
    return one;
}

static void leave(od_engine *engine, const od_structs *s, const od_holder *h, bundle *b)
{
    od_status status;
    od_request *request;
    od_region *region = od_directory_find_region(od_engine_directory(engine), h->base, h->size);
    bool last = region && od_region_would_close(region, h->types & OD_MAP_HOLD);
    uint32_t i = region ? od_structs_parts_from(s, h->base) : s->nparts;
    for (; i < s->nparts && s->parts[i].begin - h->base < h->size; i++) {
        const od_part *part = &s->parts[i];
        if (!(part->type & OD_MAP_FROM) || !(last || (part->type & OD_MAP_ALWAYS)))
            continue;
        status = od_engine_range_request(engine, part->begin, part->size, OD_REQUEST_PULL, &request);
        put(b, status, request);
    }
    if (!region) /* `delete` has closed it */
        return;
    od_section section = section_of(h);
    region->launches -= region->launches > 0;
    status = od_engine_region_close(engine, &section, false, false, &request);
    put(b, status, request);
}

od_request *od_structs_leave(od_engine *engine, od_structs *s)
{
    if (!s || !s->entered)
        return NULL;
    s->entered = false;
    bundle b = {.all = od_malloc(((size_t)s->nparts + s->holders.count + 1) * sizeof *b.all)};
    od_expect_memory(b.all);
    for (uint32_t i = s->holders.count; i-- > 0;)
        leave(engine, s, &s->holders.all[i], &b);
    return tie(&b);
}

/* --- what device copies must hold ----------------------------------------------------- */

static od_relocations *relocations_of(const od_structs *s, uint32_t first, uint32_t end, const od_datum *holder,
                                      const int32_t *access_of, const od_access *access)
{
    od_relocations *r = od_relocations_create(end - first);
    od_expect_memory(r);
    for (uint32_t i = first; i < end; i++) {
        const od_slot *slot = &s->slots[i];
        if (access_of[slot->arg] < 0) /* on no device: the host's address stays */
            continue;
        od_datum *pointee = access[access_of[slot->arg]].datum;
        r->at[r->count++] = (od_relocation){slot->is.slot - holder->base, pointee,
                                            (ptrdiff_t)(slot->is.pointer - pointee->base)};
    }
    return r;
}

void od_structs_relocate(od_structs *s, const int32_t *access_of, od_access *access)
{
    if (!s || !s->nslots)
        return;
    s->relocations = od_alloc_zeroed(s->holders.count, sizeof *s->relocations);
    for (uint32_t i = 0, first = 0, end; i < s->holders.count; i++, first = end) {
        const od_holder *h = &s->holders.all[i];
        while (first < s->nslots && s->slots[first].is.slot < h->base)
            first++;
        for (end = first; end < s->nslots && s->slots[end].is.slot - h->base < h->size;)
            end++;
        if (end == first || access_of[h->arg] < 0)
            continue;
        od_access *a = &access[access_of[h->arg]];
        a->relocations = s->relocations[i] = relocations_of(s, first, end, a->datum, access_of, access);
    }
}

static void fill_private(const od_private_slot *slot, const od_kernel_args *args, const od_datum *d, const void *there)
{
    uintptr_t address = d ? (uintptr_t)there + (slot->pointer - d->base) : slot->pointer;
    memcpy((char *)args->begins[slot->owner] + slot->offset, &address, sizeof address);
}

od_status od_structs_fill(const od_structs *s, const od_kernel_args *args, const int32_t *access_of,
                          const od_access *access, unsigned k)
{
    od_status status = OD_OK;
    for (uint32_t i = 0; i < s->nprivates; i++) {
        int32_t j = access_of[s->privates[i].arg];
        const od_datum *d = j >= 0 ? access[j].datum : NULL;
        fill_private(&s->privates[i], args, d, d ? od_runtime_address(d, k) : NULL);
    }
    for (uint32_t i = 0; s->relocations && !status && i < s->holders.count; i++)
        if (s->relocations[i])
            status = od_relocate(&access[access_of[s->holders.all[i].arg]], k);
    return status;
}

/* One word of copy[a] gets the address of what it leads to. */
static void relocate_copy(const od_access *access, void *const *copy, uint32_t a, const od_relocation *r, int device)
{
    uint32_t j = 0;
    while (access[j].datum != r->pointee) /* the task uses it */
        j++;
    uintptr_t address = (uintptr_t)copy[j] + (uintptr_t)r->delta;
    int host = REAL(omp_get_initial_device)();
    if (REAL(omp_target_memcpy)(copy[a], &address, sizeof address, r->offset, 0, device, host))
        od_fatal("a copy to a device has failed");
}

void od_structs_fill_copies(const od_structs *s, const od_kernel_args *args, const int32_t *access_of,
                            const od_access *access, void *const *copy, int device)
{
    for (uint32_t i = 0; s && i < s->nprivates; i++) {
        int32_t j = access_of[s->privates[i].arg];
        fill_private(&s->privates[i], args, j >= 0 ? access[j].datum : NULL, j >= 0 ? copy[j] : NULL);
    }
    for (uint32_t i = 0; s && s->relocations && i < s->holders.count; i++) {
        const od_relocations *r = s->relocations[i];
        for (uint32_t n = 0; r && n < r->count; n++)
            relocate_copy(access, copy, (uint32_t)access_of[s->holders.all[i].arg], &r->at[n], device);
    }
}
