/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Portable back-end: the memory routines of the OpenMP API, reached through a table
 * that omp_ext fills, so that this file needs no OpenMP header. It serves every device of
 * libomptarget: NVIDIA, AMD and the host devices.
 *
 * A host device's link is as fast as memory. With a link bandwidth every copy, of
 * all devices and in both directions, takes its turn on one bus (memmgr/device/bus.h), as behind one PCIe
 * switch: the real copy is made at once, then the caller sleeps until the bus would
 * have delivered. And its kernels are as fast as the processor: `slow` lets each of them take so many times as long,
 * without using a processor for it.
 */
#include "memmgr/device/backends.h"

#include "memmgr/device/bus.h"
#include "memmgr/window/host.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef struct omptarget_state {
    od_omptarget_api api;
    const int *device_numbers; /* the caller's; outlives the back-end */
    bool slowed;               /* the bus is in use */
    od_bus bus;
    size_t mapped[OD_MAX_DEVICES]; /* bytes of pools that we have mapped ourselves */
} omptarget_state;

static int openmp_device(const omptarget_state *state, int place)
{
    return place == OD_HOST ? state->api.host_device : state->device_numbers[place];
}

/* Where devices' memory is the process's own, malloc() would do, but may write to all of it (MALLOC_PERTURB_). */
static void *map_pool(omptarget_state *state, unsigned k, size_t bytes)
{
    void *pool = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pool == MAP_FAILED)
        return NULL;
    state->mapped[k] = bytes;
    return pool;
}

static od_status omptarget_alloc(void *arg, unsigned k, size_t bytes, void **address)
{
    omptarget_state *state = arg;
    int device = openmp_device(state, (int)k);
    *address = state->api.in_process ? map_pool(state, k, bytes) : state->api.target_alloc(bytes, device);
    if (*address)
        return OD_OK;
    od_log(OD_LOG_INFO, "omptarget", "device %d does not give %zu bytes of its memory", device, bytes);
    return OD_EDEVICE;
}

static void omptarget_free(void *arg, unsigned k, void *address)
{
    const omptarget_state *state = arg;
    if (state->api.in_process)
        munmap(address, state->mapped[k]);
    else
        state->api.target_free(address, openmp_device(state, (int)k));
}

static od_status copy_range(const omptarget_state *state, const od_copy *copy, size_t at, size_t bytes)
{
    int to_device = openmp_device(state, copy->to), from_device = openmp_device(state, copy->from);
    int error = state->api.target_memcpy(copy->to_address, copy->from_address, bytes, at, at, to_device, from_device);
    if (!error)
        return OD_OK;
    od_log(OD_LOG_ERROR, "omptarget", "omp_target_memcpy of %zu bytes from device %d to device %d failed with %d",
           bytes, from_device, to_device, error);
    return OD_EDEVICE;
}

static od_status copy_ranges(const omptarget_state *state, const od_copy *copy)
{
    const od_pieces *pieces = copy->pieces;
    od_status status = pieces ? OD_OK : copy_range(state, copy, 0, copy->bytes);
    for (uint32_t i = 0; pieces && i < pieces->count && !status; i++)
        status = copy_range(state, copy, pieces->at[i].begin - pieces->at[0].begin, pieces->at[i].size);
    return status;
}

static od_status omptarget_copy_pieces(void *arg, const od_copy *copy)
{
    omptarget_state *state = arg;
    uint64_t end_ns = state->slowed ? od_bus_reserve(&state->bus, od_clock_ns(), copy->bytes) : 0;
    od_status status = copy_ranges(state, copy);
    if (!status && state->slowed)
        od_clock_sleep_until(end_ns);
    return status;
}

static od_status omptarget_copy(void *arg, int to, void *to_address, int from, const void *from_address, size_t bytes)
{
    const od_copy copy = {
        .to = to, .from = from, .to_address = to_address, .from_address = from_address, .bytes = bytes};
    return omptarget_copy_pieces(arg, &copy);
}

static void omptarget_destroy(void *arg)
{
    omptarget_state *state = arg;
    if (state->slowed)
        od_bus_destroy(&state->bus);
    free(state);
}

static const od_backend_ops omptarget_ops = {
    .interface_version = OD_BACKEND_INTERFACE,
    .name = "omptarget",
    .description = "any device of LLVM's libomptarget, through the OpenMP API",
    .peer = true, /* omp_target_memcpy goes through the host where the devices cannot */
    .alloc = omptarget_alloc,
    .free = omptarget_free,
    .copy = omptarget_copy,
    .copy_pieces = omptarget_copy_pieces,
    .destroy = omptarget_destroy,
};

