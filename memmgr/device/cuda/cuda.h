/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The inside of the CUDA back-end: what its files share.
 *
 *   device    one of ours: a GPU, or a share of one (a logical device), with its own streams and tickets. Devices of
 * one
 *             GPU share its primary context, which libomptarget and cuBLAS use, too
 *   ticket    a copy, or a task's own work, under way: an event, and what to do when it has come
 *   bounce    a small pinned buffer of a ticket: small copies, and the ends of large ones, which share their pages
 *             with other data and so cannot be pinned, go through it
 *   stager    per device and direction up to OD_LANES threads, each with a ring of pinned buffers, for large copies of
 *             memory that is not pinned, or not yet
 *   pinner    a thread for all devices, which pins memory and undoes that (pins.h)
 */
#ifndef OD_MEMMGR_DEVICE_CUDA_CUDA_H
#define OD_MEMMGR_DEVICE_CUDA_CUDA_H

#include "memmgr/device/backend.h"
#include "memmgr/device/cuda/driver.h"
#include "memmgr/device/cuda/pins.h"

#include <hwloc.h>
#include <stdatomic.h>

typedef enum od_cuda_direction { OD_H2D, OD_D2H, OD_D2D, OD_DIRECTIONS } od_cuda_direction;

enum {
    OD_BOUNCE = 64 << 10,   /* bytes of a ticket's bounce buffer; larger copies are worth pinning */
    OD_STAGE = 4 << 20,     /* bytes of a buffer of a stager's ring */
    OD_STAGES = 3,          /* of them: one is filled, one is copied, one is next */
    OD_RESERVE = 256 << 20, /* bytes of a GPU, at most, */
    OD_RESERVE_PART = 64,   /* and one in so many, that are kept for others until they get no memory; */
    OD_RESERVE_LEAVES = 16, /* none, where that were more than one in so many of what is free */
    OD_PIECES = 512,        /* in so many a device's memory can be given back, */
    OD_LEAST_PIECES = 4,    /* at least, else at once */
    OD_LANES = 3,           /* threads of a stager: one copies what a processor can, links take several times as much */
};

typedef struct od_cuda od_cuda;
typedef struct od_cuda_device od_cuda_device;

/* Bytes that go from the bounce buffer to host memory when the copy has ended. */
typedef struct od_landing {
    void *to;
    const void *from;
    size_t bytes;
} od_landing;

struct od_ticket {
    od_cuda_device *device;
    od_cu_stream stream; /* that the event was recorded on */
    od_cu_event event;
    char *bounce; /* OD_BOUNCE bytes, pinned; NULL until needed */
    od_landing landing[2];
    unsigned landings;
    od_pin *pin;     /* used by the copy, or NULL */
    od_queue *queue; /* a task's, given back at the end, or NULL */
    /* of a staged copy, else `staged` is false */
    bool staged;
    od_copy copy;
    atomic_int result; /* od_status; OD_EBUSY while the stager has it; OD_IN_PLACE: see the event */
    od_ticket *next;   /* in a free list or a stager's queue */
};

struct od_queue {
    od_cuda_device *device;
    od_cu_stream stream;
    void *blas;        /* cublasHandle_t, or NULL */
    bool has_set_blas; /* for the task that has it now */
    od_queue *next;
};

enum { OD_IN_PLACE = -1 }; /* of od_ticket.result: the stager has pinned the memory and started the copy */

typedef struct od_stager od_stager;

/* A device's pool, where it can be given back in pieces: addresses, and the memory behind their first part. */
typedef struct od_extent {
    od_cu_address begin; /* 0: there is none */
    size_t reserved, mapped, piece; /* bytes: of addresses, of memory, of each piece but the first, which is smaller */
    /* With windows all pieces have the same size, that of their pages. By piece: its memory, and the next one of those
     * that have been offered to the same page, OD_NO_PIECE behind the last one. Malloc'ed, else NULL. */
    od_cu_memory *memory;
    uint32_t *next;
    bool *committed; /* of a pool that gets memory where it is needed, by piece; malloc'ed, else NULL */
    od_cu_access access[OD_MAX_DEVICES]; /* who reaches it */
    size_t naccess;
} od_extent;

#define OD_NO_PIECE UINT32_MAX

/* Memory at an address that somebody has chosen. */
typedef struct od_chosen {
    od_cu_address begin;
    size_t bytes;
    struct od_chosen *next;
} od_chosen;

/* A thread of a stager, and what it alone uses. */
typedef struct od_lane {
    od_stager *stager;
    pthread_t thread;
    char *ring[OD_STAGES]; /* pinned */
    od_cu_event event[OD_STAGES];
    unsigned nring; /* buffers that there are: 0 where none could be pinned */
    char *plain;    /* OD_STAGE bytes, not pinned, where there is no ring */
    bool has_ring;  /* it has tried to take one */
} od_lane;

struct od_stager {
    od_cuda_device *device;
    od_cuda_direction direction;
    pthread_mutex_t lock; /* protects the next six */
    pthread_cond_t work;
    od_ticket *first, **last;
    unsigned queued, nlanes, idle; /* tickets; threads; of them, those that wait for work */
    bool closing;
    od_lane lane[OD_LANES];
};

