/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What libompdarts-cuda.so exports: the CUDA back-end, a module that is opened when devices are NVIDIA's, so that
 * nothing else needs CUDA or looks for it. It is found beside libompdarts.so, and of the same version.
 */
#ifndef OD_MEMMGR_DEVICE_CUDA_MODULE_H
#define OD_MEMMGR_DEVICE_CUDA_MODULE_H

#include "memmgr/device/backend.h"
#include "util/log.h"

#define OD_CUDA_MODULE "libompdarts-cuda.so"
#define OD_CUDA_LIBRARY "libcuda.so.1"

enum { OD_PIN_FIRST = 8 }; /* loads of a range, through buffers, take as long as pinning it and undoing that */

typedef struct od_cuda_config {
    unsigned interface_version; /* OD_BACKEND_INTERFACE */
    unsigned ndevices;
    const int *ordinals; /* per device CUDA's number of the GPU; equal ones are logical devices of one GPU */
    size_t pin_budget;   /* bytes of host memory that may be pinned; 0: none */
    size_t (*pin_budget_now)(void); /* the machine may get more memory; NULL: it stays */
    unsigned pin_first;  /* the large load of a range at which it is pinned */
    bool pin_keep;       /* pins outlast synchronisation, where the system tells what becomes of the memory */
    bool trusted;        /* kernels use nothing of arrays but what their tasks name */
    bool managed;        /* arrays in parts are wanted in managed memory */
    bool pin_wanted;     /* the user has not switched pinning off: unpinned transfers are a finding */
    od_log_level log;
    const void *places; /* where the module's threads may run (od_thread_places); NULL: anywhere */
    size_t places_bytes;
} od_cuda_config;

/* How many GPUs the driver has; 0: none, or no driver, with the reason in `why`. */
typedef unsigned od_cuda_count_fn(char *why, size_t why_size);
/* The number of the GPU whose memory the address is, or -1. */
typedef int od_cuda_ordinal_fn(const void *device_address);
typedef od_status od_cuda_backend_fn(od_backend *backend, const od_cuda_config *config);

__attribute__((visibility("default"))) od_cuda_count_fn ompdarts_cuda_v1_count;
__attribute__((visibility("default"))) od_cuda_ordinal_fn ompdarts_cuda_v1_ordinal;
__attribute__((visibility("default"))) od_cuda_backend_fn ompdarts_cuda_v1_backend;

#endif
