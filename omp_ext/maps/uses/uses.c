/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* From map lists to data. See uses.h. */
#define _POSIX_C_SOURCE 200809L
#include "omp_ext/maps/uses/uses.h"

#include "memmgr/extent/spans.h"
#include "omp_ext/libomp/thread.h"
#include "omp_ext/maps/parts/parts.h"
#include "omp_ext/maps/uses/hunger.h"
#include "omp_ext/process/fatal.h"
#include "omp_ext/process/memory.h"
#include "omp_ext/runtime/runtime.h"
#include "util/container/index.h"
#include "util/memory.h"
#include "util/thread.h"

#include <stdlib.h>
#include <stdnoreturn.h>

/* --- the data of a construct ------------------------------------------------ */

/* map(alloc: x) of what is not present is scratch memory: libomptarget makes it for the launch. */
static bool is_scratch(const od_map_args *args, const od_reference *reference)
{
    return !(args->types[reference->entry] & (OD_MAP_TO | OD_MAP_FROM)) && reference->size && !reference->region;
}

static od_status grow(od_uses *uses)
{
    if (uses->count < uses->capacity)
        return OD_OK;
    uint32_t capacity = uses->capacity ? 2 * uses->capacity : 4;
    od_access *access = od_realloc(uses->access, capacity * sizeof *access);
    if (!access)
        return OD_ENOMEM;
    uses->access = access;
    uses->capacity = capacity;
    return OD_OK;
}

/* What helps to resolve a long list. */
typedef struct resolution {
    const od_parts_named *named; /* may be parts of a region; NULL: it may not */
    const od_hunger *hunger;     /* NULL: it gives way to nobody */
    bool gave_way;
    od_span found;  /* what was asked for last: where that is not to be had, it overlaps what is in use */
    bool in_pieces; /* and is a part whose pieces lie in it */
    bool is_long;
    unsigned tries;
    od_index index; /* of the uses */
    od_span *spans; /* of what overlaps; malloc'ed */
    size_t nspans;
    od_own_entries own; /* all NULL: no need */
} resolution;

static uint32_t find_use(const resolution *r, const od_uses *uses, const od_datum *datum)
{
    if (r->is_long)
        return od_index_find(&r->index, datum->id);
    for (uint32_t j = 0; j < uses->count; j++)
        if (uses->access[j].datum == datum)
            return j;
    return OD_NO_POSITION;
}

/* Adds a held datum; one that is there already keeps its first hold and the union of the modes. */
static od_status add_use(od_engine *engine, resolution *r, od_uses *uses, od_datum *datum, od_mode mode, int32_t *index)
{
    uint32_t found = find_use(r, uses, datum);
    if (found != OD_NO_POSITION) {
        uses->access[found].mode |= mode;
        od_engine_release(engine, datum);
        *index = (int32_t)found;
        return OD_OK;
    }
    if (grow(uses) || (r->is_long && od_index_add(&r->index, datum->id, uses->count))) {
        od_engine_release(engine, datum);
        return OD_ENOMEM;
    }
    *index = (int32_t)uses->count;
    uses->access[uses->count++] = (od_access){.datum = datum, .mode = mode};
    return OD_OK;
}

static bool concerns(const od_map_args *args, int32_t i)
{
    od_arg_class class = od_arg_classify(args, i);
    return class == OD_ARG_DATUM || (class == OD_ARG_UNUSED && (args->types[i] & OD_MAP_RETURN));
}

/* Items of one construct that overlap, directly or through others, are one datum. Locked. */
static void widen(od_engine *engine, const od_map_args *args, uintptr_t *base, size_t *size)
{
    bool grown = true;
    while (grown) {
        grown = false;
        for (int32_t j = 0; j < args->count; j++) {
            if (!concerns(args, j))
                continue;
            uintptr_t begin = od_entry_begin(args, j), end = begin + (uintptr_t)args->sizes[j], last = *base + *size;
            if (begin == end || (args->types[j] & (OD_MAP_IMPLICIT | OD_MAP_WHOLE))) {
                od_reference other = od_refer_to_regions(engine, args, j);
                begin = other.base;
                end = begin + other.size;
            }
            if (begin == end || begin >= last || end <= *base || (begin >= *base && end <= last))
                continue;
            *base = begin < *base ? begin : *base;
            *size = (end > last ? end : last) - *base;
            grown = true;
        }
    }
}

