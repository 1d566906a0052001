/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See league.h. */
#include "omp_ext/libomp/league.h"

#include "omp_ext/libomp/images.h"
#include "omp_ext/libomp/real.h"
#include "util/file/elf.h"
#include "util/memory.h"

#include <stdlib.h>
#include <string.h>

/* A library with the variable. libomptarget knows it by `given`, its images' variable by the address of `slice`. */
typedef struct library {
    od_bin_desc given; /* the first member: od_league_free() */
    const od_bin_desc *desc;
    od_league_slice slice;
    struct library *next;
    od_offload_entry entries[];
} library;

static od_lock lock = OD_LOCK_OF(OD_LOCK_IMAGES); /* protects the list */
static library *libraries;

static bool all_have_variable(const od_bin_desc *desc)
{
    for (int32_t n = 0; n < desc->count; n++) {
        size_t size = 0;
        const char *begin = desc->images[n].image_start, *end = desc->images[n].image_end;
        od_elf_variable(begin, (size_t)(end - begin), OD_LEAGUE_VARIABLE, &size); /* which is all zero */
        if (size != sizeof(od_league_slice))
            return false;
    }
    return desc->count > 0;
}

/* Its entries, and one more. NULL: out of memory. */
static library *copy_of(const od_bin_desc *desc)
{
    static char name[] = OD_LEAGUE_VARIABLE;
    size_t n = (size_t)(desc->entries_end - desc->entries_begin), count = (size_t)desc->count;
    library *l = od_calloc(1, sizeof *l + (n + 1) * sizeof *l->entries);
    od_device_image *images = od_calloc(count, sizeof *images);
    if (!l || !images) {
        free(l);
        free(images);
        return NULL;
    }
    memcpy(l->entries, desc->entries_begin, n * sizeof *l->entries);
    l->entries[n] = (od_offload_entry){.address = &l->slice, .name = name, .size = sizeof l->slice};
    for (size_t i = 0; i < count; i++) {
        images[i] = desc->images[i];
        images[i].entries_begin = l->entries;
        images[i].entries_end = l->entries + n + 1;
    }
    l->desc = desc;
    l->given = (od_bin_desc){desc->count, images, l->entries, l->entries + n + 1};
    return l;
}

od_bin_desc *od_league_add(od_bin_desc *desc)
{
    library *l = od_real_is_old() && all_have_variable(desc) ? copy_of(desc) : NULL;
    if (!l)
        return desc;
    od_lock_take(&lock);
    l->next = libraries;
    libraries = l;
    od_lock_give(&lock);
    return &l->given;
}

/* Under the lock. NULL: it is not there. */
static library *take_out(const od_bin_desc *desc)
{
    for (library **at = &libraries, *l = *at; l; at = &l->next, l = *at)
        if (l->desc == desc) {
            *at = l->next;
            return l;
        }
    return NULL;
}

od_bin_desc *od_league_remove(od_bin_desc *desc)
{
    od_lock_take(&lock);
    library *l = take_out(desc);
    od_lock_give(&lock);
    return l ? &l->given : desc;
}

void od_league_free(od_bin_desc *given, const od_bin_desc *desc)
{
    if (given == desc)
        return;
    free(given->images);
    free(given);
}

static void *address_of(const void *kernel)
{
    const char *name;
    od_lock_take(&lock);
    library *l = libraries;
    while (l && !od_image_names_kernel(l->desc, kernel, &name))
        l = l->next;
    od_lock_give(&lock);
    return l ? &l->slice : NULL;
}

bool od_league_may_be_sliced(const void *kernel)
{
    return address_of(kernel) != NULL;
}

void *od_league_variable(const void *kernel, int device)
{
    const void *here = address_of(kernel);
    void *there = here ? REAL(omp_get_mapped_ptr)(here, device) : NULL;
    return there != here ? there : NULL;
}

void od_league_locks(void (*visit)(od_lock *lock))
{
    visit(&lock);
}
