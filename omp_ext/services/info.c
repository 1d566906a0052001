/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See info.h. */
#define _GNU_SOURCE
#include "omp_ext/services/info.h"

#include "omp_ext/runtime/runtime.h"
#include "util/options.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARGUMENTS = 0x1, EXISTING = 0x2, CHANGED = 0x8, EMPTY = 0x40 };

bool od_info_wanted;
static uint32_t level; /* set when the runtime starts */

/* False: there is nothing to print. */
static bool set_level(const char *text, uint32_t without)
{
    void (*set)(uint32_t) = (void (*)(uint32_t))(uintptr_t)dlsym(RTLD_NEXT, "__tgt_set_info_flag");
    if (!set || !text)
        return false;
    set((uint32_t)strtol(text, NULL, 10) & ~without);
    return true;
}

void od_info_silence(bool silent)
{
    set_level(od_environment("LIBOMPTARGET_INFO"), silent ? ARGUMENTS : 0);
}

static void start(const od_run *run)
{
    (void)run;
    const char *text = od_environment("LIBOMPTARGET_INFO");
    if (!set_level(text, ARGUMENTS))
        return;
    level = (uint32_t)strtol(text, NULL, 10);
    od_info_wanted = level & (ARGUMENTS | EXISTING | CHANGED);
}

const od_service od_info_service = {.start = start};

/* A field of ";file;function;line;column;;", or of ";variable;file;line;column;;". */
static int field(const char *text, int number, const char **begin)
{
    const char *at = text && *text == ';' ? text : NULL;
    for (int i = 0; at && i < number; i++)
        at = strchr(at + 1, ';');
    *begin = at ? at + 1 : "unknown";
    return at ? (int)strcspn(*begin, ";") : (int)strlen(*begin);
}

static long number(const char *text, int which)
{
    const char *begin;
    return field(text, which, &begin) ? strtol(begin, NULL, 10) : 0;
}

static void write_place(const od_ident *ident, const char *what, int32_t count, int device)
{
    const char *source = ident ? ident->source : NULL, *file;
    int length = field(source, 0, &file);
    for (int i = length; i > 0; i--)
        if (file[i - 1] == '/') {
            file += i;
            length -= i;
            break;
        }
    fprintf(stderr, "omptarget device %d info: %s at %.*s:%ld:%ld with %" PRId32 " arguments:\n", device, what, length,
            file, number(source, 2), number(source, 3), count);
}

static const char *kind_of(int64_t type, int64_t size)
{
    if ((type & OD_MAP_TO) && (type & OD_MAP_FROM))
        return "tofrom";
    return (type & OD_MAP_TO)        ? "to"
           : (type & OD_MAP_FROM)    ? "from"
           : (type & OD_MAP_PRIVATE) ? "private"
           : (type & OD_MAP_LITERAL) ? "firstprivate"
           : (type & OD_MAP_ATTACH)  ? "attach"
           : size                    ? "alloc"
                                     : "use_address";
}

void od_info_write(od_info_construct what, const od_ident *ident, int64_t device, const od_map_args *args)
{
    static const char *const texts[] = {
        [OD_INFO_BEGIN] = "Entering OpenMP data region with being_mapper", /* its spelling */
        [OD_INFO_END] = "Exiting OpenMP data region with end_mapper",
        [OD_INFO_UPDATE] = "Updating data within the OpenMP data region with update_mapper",
        [OD_INFO_KERNEL] = "Entering OpenMP kernel",
    };
    int number_of = device >= 0 ? (int)device : od_runtime_virtual_number();
    if (!(level & ARGUMENTS))
        return;
    flockfile(stderr); /* one construct's lines stay together */
    write_place(ident, texts[what], args->count, number_of);
    for (int32_t i = 0; i < args->count; i++) {
        const char *name;
        int length = field(args->names ? args->names[i] : NULL, 0, &name);
        fprintf(stderr, "omptarget device %d info: %s(%.*s)[%" PRId64 "] %s\n", number_of,
                kind_of(args->types[i], args->sizes[i]), length, name, args->sizes[i],
                (args->types[i] & OD_MAP_IMPLICIT) ? "(implicit)" : "");
    }
    funlockfile(stderr);
}

