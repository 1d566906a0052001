/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How a rank ends: with its figures, or with a reason. */
#include "memmgr/device/mpi/mpi.h"

#include <stdio.h>
#include <unistd.h>

void od_mpi_give_up(const char *why, int rank)
{
    fprintf(stderr, "ompdarts: mpi: rank %d %s: the job ends\n", rank, why);
    fflush(NULL);
    MPI_Abort(MPI_COMM_WORLD, 1);
    _exit(1);
}

void od_mpi_say_counts(int rank, const od_post *post)
{
    od_post_counts n = od_post_counted(post);
    od_log(OD_LOG_INFO, "mpi", "rank %d has sent %llu bytes, %llu of them data, in %llu messages and %llu pieces", rank,
           (unsigned long long)n.bytes, (unsigned long long)n.data_bytes, (unsigned long long)n.messages,
           (unsigned long long)n.pieces);
}
