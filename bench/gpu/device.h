/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The device of the calling thread (gpu_use_device()): queues, memory, the product of matrices. */
#ifndef BENCH_GPU_DEVICE_H
#define BENCH_GPU_DEVICE_H

#include "bench/gpu/cuda.h"

/* A cuBLAS handle with its own stream. Ends the program when there can be none; gpu_queue_close() it. */
typedef struct gpu_queue {
    gpu_blas_handle handle;
    gpu_stream stream;
} gpu_queue;

gpu_queue gpu_queue_open(void);
void gpu_queue_close(gpu_queue queue);

/* Until the device has done all that is queued. */
void gpu_queue_wait(gpu_queue queue);

/* Device memory; ends the program when there is none. gpu_cuda.free() it. */
gpu_address gpu_device_alloc(size_t bytes);
size_t gpu_free_bytes(void);

/* Three matrices of one size on the device. */
typedef struct gpu_matrices {
    gpu_address a, b, c;
} gpu_matrices;

gpu_matrices gpu_matrices_alloc(size_t bytes);
void gpu_matrices_free(gpu_matrices matrices);

/* C := C + A B for column-major matrices on the device, queued. */
typedef struct gpu_block {
    gpu_address address;
    size_t stride; /* of columns, in elements */
} gpu_block;
void gpu_gemm(gpu_queue queue, size_t m, size_t n, size_t k, const gpu_block block[3]);

/* The same for square matrices of order n; returns the seconds until the result was there. */
double gpu_timed_gemm(gpu_queue queue, size_t n, gpu_matrices matrices);

#endif
