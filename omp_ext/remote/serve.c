/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What a rank that serves offers (`ompdarts serve`): the kernels that the program's constructors have registered, on
 * libomptarget's devices. Nothing is scheduled here; the library is off, but for leagues, whose reductions are not left
 * to libomp (omp_ext/hooks/sync/sync.c). Where devices have memory of their own, a local back-end copies to and from
 * it.
 */
#include "omp_ext/libomp/call.h"
#include "omp_ext/libomp/images.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/remote/call.h"
#include "omp_ext/remote/numbers.h"
#include "omp_ext/runtime/internal.h"
#include "util/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct entry {
    od_mpi_kernel kernel;
    void *address;
} entry;

static struct {
    od_devices devices;
    od_backend local; /* no ops: the devices' memory is the process's own */
    entry *entries; /* by name */
    od_mpi_kernel *kernels;
    unsigned count;
    int threads; /* of a kernel */
} served;

static int by_name(const void *a, const void *b)
{
    uint64_t x = ((const entry *)a)->kernel.name, y = ((const entry *)b)->kernel.name;
    return (x > y) - (x < y);
}

static void *find_kernel(uint64_t name)
{
    entry wanted = {.kernel.name = name};
    const entry *found = bsearch(&wanted, served.entries, served.count, sizeof wanted, by_name);
    return found ? found->address : NULL;
}

static int launch(unsigned k, const void *call, size_t bytes)
{
    static _Thread_local bool prepared;
    if (!prepared)
        REAL(omp_set_num_threads)(served.threads);
    prepared = true;
    return od_call_run(call, bytes, served.devices.number[k], find_kernel);
}

static void count_one(const void *kernel, void *arg)
{
    (void)kernel;
    ++*(unsigned *)arg;
}

static void add(const void *kernel, void *arg)
{
    entry *e = &served.entries[served.count];
    (void)arg;
    if (!od_call_kernel(kernel, &e->kernel))
        return;
    e->address = (void *)(uintptr_t)kernel;
    served.count++;
}

/* Whether there is memory for the table. */
static bool find_kernels(void)
{
    unsigned n = 0;
    od_images_visit_addresses(count_one, &n);
    served.entries = od_calloc(n + 1, sizeof *served.entries);
    served.kernels = od_calloc(n + 1, sizeof *served.kernels);
    if (!served.entries || !served.kernels)
        return false;
    od_images_visit_addresses(add, NULL);
    qsort(served.entries, served.count, sizeof *served.entries, by_name);
    for (unsigned i = 0; i < served.count; i++)
        served.kernels[i] = served.entries[i].kernel;
    return true;
}

/* NULL: it can serve. */
static const char *why_not(void)
{
    if (!od_real_table.__tgt_target_kernel || !od_images_exist())
        return "the program has no device code";
    if (REAL(omp_get_num_devices)() <= 0)
        return "there is no device for the program's device code";
    return find_kernels() ? NULL : "out of memory";
}

static size_t half_of_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (size_t)pages * (size_t)page / 2 : (size_t)1 << 30;
}

/* Whether all devices give memory where they are asked to: addresses below those that ranks have. */
static bool gives_chosen(void)
{
    const od_backend_ops *ops = served.local.ops;
    void *probe = (void *)(((uintptr_t)1 << 44) - OD_CHOSEN);
    for (unsigned k = 0; k < served.devices.count; k++) {
        if (!ops->alloc_at || ops->alloc_at(served.local.state, k, OD_CHOSEN, probe))
            return false;
        ops->free(served.local.state, k, probe);
    }
    return true;
}

/* The user's back-end, but for `mpi`, which is rank 0's. False: there is none for these devices; `error` says why. */
static bool open_local(char *error, size_t size)
{
    od_options *options = &od_runtime.options;
    od_backend_choice *choice = &options->memory.backend;
    if (choice->type && choice->type->count)
        *choice = (od_backend_choice){0};
    if (!choice->type && od_devices_are_in_process())
        return true;
    od_devices_load(&served.devices); /* before anybody asks what memory is left */
    if (od_devices_open(&served.devices, options, NULL, &served.local, error, size))
        return false;
    if (gives_chosen())
        return true;
    bool is_needed = !served.local.in_process;
    snprintf(error, size, "these devices cannot be served: the back-end %s gives no memory at chosen addresses",
             served.local.ops->name);
    od_backend_release(&served.local);
    served.local = (od_backend){0};
    return !is_needed;
}

static size_t memory_of_each(void)
{
    size_t limit = od_runtime.options.memory.limit;
    if (limit)
        return limit;
    return served.local.ops ? od_devices_memory(&served.devices, &served.local)
                            : half_of_memory() / served.devices.count;
}

__attribute__((visibility("default"))) od_mpi_offer_fn ompdarts_v1_offer;

int ompdarts_v1_offer(od_mpi_offer *offer)
{
    char error[300] = "";
    const char *why = why_not();
    const od_options *options = &od_runtime.options;
    if (!why && od_devices_choose(&options->devices, (unsigned)REAL(omp_get_num_devices)(), &served.devices, error,
                                  sizeof error))
        why = error;
    if (!why && options->devices.none)
        why = "OMPDARTS_DEVICES=0 (--devices): at least one device must be served";
    if (!why && !open_local(error, sizeof error))
        why = error;
    if (why) {
        fprintf(stderr, "ompdarts: serve: %s\n", why);
        return 1;
    }
    od_remote_set_serving();
    __atomic_store_n(&od_forward_fork_teams, NULL, __ATOMIC_RELAXED);
    unsigned n = served.devices.count;
    int processors = REAL(omp_get_num_procs)(), wanted = REAL(omp_get_max_threads)();
    served.threads = (wanted < processors ? wanted : processors) / (int)n;
    served.threads = served.threads > 0 ? served.threads : 1;
    *offer = (od_mpi_offer){.ndevices = n,
                            .local = served.local.ops ? &served.local : NULL,
                            .memory = memory_of_each(),
                            .shared = !options->memory.limit && !served.local.ops,
                            .log = options->log,
                            .nkernels = served.count,
                            .kernels = served.kernels,
                            .launch = launch};
    return 0;
}