/* The spans of a long list's ranges, from which `widen` could be answered for each of them. Locked. */
static od_status find_spans(od_engine *engine, const od_map_args *args, resolution *r)
{
    r->spans = od_malloc((size_t)args->count * sizeof *r->spans);
    if (!r->spans)
        return OD_ENOMEM;
    for (int32_t i = 0; i < args->count; i++) {
        od_reference other = concerns(args, i) ? od_refer_to_regions(engine, args, i) : (od_reference){0};
        if (other.size)
            r->spans[r->nspans++] = (od_span){other.base, other.base + other.size};
    }
    r->nspans = od_spans_make(r->spans, r->nspans);
    return OD_OK;
}

/* Pointers that lead to nothing that the list maps are many in a long list, or few. */
static bool has_many_addresses(const od_map_args *args)
{
    int32_t n = 0;
    for (int32_t i = 0; i < args->count && n < OD_LONG_LIST; i++)
        n += args->sizes[i] == 0 && args->begins[i] && concerns(args, i);
    return n == OD_LONG_LIST;
}

static od_status begin_resolution(const od_map_args *args, resolution *r)
{
    r->is_long = args->count > OD_LONG_LIST;
    if (!r->is_long)
        return OD_OK;
    od_engine *engine = od_runtime_lock();
    od_status status = find_spans(engine, args, r);
    if (!status && has_many_addresses(args))
        status = od_own_entries_find(engine, args, &r->own);
    od_runtime_unlock();
    return status;
}

static void end_resolution(resolution *r)
{
    free(r->spans);
    od_own_entries_free(&r->own);
    od_index_free(&r->index);
}

static void widen_in(od_engine *engine, const od_map_args *args, const resolution *r, uintptr_t *base, size_t *size)
{
    od_span range = {*base, *base + *size};
    if (!r->is_long) {
        widen(engine, args, base, size);
        return;
    }
    od_spans_widen(r->spans, r->nspans, &range);
    *base = range.begin;
    *size = range.end - range.begin;
}

typedef struct depend_items {
    const od_depend *all;
    int32_t count;
} depend_items;

static od_status hold(od_engine *engine, resolution *r, uintptr_t base, size_t size, od_datum **datum)
{
    r->found = (od_span){base, base + size};
    return od_engine_datum(engine, base, size, datum);
}

static od_status hold_part(od_engine *engine, resolution *r, od_part *part, od_datum **datum)
{
    od_pieces *pieces = part->pieces;
    r->in_pieces = pieces;
    if (!pieces)
        return hold(engine, r, part->base, part->size, datum);
    od_piece last = pieces->at[pieces->count - 1];
    r->found = (od_span){part->base, last.begin + last.size};
    part->pieces = NULL; /* the datum's, or freed */
    return od_engine_part(engine, pieces, datum);
}

/* The argument stands for several data, in the array's windows: the index of any of them is its own. */
static od_status add_parts(od_engine *engine, resolution *r, od_uses *uses, const od_parts *parts, int32_t *index)
{
    od_status status = OD_OK;
    for (uint32_t j = 0; j < parts->count && !status; j++) {
        od_datum *datum;
        status = hold_part(engine, r, &parts->at[j], &datum);
        if (!status)
            status = add_use(engine, r, uses, datum, parts->at[j].mode | OD_READ, index);
    }
    return status;
}

/* What has to be settled before it can be in parts. */
static od_span span_of(const od_reference *r)
{
    const od_region *region = r->region;
    return region ? (od_span){region->base, region->base + region->size} : (od_span){r->base, r->base + r->size};
}

enum { JOIN_TRIES = 200 }; /* a tenth of a millisecond and more each, for tasks with parts of a region */

