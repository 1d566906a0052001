/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Map lists with structs made simple. See structs.h. */
#include "omp_ext/process/memory.h"
#include "omp_ext/maps/structs/internal.h"

#include "omp_ext/maps/fortran.h"
#include "omp_ext/maps/args.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static void *enough(void *array, size_t count, size_t each)
{
    void *more = od_alloc_more(array, (count ? count : 1) * each);
    return more;
}

static uintptr_t load_pointer(uintptr_t slot)
{
    uintptr_t pointer;
    memcpy(&pointer, (const void *)slot, sizeof pointer);
    return pointer;
}

/* --- making and unmaking ------------------------------------------------------ */

static od_structs *create(int32_t count)
{
    size_t n = (size_t)count;
    od_structs *s = od_alloc_zeroed(1, sizeof *s);
    s->parts = enough(NULL, n, sizeof *s->parts);
    s->privates = enough(NULL, n, sizeof *s->privates);
    return s;
}

void od_structs_free(od_structs *s)
{
    if (!s)
        return;
    for (uint32_t i = 0; s->relocations && i < s->holders.count; i++)
        free(s->relocations[i]);
    free(s->relocations);
    od_map_list_free(&s->flat);
    od_holders_free(&s->holders);
    free(s->parts);
    free(s->slots);
    free(s->privates);
    free(s);
}

uint32_t od_structs_hidden(const od_structs *s)
{
    return s ? s->nhidden : 0;
}

static uint32_t append(od_structs *s, uintptr_t base, uintptr_t begin, size_t size, int64_t type)
{
    return (uint32_t)od_map_list_add(&s->flat, (void *)base, (void *)begin, (int64_t)size, type);
}

static uint32_t hide(od_structs *s, uintptr_t base, uintptr_t begin, size_t size, int64_t type)
{
    s->nhidden++;
    return append(s, base, begin, size,
                  OD_MAP_PARAM | (type & (OD_MAP_TO | OD_MAP_FROM | OD_MAP_ALWAYS | OD_MAP_READS | OD_MAP_WHOLE)));
}

static void add_slot(od_structs *s, const od_attachment *is, bool named, uint32_t arg)
{
    if (s->nslots == s->slots_capacity) {
        s->slots_capacity = s->slots_capacity ? 2 * s->slots_capacity : 16;
        s->slots = enough(s->slots, s->slots_capacity, sizeof *s->slots);
    }
    s->slots[s->nslots++] = (od_slot){*is, named, arg};
}

/* The holder that entry i names, or NULL. */
static od_holder *holder_of(const od_structs *s, const od_map_args *args, int32_t i)
{
    uintptr_t begin = od_entry_begin(args, i);
    size_t size = od_entry_size(args, i);
    if (size)
        return od_holders_at(&s->holders, begin, size);
    od_engine *engine = od_runtime_lock();
    bool found = od_arg_range(engine, args, i, &begin, &size);
    od_runtime_unlock();
    return found ? od_holders_at(&s->holders, begin, size) : NULL;
}

/* --- what the list says of holders ------------------------------------------------ */

/* The entry that only spans the members that are mapped of a struct. */
static bool is_frame(const od_structs *s, const od_map_args *args, int32_t i)
{
    return !(args->types[i] & (OD_MAP_TO | OD_MAP_FROM | OD_MAP_ALWAYS)) && !od_entry_is_member(args, i) &&
           od_holders_names(&s->holders, od_entry_begin(args, i), od_entry_size(args, i));
}

/* Nothing but attached pointers: a kernel does not change those. */
static bool is_all_slots(const od_structs *s, uintptr_t begin, size_t size)
{
    bool all = size % sizeof(void *) == 0;
    od_engine *engine = od_runtime_lock();
    const od_region *region = od_directory_find_region(od_engine_directory(engine), begin, size);
    for (uintptr_t slot = begin; all && slot < begin + size; slot += sizeof(void *))
        all = (region && od_attachments_next(region->attachments, slot, slot + 1)) ||
              od_holders_has_slot(&s->holders, slot);
    od_runtime_unlock();
    return all;
}

static void add_part(od_structs *s, const od_map_args *args, int32_t i, od_holder *h)
{
    uintptr_t begin = od_entry_begin(args, i);
    size_t size = od_entry_size(args, i);
    int64_t type = args->types[i];
    h->types |= type & (OD_MAP_TO | OD_MAP_FROM | OD_MAP_HOLD);
    if (is_frame(s, args, i) || (od_entry_is_member(args, i) && !size))
        return;
    if (size && (type & (OD_MAP_TO | OD_MAP_FROM)))
        s->parts[s->nparts++] = (od_part){begin, size, type, (uint32_t)(h - s->holders.all)};
    h->returned |= (type & OD_MAP_FROM) && size && !is_all_slots(s, begin, size);
}

