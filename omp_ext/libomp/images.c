/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the program brings as device code. See images.h. */
#define _GNU_SOURCE
#include "omp_ext/libomp/images.h"

#include "omp_ext/libomp/real.h"
#include "omp_ext/process/memory.h"
#include "util/container/hash.h"
#include "util/file/elf.h"
#include "util/lock.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A library's table of target regions and device variables, as the program has registered it. */
typedef struct image {
    struct image *next;
    od_bin_desc *desc;
    uint64_t build; /* of its device code, a hash; 0: not asked for yet */
    bool statics;   /* its device code has variables that no entry names */
} image;

static od_lock lock = OD_LOCK_OF(OD_LOCK_IMAGES); /* protects the list; nothing is allocated under it */
static image *images;

/* --- entries ---------------------------------------------------------------- */

/* Entry i of a table of LLVM 19, or of a newer one. False: there is none. */
static bool old_entity(const od_bin_desc *desc, size_t i, od_image_entity *e)
{
    const od_offload_entry *entry = desc->entries_begin + i;
    if (entry >= desc->entries_end)
        return false;
    *e = (od_image_entity){entry->address, entry->name, entry->size, (uint32_t)entry->flags, (uint64_t)entry->data};
    return true;
}

static bool new_entity(const od_bin_desc *desc, size_t i, od_image_entity *e)
{
    const od_new_offload_entry *entry = (const od_new_offload_entry *)(const void *)desc->entries_begin + i;
    if (entry >= (const od_new_offload_entry *)(const void *)desc->entries_end)
        return false;
    *e = (od_image_entity){0};
    if (entry->kind == OD_OFFLOAD_KIND_OPENMP)
        *e = (od_image_entity){entry->address, entry->name, entry->size, entry->flags, entry->data};
    return true;
}

bool od_image_get(const od_bin_desc *desc, size_t i, od_image_entity *e)
{
    return od_real_is_old() ? old_entity(desc, i, e) : new_entity(desc, i, e);
}

bool od_image_names_kernel(const od_bin_desc *desc, const void *kernel, const char **name)
{
    od_image_entity e;
    for (size_t i = 0; od_image_get(desc, i, &e); i++)
        if (e.address == kernel && !e.size) {
            *name = e.name;
            return true;
        }
    return false;
}

const char *od_images_kernel_name(const void *kernel)
{
    const char *name = NULL;
    od_lock_take(&lock);
    for (const image *i = images; i && !od_image_names_kernel(i->desc, kernel, &name); i = i->next)
        continue;
    od_lock_give(&lock);
    return name;
}

static uint64_t hash_of(const od_bin_desc *desc)
{
    uint64_t hash = OD_HASH_START;
    for (int32_t n = 0; n < desc->count; n++) {
        const char *start = desc->images[n].image_start, *end = desc->images[n].image_end;
        hash = od_hash(hash, start, (size_t)(end - start));
    }
    return hash;
}

uint64_t od_images_kernel_build(const void *kernel)
{
    const char *name = NULL;
    uint64_t build = 0;
    od_lock_take(&lock);
    image *i = images;
    while (i && !od_image_names_kernel(i->desc, kernel, &name))
        i = i->next;
    if (i && !i->build)
        i->build = hash_of(i->desc);
    if (i)
        build = i->build;
    od_lock_give(&lock);
    return build;
}

/* Of what clang writes into an image beside each kernel: its ConfigurationEnvironmentTy. */
enum { MODE_AT = 2, REDUCTION_BYTES_AT = 20, SPMD = 2, SPMD_NO_LOOP = 6 };

typedef bool has_in(const od_device_image *device_image, const char *variable);

static const char *environment_in(const od_device_image *device_image, const char *variable, size_t least)
{
    size_t bytes = (size_t)((char *)device_image->image_end - (char *)device_image->image_start), size;
    const char *environment = od_elf_variable(device_image->image_start, bytes, variable, &size);
    return environment && size >= least ? environment : NULL;
}