static od_status resolve_arg(od_engine *engine, const od_map_args *args, int32_t i, depend_items depends, resolution *r,
                             od_uses *uses, int32_t *index)
{
    od_reference reference = od_refer_among(engine, args, r->own.all ? &r->own : NULL, i);
    uintptr_t base = reference.base;
    size_t size = reference.size, own = size;
    od_datum *datum;
    *index = -1;
    bool scratch = is_scratch(args, &reference);
    uses->has_scratch |= scratch;
    if (!size || scratch)
        return OD_OK;
    od_parts parts = {0};
    od_status status = OD_OK;
    r->found = span_of(&reference);
    r->gave_way = r->hunger && od_hunger_gives_way(r->hunger, (od_span){base, base + size});
    if (r->gave_way)
        return OD_EFULL;
    if (r->named) {
        od_parts_named named = *r->named;
        named.argument = i;
        named.at_once = r->tries >= JOIN_TRIES;
        status = od_parts_find(engine, args, &reference, &named, &parts);
    } else {
        status = od_parts_join(engine, reference.region, r->tries >= JOIN_TRIES);
    }
    if (!status && parts.count)
        status = add_parts(engine, r, uses, &parts, index);
    uint32_t nparts = parts.count;
    od_parts_free(&parts);
    r->in_pieces &= status != OD_OK;
    if (status || nparts)
        return status;
    widen_in(engine, args, r, &base, &size);
    od_mode mode = od_reference_mode(engine, args, &reference, depends.all, depends.count);
    status = hold(engine, r, base, size, &datum);
    if (status)
        return status;
    if (datum->size > own) /* a part is written: the rest must be there */
        mode |= OD_READ;
    return add_use(engine, r, uses, datum, mode, index);
}

enum { MANY_TRIES = 10 }; /* at places for parts, before all is used in one piece */
/* A tenth of a millisecond each, for data that the program is shown: another thread may be about to let them go, or
 * work with them for long. One that is shown something itself may be what that one waits for. */
enum { HELD_TRIES = 100 }; /* likewise, for tasks that the guard holds back */
enum { SHOWN_TRIES_FEW = 20, SHOWN_TRIES_OWN = 10000, SHOWN_TRIES = 600000 };

/* False: the program has been shown data there for that long. */
static bool wait_for_overlap(uintptr_t base, size_t size, unsigned tries, unsigned shown_tries)
{
    od_engine *engine = od_runtime_lock();
    bool bound = od_engine_range_is_bound(engine, base, size);
    if (tries >= HELD_TRIES && od_engine_holds_all(engine)) /* these have the range, and the thread creates no others */
        od_engine_let_go(engine);
    od_runtime_unlock();
    if (bound && tries > shown_tries)
        return false;
    od_runtime_revoke_all();
    od_runtime_host_range(base, size, OD_REQUEST_SETTLE);
    od_thread_nap(100 * 1000); /* tasks that are ready but have not run hold it still */
    return true;
}

static unsigned patience(void)
{
    return od_self.holds ? SHOWN_TRIES_OWN : SHOWN_TRIES;
}

static noreturn void end_if_shown(void)
{
    od_fatal("a mapped range overlaps another one whose device address the program holds (use_device_ptr)");
}

void od_args_wait_for_overlap(const od_map_args *args, int32_t i, unsigned tries)
{
    uintptr_t base;
    size_t size;
    od_engine *engine = od_runtime_lock();
    if (od_arg_range(engine, args, i, &base, &size))
        widen(engine, args, &base, &size);
    od_runtime_unlock();
    if (!wait_for_overlap(base, size, tries, patience()))
        end_if_shown();
}

/* OD_EFULL: r->found is in use in another way. */
static od_status resolve_all(const od_map_args *args, depend_items depends, resolution *r, od_uses *uses,
                             int32_t *access_of)
{
    od_status status = begin_resolution(args, r);
    od_engine *engine = NULL; /* locked; in long lists for one entry at a time */
    for (int32_t i = 0; i < args->count && !status; i++) {
        int32_t index = -1;
        if (concerns(args, i)) {
            engine = engine ? engine : od_runtime_lock();
            status = resolve_arg(engine, args, i, depends, r, uses, &index);
        }
        if (access_of)
            access_of[i] = index;
        if (engine && r->is_long) {
            od_runtime_unlock();
            engine = NULL;
        }
    }
    if (engine)
        od_runtime_unlock();
    end_resolution(r);
    return status;
}

/* What the construct itself uses: parts that overlap, or one and the array around it. */
static bool is_own(const od_uses *uses, od_span range)
{
    for (uint32_t i = 0; i < uses->count; i++) {
        const od_datum *d = uses->access[i].datum;
        if (od_shape_overlap(od_datum_shape(d), range.begin, range.end).bytes)
            return true;
    }
    return false;
}

