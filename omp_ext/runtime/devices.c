/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Choice of devices and back-end. The CUDA back-end is a module beside this library; it is opened where the driver is
 * in the process already, as it is when libomptarget has found a GPU, or when the user asks for it. Which GPU a device
 * of libomptarget is, the driver says of an address that libomptarget has allocated there.
 */
#define _GNU_SOURCE
#include "omp_ext/runtime/devices.h"

#include "memmgr/device/cuda/module.h"
#include "omp_ext/libomp/real.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* --- devices ------------------------------------------------------------------ */

static od_status choose_listed(const od_device_choice *choice, unsigned available, od_devices *devices, char *error,
                               size_t size)
{
    for (unsigned i = 0; i < choice->count; i++) {
        int number = choice->number[i];
        if ((unsigned)number >= available) {
            snprintf(error, size, "OMPDARTS_DEVICES: there is no device %d; allowed: 0 to %u", number, available - 1);
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
        snprintf(error, size, "OMPDARTS_DEVICES=%u: only %u device%s exist%s; allowed: 1 to %u, or all", choice->count,
                 available, available == 1 ? "" : "s", available == 1 ? "s" : "", available);
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
    if (shares(devices, devices->count, number) > 1)
        snprintf(name, OD_DEVICE_NAME, "device %d.%u", number, shares(devices, k, number));
    else
        snprintf(name, OD_DEVICE_NAME, "device %d", number);
    return name;
}

/* --- the CUDA back-end ---------------------------------------------------------- */

typedef struct module {
    od_cuda_count_fn *count;
    od_cuda_ordinal_fn *ordinal;
    od_cuda_backend_fn *backend;
} module;

/* Of this library's own version, from the folder that it lies in. */
static bool open_module(module *m, char *error, size_t size)
{
    static const char *const names[] = {"ompdarts_cuda_v1_count", "ompdarts_cuda_v1_ordinal",
                                        "ompdarts_cuda_v1_backend"};
    static const char self;
    char path[PATH_MAX];
    void *symbols[3], *library;
    Dl_info info;
    if (!dladdr(&self, &info) || !info.dli_fname)
        return false;
    const char *slash = strrchr(info.dli_fname, '/');
    snprintf(path, sizeof path, "%.*s%s", slash ? (int)(slash - info.dli_fname) + 1 : 0, info.dli_fname,
             OD_CUDA_MODULE);
    if (!(library = dlopen(path, RTLD_NOW | RTLD_LOCAL))) {
        snprintf(error, size, "%s", dlerror());
        return false;
    }
    for (int i = 0; i < 3; i++)
        if (!(symbols[i] = dlsym(library, names[i]))) {
            snprintf(error, size, OD_CUDA_MODULE " beside libompdarts.so has no %s: it is of another version",
                     names[i]);
            return false;
        }
    memcpy(&m->count, &symbols[0], sizeof m->count);
    memcpy(&m->ordinal, &symbols[1], sizeof m->ordinal);
    memcpy(&m->backend, &symbols[2], sizeof m->backend);
    return true;
}

enum { PROBE_BYTES = 64 };

/* CUDA's number of libomptarget's device, or -1. */
static int find_ordinal(const module *m, int number)
{
    void *address = REAL(omp_target_alloc)(PROBE_BYTES, number);
    int ordinal = address ? m->ordinal(address) : -1;
    if (address)
        REAL(omp_target_free)(address, number);
    return ordinal;
}

/* libomptarget lets devices reach each other's memory at the first copy between them, and where that is so already it takes
 * the driver's answer for an error, and copies through the host from then on: it goes first. */
static void connect_peers(const od_devices *devices)
{
    void *probe[OD_MAX_DEVICES];
    unsigned n = devices->count;
    for (unsigned k = 0; k < n; k++)
        probe[k] = n > 1 ? REAL(omp_target_alloc)(PROBE_BYTES, devices->number[k]) : NULL;
    for (unsigned i = 0; i < n; i++)
        for (unsigned j = 0; j < n; j++)
            if (probe[i] && probe[j] && devices->number[i] != devices->number[j])
                REAL(omp_target_memcpy)(probe[i], probe[j], PROBE_BYTES, 0, 0, devices->number[i], devices->number[j]);
    for (unsigned k = 0; k < n; k++)
        if (probe[k])
            REAL(omp_target_free)(probe[k], devices->number[k]);
}

static bool is_readable_here(const void *address)
{
    char bytes[PROBE_BYTES];
    struct iovec here = {bytes, sizeof bytes}, there = {(void *)(uintptr_t)address, sizeof bytes};
    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)sizeof bytes;
}

/* A device that is no GPU of the driver's can use its memory only if that is the process' own memory, too. */
static bool can_reach(od_backend *backend, unsigned k)
{
    void *address;
    if (backend->ops->alloc(backend->state, k, PROBE_BYTES, &address))
        return false;
    bool reached = is_readable_here(address);
    backend->ops->free(backend->state, k, address);
    return reached;
}

static size_t physical_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (size_t)pages * (size_t)page : (size_t)1 << 30;
}

