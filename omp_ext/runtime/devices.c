/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See devices.h. */
#include "omp_ext/runtime/devices.h"

#include "memmgr/device/cuda/module.h"
#include "omp_ext/libomp/images.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/process/fatal.h"
#include "omp_ext/remote/numbers.h"
#include "util/memory.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* --- devices ------------------------------------------------------------------ */

static od_status choose_listed(const od_device_choice *choice, unsigned available, od_devices *devices, char *error,
                               size_t size)
{
    for (unsigned i = 0; i < choice->count; i++) {
        int number = choice->number[i];
        if ((unsigned)number >= available) {
            snprintf(error, size, "OMPDARTS_DEVICES (--devices): there is no device %d; allowed: 0 to %u", number,
                     available - 1);
            return OD_EINVAL;
        }
        devices->number[devices->count++] = number;
    }
    return OD_OK;
}

od_status od_devices_choose(const od_device_choice *choice, unsigned available, od_devices *devices, char *error,
                            size_t size)
{
    *devices = (od_devices){0};
    if (choice->listed)
        return choose_listed(choice, available, devices, error, size);
    if (choice->count > available) {
        snprintf(error, size, "OMPDARTS_DEVICES=%u (--devices): only %u device%s exist%s; allowed: 1 to %u, or all",
                 choice->count, available, available == 1 ? "" : "s", available == 1 ? "s" : "", available);
        return OD_EINVAL;
    }
    unsigned n = choice->count ? choice->count : available;
    for (unsigned k = 0; k < n && k < OD_MAX_DEVICES; k++)
        devices->number[devices->count++] = (int)k;
    return OD_OK;
}

bool od_devices_are_one(const od_devices *devices)
{
    for (unsigned k = 1; k < devices->count; k++)
        if (devices->number[k] != devices->number[0])
            return false;
    return true;
}

/* How many of the first `count` of ours are shares of libomptarget's device. */
static unsigned shares(const od_devices *devices, unsigned count, int number)
{
    unsigned n = 0;
    for (unsigned k = 0; k < count; k++)
        n += devices->number[k] == number;
    return n;
}

const char *od_devices_name(const od_devices *devices, unsigned k, char name[OD_DEVICE_NAME])
{
    int number = devices->number[k];
    if (!devices->count)
        return "no device";
    if (*devices->name[k])
        return devices->name[k];
    if (shares(devices, devices->count, number) > 1)
        snprintf(name, OD_DEVICE_NAME, "device %d.%u", number, shares(devices, k, number));
    else
        snprintf(name, OD_DEVICE_NAME, "device %d", number);
    return name;
}

bool od_devices_are_in_process(void)
{
    unsigned machine = od_images_machine();
    return (machine == EM_X86_64 || machine == EM_AARCH64) && !od_remote_is_on();
}

unsigned od_devices_remote(const od_options *options)
{
    char why[256], message[320];
    const od_backend_type *type = options->memory.backend.type;
    unsigned count = type && type->count ? type->count(why, sizeof why) : 0;
    if (!type || !type->count || count)
        return count;
    snprintf(message, sizeof message, "OMPDARTS_BACKEND=%s (--backend): %s", type->name, why);
    od_refuse(message);
}

/* --- the back-end ----------------------------------------------------------------- */

void od_devices_load(const od_devices *devices)
{
    for (unsigned k = 0; k < devices->count && !od_remote_is(devices->number[k]); k++)
        REAL(__tgt_target_data_begin_mapper)(NULL, devices->number[k], 0, NULL, NULL, NULL, NULL, NULL, NULL);
}

od_status od_devices_open(od_devices *devices, const od_options *options, od_knows_kernel *knows, od_backend *backend,
                          char *error, size_t size)
{
    od_omptarget_api api = {.target_alloc = REAL(omp_target_alloc),
                            .target_free = REAL(omp_target_free),
                            .target_memcpy = REAL(omp_target_memcpy),
                            .host_device = REAL(omp_get_initial_device)(),
                            .in_process = od_devices_are_in_process()};
    od_backend_request request = {
        .ndevices = devices->count,
        .device_numbers = devices->number,
        .first = OD_REMOTE_FIRST,
        .memory = options->memory.limit,
        .knows = knows,
        .api = &api,
        .trusted = options->coherence == OD_COHERENCE_DEPEND,
        .log = options->log};
    od_status status = od_backend_open(backend, &options->memory.backend, &request, error, size);
    for (unsigned k = 0; !status && backend->ops->name_of && k < devices->count; k++)
        backend->ops->name_of(backend->state, k, devices->name[k], sizeof devices->name[k]);
    for (unsigned k = 0; !status && backend->ops->rank_of && k < devices->count; k++)
        devices->rank[k] = backend->ops->rank_of(backend->state, k, devices->host[k], sizeof devices->host[k]);
    return status;
}

/* --- memory ------------------------------------------------------------------------ */

static size_t physical_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (size_t)pages * (size_t)page : (size_t)1 << 30;
}

/* For host devices: half of what there is. The program and its threads need part of a limited address space, too: half
 * of it, and what libraries take at once. */
static size_t host_memory(void)
{
    const size_t others = (size_t)128 << 20, least = 1 << 20;
    size_t memory = physical_memory(), left = od_space_left();
    left = left > others ? (left - others) / 2 : least;
    return (left < memory ? left : memory) / 2;
}

/* Total memory of the smallest GPU, bytes; 0 where there is no NVIDIA driver. */
static size_t gpu_memory(void)
{
    void *cuda = dlopen(OD_CUDA_LIBRARY, RTLD_LAZY | RTLD_LOCAL);
    if (!cuda)
        return 0;
    int (*init)(unsigned) = (int (*)(unsigned))dlsym(cuda, "cuInit");
    int (*count)(int *) = (int (*)(int *))dlsym(cuda, "cuDeviceGetCount");
    int (*total)(size_t *, int) = (int (*)(size_t *, int))dlsym(cuda, "cuDeviceTotalMem_v2");
    size_t smallest = 0;
    int n = 0;
    if (init && count && total && !init(0) && !count(&n))
        for (int i = 0; i < n; i++) {
            size_t bytes;
            if (!total(&bytes, i) && (!smallest || bytes < smallest))
                smallest = bytes;
        }
    dlclose(cuda);
    return smallest;
}

/* What is left to libomptarget, vendors' libraries and kernels' stacks: their needs do not shrink with the device. */
static size_t headroom(size_t free_bytes)
{
    static const size_t needs = (size_t)3 << 29;
    size_t tenth = free_bytes / 10, quarter = free_bytes / 4;
    size_t least = needs < quarter ? needs : quarter;
    return tenth > least ? tenth : least;
}

size_t od_devices_memory(const od_devices *devices, const od_backend *backend)
{
    size_t least = SIZE_MAX;
    unsigned most_shares = 1;
    for (unsigned k = 0; k < devices->count; k++) {
        size_t bytes, total;
        unsigned n = shares(devices, devices->count, devices->number[k]);
        most_shares = n > most_shares ? n : most_shares;
        if (backend->ops->memory && !backend->ops->memory(backend->state, k, &bytes, &total) && bytes / n < least)
            least = bytes / n;
    }
    if (least < SIZE_MAX)
        return least - headroom(least);
    size_t gpu = gpu_memory();
    return gpu ? gpu / 20 * 17 / most_shares : host_memory() / devices->count;
}
