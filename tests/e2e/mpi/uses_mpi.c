/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A program that uses MPI itself, as rank 0: it initialises it, sends itself a message, and offloads after MPI_Finalize(). */
#include <mpi.h>
#include <stdio.h>

enum { N = 1 << 16, TASKS = 16 };

static double x[TASKS][N];

static int compute(void)
{
    int right = 1;
    for (int k = 0; k < TASKS; k++) {
        double *tile = x[k];
#pragma omp target nowait map(tofrom : tile[0 : N]) depend(inout : tile[0])
        for (int i = 0; i < N; i++)
            tile[i] += k + 1;
    }
#pragma omp taskwait
    for (int k = 0; k < TASKS; k++)
        for (int i = 0; i < N; i++)
            right &= x[k][i] == x[k][0];
    return right && x[1][0] == 2 * x[0][0];
}

int main(int argc, char **argv)
{
    int level, rank, finalized, sent = 17, received = 0;
    int right = compute();
    right &= MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level) == MPI_SUCCESS;
    right &= level >= MPI_THREAD_SERIALIZED;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Sendrecv(&sent, 1, MPI_INT, rank, 3, &received, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    right &= received == sent && compute();
    MPI_Finalized(&finalized);
    right &= !finalized;
    MPI_Finalize();
    MPI_Finalized(&finalized);
    right &= finalized && compute();
    puts(right ? "right" : "WRONG");
    return !right;
}
