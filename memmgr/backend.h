/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Back-ends: how bytes get to a device and back. A back-end sees bytes, never a task.
 *
 * Error convention, for every callback: OD_OK or OD_EDEVICE, and a message through
 * od_log(). Callbacks may be called from several threads at once (one per
 * device and direction), never for the same bytes.
 *
 * Guaranteed by the caller: every copy lies inside the device's pool and inside the
 * datum. The core checks that in every build (od_backend_copy).
 */
#ifndef OD_MEMMGR_BACKEND_H
#define OD_MEMMGR_BACKEND_H

#include "memmgr/datum.h"
#include "util/status.h"

enum { OD_BACKEND_INTERFACE = 1 };

typedef struct od_backend_ops {
    unsigned interface_version; /* OD_BACKEND_INTERFACE */
    const char *name;
    const char *description;
    bool peer; /* copies between two devices are possible */

    /* Takes `bytes` of memory on device k; the address is a device address. */
    od_status (*alloc)(void *state, unsigned k, size_t bytes, void **address);
    void (*free)(void *state, unsigned k, void *address);

    /* Copies and waits until the bytes are there. `from` or `to` is OD_HOST, not both. */
    od_status (*copy)(void *state, int to, void *to_address, int from, const void *from_address, size_t bytes);

    void (*destroy)(void *state);
} od_backend_ops;

typedef struct od_backend {
    const od_backend_ops *ops;
    void *state;
    unsigned ndevices;
    void *pool_address[OD_MAX_DEVICES]; /* device address of offset 0 of each pool */
    size_t pool_bytes[OD_MAX_DEVICES];
} od_backend;

/* Takes each device's pool memory, `bytes` each, and a few bytes more behind it for od_backend_answers(). On failure all is
 * given back. */
od_status od_backend_take_pools(od_backend *backend, unsigned ndevices, size_t bytes);
void od_backend_release(od_backend *backend);

/* Asks whether the device still takes and returns bytes, after something has failed there. */
bool od_backend_answers(od_backend *backend, unsigned k);

struct od_transfer;
/* Runs one transfer to its end, after checking that it lies inside the pools. */
od_status od_backend_copy(od_backend *backend, const struct od_transfer *transfer);

/* The entry points of the OpenMP API that the portable back-end calls; omp_ext fills it. */
typedef struct od_omptarget_api {
    void *(*target_alloc)(size_t bytes, int device);
    void (*target_free)(void *address, int device);
    int (*target_memcpy)(void *to, const void *from, size_t bytes, size_t to_offset, size_t from_offset, int to_device,
                         int from_device);
    int host_device; /* omp_get_initial_device() */
} od_omptarget_api;

/* The portable back-end. `device_numbers[k]` is OpenMP's number of our device
 * k; link_bandwidth in bytes/s slows all copies over one shared bus (0: not slowed). */
od_status od_backend_omptarget(od_backend *backend, const od_omptarget_api *api, const int *device_numbers,
                               double link_bandwidth);

#endif
