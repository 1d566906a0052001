/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The queues that carry out transfers.
 *
 * Each device has one queue per direction: host (or spill area) to device, device to host, device to device (the
 * receiving device's). Each queue is first in, first out; demanded loads (a committed task waits for them) go before
 * prefetches. A back-end whose copies block gets a thread per queue; an asynchronous one a single thread for all,
 * which keeps a few copies of each queue under way. When a transfer ends, `done` is called on its thread without any
 * lock held.
 */
#ifndef OD_MEMMGR_DEVICE_TRANSFER_QUEUES_H
#define OD_MEMMGR_DEVICE_TRANSFER_QUEUES_H

#include "memmgr/data/transfer.h"
#include "memmgr/device/backend.h"

typedef struct od_transfer_queues od_transfer_queues;

typedef struct od_transfer_config {
    od_backend *backend;
    uint64_t seed;
    double jitter_s; /* longest random delay before each copy, seconds; 0 = none */
    void (*done)(void *arg, od_transfer *transfer, od_status status);
    void *arg;
} od_transfer_config;

/* Starts the threads. OD_ENOMEM where that fails. */
od_status od_transfer_queues_create(const od_transfer_config *config, od_transfer_queues **queues);
/* Lets queued transfers finish, then ends the threads. */
void od_transfer_queues_destroy(od_transfer_queues *queues);
/* The process ends: from now on no copy begins; the threads stay. */
void od_transfer_queues_halt(od_transfer_queues *queues);
/* In the child of a fork, which has none of the threads: frees what is left. */
void od_transfer_queues_abandon(od_transfer_queues *queues);
/* Queues a transfer; it belongs to the queues until `done`. Never blocks for long. */
void od_transfer_submit(od_transfer_queues *queues, od_transfer *transfer);
/* True where another thread may make a copy in the place of a queue: copies block, and are not delayed. */
bool od_transfer_queues_may_lend(const od_transfer_queues *queues);
/* Carries out a transfer that has not been submitted, on the calling thread. `done` is not called. Without any lock. */
od_status od_transfer_make(od_transfer_queues *queues, od_transfer *transfer);

#endif
