/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What a rank that serves offers (`ompdarts serve`): the kernels that the program's constructors have registered, on
 * libomptarget's devices. Nothing is scheduled here; the library is off.
 */
#include "omp_ext/libomp/images.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/remote/call.h"
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
    if (!od_devices_are_in_process())
        return "the program's device code is for GPUs: only LLVM's host devices can be served as yet";
    if (REAL(omp_get_num_devices)() <= 0)
        return "there is no device for the program's device code";
    return find_kernels() ? NULL : "out of memory";
}

static size_t half_of_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (size_t)pages * (size_t)page / 2 : (size_t)1 << 30;
}

__attribute__((visibility("default"))) od_mpi_offer_fn ompdarts_v1_offer;

int ompdarts_v1_offer(od_mpi_offer *offer)
{
    char error[160] = "";
    const char *why = why_not();
    const od_options *options = &od_runtime.options;
    if (!why && od_devices_choose(&options->devices, (unsigned)REAL(omp_get_num_devices)(), &served.devices, error,
                                  sizeof error))
        why = error;
    if (!why && !served.devices.count)
        why = "OMPDARTS_DEVICES=0 (--devices): at least one device must be served";
    if (why) {
        fprintf(stderr, "ompdarts: serve: %s\n", why);
        return 1;
    }
    unsigned n = served.devices.count;
    int processors = REAL(omp_get_num_procs)(), wanted = REAL(omp_get_max_threads)();
    served.threads = (wanted < processors ? wanted : processors) / (int)n;
    served.threads = served.threads > 0 ? served.threads : 1;
    size_t limit = options->memory.limit;
    *offer = (od_mpi_offer){.ndevices = n,
                            .memory = limit ? limit : half_of_memory() / n,
                            .shared = !limit,
                            .log = options->log,
                            .nkernels = served.count,
                            .kernels = served.kernels,
                            .launch = launch};
    return 0;
}
