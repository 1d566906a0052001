/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* From map lists to data, and from data to literal device pointers. See launch.h. */
#define _POSIX_C_SOURCE 200809L
#include "omp_ext/tasks/launch.h"

#include "memmgr/data/attach.h"
#include "memmgr/data/mappings.h"
#include "memmgr/data/spans.h"
#include "memmgr/data/spill.h"
#include "omp_ext/hooks/device_memory.h"
#include "omp_ext/maps/expand.h"
#include "omp_ext/process/fatal.h"
#include "omp_ext/maps/foreign.h"
#include "omp_ext/hooks/lend.h"
#include "omp_ext/libomp/ompt.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/services/record.h"
#include "omp_ext/libomp/serial.h"
#include "omp_ext/maps/structs.h"
#include "util/container/index.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- arguments ---------------------------------------------------------- */

od_map_args od_kernel_map_args(const od_kernel_args *args)
{
    return (od_map_args){(int32_t)args->count, args->bases, args->begins, args->sizes,
                         args->types,          args->names, args->mappers};
}

od_arg_class od_arg_classify(const od_map_args *args, int32_t i)
{
    int64_t type = args->types[i];
    if (type & OD_MAP_FOREIGN) /* nothing is done with it */
        return OD_ARG_VALUE;
    if ((args->mappers && args->mappers[i]) || (type & (OD_MAP_PTR_AND_OBJ | OD_MAP_MEMBER_OF | OD_MAP_NON_CONTIG)))
        return OD_ARG_ODD;
    if (type & OD_MAP_LITERAL)
        return OD_ARG_VALUE;
    if (type & OD_MAP_PRIVATE)
        return OD_ARG_PRIVATE;
    return (type & OD_MAP_PARAM) ? OD_ARG_DATUM : OD_ARG_UNUSED;
}

static uintptr_t begin_of(const od_map_args *args, int32_t i)
{
    return (uintptr_t)args->begins[i];
}

static bool is_always(const od_map_args *args, int32_t i, int64_t direction)
{
    bool ours = !(args->types[i] & OD_MAP_FOREIGN);
    return ours && (args->types[i] & OD_MAP_ALWAYS) && (args->types[i] & direction) && args->sizes[i] > 0;
}

static bool is_in_an_argument(od_engine *engine, const od_map_args *args, uintptr_t address)
{
    uintptr_t base;
    size_t size;
    for (int32_t i = 0; i < args->count; i++)
        if (od_arg_range(engine, args, i, &base, &size) && address >= base && address < base + size)
            return true;
    return false;
}

/* depend(in: x) next to map(tofrom: x), which begins at `begin`: x is only read where the task names something else that it
 * maps as written. A task that names nothing as written writes without saying where: perhaps a part of x that no other
 * task uses. One that names what it does not map: that stands for data that cannot be known. Nor is map(from: x) only read: nothing is there
 * to be read. */
static bool is_only_read(od_engine *engine, const od_map_args *args, int32_t i, const od_depend *depends,
                         int32_t ndepends)
{
    uintptr_t begin = begin_of(args, i), base = begin;
    size_t size = 0;
    bool named = false, says_written = false;
    bool undefined = (args->types[i] & OD_MAP_FROM) && !(args->types[i] & OD_MAP_TO);
    for (int32_t j = 0; j < ndepends; j++)
        named |= depends[j].base == begin;
    if (!named || undefined)
        return false;
    od_arg_range(engine, args, i, &base, &size);
    for (int32_t j = 0; j < ndepends; j++) {
        bool inside = depends[j].base >= base && depends[j].base < base + size;
        if (depends[j].flags == OD_DEPEND_IN)
            continue;
        if (inside || (depends[j].flags & OD_DEPEND_ALL_MEMORY) || !is_in_an_argument(engine, args, depends[j].base))
            return false;
        says_written = true;
    }
    return says_written;
}

