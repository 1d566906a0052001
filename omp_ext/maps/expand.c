/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Mappers, non-contiguous sections, attachments. See expand.h. */
#include "omp_ext/maps/expand.h"

#include "memmgr/extent/spans.h"
#include "omp_ext/process/memory.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/runtime/runtime.h"

#include <stdlib.h>
#include <string.h>

typedef void (*mapper_function)(void *handle, void *base, void *begin, int64_t size, int64_t type, void *name);

typedef struct components {
    od_map_list list;
    int32_t first; /* of the entry that is being expanded: its components count from here */
} components;

static _Thread_local components *collecting;

static void push(components *c, void *base, void *begin, int64_t size, int64_t type)
{
    od_map_list_add(&c->list, base, begin, size, type);
}

void __tgt_push_mapper_component(void *handle, void *base, void *begin, int64_t size, int64_t type, void *name)
{
    if (!collecting || handle != collecting)
        REAL(__tgt_push_mapper_component)(handle, base, begin, size, type, name);
    else
        push(collecting, base, begin, size, type & ~OD_MAP_PARAM);
}

int64_t __tgt_mapper_num_components(void *handle)
{
    if (!collecting || handle != collecting)
        return REAL(__tgt_mapper_num_components)(handle);
    return collecting->list.args.count - collecting->first;
}

/* --- attachments -------------------------------------------------------- */

static bool is_attachment(const od_map_args *args, int32_t i)
{
    return (args->types[i] & (OD_MAP_ATTACH | OD_MAP_PTR_AND_OBJ | OD_MAP_FOREIGN)) == OD_MAP_ATTACH;
}

static bool maps_memory(const od_map_args *args, int32_t j)
{
    return !(args->types[j] & (OD_MAP_LITERAL | OD_MAP_PRIVATE)) && !is_attachment(args, j);
}

/* For lists with as many attachments as a mapper finds structs. */
typedef struct place {
    uintptr_t begin;
    int32_t entry;
} place;

typedef struct lookup {
    place *places;   /* of the entries, in order */
    od_span *mapped; /* what they map, in order */
    size_t nplaces, nmapped;
} lookup;

static int by_begin(const void *a, const void *b)
{
    const place *x = a, *y = b;
    return x->begin != y->begin ? (x->begin > y->begin) - (x->begin < y->begin) : x->entry - y->entry;
}

static lookup make_lookup(const od_map_args *args)
{
    size_t n = (size_t)args->count;
    lookup l = {.places = od_alloc((n + 1) * sizeof *l.places), .mapped = od_alloc((n + 1) * sizeof *l.mapped)};
    for (int32_t j = 0; j < args->count; j++) {
        uintptr_t begin = od_entry_begin(args, j);
        l.places[l.nplaces++] = (place){begin, j};
        if (maps_memory(args, j) && args->sizes[j] > 0)
            l.mapped[l.nmapped++] = (od_span){begin, begin + (uintptr_t)args->sizes[j]};
    }
    qsort(l.places, l.nplaces, sizeof *l.places, by_begin);
    l.nmapped = od_spans_make(l.mapped, l.nmapped);
    return l;
}

static void free_lookup(lookup *l)
{
    free(l->places);
    free(l->mapped);
}

/* The list itself maps the memory that the pointer is in. */
static bool maps_pointer(const lookup *l, uintptr_t slot)
{
    size_t low = 0, high = l->nmapped;
    while (low < high) { /* the first that ends behind it */
        size_t middle = low + (high - low) / 2;
        if (l->mapped[middle].end <= slot)
            low = middle + 1;
        else
            high = middle;
    }
    return low < l->nmapped && l->mapped[low].begin <= slot && slot + sizeof(void *) <= l->mapped[low].end;
}

static bool is_present(uintptr_t address)
{
    od_engine *engine = od_runtime_lock();
    bool in_region = od_directory_find_region(od_engine_directory(engine), address, 0);
    od_runtime_unlock();
    return in_region;
}

/* Pointers are attached when they, or what they lead to, come to the device. */
static bool is_due(const od_map_args *args, int32_t i, const lookup *l)
{
    uintptr_t slot = (uintptr_t)args->bases[i];
    if (!is_attachment(args, i))
        return false;
    bool was_there = is_present(slot);
    if (!was_there && !maps_pointer(l, slot))
        return false;
    return !was_there || (args->types[i] & OD_MAP_ALWAYS) || !is_present(od_entry_begin(args, i));
}

/* The first entry that maps the range to which attachment i leads, or the count. */
static int32_t find_object(const od_map_args *args, int32_t i, const lookup *l)
{
    uintptr_t begin = od_entry_begin(args, i);
    size_t low = 0, high = l->nplaces;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (l->places[middle].begin < begin)
            low = middle + 1;
        else
            high = middle;
    }
    while (low < l->nplaces && l->places[low].begin == begin &&
           (args->types[l->places[low].entry] & (OD_MAP_NO_RANGE | OD_MAP_PTR_AND_OBJ | OD_MAP_MEMBER_OF)))
        low++;
    return low < l->nplaces && l->places[low].begin == begin ? l->places[low].entry : args->count;
}

