/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A transfer: bytes of a datum that go from one place to another. */
#ifndef OD_MEMMGR_DATA_TRANSFER_H
#define OD_MEMMGR_DATA_TRANSFER_H

#include "memmgr/data/datum.h"

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
    void *landing;             /* where the bytes go in place of the host's memory, or NULL; the driver's */
    bool for_writing;          /* tasks that write the datum had been given devices when it began */
    bool demanded;             /* a committed task or the host waits for it */
    bool outdated;             /* the datum may have changed since it began: the copy does not count */
    unsigned tries;            /* failed attempts so far */
    uint64_t start_ns, end_ns; /* set by the queue */
    uint64_t queued_ns;        /* set by the engine where events are observed (sched/event.h) */
    struct od_ticket *ticket;  /* of an asynchronous copy under way; the queue's */
    size_t begun, ended;       /* bytes, of a copy within host memory (memmgr/device/host_copy.h) */
    od_node node;              /* in a queue */
    od_node link;              /* the engine's */
    od_request_item *item;     /* the host request that it serves, or NULL */
} od_transfer;

#endif
