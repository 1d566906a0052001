/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Back-end `cuda`: opens its module, which lies beside this library. `auto` does so where the driver is in the process
 * already, as it is when libomptarget has found a GPU. Which GPU a device of libomptarget is, the driver says of an
 * address that libomptarget has allocated there.
 */
#define _GNU_SOURCE
#include "memmgr/device/backends.h"
#include "memmgr/device/cuda/module.h"
#include "util/thread.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PROBE_BYTES = 64 };

/* --- the module ------------------------------------------------------------- */

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

/* --- devices ---------------------------------------------------------------- */

/* CUDA's number of libomptarget's device, or -1. */
static int find_ordinal(const module *m, const od_omptarget_api *api, int number)
{
    void *address = api->target_alloc(PROBE_BYTES, number);
    int ordinal = address ? m->ordinal(address) : -1;
    if (address)
        api->target_free(address, number);
    return ordinal;
}

/* libomptarget lets devices reach each other's memory at the first copy between them, and where that is so already it
 * takes the driver's answer for an error, and copies through the host from then on: it goes first. */
static void connect_peers(const od_backend_request *request)
{
    void *probe[OD_MAX_DEVICES];
    const od_omptarget_api *api = request->api;
    const int *number = request->device_numbers;
    unsigned n = request->ndevices;
    for (unsigned k = 0; k < n; k++)
        probe[k] = n > 1 ? api->target_alloc(PROBE_BYTES, number[k]) : NULL;
    for (unsigned i = 0; i < n; i++)
        for (unsigned j = 0; j < n; j++)
            if (probe[i] && probe[j] && number[i] != number[j])
                api->target_memcpy(probe[i], probe[j], PROBE_BYTES, 0, 0, number[i], number[j]);
    for (unsigned k = 0; k < n; k++)
        if (probe[k])
            api->target_free(probe[k], number[k]);
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

/* --- settings --------------------------------------------------------------- */

#define PIN_AUTO SIZE_MAX

typedef struct cuda_settings {
    size_t pin;     /* bytes of host memory that may be pinned, or PIN_AUTO; 0: none */
    uint32_t loads; /* of memory before it is */
    bool keep;      /* until the program gives it back */
    bool managed;   /* arrays in parts are in managed memory */
} cuda_settings;

_Static_assert(sizeof(cuda_settings) <= OD_BACKEND_SETTINGS, "fits");

static void defaults(void *value)
{
    cuda_settings *settings = value;
    settings->pin = PIN_AUTO;
    settings->loads = OD_PIN_FIRST;
}

static od_status take_pin(const char *text, void *value)
{
    cuda_settings *settings = value;
    return text ? od_parse_size(text, &settings->pin) : OD_EINVAL;
}

static od_status take_loads(const char *text, void *value)
{
    cuda_settings *settings = value;
    return text && !od_parse_count(text, 1 << 16, &settings->loads) && settings->loads ? OD_OK : OD_EINVAL;
}

static od_status take_flag(const char *text, bool *flag)
{
    *flag = !text || strcmp(text, "1") == 0;
    return *flag || strcmp(text, "0") == 0 ? OD_OK : OD_EINVAL;
}

static od_status take_keep(const char *text, void *value)
{
    return take_flag(text, &((cuda_settings *)value)->keep);
}

static od_status take_managed(const char *text, void *value)
{
    return take_flag(text, &((cuda_settings *)value)->managed);
}

static const od_option_word words[] = {
    {"pin", take_pin}, {"loads", take_loads}, {"keep", take_keep}, {"managed", take_managed}, {0}};

/* Of the machine's memory, which virtual machines get more of while they run. */
static size_t half_of_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    size_t physical = pages > 0 && page > 0 ? (size_t)pages * (size_t)page : (size_t)1 << 30;
    return physical / 2;
}

/* --- opening ---------------------------------------------------------------- */

static bool has_driver(void)
{
    void *library = dlopen(OD_CUDA_LIBRARY, RTLD_LAZY | RTLD_NOLOAD);
    if (library)
        dlclose(library);
    return library;
}

typedef struct gpus {
    int ordinals[OD_MAX_DEVICES];
    bool foreign[OD_MAX_DEVICES]; /* no GPU of the driver's */
} gpus;

static od_status find_gpus(const module *m, const od_backend_request *request, unsigned count, gpus *found, char *error,
                           size_t size)
{
    for (unsigned k = 0; k < request->ndevices; k++) {
        int number = request->device_numbers[k], ordinal = find_ordinal(m, request->api, number);
        found->foreign[k] = ordinal < 0;
        found->ordinals[k] = ordinal < 0 ? number % (int)count : ordinal;
        if (found->foreign[k] && request->is_automatic) {
            snprintf(error, size, "device %d is no NVIDIA GPU", number);
            return OD_EINVAL;
        }
    }
    return OD_OK;
}

static od_status check_reach(od_backend *backend, const od_backend_request *request, const gpus *found, char *error,
                             size_t size)
{
    for (unsigned k = 0; k < request->ndevices; k++)
        if (found->foreign[k] && !can_reach(backend, k)) {
            snprintf(error, size, "device %d is no NVIDIA GPU, nor can it reach the memory of one",
                     request->device_numbers[k]);
            return OD_EINVAL;
        }
    return OD_OK;
}

static od_status open_cuda(od_backend *backend, const od_backend_request *request, char *error, size_t size)
{
    const cuda_settings *settings = request->settings;
    bool share = settings->pin == PIN_AUTO; /* the user has not said how much */
    module m;
    gpus found;
    unsigned count;
    if (!open_module(&m, error, size) || !(count = m.count(error, size)) ||
        find_gpus(&m, request, count, &found, error, size))
        return OD_EINVAL;
    if (!found.foreign[0])
        connect_peers(request);
    od_cuda_config config = {.interface_version = OD_BACKEND_INTERFACE,
                             .ndevices = request->ndevices,
                             .ordinals = found.ordinals,
                             .pin_budget = share ? half_of_memory() : settings->pin,
                             .pin_budget_now = share ? half_of_memory : NULL,
                             .pin_first = settings->loads,
                             .pin_wanted = settings->pin > 0,
                             .pin_keep = settings->keep,
                             .trusted = request->trusted,
                             .managed = settings->managed,
                             .log = request->log};
    config.places = od_thread_places(&config.places_bytes);
    od_status status = m.backend(backend, &config);
    if (status)
        snprintf(error, size, "the CUDA driver refuses");
    else
        status = check_reach(backend, request, &found, error, size);
    if (status)
        od_backend_release(backend);
    return status ? OD_EINVAL : OD_OK;
}

static const od_backend_type cuda_type = {
    .interface_version = OD_BACKEND_INTERFACE,
    .name = "cuda",
    .description = "NVIDIA's GPUs: asynchronous copies of pinned memory, cuBLAS tasks (docs/design.md)",
    .module = OD_CUDA_MODULE,
    .rank = 2,
    .words = words,
    .usage = "pin=SIZE,loads=N,keep,managed; SIZE: 0 (none) or a size such as 8G",
    .defaults = defaults,
    .is_present = has_driver,
    .open = open_cuda,
};

OD_REGISTER_BACKEND(cuda_type);
