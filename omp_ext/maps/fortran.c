/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sections of Fortran arrays. See fortran.h. */
#include "omp_ext/maps/fortran.h"

#include "omp_ext/process/memory.h"
#include "omp_ext/maps/args.h"
#include "omp_ext/runtime/runtime.h"

#include <stdlib.h>
#include <string.h>

/* --- what the source says -------------------------------------------------- */

/* The `(` of the last subscripts, where the expression ends with some. */
static const char *find_subscripts(const char *begin, const char *end)
{
    int depth = 0;
    if (end[-1] != ')')
        return NULL;
    while (end > begin) {
        end--;
        depth += (*end == ')') - (*end == '(');
        if (depth == 0)
            return end;
    }
    return NULL;
}

/* a, a(i:j), a(:,:,k), a(:,i:j): the elements lie side by side. Not so a(i:j,k), a(:,i,k), a(i:j:2). */
static bool is_slab(const char *begin, const char *end)
{
    const char *subscript = find_subscripts(begin, end);
    int depth = 0, colons = 0;
    if (!subscript)
        return true;
    for (const char *c = ++subscript; c < end - 1; c++) {
        depth += (*c == '(') - (*c == ')');
        if (depth == 0 && *c == ':')
            colons++;
        if (depth > 0 || *c != ',')
            continue;
        if (c - subscript != 1 || colons != 1) /* more than `:`, and not the last */
            return false;
        subscript = c + 1;
        colons = 0;
    }
    return colons <= 1;
}

/* The expression is one of the first two fields; the other is the file. */
static bool names_slab(const char *name)
{
    const char *begin = name + 1, *end = strchr(begin, ';');
    for (int field = 0; field < 2 && end; field++) {
        if (end > begin && !is_slab(begin, end))
            return false;
        begin = end + 1;
        end = strchr(begin, ';');
    }
    return true;
}

static bool is_known(const char *name)
{
    return name && *name == ';' && !strstr(name, ";unknown;");
}

/* The entries of an item follow each other, and the first of them bear its name. */
static bool is_named_slab(const od_map_args *args, int32_t i)
{
    for (int32_t j = i + 1; j-- > 0;)
        if (is_known(args->names[j]))
            return names_slab(args->names[j]);
    return true;
}

/* --- what the descriptor says ---------------------------------------------- */

typedef struct dimension {
    int64_t lower, shape, stride; /* stride in bytes */
} dimension;

typedef struct descriptor { /* CFI_cdesc_t of ISO_Fortran_binding.h */
    void *base;
    size_t element; /* bytes */
    int32_t version;
    uint8_t rank;
    int8_t type;
    uint8_t attribute, extra;
    dimension dimensions[];
} descriptor;

static bool has_gaps(const descriptor *d)
{
    int64_t expected = (int64_t)d->element;
    for (unsigned i = 0; i < d->rank; i++) {
        if (d->dimensions[i].shape > 1 && d->dimensions[i].stride != expected)
            return true;
        expected *= d->dimensions[i].shape;
    }
    return false;
}

enum { MAX_RANK = 15 };

enum { VERSION = 20180515 }; /* CFI_VERSION */

bool od_fortran_is_descriptor(uintptr_t base, size_t size)
{
    descriptor d;
    if (size < sizeof d || (size - sizeof d) % sizeof(dimension) || base % _Alignof(descriptor))
        return false;
    memcpy(&d, (const void *)base, sizeof d);
    return d.version == VERSION && d.rank <= MAX_RANK && size == sizeof d + d.rank * sizeof(dimension);
}

/* What leads to pointee i is a descriptor of an array with gaps. */
static bool is_scattered(const od_map_args *args, int32_t i)
{
    for (int32_t j = 0; j < i; j++) {
        const descriptor *d = args->begins[j];
        if (args->begins[j] != args->bases[i] || args->sizes[j] < (int64_t)(sizeof *d + sizeof(dimension)))
            continue;
        bool fits = d->rank <= MAX_RANK && sizeof *d + d->rank * sizeof(dimension) <= (size_t)args->sizes[j];
        return d->version == VERSION && fits && has_gaps(d);
    }
    return false;
}

/* --- widening -------------------------------------------------------------- */

static bool is_doubtful(const od_map_args *args, int32_t i)
{
    bool pointee = args->types[i] & OD_MAP_PTR_AND_OBJ, alone = !(args->types[i] & OD_MAP_MEMBER_OF);
    if ((args->types[i] & (OD_MAP_LITERAL | OD_MAP_PRIVATE)) || args->sizes[i] <= 0 || !(pointee || alone))
        return false;
    return !is_named_slab(args, i) || (pointee && is_scattered(args, i));
}

/* Its own arrays, as before. */
static void *copy_ranges(od_map_args *args)
{
    size_t n = (size_t)args->count;
    void **begins = od_alloc(n * (sizeof *args->begins + sizeof *args->sizes));
    int64_t *sizes = (int64_t *)(void *)(begins + n);
    memcpy(begins, args->begins, n * sizeof *begins);
    memcpy(sizes, args->sizes, n * sizeof *sizes);
    args->begins = begins;
    args->sizes = sizes;
    return begins;
}

void *od_fortran_widen(od_map_args *args)
{
    void *storage = NULL;
    for (int32_t i = 0; args->names && i < args->count; i++) {
        if (!is_doubtful(args, i))
            continue;
        od_engine *engine = od_runtime_lock();
        const od_region *region =
            od_directory_find_region(od_engine_directory(engine), od_entry_begin(args, i), (size_t)args->sizes[i]);
        uintptr_t base = region ? region->base : 0;
        size_t size = region ? region->size : 0;
        od_runtime_unlock();
        if (!size)
            continue;
        storage = storage ? storage : copy_ranges(args);
        args->begins[i] = (void *)base;
        args->sizes[i] = (int64_t)size;
    }
    return storage;
}