struct od_cuda_device {
    od_cuda *cuda;
    unsigned k;
    od_cu_device gpu;
    od_cu_context context; /* NULL: it could not be had */
    od_cu_stream stream[OD_DIRECTIONS];
    od_stager stager[OD_D2H + 1];
    hwloc_cpuset_t near; /* processors on the GPU's side of the machine, or NULL */
    atomic_bool lost;
    pthread_mutex_t lock; /* protects the next five */
    od_extent extent;
    od_chosen *chosen;
    od_cu_address reserve; /* memory that is kept for others; 0: none, or they have it */
    od_ticket *tickets;    /* free ones */
    od_queue *queues;      /* likewise */
};

struct od_cuda {
    od_cu_driver cu;
    size_t page;  /* bytes of a page of windows; 0: they have none of their own */
    bool managed; /* windows are managed memory, and pools get memory where it is needed */
    od_pins pins;
    bool pinning; /* wanted */
    pthread_t pinner;
    bool has_pinner;
    hwloc_topology_t topology;
    unsigned ndevices;
    od_placeset peers[OD_MAX_DEVICES]; /* the devices whose memory each reads and writes directly */
    atomic_ullong copies, staged, bytes, staged_bytes;
    struct od_cublas *blas; /* queues.c */
    od_cuda_device device[OD_MAX_DEVICES];
};

/* context.c */
/* Makes the device's context current on the calling thread, until od_cuda_leave(). */
od_status od_cuda_enter(od_cuda_device *device);
void od_cuda_leave(od_cuda_device *device);
/* A device that works, now current, or NULL: for what concerns no device alone. */
od_cuda_device *od_cuda_enter_any(od_cuda *cuda);
/* od_cu_check() for a call on the device; notes it as lost where the error is sticky. */
od_status od_cuda_check(od_cuda_device *device, od_cu_result result, const char *doing);
/* After a failure: waits for all that the stream holds, since nothing of it may be under way when the failure is
 * reported. Where that fails, too, the device is lost. */
void od_cuda_calm(od_cuda_device *device, od_cu_stream stream);

/* reserve.c; the context is current. */
void od_reserve_take(od_cuda_device *device);
/* Gives it to whoever has got no memory. False: there is none any more. */
bool od_reserve_give(od_cuda_device *device);
/* Likewise, whatever context is current. */
bool od_reserve_spare(od_cuda_device *device);

/* Bytes of the device that must be free, and are not. */
size_t od_reserve_lack(od_cuda_device *device);

/* extent.c; the context is current. */
/* The least piece of memory of its own addresses that all devices have; 0: one has none, or others do not reach it. */
size_t od_extent_unit(const od_cuda *cuda);
/* OD_EINVAL: the device's memory cannot be given back in pieces, or so little. */
od_status od_extent_take(od_cuda_device *device, size_t bytes);
/* What is behind the first bytes. */
void od_extent_trim(od_cuda_device *device, size_t bytes);
void od_extent_give(od_cuda_device *device);

/* There is memory behind these bytes of the pool. */
od_status od_extent_commit(od_cuda_device *device, size_t offset, size_t bytes);

/* Memory at this address. OD_EINVAL: the driver gives none there. OD_EDEVICE: there is not so much. */
od_status od_chosen_take(od_cuda_device *device, size_t bytes, od_cu_address at);
/* False: the address is none of these. */
bool od_chosen_give(od_cuda_device *device, od_cu_address at);

/* windows.c: where cuda->page is not 0. */
extern const od_window_ops od_cuda_windows;

/* managed.c: where cuda->managed; the context is current. */
extern const od_window_ops od_cuda_managed_windows;
bool od_managed_is_possible(const od_cuda *cuda);
/* The bytes, which are at one address everywhere, are to be on a device, or on the host. */
od_status od_managed_start(od_cuda_device *device, const od_copy *copy, od_cu_stream stream);

/* tickets.c; the context is current. NULL: none could be made, the reason has been logged. */
od_ticket *od_ticket_take(od_cuda_device *device);
void od_ticket_give(od_ticket *ticket);
void od_queue_give(od_queue *queue); /* for the next task */
void od_tickets_destroy(od_cuda_device *device);

/* copies.c: od_backend_ops.start, poll, copy. */
od_status od_cuda_start(void *state, const od_copy *copy, od_ticket **ticket);
od_status od_cuda_poll(void *state, od_ticket *ticket);
od_status od_cuda_copy(void *state, int to, void *to_address, int from, const void *from_address, size_t bytes);

/* in_place.c: from or to the host; the context is current. */
/* Up to OD_BOUNCE bytes. */
od_status od_cuda_start_bounced(od_cuda_device *device, od_ticket *ticket, const od_copy *copy);
/* More, where the memory is pinned. False: it is not; else how it went. */
bool od_cuda_start_in_place(od_cuda_device *device, od_ticket *ticket, const od_copy *copy, od_status *status);
/* The pages of the copy's host range that may be pinned begin and end here. */
uintptr_t od_cuda_first_page(const od_copy *copy);
uintptr_t od_cuda_last_page(const od_copy *copy);

/* staging.c: carries out the ticket's copy on the stager's thread. OD_ENOMEM: it cannot be started. */
od_status od_stager_init(od_stager *stager, od_cuda_device *device, od_cuda_direction direction);
od_status od_stager_submit(od_stager *stager, od_ticket *ticket);
void od_stager_destroy(od_stager *stager);

/* queues.c */
extern const od_queue_ops od_cuda_queue_ops;
void od_queues_destroy(od_cuda_device *device);
void od_blas_close(od_cuda *cuda); /* no queue is left */

#endif
