/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Devices of other ranks (OMPDARTS_BACKEND=mpi): kernels of theirs are started by the back-end, not by libomptarget.
 *
 * OpenMP's numbers of such devices are made up (numbers.h). For what the rest of omp_ext lets libomptarget do with its
 * own devices' memory they are as good as others, see od_remote_begin(). Constructs that only libomptarget can carry
 * out use its device of the virtual device's number, here, and are lent the data. The program is shown addresses on
 * other ranks, which it can give to kernels; host code that uses one ends with a message.
 */
#ifndef OD_OMP_EXT_REMOTE_H
#define OD_OMP_EXT_REMOTE_H

#include "memmgr/device/backend.h"
#include "omp_ext/remote/numbers.h"
#include "omp_ext/runtime/work.h"

#include <stdbool.h>

/* The back-end has been opened, and its devices are remote: libomptarget's functions for device memory, as
 * omp_ext/libomp/real.h has them, serve these devices, too. */
void od_remote_begin(void);
/* The end of the process: nothing is asked of other ranks any more. */
void od_remote_end(void);

enum { OD_REMOTE_AT_ONCE = 64 };

/* Copies from memory here to that of devices of other ranks, many of them under way at once. Zeroed at first. */
typedef struct od_remote_writes {
    od_ticket *tickets[OD_REMOTE_AT_ONCE];
    size_t begun, ended;
    bool failed;
} od_remote_writes;

/* What is copied stays as it is until all have ended. */
void od_remote_write(od_remote_writes *writes, int device, void *to, const void *from, size_t bytes);
/* Waits for all. False: one has failed. */
bool od_remote_end_writes(od_remote_writes *writes);

struct od_mpi_kernel;
/* A rank offers this kernel. False: the program has none like it. */
bool od_remote_knows(const struct od_mpi_kernel *kernel);

/* The kernel cannot run on another rank: its library has been opened since the start, or it is given an address of
 * memory here. */
bool od_remote_must_stay(const od_kernel_call *call);

/* As libomptarget's launch. With `handle` it may go on running; then od_remote_poll() is to be asked. */
int od_remote_launch(const od_kernel_call *call, unsigned k, const od_kernel_args *args, void **handle);
/* OD_EBUSY: it still runs, else *handle is NULL. */
od_status od_remote_poll(void **handle);

#endif
