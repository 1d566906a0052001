/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the files of the module share. */
#ifndef OD_MEMMGR_DEVICE_MPI_MPI_H
#define OD_MEMMGR_DEVICE_MPI_MPI_H

#include "memmgr/device/mpi/module.h"
#include "memmgr/device/mpi/post.h"

/* The process as a rank. */
typedef struct od_rank {
    MPI_Comm comm; /* a duplicate of MPI_COMM_WORLD, of our own */
    int rank, ranks;
    od_mpi_hello *hello;     /* rank 0: of each rank; ndevices is 0 where it offers nothing */
    od_mpi_kernel **kernels; /* likewise */
} od_rank;

/* Rank 0: its post runs on a thread of its own until od_client_end(). OD_ENOMEM: nothing has been started. */
od_status od_client_start(const od_rank *self);
/* Tells all ranks that serve to end. False: one is lost, so that MPI cannot be ended. */
bool od_client_end(void);

/* Any other rank, until rank 0 ends. False: a rank is lost, so that MPI cannot be ended. */
bool od_serve(const od_rank *self, const od_mpi_offer *offer);

/* Ends the process and the job: MPI itself cannot go on. */
_Noreturn void od_mpi_give_up(const char *why, int rank);

void od_mpi_say_counts(int rank, const od_post *post);

#endif