static bool reduces_in(const od_device_image *device_image, const char *variable)
{
    uint32_t reduction_bytes = 0;
    const char *environment = environment_in(device_image, variable, REDUCTION_BYTES_AT + sizeof reduction_bytes);
    if (environment)
        memcpy(&reduction_bytes, environment + REDUCTION_BYTES_AT, sizeof reduction_bytes);
    return reduction_bytes > 0;
}

static bool has_mode(const od_device_image *device_image, const char *variable, char mode)
{
    const char *environment = environment_in(device_image, variable, MODE_AT + 1);
    return environment && environment[MODE_AT] == mode;
}

static bool is_spmd_in(const od_device_image *device_image, const char *variable)
{
    return has_mode(device_image, variable, SPMD);
}

static bool has_no_loop_in(const od_device_image *device_image, const char *variable)
{
    return has_mode(device_image, variable, SPMD_NO_LOOP);
}

/* One of the images that have the kernel does, by what is written beside it. */
static bool any_has(const void *kernel, has_in *has)
{
    static const char suffix[] = "_kernel_environment";
    char variable[1024];
    const char *name = NULL;
    bool any = false;
    od_lock_take(&lock);
    const image *i = images;
    while (i && !od_image_names_kernel(i->desc, kernel, &name))
        i = i->next;
    if (name && (size_t)snprintf(variable, sizeof variable, "%s%s", name, suffix) < sizeof variable)
        for (int32_t n = 0; n < i->desc->count && !any; n++)
            any = has(&i->desc->images[n], variable);
    od_lock_give(&lock);
    return any;
}

bool od_images_kernel_reduces(const void *kernel)
{
    return any_has(kernel, reduces_in);
}

bool od_images_kernel_is_spmd(const void *kernel)
{
    return any_has(kernel, is_spmd_in);
}

bool od_images_kernel_has_no_loop(const void *kernel)
{
    return any_has(kernel, has_no_loop_in);
}

/* Names of symbols stand between zero bytes. */
static bool names_in(const od_device_image *device_image, const char *prefix)
{
    const char *at = device_image->image_start, *end = device_image->image_end;
    size_t length = strlen(prefix);
    while (at < end && (at = memmem(at, (size_t)(end - at), prefix, length)) &&
           at > (char *)device_image->image_start) {
        if (at[-1] == '\0')
            return true;
        at++;
    }
    return false;
}

bool od_images_kernel_names(const void *kernel, const char *prefix)
{
    const char *name = NULL;
    bool names = false;
    od_lock_take(&lock);
    for (const image *i = images; i && !names; i = i->next)
        for (int32_t n = 0; od_image_names_kernel(i->desc, kernel, &name) && n < i->desc->count && !names; n++)
            names = names_in(&i->desc->images[n], prefix);
    od_lock_give(&lock);
    return names;
}

static bool has_variables(const od_bin_desc *desc)
{
    od_image_entity e;
    for (size_t i = 0; od_image_get(desc, i, &e); i++)
        if (e.size)
            return true;
    return false;
}

void od_images_visit_kernels(void (*visit)(const char *name, void *arg), void *arg)
{
    od_image_entity e;
    od_lock_take(&lock);
    for (const image *at = images; at; at = at->next)
        for (size_t i = 0; od_image_get(at->desc, i, &e); i++)
            if (!e.size && e.address && e.name)
                visit(e.name, arg);
    od_lock_give(&lock);
}

static const void *kernel_after(const image *at, size_t *i)
{
    od_image_entity e;
    while (od_image_get(at->desc, (*i)++, &e))
        if (!e.size && e.address && e.name)
            return e.address;
    return NULL;
}

/* Without the lock: `visit` asks for more about the kernels. */
void od_images_visit_addresses(void (*visit)(const void *kernel, void *arg), void *arg)
{
    const void *kernel;
    for (const image *at = images; at; at = at->next)
        for (size_t i = 0; (kernel = kernel_after(at, &i));)
            visit(kernel, arg);
}

