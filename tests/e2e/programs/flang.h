/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Fortran arrays as flang hands them to the runtime, made in C: descriptors in the layout of ISO_Fortran_binding.h, map
 * lists with the entries that flang 22 (flang 19: "flang19" as the program's argument) makes for them, and the calls
 * that it makes.
 *
 * A region is compiled by clang: FLANG_REGION defines it with its host version. Its parameters are descriptors (or
 * structs), then one int; the program's own __tgt_target_kernel, which stands before the library's, learns its address
 * from a first launch that does nothing. From then on launch() calls the library's with flang's list.
 */
#ifndef E2E_FLANG_H
#define E2E_FLANG_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "check.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

/* --- descriptors ----------------------------------------------------------- */

typedef struct dimension {
    int64_t lower, extent, stride; /* stride in bytes */
} dimension;

typedef struct descriptor { /* rank 1 */
    double *base;
    size_t element;
    int32_t version;
    uint8_t rank;
    int8_t type;
    uint8_t attribute, extra;
    dimension first;
} descriptor;

typedef struct matrix { /* rank 2 */
    descriptor d;
    dimension second;
} matrix;

_Static_assert(sizeof(descriptor) == 48 && sizeof(matrix) == 72, "CFI_cdesc_t");

enum { VERSION = 20240719, ALLOCATABLE = 2, REAL8 = 28, SCALAR_BYTES = 24 };

static inline descriptor describe(double *base, int64_t count)
{
    return (descriptor){base, sizeof(double), VERSION, 1, REAL8, ALLOCATABLE, 0, {1, count, sizeof(double)}};
}

static inline size_t descriptor_bytes(const descriptor *d)
{
    return SCALAR_BYTES + d->rank * sizeof(dimension);
}

/* --- map lists ------------------------------------------------------------- */

#define TO INT64_C(0x1)
#define FROM INT64_C(0x2)
#define ALWAYS INT64_C(0x4)
#define POINTEE INT64_C(0x10)
#define PARAMETER INT64_C(0x20)
#define LITERAL INT64_C(0x100)
#define IMPLICIT INT64_C(0x200)
#define PRESENT INT64_C(0x1000)
#define MEMBER_OF(n) ((int64_t)(n) << 48)

enum { MAX_ENTRIES = 32 };

typedef struct map_list {
    int32_t count;
    void *bases[MAX_ENTRIES], *begins[MAX_ENTRIES];
    int64_t sizes[MAX_ENTRIES], types[MAX_ENTRIES];
    void *mappers[MAX_ENTRIES];
} map_list;

typedef enum construct { KERNEL, BEGIN, END, UPDATE } construct;

static bool is_flang19;

static inline void map_entry(map_list *list, void *base, void *begin, size_t size, int64_t type)
{
    int32_t i = list->count++;
    list->bases[i] = base;
    list->begins[i] = begin;
    list->sizes[i] = (int64_t)size;
    list->types[i] = type;
}

/* The parts of the descriptor d, which is a member of entry `parent`, in a struct at `base` or by itself. */
static inline void map_parts(map_list *list, construct what, void *base, descriptor *d, bool whole, int parent,
                             int64_t flags)
{
    char *begin = (char *)d;
    size_t bytes = descriptor_bytes(d);
    int64_t member = MEMBER_OF(parent), given = TO | ALWAYS;
    if (is_flang19) {
        map_entry(list, base, begin, bytes, member | TO);
        return;
    }
    if (what == UPDATE || (what == END && flags == FROM))
        given = flags;
    given |= flags & IMPLICIT;
    if (whole || what == UPDATE) {
        map_entry(list, base, begin, bytes, member | given);
    } else {
        map_entry(list, base, begin, 0, member | given);
        map_entry(list, base, begin + sizeof(void *), bytes - sizeof(void *), member | given);
    }
    map_entry(list, base, begin, sizeof(void *), member | flags);
}

/* map(flags: x) of the array that d describes, or of a section of it at `begin`. */
static inline void map_section(map_list *list, construct what, descriptor *d, double *begin, size_t bytes,
                               int64_t flags)
{
    int parent = list->count + 1;
    map_entry(list, d, d, descriptor_bytes(d), what == KERNEL ? PARAMETER : 0);
    map_parts(list, what, d, d, false, parent, flags);
    map_entry(list, d, begin, bytes, MEMBER_OF(parent) | POINTEE | flags);
}

static inline size_t array_bytes(const descriptor *d)
{
    size_t n = sizeof(double);
    if (!d->base)
        return 0;
    if (d->rank > 0)
        n *= (size_t)d->first.extent;
    return d->rank > 1 ? n * (size_t)((const matrix *)d)->second.extent : n;
}

static inline void map_array(map_list *list, construct what, descriptor *d, int64_t flags)
{
    map_section(list, what, d, d->base, array_bytes(d), flags);
}

static inline void map_literal(map_list *list, int value)
{
    void *bits = (void *)(uintptr_t)(unsigned)value;
    map_entry(list, bits, bits, sizeof value, PARAMETER | LITERAL | IMPLICIT);
}

/* --- calls ----------------------------------------------------------------- */

typedef struct location {
    int32_t reserved_1, flags, reserved_2, length;
    const char *text;
} location;

static const char place_text[] = ";unknown;unknown;0;0;;";
static location place = {0, 2, 0, 22, place_text};

typedef struct kernel_arguments { /* version 3 */
    uint32_t version, count;
    void **bases, **begins;
    int64_t *sizes, *types;
    void **names, **mappers;
    uint64_t trip_count, flags;
    uint32_t teams[3], threads[3], dynamic_memory;
} kernel_arguments;

typedef int (*kernel_call)(location *, int64_t device, int32_t teams, int32_t threads, void *region,
                           kernel_arguments *);

enum { DEFAULT_DEVICE = -1 };

#define DATA_CALL(name)                                                                                                \
    void __tgt_target_data_##name##_mapper(location *, int64_t, int32_t, void **, void **, int64_t *, int64_t *,       \
                                           void **, void **);                                                          \
    void __tgt_target_data_##name##_nowait_mapper(location *, int64_t, int32_t, void **, void **, int64_t *,           \
                                                  int64_t *, void **, void **, int32_t, void *, int32_t, void *);