static od_status open_cuda(const od_devices *devices, const od_options *options, od_backend *backend, char *error,
                           size_t size)
{
    module m;
    int ordinals[OD_MAX_DEVICES];
    bool foreign[OD_MAX_DEVICES] = {false};
    unsigned gpus;
    size_t pin = options->memory.backend.pin;
    if (!open_module(&m, error, size) || !(gpus = m.count(error, size)))
        return OD_EINVAL;
    for (unsigned k = 0; k < devices->count; k++) {
        int ordinal = find_ordinal(&m, devices->number[k]);
        foreign[k] = ordinal < 0;
        ordinals[k] = ordinal < 0 ? devices->number[k] % (int)gpus : ordinal;
        if (foreign[k] && options->memory.backend.kind == OD_BACKEND_AUTO) {
            snprintf(error, size, "device %d is no NVIDIA GPU", devices->number[k]);
            return OD_EINVAL;
        }
    }
    if (!foreign[0])
        connect_peers(devices);
    od_cuda_config config = {.interface_version = OD_BACKEND_INTERFACE,
                             .ndevices = devices->count,
                             .ordinals = ordinals,
                             .pin_budget = pin == OD_PIN_AUTO ? physical_memory() / 2 : pin,
                             .pin_wanted = pin > 0,
                             .log = options->log};
    od_status status = m.backend(backend, &config);
    if (status)
        snprintf(error, size, "the CUDA driver refuses");
    for (unsigned k = 0; k < devices->count && !status; k++)
        if (foreign[k] && !can_reach(backend, k)) {
            snprintf(error, size, "device %d is no NVIDIA GPU, nor can it reach the memory of one", devices->number[k]);
            status = OD_EINVAL;
        }
    if (status)
        od_backend_release(backend);
    return status ? OD_EINVAL : OD_OK;
}

/* --- each of them ------------------------------------------------------------------ */

static od_status open_omptarget(const od_devices *devices, const od_options *options, od_backend *backend, char *error,
                                size_t size)
{
    od_omptarget_api api = {.target_alloc = REAL(omp_target_alloc),
                            .target_free = REAL(omp_target_free),
                            .target_memcpy = REAL(omp_target_memcpy),
                            .host_device = REAL(omp_get_initial_device)()};
    od_status status = od_backend_omptarget(backend, &api, devices->number, options->memory.backend.link);
    if (status)
        snprintf(error, size, "out of memory");
    return status;
}

static bool has_cuda_driver(void)
{
    void *library = dlopen(OD_CUDA_LIBRARY, RTLD_LAZY | RTLD_NOLOAD);
    if (library)
        dlclose(library);
    return library;
}

static od_status open_auto(const od_devices *devices, const od_options *options, od_backend *backend, char *error,
                           size_t size)
{
    if (has_cuda_driver()) {
        if (!open_cuda(devices, options, backend, error, size))
            return OD_OK;
        od_log(OD_LOG_INFO, "runtime", "back-end omptarget instead of cuda: %s", error);
    }
    return open_omptarget(devices, options, backend, error, size);
}

od_status od_devices_open(const od_devices *devices, const od_options *options, od_backend *backend, char *error,
                          size_t size)
{
    static od_status (*const openers[])(const od_devices *, const od_options *, od_backend *, char *, size_t) = {
        [OD_BACKEND_AUTO] = open_auto, [OD_BACKEND_OMPTARGET] = open_omptarget, [OD_BACKEND_CUDA] = open_cuda};
    char why[256] = "";
    od_backend_kind kind = options->memory.backend.kind;
    *backend = (od_backend){0};
    if (!openers[kind](devices, options, backend, why, sizeof why))
        return OD_OK;
    snprintf(error, size, "OMPDARTS_BACKEND=%s: %s", od_backend_rows[kind].name, why);
    return OD_EINVAL;
}

/* --- memory ------------------------------------------------------------------------ */

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
        size_t bytes;
        unsigned n = shares(devices, devices->count, devices->number[k]);
        most_shares = n > most_shares ? n : most_shares;
        if (backend->ops->free_memory && !backend->ops->free_memory(backend->state, k, &bytes) && bytes / n < least)
            least = bytes / n;
    }
    if (least < SIZE_MAX)
        return least - headroom(least);
    size_t gpu = gpu_memory();
    return gpu ? gpu / 20 * 17 / most_shares : physical_memory() / 2 / devices->count;
}