/* What an attempt before has noted of its names. */
static void forget_names(od_launch *launch)
{
    od_runtime_free_names(launch->names);
    launch->names = NULL;
}

/* `launch`: whose arguments they are, or NULL. OD_EBUSY: `shown_tries` have not been enough. */
static od_status resolve(const od_map_args *args, depend_items depends, const od_parts_named *named,
                         unsigned shown_tries, od_uses *uses, int32_t *access_of)
{
    od_launch *launch = named ? named->launch : NULL;
    bool holds = od_self.holds || od_self.mode == OD_ON_DEVICE; /* what others may wait for */
    od_hunger hunger = {0};
    od_status status = OD_OK;
    for (unsigned tries = 0;; tries++) {
        resolution r = {.named = named, .hunger = holds ? NULL : &hunger, .tries = tries};
        if (launch)
            forget_names(launch);
        status = resolve_all(args, depends, &r, uses, access_of);
        if (!status)
            break;
        if (r.in_pieces ? tries >= MANY_TRIES : is_own(uses, r.found))
            named = NULL; /* all in one piece */
        od_uses_release(uses);
        if (status != OD_EFULL)
            break;
        od_hunger_note(&hunger, r.found);
        status = OD_EBUSY;
        if (r.gave_way)
            od_thread_nap(100 * 1000);
        else if (!wait_for_overlap(r.found.begin, r.found.end - r.found.begin, tries, shown_tries))
            break;
    }
    od_hunger_end(&hunger);
    return status;
}

od_status od_args_resolve(const od_map_args *args, const od_depend *depends, int32_t ndepends, od_uses *uses,
                          int32_t *access_of)
{
    od_status status = resolve(args, (depend_items){depends, ndepends}, NULL, patience(), uses, access_of);
    if (status == OD_EBUSY)
        end_if_shown();
    return status;
}

od_status od_range_resolve(uintptr_t base, size_t size, od_mode mode, od_uses *uses)
{
    void *address = (void *)base;
    int64_t bytes = (int64_t)size, type = OD_MAP_PARAM | OD_MAP_TO | OD_MAP_FROM;
    const od_map_args args = {1, &address, &address, &bytes, &type, NULL, NULL, type};
    od_status status = resolve(&args, (depend_items){0}, NULL, SHOWN_TRIES_FEW, uses, NULL);
    if (!status)
        uses->access[0].mode = mode;
    return status;
}

/* Parts that no device has memory for. In one piece they are used all the same (od_launch_outside()). */
static bool are_too_many(const od_uses *uses)
{
    size_t bytes = 0;
    bool parts = false;
    for (uint32_t i = 0; i < uses->count; i++) {
        parts |= uses->access[i].datum->window != NULL;
        bytes += od_datum_occupies(uses->access[i].datum);
    }
    return parts && bytes + od_window_page() > od_runtime_backend()->pool_bytes[0]; /* the pool rounds */
}

/* Kernels without structs can run beside what is shown (od_launch_beside()). */
static od_status resolve_launch(const od_launch *launch, depend_items depends, const od_parts_named *named,
                                od_uses *uses)
{
    const od_kernel_call *call = &launch->call;
    unsigned shown_tries = call->structs ? patience() : SHOWN_TRIES_FEW;
    od_status status = resolve(&call->map, depends, named, shown_tries, uses, launch->access_of);
    if (status == OD_EBUSY && call->structs)
        end_if_shown();
    return status;
}

od_status od_launch_resolve(od_launch *launch, const od_depend *depends, int32_t ndepends, const void *user,
                            od_uses *uses)
{
    depend_items items = {depends, ndepends};
    od_parts_named named = {depends, ndepends, launch, user, .all = true};
    od_status status = resolve_launch(launch, items, launch->call.structs ? NULL : &named, uses);
    if (!status && are_too_many(uses)) {
        od_uses_release(uses);
        named.all = false;
        status = resolve_launch(launch, items, &named, uses);
    }
    if (status || !are_too_many(uses) || od_parts_go_by_pages())
        return status;
    od_uses_release(uses);
    return resolve_launch(launch, items, NULL, uses);
}

od_status od_launch_resolve_whole(od_launch *launch, od_uses *uses)
{
    forget_names(launch);
    return resolve_launch(launch, (depend_items){0}, NULL, uses);
}

