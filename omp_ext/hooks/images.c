/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the program brings as device code. See images.h. */
#include "omp_ext/hooks/images.h"

#include "omp_ext/hooks/device_memory.h"
#include "omp_ext/tasks/entry.h"
#include "omp_ext/process/fatal.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/runtime/runtime.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

/* A library's table of target regions and device variables, as the program has registered it. */
typedef struct image {
    struct image *next;
    od_bin_desc *desc;
} image;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the list; nothing is allocated under it */
static image *images;

/* --- entries ---------------------------------------------------------------- */

typedef struct entity {
    const void *address;
    const char *name;
    size_t size; /* 0: a target region */
    uint32_t flags;
    uint64_t data;
} entity;

/* Entry i of a table of LLVM 19, or of a newer one. False: there is none. */
static bool old_entity(const od_bin_desc *desc, size_t i, entity *e)
{
    const od_offload_entry *entry = desc->entries_begin + i;
    if (entry >= desc->entries_end)
        return false;
    *e = (entity){entry->address, entry->name, entry->size, (uint32_t)entry->flags, (uint64_t)entry->data};
    return true;
}

static bool new_entity(const od_bin_desc *desc, size_t i, entity *e)
{
    const od_new_offload_entry *entry = (const od_new_offload_entry *)(const void *)desc->entries_begin + i;
    if (entry >= (const od_new_offload_entry *)(const void *)desc->entries_end)
        return false;
    *e = (entity){0};
    if (entry->kind == OD_OFFLOAD_KIND_OPENMP)
        *e = (entity){entry->address, entry->name, entry->size, entry->flags, entry->data};
    return true;
}

static bool get_entity(const od_bin_desc *desc, size_t i, entity *e)
{
    return od_real_is_old() ? old_entity(desc, i, e) : new_entity(desc, i, e);
}

static bool names_kernel(const od_bin_desc *desc, const void *kernel, const char **name)
{
    entity e;
    for (size_t i = 0; get_entity(desc, i, &e); i++)
        if (e.address == kernel && !e.size) {
            *name = e.name;
            return true;
        }
    return false;
}

const char *od_images_kernel_name(const void *kernel)
{
    const char *name = NULL;
    pthread_mutex_lock(&lock);
    for (const image *i = images; i && !names_kernel(i->desc, kernel, &name); i = i->next)
        continue;
    pthread_mutex_unlock(&lock);
    return name;
}

bool od_images_exist(void)
{
    pthread_mutex_lock(&lock);
    bool exist = images != NULL;
    pthread_mutex_unlock(&lock);
    return exist;
}

unsigned od_images_machine(void)
{
    unsigned machine = 0;
    pthread_mutex_lock(&lock);
    const od_device_image *first = images && images->desc->count ? images->desc->images : NULL;
    const Elf64_Ehdr *header = first ? first->image_start : NULL;
    if (header && (char *)first->image_end - (char *)first->image_start > (ptrdiff_t)sizeof *header &&
        memcmp(header->e_ident, ELFMAG, SELFMAG) == 0)
        machine = header->e_machine;
    pthread_mutex_unlock(&lock);
    return machine;
}

/* --- registration ------------------------------------------------------------ */

/* A declare target variable lives on every device, with contents that we cannot see. One device is used, and constructs
 * on the variable itself are libomptarget's. */
static void note_entity(const entity *e)
{
    if (e->flags == OD_OFFLOAD_REQUIRES && (e->data & OD_REQUIRES_UNIFIED_SHARED_MEMORY))
        od_runtime_switch_off("the program requires unified shared memory: there is nothing to copy");
    if (!e->size)
        return;
    od_runtime_single_device();
    if (!od_foreign_add((uintptr_t)e->address, e->size, OD_FIRST_DEVICE))
        od_fatal("out of host memory for the program's device variables");
}

static void add_image(od_bin_desc *desc)
{
    image *new = malloc(sizeof *new);
    if (!new)
        od_fatal("out of host memory for the program's device code");
    new->desc = desc;
    pthread_mutex_lock(&lock);
    new->next = images;
    images = new;
    pthread_mutex_unlock(&lock);
}

static bool is_only_image(const od_bin_desc *desc)
{
    pthread_mutex_lock(&lock);
    bool only = images && images->desc == desc && !images->next;
    pthread_mutex_unlock(&lock);
    return only;
}

static void remove_image(const od_bin_desc *desc)
{
    pthread_mutex_lock(&lock);
    image **at = &images;
    while (*at && (*at)->desc != desc)
        at = &(*at)->next;
    image *old = *at;
    if (old)
        *at = old->next;
    pthread_mutex_unlock(&lock);
    free(old);
}

void __tgt_register_lib(od_bin_desc *desc)
{
    entity e;
    od_runtime_load();
    for (size_t i = 0; get_entity(desc, i, &e); i++)
        note_entity(&e);
    add_image(desc);
    od_runtime_has_images();
    REAL(__tgt_register_lib)(desc);
}

static bool is_of(const od_job *job, const void *desc)
{
    const char *name;
    return job->kind == OD_JOB_KERNEL && names_kernel(desc, job->launch.call.kernel, &name);
}

/* A library is being closed, or the program ends. What comes to lie at its addresses afterwards is something else. */
void __tgt_unregister_lib(od_bin_desc *desc)
{
    entity e;
    if (is_only_image(desc))
        od_runtime_last_image();
    od_runtime_await_jobs(is_of, desc);
    od_entry_forget_library(desc);
    for (size_t i = 0; get_entity(desc, i, &e); i++)
        if (e.size)
            od_foreign_remove((uintptr_t)e.address);
    remove_image(desc);
    REAL(__tgt_unregister_lib)(desc);
}

/* --- as long as we need devices ------------------------------------------------ */

/* libomptarget counts the tables and takes its devices down, with our pools in them, when none is left. */
static od_bin_desc none;

void od_images_hold(void)
{
    REAL(__tgt_register_lib)(&none);
}

void od_images_let_go(void)
{
    REAL(__tgt_unregister_lib)(&none);
}

void od_images_locks(int (*visit)(pthread_mutex_t *lock))
{
    visit(&lock);
}
