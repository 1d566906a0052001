/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A rank that serves: what its files share. */
#ifndef OD_MEMMGR_DEVICE_MPI_SERVED_H
#define OD_MEMMGR_DEVICE_MPI_SERVED_H

#include "memmgr/device/mpi/mpi.h"
#include "memmgr/device/mpi/staging.h"
#include "util/fair.h"

#include <pthread.h>

typedef struct od_server od_server;

typedef struct od_block { /* of device memory, given out */
    struct od_block *next;
    uintptr_t address;
    size_t bytes;
} od_block;

typedef struct od_served { /* a device */
    od_server *server;
    unsigned k;
    pthread_t thread;
    pthread_mutex_t lock; /* protects the queue */
    pthread_cond_t wake;
    struct call *first, **last;
    atomic_bool called; /* the queue is not empty: a look at it needs no lock */
    od_block *blocks;   /* only with the post's turn, as the next */
    size_t taken;
} od_served;

struct od_server {
    const od_rank *self;
    const od_mpi_offer *offer;
    od_post *post;
    od_staging *staging; /* NULL: the devices' memory is the process's own */
    od_served *devices;
    bool *lost;        /* of each rank */
    od_fair had;       /* at the last beat */
    uint64_t beat_ns;
    bool ends, failed; /* failed: without MPI_Finalize(), which a rank that is lost would not reach */
};

void od_server_answer(od_server *server, uint64_t ticket, bool failed, uint64_t address);

/* A message about bytes of the server's devices, with what is behind it. */
void od_server_copy(od_server *server, const od_mpi_message *message, const char *behind);

#endif
