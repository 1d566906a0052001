/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Back-ends: how bytes get to a device and back. A back-end sees bytes, never a task.
 *
 * Error convention, for every callback: OD_OK or OD_EDEVICE, and a message through
 * od_log(). Callbacks may be called from several threads at once, never for the same bytes.
 *
 * Two kinds: one whose copies block gives `copy` alone, and gets a thread per device and direction. An asynchronous
 * one gives `start` and `poll` as well: one thread starts all copies and asks for their ends.
 *
 * Guaranteed by the caller: every copy lies inside the device's pool and inside the
 * datum. The core checks that in every build (od_backend_copy).
 */
#ifndef OD_MEMMGR_DEVICE_BACKEND_H
#define OD_MEMMGR_DEVICE_BACKEND_H

#include "memmgr/data/datum.h"
#include "memmgr/window/window.h"
#include "util/status.h"

enum { OD_BACKEND_INTERFACE = 13 };

enum { OD_CHOSEN = 2 << 20 }; /* bytes: see od_backend_ops.alloc_at */

/* One copy. `from` or `to` may be OD_HOST, not both. */
typedef struct od_copy {
    int to, from;
    void *to_address;
    const void *from_address;
    size_t bytes;
    bool for_writing; /* tasks are about to write there */
    const od_pieces *pieces; /* NULL: the bytes are one range; else they lie as these do, from the addresses on */
    uintptr_t host_base; /* where one end is the host: the datum around it there, which stays where it is until */
    size_t host_bytes;   /* release_host() names it; so much may be pinned (0: nothing) */
} od_copy;

typedef struct od_ticket od_ticket; /* a copy, or other work of a device, that is under way; the back-end's */

typedef struct od_queue od_queue; /* a device's queue of work (a CUDA stream), for one task at a time; the back-end's */

/* For tasks that call a vendor's libraries themselves. */
typedef struct od_queue_ops {
    /* Device k is the calling thread's current one until leave(). */
    od_status (*enter)(void *state, unsigned k);
    void (*leave)(void *state, unsigned k);
    /* Whether work on k, anybody's, has failed in such a way that all that follows does, too. The device is current. */
    bool (*has_failed)(void *state, unsigned k);
    /* An unused queue of k; mark() returns it. */
    od_status (*take)(void *state, unsigned k, od_queue **queue);
    void *(*handle)(const od_queue *queue);    /* CUstream */
    void *(*context)(void *state, unsigned k); /* CUcontext */
    int (*ordinal)(void *state, unsigned k);   /* the vendor's number of the device */
    /* The vendor's BLAS set to the queue (cublasHandle_t), or NULL: there is none, or it could not be had. *status:
     * OD_EFULL, perhaps for want of device memory; OD_EDEVICE, for another reason. The device is current. */
    void *(*blas)(void *state, od_queue *queue, od_status *status);
    /* Waits for all that the queue holds. */
    od_status (*drain)(void *state, od_queue *queue);
    /* A ticket that ends, for poll(), with all that the queue holds now. Whatever is answered, the queue is given
     * back. */
    od_status (*mark)(void *state, od_queue *queue, od_ticket **ticket);
} od_queue_ops;

typedef struct od_backend_ops {
    unsigned interface_version; /* OD_BACKEND_INTERFACE */
    const char *name;
    const char *description;
    bool peer; /* copies between two devices are possible */

    /* Takes `bytes` of memory on device k; the address is a device address. That there is not so much is no error
     * message's matter: whoever asks knows what is to be done. */
    od_status (*alloc)(void *state, unsigned k, size_t bytes, void **address);
    void (*free)(void *state, unsigned k, void *address);

    /* Copies and waits until the bytes are there. `from` or `to` is OD_HOST, not both. */
    od_status (*copy)(void *state, int to, void *to_address, int from, const void *from_address, size_t bytes);

    void (*destroy)(void *state);

    /* NULL, or copies all pieces at once, and waits. */
    od_status (*copy_pieces)(void *state, const od_copy *copy);

    /* --- NULL in back-ends whose copies block --- */

    /* Starts a copy and returns. *ticket NULL: it has ended already. */
    od_status (*start)(void *state, const od_copy *copy, od_ticket **ticket);
    /* OD_EBUSY while it is under way; any other answer ends the ticket. */
    od_status (*poll)(void *state, od_ticket *ticket);

    /* --- NULL where the back-end has nothing to do or to say --- */

    /* From now on the program may change or give back this host memory: nothing that is kept about it (pinning) holds
     * any more. Quick, and may be called with locks held; reclaim() does the work. */
    void (*release_host)(void *state, uintptr_t base, size_t size);
    void (*reclaim)(void *state);
    /* Host memory that is copied as fast as the link allows, or NULL: there is no more. */
    void *(*host_alloc)(void *state, size_t bytes);
    void (*host_free)(void *state, void *address);
    /* Of device k's memory, bytes: what it can still give, and what it has. NULL: it is not known. */
    od_status (*memory)(void *state, unsigned k, size_t *free_bytes, size_t *total);
    /* As alloc(), but at this device address, a multiple of OD_CHOSEN: for processes whose devices' addresses must all
     * differ. free() gives it back. OD_EINVAL: the device cannot do that. */
    od_status (*alloc_at)(void *state, unsigned k, size_t bytes, void *address);
    /* Others (libomptarget, vendors' libraries) have got no memory of device k: gives back what has been kept for that
     * case. False: nothing is left. */
    bool (*spare)(void *state, unsigned k);
    /* Bytes of device k that others lack: so much less is free than they may need at any moment, of which nobody hears
     * (libomptarget, inside of a launch). */
    size_t (*lack)(void *state, unsigned k);
    /* The memory of k's pool can be given back from its end, in pieces of so many bytes; 0: it cannot. */
    size_t (*piece)(void *state, unsigned k);
    /* Gives back the pieces that lie behind the first `bytes`, which nobody uses any more. */
    void (*trim)(void *state, unsigned k, size_t bytes);
    /* NULL: pools have memory from the beginning. Else there is some behind these bytes of k's pool from now on. */
    od_status (*commit)(void *state, unsigned k, size_t offset, size_t bytes);
    /* Which devices these are: the same for the same ones in the same order, in other processes, too. */
    uint32_t (*identity)(void *state);
    /* Pairs of devices that copy faster than through the host. */
    bool (*is_peer)(void *state, unsigned from, unsigned to);
    /* The back-end's findings about the run, as log messages; at its end. */
    void (*report)(void *state);
    const od_queue_ops *queues;
    /* NULL: libomptarget starts kernels. Else starts one on device k as these bytes say (omp_ext/remote/call.h), and
     * returns; with `ticket` NULL when it has ended. OD_EINVAL: that is too long a call. */
    od_status (*launch)(void *state, unsigned k, const void *call, size_t bytes, od_ticket **ticket);
    /* What the user knows device k by; NULL: OpenMP's number. */
    void (*name_of)(void *state, unsigned k, char *text, size_t size);
    /* The rank of an MPI job whose device k is, and the name of its host. NULL: all are the process's own. */
    unsigned (*rank_of)(void *state, unsigned k, char *host, size_t size);
    /* Time that the processes of all devices have had (util/fair.h), nanoseconds; of the one that had least where they
     * differ. NULL: all devices are the process's own. */
    uint64_t (*had_ns)(void *state);
} od_backend_ops;