/* How the datum is used to which an argument refers. */
static od_mode mode_of(od_engine *engine, const od_map_args *args, const od_reference *reference,
                       const od_depend *depends, int32_t ndepends)
{
    int32_t i = reference->entry;
    int64_t type = args->types[i];
    bool in_region = reference->region != NULL;
    unsigned mode = ((type & OD_MAP_TO) ? OD_READ : 0u) | ((type & OD_MAP_FROM) ? OD_WRITE : 0u);
    od_coherence coherence = od_runtime_options()->coherence;
    if (type & OD_MAP_READS)
        return OD_READ;
    if (in_region && is_always(args, i, OD_MAP_TO)) /* the push writes */
        return OD_READ_WRITE;
    /* In a region the map type says nothing about the use of what is present. */
    if (mode == 0 || (in_region && (mode != OD_READ || coherence != OD_COHERENCE_DEPEND)))
        mode = OD_READ_WRITE;
    return coherence != OD_COHERENCE_STRICT && is_only_read(engine, args, i, depends, ndepends) ? OD_READ
                                                                                                : (od_mode)mode;
}

od_mode od_arg_mode(od_engine *engine, const od_map_args *args, int32_t i, const od_depend *depends, int32_t ndepends)
{
    od_reference reference = od_refer(engine, args, i);
    return mode_of(engine, args, &reference, depends, ndepends);
}

/* map(alloc: x) of what is not present is scratch memory: libomptarget makes it for the launch. */
static bool is_scratch(const od_map_args *args, const od_reference *reference)
{
    return !(args->types[reference->entry] & (OD_MAP_TO | OD_MAP_FROM)) && reference->size && !reference->region;
}

static bool is_in_region(uintptr_t begin, size_t size)
{
    od_engine *engine = od_runtime_lock();
    bool inside = od_directory_find_region(od_engine_directory(engine), begin, size);
    od_runtime_unlock();
    return inside;
}

enum { LONG_LIST = 16 }; /* in shorter ones each entry is compared with each other one */

/* Two items of one construct that overlap, the later one not inside the earlier: libomptarget has rules for that, unless
 * both are present. */
static bool is_extended(const od_map_args *args, int32_t i)
{
    uintptr_t begin = begin_of(args, i), end = begin + (uintptr_t)args->sizes[i];
    for (int32_t j = 0; j < i; j++) {
        uintptr_t other = begin_of(args, j), other_end = other + (uintptr_t)args->sizes[j];
        bool both = od_arg_classify(args, j) == OD_ARG_DATUM && begin < other_end && other < end;
        if (both && !(other <= begin && end <= other_end) && !is_in_region(begin, (size_t)args->sizes[i]))
            return true;
    }
    return false;
}

/* One of them: only what lies in no earlier item counts for later ones. */
static bool any_is_extended(const od_map_args *args)
{
    od_mappings made;
    bool any = false;
    if (od_mappings_init(&made, (uint32_t)args->count))
        od_fatal("out of host memory for a map list");
    for (int32_t i = 0; i < args->count && !any; i++) {
        od_mapping m = {begin_of(args, i), (size_t)args->sizes[i], begin_of(args, i)};
        const od_mapping *found;
        if (!m.size || od_arg_classify(args, i) != OD_ARG_DATUM)
            continue;
        od_relation relation = od_presence_find(od_mappings_near(&made, m.begin), m.begin, m.size, &found);
        if (relation == OD_APART)
            od_mappings_add(&made, m);
        any = relation == OD_ACROSS && !is_in_region(m.begin, m.size);
    }
    od_mappings_free(&made);
    return any;
}

bool od_args_are_simple(const od_map_args *args)
{
    bool is_long = args->count > LONG_LIST;
    if (is_long && any_is_extended(args))
        return false;
    for (int32_t i = 0; i < args->count; i++) {
        od_arg_class class = od_arg_classify(args, i);
        if (class == OD_ARG_ODD || (!is_long && class == OD_ARG_DATUM && is_extended(args, i)))
            return false;
        bool attachment = args->types[i] & OD_MAP_ATTACH; /* of a pointer at its base */
        uintptr_t address = attachment ? (uintptr_t)args->bases[i] : begin_of(args, i);
        if ((class == OD_ARG_DATUM || class == OD_ARG_UNUSED) &&
            od_foreign_device(address, (size_t)args->sizes[i]) >= 0)
            return false;
    }
    return true;
}