od_status od_backend_omptarget(od_backend *backend, const od_omptarget_api *api, const int *device_numbers,
                               double link_bandwidth)
{
    omptarget_state *state = od_calloc(1, sizeof *state);
    if (!state)
        return OD_ENOMEM;
    state->api = *api;
    state->device_numbers = device_numbers;
    state->slowed = link_bandwidth > 0;
    if (state->slowed && od_bus_init(&state->bus, link_bandwidth)) {
        free(state);
        return OD_ENOMEM;
    }
    *backend = (od_backend){.ops = &omptarget_ops,
                            .state = state,
                            .shared_link = link_bandwidth,
                            .windows = api->in_process ? &od_host_windows : NULL,
                            .in_process = api->in_process};
    return OD_OK;
}

/* --- registration ----------------------------------------------------------- */

enum { MOST_SLOW = 1000, MOST_UNLIKE = 8 };

/* As od_slowed; by device, the last one for all others; 0: as the device before it. */
typedef struct slow_word {
    char kernel[sizeof((od_slowed){0}).kernel];
    uint16_t times[MOST_UNLIKE];
} slow_word;

typedef struct omptarget_settings {
    double link; /* bytes/s, shared by all devices; 0: not slowed */
    slow_word slow[OD_MOST_SLOWED];
    unsigned nslow;
} omptarget_settings;

_Static_assert(sizeof(omptarget_settings) <= OD_BACKEND_SETTINGS, "fits");

enum { LEAST_LINK = 100000 }; /* bytes/s: with less a program seems to hang, and a letter was forgotten */

static od_status take_link(const char *text, void *value)
{
    omptarget_settings *settings = value;
    size_t rate;
    if (!text || od_parse_size(text, &rate) || (rate && rate < LEAST_LINK))
        return OD_EINVAL;
    settings->link = (double)rate;
    return OD_OK;
}

/* TIMES, or TIMES/TIMES..., at most MOST_UNLIKE of these. */
static od_status parse_times(const char *text, uint16_t *slow)
{
    for (unsigned k = 0; k < MOST_UNLIKE; k++) {
        char word[8];
        size_t length = strcspn(text, "/");
        uint32_t times;
        snprintf(word, sizeof word, "%.*s", (int)length, text);
        if (length >= sizeof word || od_parse_count(word, MOST_SLOW, &times))
            return OD_EINVAL;
        slow[k] = (uint16_t)times;
        if (!text[length])
            return OD_OK;
        text += length + 1;
    }
    return OD_EINVAL;
}

/* Such times, or KERNEL:TIMES. */
static od_status take_slow(const char *text, void *value)
{
    omptarget_settings *settings = value;
    const char *colon = text ? strrchr(text, ':') : NULL;
    size_t length = colon ? (size_t)(colon - text) : 0;
    if (!text || settings->nslow == OD_MOST_SLOWED || colon == text || length >= sizeof settings->slow->kernel)
        return OD_EINVAL;
    slow_word *slow = &settings->slow[settings->nslow++];
    snprintf(slow->kernel, sizeof slow->kernel, "%.*s", (int)length, text);
    return parse_times(colon ? colon + 1 : text, slow->times);
}

static void slow_down(od_backend *backend, const omptarget_settings *settings)
{
    for (unsigned i = 0; i < settings->nslow; i++) {
        const slow_word *slow = &settings->slow[i];
        od_slowed *slowed = &backend->slowed[backend->nslowed++];
        uint16_t times = 1;
        memcpy(slowed->kernel, slow->kernel, sizeof slowed->kernel);
        for (unsigned k = 0; k < OD_MAX_DEVICES; k++) {
            times = k < MOST_UNLIKE && slow->times[k] ? slow->times[k] : times;
            slowed->times[k] = times;
        }
    }
}

static const od_option_word words[] = {{"link", take_link}, {"slow", take_slow}, {0}};

static od_status open_omptarget(od_backend *backend, const od_backend_request *request, char *error, size_t size)
{
    const omptarget_settings *settings = request->settings;
    od_status status = od_backend_omptarget(backend, request->api, request->device_numbers, settings->link);
    if (status)
        snprintf(error, size, "out of memory");
    else
        slow_down(backend, settings);
    return status;
}

static const od_backend_type omptarget_type = {
    .interface_version = OD_BACKEND_INTERFACE,
    .name = "omptarget",
    .description = "any device, by blocking copies through libomptarget",
    .rank = 1,
    .words = words,
    .usage =
        "link=RATE,slow=TIMES,slow=KERNEL:TIMES; RATE: 0 (off) or bytes per second, at least 100K, such as 400M or "
        "12G; TIMES: 1 (off) to 1000, or up to eight of these, such as 8/2, by device, the last one for all "
        "others; KERNEL: a part of its name; slow= up to four times, the last one that names a kernel counts",
    .open = open_omptarget,
};

OD_REGISTER_BACKEND(omptarget_type);