enum { OD_MOST_SLOWED = 4 };

/* Kernels that are to take longer on purpose. */
typedef struct od_slowed {
    char kernel[32];                /* a part of their names; "": all */
    uint16_t times[OD_MAX_DEVICES]; /* by device: that they take as long as they compute, at least 1 */
} od_slowed;

typedef struct od_backend {
    const od_backend_ops *ops;
    void *state;
    unsigned ndevices;
    const od_window_ops *windows;       /* with the back-end's state; NULL: there are none */
    bool in_process;                    /* the devices' memory is the process's own */
    double shared_link;                 /* bytes/s that all copies share; 0: not known, or not shared */
    od_slowed slowed[OD_MOST_SLOWED];
    unsigned nslowed;                   /* of these */
    void *pool_address[OD_MAX_DEVICES]; /* device address of offset 0 of each pool */
    size_t pool_bytes[OD_MAX_DEVICES];  /* od_backend_pool_bytes(): trimming makes it less at any moment */
} od_backend;

/* Times that the kernel of this name is to take as long as it computes on device k. */
unsigned od_backend_slows(const od_backend *backend, const char *kernel, unsigned k);

/* Takes each device's pool memory, `bytes` each, and a few bytes more behind it for od_backend_answers(). Where windows
 * have pages of their own it is whole ones, and with too few of these there are no windows. On failure all is given
 * back. */
od_status od_backend_take_pools(od_backend *backend, unsigned ndevices, size_t bytes);
void od_backend_release(od_backend *backend);

/* Bytes of which pools should be multiples; 1: it does not matter. */
size_t od_backend_granule(const od_backend *backend);

size_t od_backend_pool_bytes(const od_backend *backend, unsigned k);
/* Device k's pool is only so large from now on: the rest goes back, as far as the back-end can. */
void od_backend_trim(od_backend *backend, unsigned k, size_t bytes);

/* There is memory behind these bytes of device k's pool from now on, if there was none. */
od_status od_backend_commit(const od_backend *backend, unsigned k, size_t offset, size_t bytes);

/* Asks whether the device still takes and returns bytes, after something has failed there. */
bool od_backend_answers(od_backend *backend, unsigned k);

struct od_transfer;
/* Runs one transfer to its end, after checking that it lies inside the pools. */
od_status od_backend_copy(od_backend *backend, const struct od_transfer *transfer);
/* Likewise, but where the back-end is asynchronous the copy has only begun if *ticket is not NULL. */
od_status od_backend_start(od_backend *backend, const struct od_transfer *transfer, od_ticket **ticket);

/* The entry points of the OpenMP API that the portable back-end calls; omp_ext fills it. */
typedef struct od_omptarget_api {
    void *(*target_alloc)(size_t bytes, int device);
    void (*target_free)(void *address, int device);
    int (*target_memcpy)(void *to, const void *from, size_t bytes, size_t to_offset, size_t from_offset, int to_device,
                         int from_device);
    int host_device; /* omp_get_initial_device() */
    bool in_process; /* the devices' memory is the process's own */
} od_omptarget_api;

/* The portable back-end. `device_numbers[k]` is OpenMP's number of our device
 * k; link_bandwidth in bytes/s slows all copies over one shared bus (0: not slowed). */
od_status od_backend_omptarget(od_backend *backend, const od_omptarget_api *api, const int *device_numbers,
                               double link_bandwidth);

#endif