int od_args_device(const od_map_args *args)
{
    int device = -1;
    od_map_args room = {0};
    const od_map_args *all = od_expanded(args, &room);
    for (int32_t i = 0; i < all->count && device < 0; i++)
        device = od_foreign_entry_device(all, i);
    od_expand_free(&room);
    return device >= 0 ? device : od_runtime_device_number(0);
}

static void bring_outside_home(const od_map_args *args)
{
    bool pointers = false; /* that lead to what cannot be known */
    for (int32_t i = 0; i < args->count; i++) {
        if (!od_entry_maps(args, i))
            continue;
        pointers |= args->sizes[i] == 0;
        od_runtime_host_range(begin_of(args, i), (size_t)args->sizes[i], OD_REQUEST_OUTSIDE);
    }
    if (pointers)
        od_runtime_synchronise();
}

void od_args_bring_home(const od_map_args *args)
{
    od_map_args room = {0};
    bring_outside_home(od_expanded(args, &room));
    od_expand_free(&room);
}

void od_args_bring_foreign_home(const od_map_args *args)
{
    for (int32_t i = 0; i < args->count; i++)
        if ((args->types[i] & OD_MAP_FOREIGN) && args->sizes[i] > 0)
            od_runtime_host_range(begin_of(args, i), (size_t)args->sizes[i], OD_REQUEST_OUTSIDE);
}

/* --- data --------------------------------------------------------------- */

static od_status grow(od_uses *uses)
{
    if (uses->count < uses->capacity)
        return OD_OK;
    uint32_t capacity = uses->capacity ? 2 * uses->capacity : 4;
    od_access *access = realloc(uses->access, capacity * sizeof *access);
    if (!access)
        return OD_ENOMEM;
    uses->access = access;
    uses->capacity = capacity;
    return OD_OK;
}