DATA_CALL(begin)
DATA_CALL(end)
DATA_CALL(update)

static void *learnt_region;

/* Stands before the library's: clang's own launches only tell which region they would launch. (Without debug
 * information of its own: clang gives those launches no line, which its verifier minds.) */
__attribute__((nodebug)) int __tgt_target_kernel(location *where, int64_t device, int32_t teams, int32_t threads,
                                                 void *region, kernel_arguments *arguments)
{
    (void)where, (void)device, (void)teams, (void)threads, (void)arguments;
    learnt_region = region;
    return 0;
}

static inline void *find_region(void (*region)(void *, void *, int))
{
    region(NULL, NULL, 0);
    return learnt_region;
}

/* name_on_host(A *a, B *b, int n) is what the region does. */
#define FLANG_REGION(name, A, B)                                                                                       \
    static void name##_region(void *first, void *second, int n)                                                        \
    {                                                                                                                  \
        A *a = first;                                                                                                  \
        B *b = second;                                                                                                 \
        _Pragma("omp target map(to : a[0 : 1], b[0 : 1])") name##_on_host(a, b, n);                                    \
    }

/* 0: the region has run on a device. */
static inline int launch(void *region, map_list *list, bool nowait)
{
    static kernel_call next;
    if (!__atomic_load_n(&next, __ATOMIC_ACQUIRE)) {
        void *symbol = dlsym(RTLD_NEXT, "__tgt_target_kernel");
        kernel_call found;
        memcpy(&found, &symbol, sizeof found);
        __atomic_store_n(&next, found, __ATOMIC_RELEASE);
    }
    kernel_arguments arguments = {.version = 3,
                                  .count = (uint32_t)list->count,
                                  .bases = list->bases,
                                  .begins = list->begins,
                                  .sizes = list->sizes,
                                  .types = list->types,
                                  .mappers = list->mappers,
                                  .flags = nowait,
                                  .teams = {UINT32_MAX}};
    return next(&place, DEFAULT_DEVICE, -1, 0, region, &arguments);
}

static inline void data_construct(construct what, map_list *list)
{
    typedef void (*data_call)(location *, int64_t, int32_t, void **, void **, int64_t *, int64_t *, void **, void **);
    static const data_call calls[] = {[BEGIN] = __tgt_target_data_begin_mapper,
                                      [END] = __tgt_target_data_end_mapper,
                                      [UPDATE] = __tgt_target_data_update_mapper};
    calls[what](&place, DEFAULT_DEVICE, list->count, list->bases, list->begins, list->sizes, list->types, NULL,
                list->mappers);
}

/* The program's argument: which flang. */
static inline void choose_flang(int argc, char **argv)
{
    is_flang19 = argc > 1 && strcmp(argv[1], "flang19") == 0;
}

#endif
