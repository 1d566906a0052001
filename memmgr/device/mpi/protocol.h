/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What ranks send each other, all of it on a communicator of our own. One tag is for messages; the bytes of a copy
 * follow in pieces, which have a tag of their own for as long as the copy is under way. Rank 0 asks, the others answer;
 * bytes between two devices go from one rank to the other.
 *
 *   HELLO   what a rank offers: od_mpi_hello, and its kernels in pieces; all wait until rank 0 has all of them
 *   ALLOC   `bytes` of device memory; answered with the address
 *   FREE    gives them back
 *   PUT     bytes for `address`, which follow: behind the message where they are few, else in pieces
 *   GET     likewise from there to rank 0: with the answer, or in pieces
 *   GIVE    bytes from `address` to rank `peer`, in pieces
 *   TAKE    the other end of that
 *   MOVE    bytes for `address` from another device of the rank: behind the message is od_mpi_source
 *   LAUNCH  a kernel: behind the message is what od_mpi_offer.launch() takes
 *   DONE    the answer to the question with this ticket
 *   BEAT    the rank is there; of one that serves, `bytes`: nanoseconds that it has had since the last (util/fair.h)
 *   LOST    rank `peer` is lost: nothing comes from it any more
 *   END     no more questions; `failed`: a rank is lost, and MPI cannot be ended. The answer is END, the last message
 *
 * A rank whose bytes go through buffers (od_mpi_hello.staged) answers GET in pieces, and GIVE, when they have left the
 * device, and is asked to MOVE. Others send these from where they are, and do not say so.
 */
#ifndef OD_MEMMGR_DEVICE_MPI_PROTOCOL_H
#define OD_MEMMGR_DEVICE_MPI_PROTOCOL_H

#include <stdint.h>

enum { OD_MPI_PROTOCOL = 6 };

typedef enum od_mpi_kind {
    OD_MPI_HELLO,
    OD_MPI_ALLOC,
    OD_MPI_FREE,
    OD_MPI_PUT,
    OD_MPI_GET,
    OD_MPI_GIVE,
    OD_MPI_TAKE,
    OD_MPI_MOVE,
    OD_MPI_LAUNCH,
    OD_MPI_DONE,
    OD_MPI_BEAT,
    OD_MPI_LOST,
    OD_MPI_END,
} od_mpi_kind;

enum {
    OD_MPI_TAG_MESSAGE = 1,
    OD_MPI_TAG_HELLO,
    OD_MPI_TAG_PIECES,         /* and all above */
    OD_MPI_LONGEST = 1 << 20,  /* bytes of a message: private arguments may be large */
    OD_MPI_FEW = 16 << 10,     /* bytes of a copy that go with a message */
    OD_MPI_PIECE = 512 << 10,  /* bytes */
};

typedef struct od_mpi_message {
    uint32_t kind;    /* od_mpi_kind */
    uint32_t device;  /* of the rank that is asked */
    uint64_t ticket;  /* the question's */
    uint64_t address; /* in the device's memory */
    uint64_t bytes;
    int32_t peer;
    int32_t tag;      /* of the pieces; 0: the bytes are behind the message */
    int32_t failed;   /* of an answer */
    uint32_t behind;  /* bytes */
} od_mpi_message;

typedef struct od_mpi_source {
    uint64_t address;
    uint32_t device, unused;
} od_mpi_source;

/* Before any message, from each rank to all: whether these belong together. */
typedef struct od_mpi_role {
    uint32_t protocol;
    uint32_t serves;
    char version[24]; /* OMPDARTS_VERSION */
} od_mpi_role;

typedef struct od_mpi_hello {
    uint64_t memory; /* bytes of each device */
    uint32_t ndevices;
    uint32_t nkernels;
    uint32_t staged; /* the devices' memory is not the process's own */
    uint32_t shared; /* of other ranks that serve on the same machine it is also the memory */
    char machine[64];
} od_mpi_hello;

#endif