od_status od_launch_resolve_slice(od_launch *launch, const od_parts_slice *slice, od_uses *uses)
{
    od_parts_named named = {.launch = launch, .slice = slice};
    resolution r = {.named = &named};
    od_status status = resolve_all(&launch->call.map, (depend_items){0}, &r, uses, launch->access_of);
    if (status)
        od_uses_release(uses);
    return status == OD_EFULL ? OD_EBUSY : status;
}

void od_uses_release(od_uses *uses)
{
    if (uses->count) {
        od_engine *engine = od_runtime_lock();
        for (uint32_t j = 0; j < uses->count; j++)
            od_engine_release(engine, uses->access[j].datum);
        od_runtime_unlock();
    }
    free(uses->access);
    *uses = (od_uses){0};
}

/* --- coherence ---------------------------------------------------------- */

static bool lies_in(uintptr_t address, const od_datum *datum)
{
    return od_datum_contains(datum, address);
}

static bool names(const od_depend *depends, int32_t ndepends, const od_datum *datum)
{
    for (int32_t j = 0; j < ndepends; j++)
        if (lies_in(depends[j].base, datum))
            return true;
    return false;
}

/* A depend item that is none of the task's data: a token, which may order a host access that we cannot see. */
static bool has_token(const od_uses *uses, const od_depend *depends, int32_t ndepends)
{
    for (int32_t j = 0; j < ndepends; j++) {
        bool found = false;
        for (uint32_t i = 0; i < uses->count && !found; i++)
            found = lies_in(depends[j].base, uses->access[i].datum);
        if (!found)
            return true;
    }
    return false;
}

/* map(to: x) beside depend(out: x): the task writes to the device's copy, invisibly outside of regions. */
static bool is_scribbled_on(const od_access *access, const od_depend *depends, int32_t ndepends)
{
    if (access->datum->region || access->mode != OD_READ)
        return false;
    for (int32_t j = 0; j < ndepends; j++) {
        bool named = lies_in(depends[j].base, access->datum) || (depends[j].flags & OD_DEPEND_ALL_MEMORY);
        if (depends[j].flags != OD_DEPEND_IN && named)
            return true;
    }
    return false;
}

void od_uses_save(const od_uses *uses, const od_depend *depends, int32_t ndepends)
{
    for (uint32_t i = 0; i < uses->count; i++) {
        const od_datum *d = uses->access[i].datum;
        if (!is_scribbled_on(&uses->access[i], depends, ndepends))
            continue;
        od_runtime_unlock();
        od_runtime_host_range(d->base, d->size, OD_REQUEST_READ);
        od_runtime_lock();
    }
}

void od_uses_trust(od_uses *uses, const od_depend *depends, int32_t ndepends, bool synchronous)
{
    od_coherence coherence = od_runtime_options()->coherence;
    bool token = has_token(uses, depends, ndepends);
    for (uint32_t i = 0; i < uses->count; i++) {
        od_datum *d = uses->access[i].datum;
        if (!d->region && (synchronous || token || !names(depends, ndepends, d)))
            d->untrusted = true;
        bool trusted =
            coherence == OD_COHERENCE_AUTO ? !d->untrusted : coherence == OD_COHERENCE_DEPEND && !synchronous;
        d->keep = d->region || (trusted && !is_scribbled_on(&uses->access[i], depends, ndepends));
    }
}

/* --- constructs that pass through --------------------------------------------- */

void od_args_write_back(const od_map_args *args)
{
    bool pointers = false; /* that lead to what cannot be known */
    for (int32_t i = 0; i < args->count; i++) {
        if (!od_entry_maps(args, i))
            continue;
        pointers |= args->sizes[i] == 0;
        od_runtime_host_range(od_entry_begin(args, i), (size_t)args->sizes[i], OD_REQUEST_OUTSIDE);
    }
    if (pointers)
        od_runtime_synchronise();
}

void od_args_write_back_foreign(const od_map_args *args)
{
    for (int32_t i = 0; i < args->count; i++)
        if ((args->types[i] & OD_MAP_FOREIGN) && args->sizes[i] > 0)
            od_runtime_host_range(od_entry_begin(args, i), (size_t)args->sizes[i], OD_REQUEST_OUTSIDE);
}