static int by_begin(const void *a, const void *b)
{
    uintptr_t x = ((const od_part *)a)->begin, y = ((const od_part *)b)->begin;
    return (x > y) - (x < y);
}

/* They move together. */
static bool continues(const od_part *part, const od_part *next)
{
    const int64_t moves = OD_MAP_TO | OD_MAP_FROM | OD_MAP_ALWAYS;
    return next->holder == part->holder && !((next->type ^ part->type) & moves) &&
           next->begin - part->begin <= part->size;
}

/* In order; what lies side by side, as the elements of an array do, is one part. */
static void sort_parts(od_structs *s)
{
    uint32_t n = 0;
    if (s->nparts)
        qsort(s->parts, s->nparts, sizeof *s->parts, by_begin);
    for (uint32_t i = 0; i < s->nparts; i++) {
        od_part *last = n ? &s->parts[n - 1] : NULL;
        if (last && continues(last, &s->parts[i])) {
            size_t end = s->parts[i].begin - last->begin + s->parts[i].size;
            last->size = end > last->size ? end : last->size;
        } else {
            s->parts[n++] = s->parts[i];
        }
    }
    s->nparts = n;
}

uint32_t od_structs_parts_from(const od_structs *s, uintptr_t address)
{
    uint32_t low = 0, high = s->nparts;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (s->parts[middle].begin < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_literal_pointee(const od_map_args *args, int32_t i)
{
    return od_entry_is_pointee(args, i) && (args->types[i] & OD_MAP_LITERAL);
}

static void add_parts(od_structs *s, const od_map_args *args)
{
    for (int32_t i = 0; i < args->count; i++) {
        bool pointee = od_entry_is_pointee(args, i),
             maps = !(args->types[i] & (pointee ? OD_MAP_LITERAL : OD_MAP_NO_RANGE));
        od_holder *h = maps && (args->sizes[i] > 0 || !pointee) ? holder_of(s, args, i) : NULL;
        if (h)
            add_part(s, args, i, h);
    }
    sort_parts(s);
}

/* A copy that is only read may be on several devices. A kernel may write to all that is present, whatever its list
 * says, but for descriptors and pointers; what it brings itself counts only where it is mapped `from`. */
static bool is_written(const od_structs *s, const od_holder *h)
{
    if (od_fortran_is_descriptor(h->base, h->size))
        return false;
    return h->present ? !is_all_slots(s, h->base, h->size) : h->returned;
}

static int64_t type_of(const od_structs *s, const od_holder *h)
{
    return OD_MAP_PARAM | OD_MAP_TO | (is_written(s, h) ? OD_MAP_FROM : OD_MAP_READS);
}

/* --- the kernel's arguments --------------------------------------------------------- */

/* What the kernel gets, in its order. */
static bool add_arguments(od_structs *s, const od_map_args *args)
{
    for (int32_t i = 0; i < args->count; i++) {
        int64_t type = args->types[i];
        uintptr_t base = (uintptr_t)args->bases[i], begin = od_entry_begin(args, i);
        if (!(type & OD_MAP_PARAM))
            continue;
        if (type & OD_MAP_FOREIGN) {
            append(s, base, begin, (size_t)args->sizes[i], type);
            continue;
        }
        if (od_entry_is_member(args, i))
            return false;
        if (od_entry_is_pointee(args, i)) /* of a pointer outside of all structs: the kernel gets its value */
            base = load_pointer(base);
        od_holder *h = type & OD_MAP_NO_RANGE ? NULL : holder_of(s, args, i);
        if (h)
            h->arg = append(s, base, h->base, h->size, type_of(s, h));
        else
            append(s, base, begin, (size_t)args->sizes[i], type & ~(OD_MAP_PTR_AND_OBJ | OD_MAP_STANDS));
    }
    for (int32_t i = 0; i < args->count; i++)
        if ((args->types[i] & (OD_MAP_FOREIGN | OD_MAP_PARAM)) == OD_MAP_FOREIGN) /* mapped for the kernel's time */
            append(s, (uintptr_t)args->bases[i], od_entry_begin(args, i), (size_t)args->sizes[i], args->types[i]);
    return true;
}

/* Holders that only pointers lead to, and what is mapped for a pointer to lead to. */
static void add_hidden(od_structs *s, const od_map_args *args)
{
    for (uint32_t i = 0; i < s->holders.count; i++) {
        od_holder *h = &s->holders.all[i];
        if (h->arg == OD_NO_ARG)
            h->arg = hide(s, h->base, h->base, h->size, type_of(s, h));
    }
    for (int32_t i = 0; i < args->count; i++) {
        uintptr_t begin = od_entry_begin(args, i);
        bool plain = !(args->types[i] & (OD_MAP_PARAM | OD_MAP_NO_RANGE | OD_MAP_PTR_AND_OBJ));
        if (plain && (args->types[i] & (OD_MAP_TO | OD_MAP_FROM)) && args->sizes[i] > 0 &&
            !od_holders_at(&s->holders, begin, od_entry_size(args, i)))
            hide(s, begin, begin, od_entry_size(args, i), args->types[i]);
    }
}

/* --- pointees -------------------------------------------------------------------------- */

/* The argument that is the datum at this address, or the count. */
static uint32_t find_arg(const od_structs *s, uintptr_t address)
{
    uint32_t i = 0, n = (uint32_t)s->flat.args.count;
    while (i < n && (od_arg_classify(&s->flat.args, (int32_t)i) != OD_ARG_DATUM ||
                     address - (uintptr_t)s->flat.args.begins[i] >= (uintptr_t)s->flat.args.sizes[i]))
        i++;
    return i;
}

/* What a lambda has captured, if a device has that. */
static uint32_t captured_arg(od_structs *s, uintptr_t begin)
{
    uint32_t arg = find_arg(s, begin);
    return arg < (uint32_t)s->flat.args.count ? arg : hide(s, begin, begin, 0, OD_MAP_TO | OD_MAP_FROM);
}

static void add_capture(od_structs *s, const od_map_args *args, int32_t i)
{
    uintptr_t slot = (uintptr_t)args->bases[i], begin = od_entry_begin(args, i);
    uint32_t owner = 0; /* in the flat list, which has all parameters first */
    for (int32_t j = 0; j < args->count; j++) {
        bool parameter = args->types[j] & OD_MAP_PARAM;
        if (parameter && (args->types[j] & OD_MAP_PRIVATE) && slot - od_entry_begin(args, j) < od_entry_size(args, j)) {
            s->privates[s->nprivates++] =
                (od_private_slot){owner, captured_arg(s, begin), slot - od_entry_begin(args, j), begin};
            return;
        }
        owner += parameter;
    }
    if (od_holders_at(&s->holders, slot, sizeof(void *)))
        add_slot(s, &(od_attachment){slot, begin, begin, 1}, false, captured_arg(s, begin));
}

static void add_pointee(od_structs *s, const od_map_args *args, int32_t i)
{
    uintptr_t slot = (uintptr_t)args->bases[i], begin = od_entry_begin(args, i);
    size_t size = od_entry_size(args, i);
    if (!od_holders_at(&s->holders, slot, sizeof(void *))) /* a pointer that the kernel does not see */
        return;
    uintptr_t pointer = load_pointer(slot);
    const od_holder *target = od_holders_at(&s->holders, begin, size);
    uint32_t arg = target ? target->arg : hide(s, pointer, begin, size, args->types[i]);
    add_slot(s, &(od_attachment){slot, pointer, begin, size}, true, arg);
}

static int by_slot(const void *a, const void *b)
{
    const od_slot *x = a, *y = b;
    return x->is.slot != y->is.slot ? (x->is.slot > y->is.slot) - (x->is.slot < y->is.slot) : y->named - x->named;
}

/* In order, each once, what the list names before what was attached before. */
static void sort_slots(od_structs *s)
{
    uint32_t n = 0;
    if (s->nslots)
        qsort(s->slots, s->nslots, sizeof *s->slots, by_slot);
    for (uint32_t i = 0; i < s->nslots; i++)
        if (!n || s->slots[n - 1].is.slot != s->slots[i].is.slot)
            s->slots[n++] = s->slots[i];
    s->nslots = n;
}

static uint32_t slots_from(const od_structs *s, uint32_t count, uintptr_t address)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (s->slots[middle].is.slot < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t od_structs_slots_from(const od_structs *s, uintptr_t address)
{
    return slots_from(s, s->nslots, address);
}

static bool has_slot(const od_structs *s, uint32_t named, uintptr_t slot)
{
    uint32_t i = slots_from(s, named, slot);
    return i < named && s->slots[i].is.slot == slot;
}

/* What the region around a holder has attached, the list does not name, and is still present: all that is mapped there,
 * as for a pointer that a kernel uses without mapping what it leads to. Locked. */
static void add_attached(od_structs *s, od_directory *directory, const od_holder *h, uint32_t named)
{
    const od_region *region = od_directory_find_region(directory, h->base, h->size);
    uintptr_t from = h->base, end = h->base + h->size;
    const od_attachment *a;
    for (; region && (a = od_attachments_next(region->attachments, from, end)); from = a->slot + 1) {
        if (has_slot(s, named, a->slot) || !od_directory_find_region(directory, a->begin, a->size))
            continue;
        const od_holder *target = od_holders_at(&s->holders, a->begin, a->size);
        uint32_t arg = target ? target->arg : hide(s, a->pointer, a->begin, 0, OD_MAP_TO | OD_MAP_FROM);
        add_slot(s, a, false, arg);
    }
}

static void add_pointees(od_structs *s, const od_map_args *args)
{
    for (int32_t i = 0; i < args->count; i++) {
        if (is_literal_pointee(args, i))
            add_capture(s, args, i);
        else if (od_entry_is_pointee(args, i) && !(args->types[i] & OD_MAP_PARAM))
            add_pointee(s, args, i);
    }
    sort_slots(s);
    uint32_t named = s->nslots;
    od_engine *engine = od_runtime_lock();
    for (uint32_t i = 0; i < s->holders.count; i++)
        add_attached(s, od_engine_directory(engine), &s->holders.all[i], named);
    od_runtime_unlock();
    sort_slots(s);
}

/* --- lists --------------------------------------------------------------------------------- */

static atomic_bool attached;

void od_structs_note_attached(void)
{
    if (!atomic_load_explicit(&attached, memory_order_relaxed))
        atomic_store(&attached, true);
}

/* A list without structs names something that has attached pointers. */
static bool names_attached(const od_map_args *args)
{
    bool found = false;
    if (!atomic_load_explicit(&attached, memory_order_relaxed))
        return false;
    od_engine *engine = od_runtime_lock();
    for (int32_t i = 0; i < args->count && !found; i++) {
        od_region *region = NULL;
        if (!(args->types[i] & OD_MAP_NO_RANGE))
            od_directory_refer(od_engine_directory(engine), od_entry_begin(args, i), od_entry_size(args, i), &region);
        found = region && od_attachments_count(region->attachments);
    }
    od_runtime_unlock();
    return found;
}

bool od_has_parts(const od_map_args *args)
{
    for (int32_t i = 0; (args->any & (OD_MAP_PTR_AND_OBJ | OD_MAP_MEMBER_OF)) && i < args->count; i++)
        if (!(args->types[i] & OD_MAP_FOREIGN) && (args->types[i] & (OD_MAP_PTR_AND_OBJ | OD_MAP_MEMBER_OF)))
            return true;
    return false;
}

/* NULL: impossible. */
static od_structs *flatten(const od_map_args *args)
{
    od_structs *s = create(args->count);
    od_holders_find(&s->holders, args);
    add_parts(s, args);
    if (!add_arguments(s, args)) {
        od_structs_free(s);
        return NULL;
    }
    add_hidden(s, args);
    add_pointees(s, args);
    return s;
}

od_flattened od_structs_flatten(const od_map_args *list, bool expanded, od_map_args *flat, od_structs **structs)
{
    if (!expanded && !od_has_parts(list) && !names_attached(list))
        return OD_FLAT_AS_IT_IS;
    od_structs *s = flatten(list);
    if (!s)
        return OD_FLAT_IMPOSSIBLE;
    *flat = s->flat.args;
    *structs = s;
    return OD_FLAT_DONE;
}

/* --- data constructs ------------------------------------------------------------------------- */

static bool is_convertible(const od_map_args *args, int32_t i)
{
    if (!od_entry_is_pointee(args, i))
        return !(args->types[i] & OD_MAP_NON_CONTIG);
    return !(args->types[i] & OD_MAP_LITERAL);
}

static void append_entry(od_structs *s, const od_map_args *args, int32_t i)
{
    uintptr_t base = (uintptr_t)args->bases[i], begin = od_entry_begin(args, i);
    int64_t type = args->types[i] & ~(OD_MAP_PTR_AND_OBJ | OD_MAP_MEMBER_OF | OD_MAP_ATTACH);
    if (type & OD_MAP_FOREIGN)
        return;
    if (od_entry_is_pointee(args, i)) {
        uintptr_t pointer = load_pointer(base);
        add_slot(s, &(od_attachment){base, pointer, begin, od_entry_size(args, i)}, true, OD_NO_ARG);
        base = pointer;
    } else if (od_entry_is_member(args, i)) {
        type |= OD_MAP_PART;
    } else if (args->types[i] & OD_MAP_ATTACH) {
        return;
    }
    append(s, base, begin, (size_t)args->sizes[i], type);
}

od_flattened od_structs_flatten_data(const od_map_args *args, od_map_args *flat, od_structs **structs)
{
    if (!od_has_parts(args))
        return OD_FLAT_AS_IT_IS;
    for (int32_t i = 0; i < args->count; i++)
        if (!is_convertible(args, i))
            return OD_FLAT_IMPOSSIBLE;
    od_structs *s = create(args->count);
    for (int32_t i = 0; i < args->count; i++)
        append_entry(s, args, i);
    *flat = s->flat.args;
    *structs = s;
    return OD_FLAT_DONE;
}
