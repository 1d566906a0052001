/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See league.h. */
#include "omp_ext/libomp/league.h"

#include "omp_ext/libomp/images.h"
#include "omp_ext/libomp/real.h"
#include "util/file/elf.h"
#include "util/memory.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

/* A library with the variable. libomptarget knows it by `given`, its images' variable by the address of `slice`. */
typedef struct library {
    od_bin_desc given; /* the first member: od_league_free() */
    const od_bin_desc *desc;
    od_league_slice slice;
    struct library *next;
    _Alignas(od_new_offload_entry) char entries[]; /* in the format of the LLVM that is loaded */
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

/* LLVM 22 reads tables of programs that older ones have compiled, too: theirs begin with an address. */
static bool has_format(const od_bin_desc *desc)
{
    const od_new_offload_entry *first = (const void *)desc->entries_begin;
    return od_real_is_old() || (desc->entries_begin != desc->entries_end && first->reserved == 0);
}

/* Returns its end. */
static void *add_entry(void *at, od_league_slice *slice)
{
    static char name[] = OD_LEAGUE_VARIABLE;
    od_offload_entry *old = at;
    od_new_offload_entry *new = at;
    if (od_real_is_old()) {
        *old = (od_offload_entry){.address = slice, .name = name, .size = sizeof *slice};
        return old + 1;
    }
    *new = (od_new_offload_entry){
        .version = 1, .kind = OD_OFFLOAD_KIND_OPENMP, .address = slice, .name = name, .size = sizeof *slice};
    return new + 1;
}

/* Its entries, and one more. NULL: out of memory. */
static library *copy_of(const od_bin_desc *desc)
{
    size_t bytes = (size_t)((char *)desc->entries_end - (char *)desc->entries_begin), count = (size_t)desc->count;
    library *l = od_calloc(1, sizeof *l + bytes + sizeof(od_new_offload_entry));
    od_device_image *images = od_calloc(count, sizeof *images);
    if (!l || !images) {
        free(l);
        free(images);
        return NULL;
    }
    memcpy(l->entries, desc->entries_begin, bytes);
    void *begin = l->entries, *end = add_entry(l->entries + bytes, &l->slice);
    for (size_t i = 0; i < count; i++)
        images[i] = (od_device_image){desc->images[i].image_start, desc->images[i].image_end, begin, end};
    l->desc = desc;
    l->given = (od_bin_desc){desc->count, images, begin, end};
    return l;
}

od_bin_desc *od_league_add(od_bin_desc *desc)
{
    library *l = has_format(desc) && all_have_variable(desc) ? copy_of(desc) : NULL;
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

bool od_league_is_on_gpus(void)
{
    unsigned machine = od_images_machine(); /* 0: bitcode, say, for whichever GPU there is */
    return machine != EM_X86_64 && machine != EM_AARCH64;
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