void od_images_visit_variables(void (*visit)(const void *host, size_t size, void *arg), void *arg)
{
    od_image_entity e;
    od_lock_take(&lock);
    for (const image *at = images; at; at = at->next)
        for (size_t i = 0; od_image_get(at->desc, i, &e); i++)
            if (e.size && e.address && !e.flags)
                visit(e.address, e.size, arg);
    od_lock_give(&lock);
}

bool od_images_have_variables(void)
{
    bool have = false;
    od_lock_take(&lock);
    for (const image *i = images; i && !have; i = i->next)
        have = i->statics || has_variables(i->desc);
    od_lock_give(&lock);
    return have;
}

bool od_images_exist(void)
{
    od_lock_take(&lock);
    bool exist = images != NULL;
    od_lock_give(&lock);
    return exist;
}

/* Of the first device image. False: there is none, or it is no ELF file. */
static bool first_header(Elf64_Ehdr *header)
{
    od_lock_take(&lock);
    const od_device_image *first = images && images->desc->count ? images->desc->images : NULL;
    const char *begin = first ? first->image_start : NULL;
    bool there =
        begin && (char *)first->image_end - begin > (ptrdiff_t)sizeof *header && !memcmp(begin, ELFMAG, SELFMAG);
    if (there)
        memcpy(header, begin, sizeof *header);
    od_lock_give(&lock);
    return there;
}

unsigned od_images_machine(void)
{
    Elf64_Ehdr header;
    return first_header(&header) ? header.e_machine : 0;
}

enum { MOVED_ARCH_ABI = 8, FIRST_OF_ABI = 13 };

/* ptxas up to CUDA 12 writes its version, 124 for 12.4, where others write that of ELF, 1. */
static unsigned cuda_of(const Elf64_Ehdr *header)
{
    if (header->e_ident[EI_ABIVERSION] >= MOVED_ARCH_ABI)
        return FIRST_OF_ABI;
    return header->e_version > EV_CURRENT ? header->e_version / 10 : 0;
}

bool od_images_cuda(od_cuda_image *cuda)
{
    Elf64_Ehdr header;
    if (!first_header(&header) || header.e_machine != EM_CUDA)
        return false;
    cuda->abi = header.e_ident[EI_ABIVERSION];
    cuda->cuda = cuda_of(&header);
    cuda->arch = (cuda->abi >= MOVED_ARCH_ABI ? header.e_flags >> 8 : header.e_flags) & 0xff;
    return true;
}

/* --- registration ------------------------------------------------------------ */

static bool has_statics(const od_bin_desc *desc)
{
    for (int32_t n = 0; n < desc->count; n++) {
        const char *start = desc->images[n].image_start, *end = desc->images[n].image_end;
        if (od_elf_has_variables(start, (size_t)(end - start)))
            return true;
    }
    return false;
}

void od_images_add(od_bin_desc *desc)
{
    image *new = od_alloc_zeroed(1, sizeof *new);
    new->desc = desc;
    new->statics = has_statics(desc);
    od_lock_take(&lock);
    new->next = images;
    images = new;
    od_lock_give(&lock);
}

bool od_images_are_only(const od_bin_desc *desc)
{
    od_lock_take(&lock);
    bool only = images && images->desc == desc && !images->next;
    od_lock_give(&lock);
    return only;
}

void od_images_remove(const od_bin_desc *desc)
{
    od_lock_take(&lock);
    image **at = &images;
    while (*at && (*at)->desc != desc)
        at = &(*at)->next;
    image *old = *at;
    if (old)
        *at = old->next;
    od_lock_give(&lock);
    free(old);
}

/* --- as long as we need devices ------------------------------------------------ */

/* libomptarget counts the tables and takes its devices down, with our pools in them, when none is left. */
static od_bin_desc none;

void od_images_hold(void)
{
    REAL(__tgt_register_lib)(&none);
}

void od_images_free(void)
{
    REAL(__tgt_unregister_lib)(&none);
}

void od_images_locks(void (*visit)(od_lock *lock))
{
    visit(&lock);
}