/* What the kernel also gets as an argument stays one. */
static void attach(components *c, int32_t i, const lookup *l)
{
    od_map_args *list = &c->list.args;
    int32_t object = find_object(list, i, l);
    bool found = object < list->count;
    int64_t type = OD_MAP_PTR_AND_OBJ | OD_MAP_ATTACH | (found ? list->types[object] & ~OD_MAP_PARAM : 0);
    if (!found || (list->types[object] & OD_MAP_PARAM)) {
        push(c, list->bases[i], list->begins[i], found ? list->sizes[object] : 0, type);
    } else {
        list->bases[object] = list->bases[i];
        list->types[object] = type;
        list->any |= type;
    }
}

static bool is_any_due(const od_map_args *args)
{
    bool any = false;
    if (!(args->any & OD_MAP_ATTACH))
        return false;
    lookup l = make_lookup(args);
    for (int32_t i = 0; i < args->count && !any; i++)
        any = is_due(args, i, &l);
    free_lookup(&l);
    return any;
}

static void attach_all(components *c)
{
    int32_t n = c->list.args.count;
    if (!(c->list.args.any & OD_MAP_ATTACH))
        return;
    lookup l = make_lookup(&c->list.args);
    for (int32_t i = 0; i < n; i++)
        if (is_due(&c->list.args, i, &l))
            attach(c, i, &l);
    free_lookup(&l);
}

/* --- all kinds ---------------------------------------------------------- */

static bool is_compound(const od_map_args *args)
{
    if (!args->mappers && !(args->any & (OD_MAP_NON_CONTIG | OD_MAP_ATTACH)))
        return false;
    for (int32_t i = 0; i < args->count; i++)
        if ((args->mappers && args->mappers[i]) || (args->types[i] & OD_MAP_NON_CONTIG))
            return true;
    return is_any_due(args);
}

static mapper_function function_of(void *address)
{
    mapper_function function;
    memcpy(&function, &address, sizeof function);
    return function;
}

/* A mapper that maps the whole object and nothing behind pointers: the kernel's argument says so itself. */
static void take_flags(components *c, int32_t param)
{
    const od_map_args *list = &c->list.args;
    for (int32_t i = param + 1; i < list->count; i++) {
        bool same = list->begins[i] == list->begins[param] && list->sizes[i] == list->sizes[param];
        if (same && !(list->types[i] & (OD_MAP_PTR_AND_OBJ | OD_MAP_MEMBER_OF)))
            list->types[param] |= list->types[i] & (OD_MAP_TO | OD_MAP_FROM | OD_MAP_ALWAYS);
    }
}

/* One dimension of a non-contiguous section, outermost first. */
typedef struct dimension {
    uint64_t offset, count; /* in elements of this dimension */
    uint64_t stride;        /* bytes from one to the next; innermost: of an element */
} dimension;

/* Pushes the contiguous pieces of a section with n dimensions, from `address` on. */
static void push_pieces(components *c, const dimension *d, int64_t n, char *address, int64_t type)
{
    address += d->offset * d->stride;
    if (n == 1)
        push(c, address, address, (int64_t)(d->count * d->stride), type);
    for (uint64_t i = 0; n > 1 && i < d->count; i++)
        push_pieces(c, d + 1, n - 1, address + i * d->stride, type);
}

static void expand_mapper(components *c, const od_map_args *args, int32_t i)
{
    int64_t type = args->types[i];
    int32_t param = c->list.args.count;
    if (type & OD_MAP_PARAM)
        push(c, args->bases[i], args->begins[i], args->sizes[i], OD_MAP_PARAM | OD_MAP_STANDS);
    c->first = c->list.args.count;
    function_of(args->mappers[i])(c, args->bases[i], args->begins[i], args->sizes[i], type,
                                  args->names ? args->names[i] : NULL);
    if (type & OD_MAP_PARAM)
        take_flags(c, param);
}

static od_map_list expand(const od_map_args *args)
{
    components c = {0}, *outer = collecting;
    collecting = &c;
    for (int32_t i = 0; i < args->count; i++)
        if (args->mappers && args->mappers[i])
            expand_mapper(&c, args, i);
        else if (args->types[i] & OD_MAP_NON_CONTIG)
            push_pieces(&c, args->begins[i], args->sizes[i], args->bases[i], args->types[i] & ~OD_MAP_NON_CONTIG);
        else
            push(&c, args->bases[i], args->begins[i], args->sizes[i], args->types[i]);
    collecting = outer;
    attach_all(&c);
    return c.list;
}

const od_map_args *od_expanded(const od_map_args *args, od_map_list *room)
{
    if (!is_compound(args))
        return args;
    *room = expand(args);
    return &room->args;
}