/* What helps to resolve a long list. */
typedef struct resolution {
    bool is_long;
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
            uintptr_t begin = begin_of(args, j), end = begin + (uintptr_t)args->sizes[j], last = *base + *size;
            if (begin == end || (args->types[j] & OD_MAP_IMPLICIT)) {
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
    r->spans = malloc((size_t)args->count * sizeof *r->spans);
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
    for (int32_t i = 0; i < args->count && n < LONG_LIST; i++)
        n += args->sizes[i] == 0 && args->begins[i] && concerns(args, i);
    return n == LONG_LIST;
}

static od_status begin_resolution(const od_map_args *args, resolution *r)
{
    *r = (resolution){.is_long = args->count > LONG_LIST};
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

static od_status resolve_arg(od_engine *engine, const od_map_args *args, int32_t i, depend_items depends, resolution *r,
                             od_uses *uses, int32_t *index)
{
    od_reference reference = od_refer_among(engine, args, r->own.all ? &r->own : NULL, i);
    uintptr_t base = reference.base;
    size_t size = reference.size, own = size;
    od_datum *datum;
    *index = -1;
    if (!size || is_scratch(args, &reference))
        return OD_OK;
    widen_in(engine, args, r, &base, &size);
    od_mode mode = mode_of(engine, args, &reference, depends.all, depends.count);
    od_status status = od_engine_datum(engine, base, size, &datum);
    if (status)
        return status;
    if (datum->size > own) /* a part is written: the rest must be there */
        mode |= OD_READ;
    return add_use(engine, r, uses, datum, mode, index);
}

enum { BOUND_TRIES = 10000 }; /* a tenth of a millisecond each: another thread may be about to let it go */

void od_args_wait_for_overlap(const od_map_args *args, int32_t i, unsigned tries)
{
    uintptr_t base;
    size_t size;
    od_engine *engine = od_runtime_lock();
    if (od_arg_range(engine, args, i, &base, &size))
        widen(engine, args, &base, &size);
    bool bound = od_engine_range_is_bound(engine, base, size);
    od_runtime_unlock();
    if (bound && tries > BOUND_TRIES)
        od_fatal("a mapped range overlaps another one whose device address the program holds (use_device_ptr)");
    od_runtime_revoke_all();
    od_runtime_host_range(base, size, OD_REQUEST_SETTLE);
    nanosleep(&(struct timespec){.tv_nsec = 100 * 1000},
              NULL); /* tasks that are ready but have not run hold it still */
}

/* OD_EFULL: the data of argument *i are in use in another way. */
static od_status resolve_all(const od_map_args *args, depend_items depends, od_uses *uses, int32_t *access_of,
                             int32_t *i)
{
    resolution r;
    od_status status = begin_resolution(args, &r);
    for (*i = 0; *i < args->count && !status; ++*i) {
        int32_t index = -1;
        if (concerns(args, *i)) {
            od_engine *engine = od_runtime_lock();
            status = resolve_arg(engine, args, *i, depends, &r, uses, &index);
            od_runtime_unlock();
        }
        if (access_of)
            access_of[*i] = index;
    }
    *i -= status != OD_OK;
    end_resolution(&r);
    return status;
}

od_status od_args_resolve(const od_map_args *args, const od_depend *depends, int32_t ndepends, od_uses *uses,
                          int32_t *access_of)
{
    od_status status;
    int32_t i;
    unsigned tries = 0;
    while ((status = resolve_all(args, (depend_items){depends, ndepends}, uses, access_of, &i))) {
        od_uses_release(uses);
        if (status != OD_EFULL)
            break;
        od_args_wait_for_overlap(args, i, tries++);
    }
    return status;
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

/* --- map(always) ------------------------------------------------------- */

static void move_always(const od_map_args *args, int64_t direction, od_request_kind kind)
{
    for (int32_t i = 0; i < args->count; i++) {
        od_request *request = NULL;
        if (!is_always(args, i, direction))
            continue;
        od_engine *engine = od_runtime_lock();
        od_region *region =
            od_directory_find_region(od_engine_directory(engine), begin_of(args, i), (size_t)args->sizes[i]);
        od_status status = OD_OK;
        if (region && direction == OD_MAP_TO)
            region->undefined = false;
        if (region) {
            od_record_range(begin_of(args, i), (size_t)args->sizes[i], kind);
            status = od_engine_range_request(engine, begin_of(args, i), (size_t)args->sizes[i], kind, &request);
        }
        od_runtime_unlock();
        if (status)
            od_fatal("out of host memory for map(always)");
        if (request)
            request->inside = od_self.mode == OD_ON_DEVICE;
        od_runtime_request(request);
    }
}

void od_args_push_always(const od_map_args *args)
{
    move_always(args, OD_MAP_TO, OD_REQUEST_PUSH);
}

void od_args_fetch_always(const od_map_args *args)
{
    move_always(args, OD_MAP_FROM, OD_REQUEST_PULL);
}

od_request *od_args_pull_always(const od_map_args *args, const od_uses *uses, const int32_t *access_of)
{
    uint32_t n = 0;
    for (int32_t i = 0; i < args->count; i++)
        n += is_always(args, i, OD_MAP_FROM) && access_of[i] >= 0;
    od_request *request = n ? od_request_create(n) : NULL;
    if (n && !request)
        od_fatal("out of host memory for map(always)");
    n = 0;
    for (int32_t i = 0; request && i < args->count; i++) {
        if (!is_always(args, i, OD_MAP_FROM) || access_of[i] < 0)
            continue;
        od_datum *d = uses->access[access_of[i]].datum;
        d->pending++; /* the item's hold */
        od_record_range(begin_of(args, i), (size_t)args->sizes[i], OD_REQUEST_PULL);
        request->items[n++] = (od_request_item){.kind = OD_REQUEST_PULL,
                                                .datum = d,
                                                .offset = begin_of(args, i) - d->base,
                                                .bytes = (size_t)args->sizes[i]};
    }
    return request;
}

/* --- coherence ---------------------------------------------------------- */

static bool lies_in(uintptr_t address, const od_datum *datum)
{
    return address >= datum->base && address - datum->base < datum->size;
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

/* map(to: x) beside depend(out: x): the task writes to the device's copy, which outside a region nobody is to see. */
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
        od_runtime_lock();
        bool scribbled_on = is_scribbled_on(&uses->access[i], depends, ndepends);
        od_runtime_unlock();
        if (scribbled_on)
            od_runtime_host_range(d->base, d->size, OD_REQUEST_READ);
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

/* --- launches ----------------------------------------------------------- */

static size_t align_up(size_t n)
{
    return (n + 15) & ~(size_t)15;
}

/* Arguments that are mapped without reaching the kernel change nothing that anyone can see, except hidden ones. */
static bool is_dropped(const od_map_args *args, int32_t i)
{
    return od_arg_classify(args, i) == OD_ARG_UNUSED;
}

/* `always` moves the data of a region also where the kernel does not get them: they stay, behind what it gets. */
static bool is_hidden(const od_map_args *args, int32_t i)
{
    bool moves = is_always(args, i, OD_MAP_TO | OD_MAP_FROM);
    return moves && is_dropped(args, i) && is_in_region(begin_of(args, i), (size_t)args->sizes[i]);
}

static size_t private_bytes(const od_map_args *args, int32_t i)
{
    return od_arg_classify(args, i) == OD_ARG_PRIVATE ? align_up((size_t)args->sizes[i]) : 0;
}

static void copy_arg(od_launch *launch, uint32_t to, const od_map_args *from, int32_t i, char **privates)
{
    od_kernel_args *args = &launch->call.args;
    args->bases[to] = from->bases[i];
    args->begins[to] = from->begins[i];
    args->sizes[to] = from->sizes[i];
    args->types[to] = from->types[i];
    args->names[to] = from->names ? from->names[i] : NULL;
    args->mappers[to] = NULL;
    launch->access_of[to] = -1;
    size_t bytes = private_bytes(from, i);
    if (!bytes || !from->begins[i])
        return;
    ptrdiff_t shift = (char *)from->bases[i] - (char *)from->begins[i];
    memcpy(*privates, from->begins[i], (size_t)from->sizes[i]);
    args->begins[to] = *privates;
    args->bases[to] = *privates + shift;
    *privates += bytes;
}

od_status od_launch_copy(od_launch *launch, const od_kernel_call *call)
{
    od_map_args from = od_kernel_map_args(&call->args);
    size_t n = call->args.count, privates = 0;
    for (int32_t i = 0; i < from.count; i++)
        privates += private_bytes(&from, i);
    size_t arrays = align_up(n * (10 * sizeof(void *) + sizeof(int32_t)));
    char *storage = malloc(arrays + privates + 16);
    if (!storage)
        return OD_ENOMEM;
    *launch = (od_launch){.call = *call, .storage = storage};
    od_kernel_args *args = &launch->call.args;
    void **array = (void **)(void *)storage;
    args->bases = array;
    args->begins = array + n;
    args->names = array + 2 * n;
    args->mappers = array + 3 * n;
    args->sizes = (int64_t *)(void *)(array + 4 * n);
    args->types = (int64_t *)(void *)(array + 5 * n);
    launch->rewritten = array + 6 * n;
    launch->access_of = (int32_t *)(void *)(array + 10 * n);
    char *next_private = storage + arrays;
    args->count = 0;
    for (int32_t i = 0; i < from.count; i++)
        if (!is_dropped(&from, i))
            copy_arg(launch, args->count++, &from, i, &next_private);
    for (int32_t i = 0; i < from.count; i++) {
        if (!is_hidden(&from, i))
            continue;
        copy_arg(launch, args->count, &from, i, &next_private);
        args->types[args->count++] |= OD_MAP_PARAM;
        launch->hidden++;
    }
    if (!from.names)
        args->names = NULL;
    args->mappers = NULL;
    return OD_OK;
}

void od_launch_free(od_launch *launch)
{
    free(launch->storage);
    od_structs_free(launch->call.structs);
    *launch = (od_launch){0};
}

int od_launch_bound(const od_launch *launch)
{
    const od_kernel_args *args = &launch->call.args;
    od_map_args map = od_kernel_map_args(args);
    int foreign = od_foreign_place(&map);
    if (foreign != OD_NOWHERE)
        return foreign;
    for (uint32_t i = 0; i < args->count; i++) {
        if (!(args->types[i] & OD_MAP_LITERAL))
            continue;
        int device = od_device_of_address((uintptr_t)args->begins[i]);
        if (device >= 0)
            return od_runtime_device_index(device);
        int ours = od_runtime_pool_of((uintptr_t)args->begins[i]); /* it has been shown to the program */
        if (ours != OD_NOWHERE)
            return ours;
    }
    return od_runtime_required_device();
}

static void make_literal(od_kernel_args *args, uint32_t i, uintptr_t address)
{
    args->bases[i] = args->begins[i] = (void *)address;
    args->types[i] = OD_MAP_PARAM | OD_MAP_LITERAL;
}

/* The launch's arguments in arrays of its own: a run may fail and be repeated on another device. */
static od_kernel_args copy_to_rewrite(const od_launch *launch)
{
    od_kernel_args args = launch->call.args;
    size_t n = args.count;
    args.bases = memcpy(launch->rewritten, args.bases, n * sizeof *args.bases);
    args.begins = memcpy(launch->rewritten + n, args.begins, n * sizeof *args.begins);
    args.sizes = memcpy(launch->rewritten + 2 * n, args.sizes, n * sizeof *args.sizes);
    args.types = memcpy(launch->rewritten + 3 * n, args.types, n * sizeof *args.types);
    for (size_t i = 0; i < n; i++)
        args.types[i] &= ~OD_MAP_FOREIGN;
    return args;
}

/* Replaces each datum by the address of its replica on k, shifted as the section is. */
static void rewrite(od_kernel_args *args, const int32_t *access_of, const od_access *access, unsigned k)
{
    for (uint32_t i = 0; i < args->count; i++) {
        if (access_of[i] < 0)
            continue;
        const od_datum *d = access[access_of[i]].datum;
        uintptr_t shift = (uintptr_t)args->bases[i] - d->base;
        make_literal(args, i, (uintptr_t)od_runtime_address(d, k) + shift);
    }
}

/* Calls libomptarget, which leaves the kernel running where it can if `handle` is not NULL: for a launch with the nowait
 * flag it asks libomp two questions, which we answer. */
static int carry_out(const od_kernel_call *call, int64_t device, od_kernel_args *args, void **handle)
{
    od_kernel_task own = od_serial_begin_kernel();
    od_self.kernels++;
    od_self.launching = handle != NULL;
    od_self.async_handle = NULL;
    const void *before = od_ompt_at(call->from);
    int failed = REAL(__tgt_target_kernel)(call->ident, device, call->teams, call->threads, call->kernel, args);
    od_ompt_at(before);
    od_self.launching = false;
    od_self.kernels--;
    od_serial_end_kernel(own);
    if (handle)
        *handle = od_self.async_handle;
    return failed;
}

int32_t __kmpc_omp_has_task_team(int32_t gtid)
{
    return od_self.launching ? 1 : REAL(__kmpc_omp_has_task_team)(gtid);
}

void **__kmpc_omp_get_target_async_handle_ptr(int32_t gtid)
{
    return od_self.launching ? &od_self.async_handle : REAL(__kmpc_omp_get_target_async_handle_ptr)(gtid);
}

int od_launch_run(const od_launch *launch, const od_access *access, unsigned k, void **handle)
{
    const od_kernel_call *call = &launch->call;
    od_kernel_args args = copy_to_rewrite(launch);
    rewrite(&args, launch->access_of, access, k);
    if (call->structs && od_structs_fill(call->structs, &args, launch->access_of, access, k))
        return 1;
    args.count -= launch->hidden + od_structs_hidden(call->structs);
    args.flags = handle ? args.flags | OD_KERNEL_NOWAIT : args.flags & ~(uint64_t)OD_KERNEL_NOWAIT;
    return carry_out(call, od_runtime_device_number(k), &args, handle);
}

char *od_launch_host_contents(const od_datum *d)
{
    return od_datum_is_spilled(d) ? od_spill_address(d->region->spill, d->base) : (char *)d->base;
}

/* Data of regions are mapped as a whole: what is named may be a part of them, or nothing but the pointer. */
static void map_regions_data(od_kernel_args *args, const int32_t *access_of, const od_access *access)
{
    od_runtime_lock();
    for (uint32_t i = 0; i < args->count; i++) {
        const od_datum *d = access_of[i] >= 0 ? access[access_of[i]].datum : NULL;
        if (!d || !d->region)
            continue;
        ptrdiff_t shift = (char *)args->bases[i] - (char *)d->base;
        args->begins[i] = od_launch_host_contents(d);
        args->bases[i] = (char *)args->begins[i] + shift;
        args->sizes[i] = (int64_t)d->size;
        args->types[i] &= ~(OD_MAP_FROM | OD_MAP_ALWAYS | OD_MAP_PRESENT | OD_MAP_HOLD);
        args->types[i] |= OD_MAP_TO | ((access[access_of[i]].mode & OD_WRITE) ? OD_MAP_FROM : 0);
    }
    od_runtime_unlock();
}

int od_launch_as_written(const od_launch *launch, const od_access *access, int64_t device)
{
    od_kernel_args args = copy_to_rewrite(launch);
    args.count -= launch->hidden;
    args.flags &= ~(uint64_t)OD_KERNEL_NOWAIT;
    map_regions_data(&args, launch->access_of, access);
    return carry_out(&launch->call, device, &args, NULL);
}

int od_launch_run_copies(const od_launch *launch, const od_access *access, void *const *copy, int device)
{
    const od_structs *structs = launch->call.structs;
    od_kernel_args args = copy_to_rewrite(launch);
    for (uint32_t i = 0; i < args.count; i++) {
        int32_t j = launch->access_of[i];
        if (j >= 0)
            make_literal(&args, i, (uintptr_t)copy[j] + ((uintptr_t)args.bases[i] - access[j].datum->base));
    }
    od_structs_fill_copies(structs, &args, launch->access_of, access, copy, device);
    args.count -= launch->hidden + od_structs_hidden(structs);
    args.flags &= ~(uint64_t)OD_KERNEL_NOWAIT;
    return carry_out(&launch->call, device, &args, NULL);
}

void od_launch_unspill(const od_access *access, uint32_t naccess)
{
    od_runtime_lock();
    for (uint32_t i = 0; i < naccess; i++) {
        const od_datum *d = access[i].datum;
        if (od_datum_is_spilled(d))
            od_attachments_deliver(d->region->attachments, d->base, d->size, od_launch_host_contents(d));
    }
    od_runtime_unlock();
}

int od_launch_pass_through(const od_kernel_call *call, int64_t device)
{
    od_map_args map = od_kernel_map_args(&call->args);
    od_kernel_args args = call->args;
    args.flags &= ~(uint64_t)OD_KERNEL_NOWAIT;
    od_args_bring_home(&map);
    if (device >= 0)
        return carry_out(call, device, &args, NULL);
    od_lent *lent = od_lend(&map, od_args_device(&map), false);
    int failed = carry_out(call, od_args_device(&map), &args, NULL);
    od_lend_end(lent);
    return failed;
}
