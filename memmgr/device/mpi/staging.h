/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Bytes of devices whose memory is not the process's own, in a rank that serves: between ranks they are in buffers,
 * which the local back-end copies to and from the devices. All of it with the post's turn; nothing here waits.
 */
#ifndef OD_MEMMGR_DEVICE_MPI_STAGING_H
#define OD_MEMMGR_DEVICE_MPI_STAGING_H

#include "memmgr/device/backend.h"
#include "util/container/list.h"

typedef struct od_staging od_staging;
typedef struct od_stage od_stage;

/* A copy of the local back-end, with a buffer at one end, or none between two of its devices. */
struct od_stage {
    char *buffer; /* of at least so many bytes: od_stage_take()'s, or NULL */
    size_t bytes;
    /* The copy has ended. The stage is the caller's again. */
    void (*done)(od_stage *stage, bool failed);
    void *arg;
    /* Staging's own: */
    od_node node;
    od_ticket *ticket;
    unsigned size_class;
};

/* NULL: out of memory. The back-end outlives it. */
od_staging *od_staging_create(const od_backend *local);

/* A stage with a buffer, for any number of copies one after the other. NULL: there is no memory for one. */
od_stage *od_stage_take(od_staging *staging, size_t bytes);
void od_stage_give(od_staging *staging, od_stage *stage);

/* Starts one; done() may be called before this returns. */
void od_stage_load(od_staging *staging, od_stage *stage, unsigned to, void *to_address);
void od_stage_save(od_staging *staging, od_stage *stage, unsigned from, const void *from_address);
/* Without the buffer: the devices are peers. */
void od_stage_pass(od_staging *staging, od_stage *stage, unsigned to, void *to_address, unsigned from,
                   const void *from_address);

/* Ends what has ended. False: nothing has. */
bool od_staging_poll(od_staging *staging);

#endif
