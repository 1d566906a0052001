/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Transfers, and the queues that carry them out.
 *
 * Each device has one queue per direction: host (or spill area) to device,
 * device to host, device to device (the receiving device's). Copies between the host and a spill area share the first
 * device's second queue. Each queue is first in, first out; demanded
 * loads (a committed task waits for them) go before prefetches. A back-end whose copies block gets a thread per queue; an
 * asynchronous one a single thread for all, which keeps a few copies of each queue under way.
 * When a transfer ends, `done` is called on its thread without any lock held.
 */
#ifndef OD_MEMMGR_TRANSFER_H
#define OD_MEMMGR_TRANSFER_H

#include "memmgr/backend.h"
#include "memmgr/datum.h"

typedef enum od_transfer_kind {
    OD_LOAD,       /* a committed or buffered task's input */
    OD_WRITE_BACK, /* contents to the host or the spill area; the replica stays */
    OD_EVICT,      /* likewise, then the replica goes */
    OD_UPDATE,     /* a part, for `target update` or `always` */
} od_transfer_kind;

typedef struct od_transfer {
    od_datum *datum;
    od_transfer_kind kind;
    int from, to;              /* places */
    size_t offset, bytes;      /* the part of the datum */
    size_t from_offset;        /* pool offset of the datum's first byte at `from`; unused for the host */
    size_t to_offset;          /* likewise at `to` */
    void *spill;               /* where the datum's first byte is spilled, if one of the places is OD_SPILL */
    bool demanded;             /* a committed task or the host waits for it */
    unsigned tries;            /* failed attempts so far */
    uint64_t start_ns, end_ns; /* set by the queue */
    uint64_t queued_ns;        /* set by the engine where somebody listens (sched/event.h) */
    od_ticket *ticket;         /* of an asynchronous copy under way; the queue's */
    od_node node;              /* in a queue */
    od_node link;              /* the engine's */
    od_request_item *item;     /* the host request that it serves, or NULL */
} od_transfer;

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

#endif