void od_info_print_absent(const od_map_args *args, int32_t i)
{
    const char *name;
    if (!(level & EMPTY))
        return;
    int length = field(args->names ? args->names[i] : NULL, 0, &name);
    fprintf(stderr, "omptarget device %d info: variable %.*s does not have a valid device counterpart\n",
            od_runtime_virtual_number(), length, name);
}

/* --- mappings ------------------------------------------------------------------ */

typedef struct entry {
    uintptr_t base, begin;
    int64_t size;
    uint32_t references, holds; /* of its region, as the line is to say */
    int length;
    const char *name;
} entry;

static const int digits = 2 * (int)sizeof(uintptr_t);

static void write_created(const entry *e)
{
    if (level & CHANGED)
        fprintf(stderr,
                "omptarget device %d info: Creating new map entry with HstPtrBase=0x%0*" PRIxPTR
                ", HstPtrBegin=0x%0*" PRIxPTR ", TgtAllocBegin=0x%0*x, TgtPtrBegin=0x%0*x, Size=%" PRId64
                ", DynRefCount=%" PRIu32 ", HoldRefCount=%" PRIu32 ", Name=%.*s\n",
                od_runtime_virtual_number(), digits, e->base, digits, e->begin, digits, 0, digits, 0, e->size,
                e->references, e->holds, e->length, e->name);
}

static void write_existing(const entry *e, const char *change, bool named)
{
    if (level & EXISTING)
        fprintf(stderr,
                "omptarget device %d info: Mapping exists with HstPtrBegin=0x%0*" PRIxPTR
                ", TgtPtrBegin=0x%0*x, Size=%" PRId64 ", DynRefCount=%" PRIu32 " (%s), HoldRefCount=%" PRIu32
                "%s%.*s\n",
                od_runtime_virtual_number(), digits, e->begin, digits, 0, e->size, e->references, change, e->holds,
                named ? ", Name=" : "", named ? e->length : 0, e->name);
}

static void write_removed(const entry *e)
{
    if (level & CHANGED)
        fprintf(stderr,
                "omptarget device %d info: Removing map entry with HstPtrBegin=0x%0*" PRIxPTR
                ", TgtPtrBegin=0x%0*x, Size=%" PRId64 ", Name=%.*s\n",
                od_runtime_virtual_number(), digits, e->begin, digits, 0, e->size, e->length, e->name);
}

static void write_begun(const entry *e)
{
    if (e->references + e->holds == 1)
        write_created(e);
    else
        write_existing(e, "incremented", true);
}

static void write_ending(entry *e, int64_t type)
{
    uint32_t *count = (type & OD_MAP_HOLD) ? &e->holds : &e->references;
    *count -= *count > 0;
    if (type & OD_MAP_DELETE)
        e->references = 0;
    bool last = e->references + e->holds == 0;
    write_existing(e, last ? "decremented, delayed deletion" : "decremented", false);
    if (last)
        write_removed(e);
}

/* False: the entry maps nothing itself. */
static bool find(const od_map_args *args, int32_t i, entry *e)
{
    if (args->types[i] & OD_MAP_NO_RANGE)
        return false;
    *e = (entry){.base = (uintptr_t)args->bases[i], .begin = (uintptr_t)args->begins[i], .size = args->sizes[i]};
    e->length = field(args->names ? args->names[i] : NULL, 0, &e->name);
    od_engine *engine = od_runtime_lock();
    const od_region *region =
        od_directory_find_region(od_engine_directory(engine), e->begin, e->size > 0 ? (size_t)e->size : 1);
    if (region) {
        e->references = region->references;
        e->holds = region->holds;
    }
    od_runtime_unlock();
    return region != NULL;
}

void od_info_write_mappings(od_info_construct what, const od_map_args *args)
{
    entry e;
    for (int32_t i = 0; i < args->count; i++) {
        int32_t at = what == OD_INFO_END ? args->count - 1 - i : i;
        if (!find(args, at, &e))
            continue;
        if (what == OD_INFO_END)
            write_ending(&e, args->types[at]);
        else
            write_begun(&e);
    }
}
