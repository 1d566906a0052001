/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See stored.h. */
#define _GNU_SOURCE /* process_vm_readv */
#include "omp_ext/tasks/launch/stored.h"

#include "memmgr/data/relocation.h"
#include "omp_ext/libomp/images.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/process/signals/faults.h"
#include "omp_ext/remote/numbers.h"
#include "omp_ext/tasks/launch/launch.h"
#include "util/log.h"
#include "util/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    RUNS = 8,                /* of a kernel, after which it is trusted */
    SAMPLES = 16,            /* of a datum, spread over it */
    SAMPLE_BYTES = 16 << 10, /* each */
    TARGETS = 8,             /* data that one run's addresses lead to, beside which no more are looked for */
    VARIABLES = 64,          /* of device code, the first SAMPLE_BYTES of each */
    WORD = sizeof(uintptr_t),
};

typedef struct range {
    uintptr_t begin, end; /* device addresses */
} range;

typedef struct look {
    const od_task *task;
    bool parts; /* it uses some */
    unsigned k;
    range pools; /* all of them, and what lies between */
    char *copy;  /* of what is looked at, where only copies can be; or NULL */
    range target[TARGETS];
    unsigned ntargets;
    bool any; /* of the datum that is looked at: it holds one, and is bound */
} look;

static void warn(void)
{
    static atomic_bool warned;
    if (!atomic_exchange(&warned, true))
        od_log(OD_LOG_WARNING, "omp",
               "a kernel has stored addresses of its data in device memory, where they cannot stay for lack of memory "
               "or as parts of an array: whoever follows them later may find other contents (raise OMPDARTS_MEM)");
}

static bool is_in(range r, uintptr_t address)
{
    return address - r.begin < r.end - r.begin;
}

static range pool_of(unsigned k)
{
    const od_backend *backend = od_runtime_backend();
    uintptr_t begin = (uintptr_t)backend->pool_address[k];
    return (range){begin, begin + od_backend_pool_bytes(backend, k)};
}

static range all_pools(void)
{
    range all = pool_of(0);
    for (unsigned k = 1; k < od_runtime_backend()->ndevices; k++) {
        range pool = pool_of(k);
        all.begin = pool.begin < all.begin ? pool.begin : all.begin;
        all.end = pool.end > all.end ? pool.end : all.end;
    }
    return all;
}

/* The datum that lies there, and its device; or NULL. Locked. */
static od_datum *datum_at(od_engine *engine, uintptr_t address, unsigned *k)
{
    for (*k = 0; *k < od_runtime_backend()->ndevices; ++*k)
        if (is_in(pool_of(*k), address))
            return od_engine_datum_at(engine, *k, address - pool_of(*k).begin);
    return NULL;
}

static bool leads_to_known(const look *l, uintptr_t address)
{
    for (unsigned i = 0; i < l->ntargets; i++)
        if (is_in(l->target[i], address))
            return true;
    return false;
}

/* It may be in an array of which the task uses parts. */
static void note_part(look *l, uintptr_t address)
{
    for (uint32_t i = 0; i < l->task->naccess && !l->any; i++) {
        const od_window *window = l->task->access[i].datum->window;
        l->any = window && address - (uintptr_t)window->view[l->k].kernel < window->size;
    }
    if (l->any)
        warn();
}

/* The program's memory holds it, too: remains of something else, which were loaded. Nobody may look at it directly
 * where OMPDARTS_DEBUG=check guards it. */
static bool is_of_host(const od_datum *d, size_t offset, uintptr_t word)
{
    uintptr_t found = ~word;
    struct iovec to = {&found, sizeof found}, from = {(void *)(d->base + offset), sizeof found};
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)sizeof found && found == word;
}

/* The word holds an address there. `holder`: NULL: a variable of device code. */
static void note(look *l, od_datum *holder, size_t offset, uintptr_t address)
{
    unsigned k;
    if (holder && is_of_host(holder, offset, address))
        return;
    od_engine *engine = od_runtime_lock();
    bool ours = holder && od_patches_include(holder->replica[l->k].patches, offset);
    od_datum *target = ours ? NULL : datum_at(engine, address, &k);
    if (target) {
        uintptr_t begin = (uintptr_t)od_runtime_address(target, k);
        l->target[l->ntargets++] = (range){begin, begin + target->size};
        bool bound = holder && od_engine_keep_stored(engine, holder, l->k);
        bound |= od_engine_keep_stored(engine, target, k);
        if (bound)
            od_log(OD_LOG_INFO, "omp", "a kernel on device %u stores device addresses: what they lead to stays there",
                   l->k);
    }
    od_runtime_unlock();
    l->any |= target != NULL;
}

/* Of libomptarget's memory, which need not be the back-end's. */
static bool copy_variable(look *l, const char *begin, size_t bytes)
{
    return !REAL(omp_target_memcpy)(l->copy, begin, bytes, 0, 0, REAL(omp_get_initial_device)(),
                                    od_runtime_device_number(l->k));
}

static bool copy_data(look *l, const char *begin, size_t bytes)
{
    const od_backend *backend = od_runtime_backend();
    return !backend->ops->copy(backend->state, OD_HOST, l->copy, (int)l->k, begin, bytes);
}

/* Up to SAMPLES * SAMPLE_BYTES on the device; d NULL: of a variable. NULL: the device does not give them. */
static const char *read_there(look *l, const od_datum *d, const char *begin, size_t bytes)
{
    if (od_runtime_backend()->in_process)
        return begin;
    if (!l->copy)
        l->copy = od_malloc(SAMPLES * SAMPLE_BYTES);
    return l->copy && (d ? copy_data : copy_variable)(l, begin, bytes) ? l->copy : NULL;
}

