/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What libompdarts-mpi.so exports: devices of other ranks of an MPI job. `ompdarts run --backend=mpi` and `ompdarts
 * serve` preload it beside libompdarts.so, of the same version, so that nothing else needs MPI.
 *
 * Rank 0 runs the program. The other ranks serve: the same executable is loaded there, with its device code, but main()
 * is not run. Each side begins in od_mpi_role, before main(); the other side of every call is on the other ranks.
 */
#ifndef OD_MEMMGR_DEVICE_MPI_MODULE_H
#define OD_MEMMGR_DEVICE_MPI_MODULE_H

#include "memmgr/device/backend.h"
#include "util/log.h"

#include <stdint.h>

#define OD_MPI_MODULE "libompdarts-mpi.so"
/* "run" or "serve": set by the command for the program that it becomes, which removes it. */
#define OD_MPI_ROLE "_OMPDARTS_MPI_ROLE"

/* Where a process that is to be a rank ends before MPI begins, and before OD_MPI_ROLE is removed: the others would wait
 * for it. Ends the job, with this exit code. */
void od_mpi_end_job(int exit_code);

/* A kernel, as all ranks know it. */
typedef struct od_mpi_kernel {
    uint64_t name;  /* a hash */
    uint64_t build; /* of its device code */
} od_mpi_kernel;

/* What a rank offers. */
typedef struct od_mpi_offer {
    unsigned ndevices;
    const od_backend *local; /* whose devices they are; NULL: LLVM's host devices, with memory of the process's own */
    size_t memory; /* bytes that each of them gives */
    bool shared;   /* which is what the machine has, for all ranks there */
    od_log_level log;
    unsigned nkernels;
    const od_mpi_kernel *kernels;
    /* Runs a kernel on its device k and waits; `call` is what the launching rank has given to the back-end. 0: done. */
    int (*launch)(unsigned k, const void *call, size_t bytes);
} od_mpi_offer;

typedef struct od_mpi_config {
    unsigned interface_version; /* OD_BACKEND_INTERFACE */
    const int *devices; /* which of those offered, counted through all ranks from `first` on; outlives the back-end */
    int first;
    size_t memory;      /* bytes that each is to give; 0: whatever it has */
    double silence_s;   /* a rank that has not been heard of for so long is lost */
    od_log_level log;
    /* Whether the calling rank has the kernel. */
    bool (*knows)(const od_mpi_kernel *kernel);
} od_mpi_config;

/* How many devices all ranks offer together. 0: the process is no rank that runs a program; `why` says why. */
typedef unsigned od_mpi_count_fn(char *why, size_t why_size);
/* OD_EINVAL: `error` says what is wrong. */
typedef od_status od_mpi_backend_fn(od_backend *backend, const od_mpi_config *config, char *error, size_t error_size);
/* Ends all ranks that serve. The process uses MPI no more. */
typedef void od_mpi_end_fn(void);
/* What a rank that serves has; called once, by its thread that would run main(). Not 0: it has nothing, and the message
 * has been printed. */
typedef int od_mpi_offer_fn(od_mpi_offer *offer);

__attribute__((visibility("default"))) od_mpi_count_fn ompdarts_mpi_v1_count;
__attribute__((visibility("default"))) od_mpi_backend_fn ompdarts_mpi_v1_backend;
__attribute__((visibility("default"))) od_mpi_end_fn ompdarts_mpi_v1_end;
/* libompdarts.so exports this one. */
#define OD_MPI_OFFER "ompdarts_v1_offer"

#endif