static void look_through(look *l, od_datum *d, const char *begin, size_t bytes)
{
    size_t offset = d ? (size_t)(begin - (const char *)od_runtime_address(d, l->k)) : 0;
    const char *there = read_there(l, d, begin, bytes);
    for (size_t at = -(uintptr_t)begin % WORD; there && at + WORD <= bytes && l->ntargets < TARGETS; at += WORD) {
        uintptr_t word;
        memcpy(&word, there + at, WORD);
        if (is_in(l->pools, word) && !(l->any && leads_to_known(l, word)))
            note(l, d, offset + at, word);
        else if (l->parts && !l->any && od_faults_may_be_at(word))
            note_part(l, word);
    }
}

static bool look_at(look *l, od_datum *d)
{
    const char *begin = od_runtime_address(d, l->k);
    size_t step = d->size / SAMPLES;
    l->any = false;
    if (d->size <= SAMPLES * SAMPLE_BYTES)
        look_through(l, d, begin, d->size);
    for (size_t i = 0; d->size > SAMPLES * SAMPLE_BYTES && i < SAMPLES; i++) /* the last one at the very end */
        look_through(l, d, begin + (i + 1 < SAMPLES ? i * step : d->size - SAMPLE_BYTES), SAMPLE_BYTES);
    return l->any;
}

typedef struct variable {
    const void *host;
    size_t size; /* bytes that are looked at */
} variable;

typedef struct variables {
    variable at[VARIABLES];
    unsigned count;
} variables;

static void add_variable(const void *host, size_t size, void *arg)
{
    variables *all = arg;
    if (size >= WORD && all->count < VARIABLES)
        all->at[all->count++] = (variable){host, size < SAMPLE_BYTES ? size : SAMPLE_BYTES};
}

/* A program with variables uses one device. */
static bool look_at_variables(look *l)
{
    variables all = {.count = 0};
    if (!od_remote_is_on()) /* else they are not where the kernel has run */
        od_images_visit_variables(add_variable, &all);
    l->any = false;
    for (unsigned i = 0; i < all.count; i++) {
        const char *there = REAL(omp_get_mapped_ptr)(all.at[i].host, od_runtime_device_number(l->k));
        if (there && there != all.at[i].host)
            look_through(l, NULL, there, all.at[i].size);
    }
    return l->any;
}

static bool is_trusted(od_entry *entry)
{
    return entry && !atomic_load_explicit(&entry->stores, memory_order_relaxed) &&
           (atomic_load_explicit(&entry->looked, memory_order_relaxed) >= RUNS ||
            atomic_fetch_add_explicit(&entry->looked, 1, memory_order_relaxed) >= RUNS);
}

void od_stored_look(od_entry *entry, const od_task *task, unsigned k)
{
    if (is_trusted(entry))
        return;
    look l = {.task = task, .parts = od_launch_has_parts(task), .k = k, .pools = all_pools()};
    bool any = false;
    for (uint32_t i = 0; i < task->naccess; i++)
        if ((task->access[i].mode & OD_WRITE) && !task->access[i].datum->window)
            any |= look_at(&l, task->access[i].datum);
    any |= look_at_variables(&l);
    free(l.copy);
    if (any && entry)
        atomic_store(&entry->stores, true);
}

/* --- outside ------------------------------------------------------------------------- */

static bool is_in_region_data(const od_task *task, void *const *at, uintptr_t address)
{
    for (uint32_t i = 0; i < task->naccess; i++) {
        uintptr_t begin = (uintptr_t)at[i];
        const od_datum *d = task->access[i].datum;
        if (begin && d->region && is_in((range){begin, begin + d->size}, address))
            return true;
    }
    return false;
}

static bool any_is_in_region_data(const od_task *task, void *const *at, const uintptr_t *word, const uintptr_t *end)
{
    bool found = false;
    for (; word < end && !found; word++)
        found = is_in_region_data(task, at, *word);
    return found;
}

/* Pages that nobody has touched hold no addresses, and reading them can make them. */
static bool look_in(const od_task *task, void *const *at, const uintptr_t *words, size_t count)
{
    enum { PAGE = 4096, PAGES = 512 };
    unsigned char there[PAGES];
    uintptr_t begin = (uintptr_t)words, end = begin + count * WORD, page = begin / PAGE * PAGE;
    bool found = false;
    for (size_t n; page < end && !found; page += n * PAGE) {
        n = (end - page + PAGE - 1) / PAGE < PAGES ? (end - page + PAGE - 1) / PAGE : PAGES;
        if (mincore((void *)page, n * PAGE, there))
            memset(there, 1, n);
        for (size_t i = 0; i < n && !found; i++) {
            size_t first = page + i * PAGE > begin ? (page + i * PAGE - begin + WORD - 1) / WORD : 0;
            size_t next = (page + (i + 1) * PAGE - begin + WORD - 1) / WORD;
            if (there[i] & 1)
                found = any_is_in_region_data(task, at, words + first, words + (next < count ? next : count));
        }
    }
    return found;
}

void od_stored_look_outside(const od_task *task, void *const *at)
{
    bool found = false;
    for (uint32_t i = 0; i < task->naccess && !found; i++) {
        const od_datum *d = task->access[i].datum;
        if (at[i] && !d->window && d->region && (task->access[i].mode & OD_WRITE))
            found = look_in(task, at, at[i], d->size / WORD);
    }
    if (found)
        warn();
}
