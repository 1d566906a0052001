/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * cuBLAS inside tasks, for the programs' GPU build.
 *
 * Under ompdarts a task has a handle and a stream of the library's, and need not wait for what it queues there.
 * Without, or where the task is not scheduled, each host thread has its own for each device, and waits.
 */
#ifndef BENCH_GPU_BLAS_H
#define BENCH_GPU_BLAS_H

#include "bench/gpu/device.h"

enum { BENCH_GPU_FACTOR_BLOCK = 64 }; /* columns that the host factors at once */

/* For the calling task. Ends the program when cuBLAS cannot be set up. */
gpu_queue gpu_queue_begin(void);

/* The task has queued all it has to. */
void gpu_queue_end(gpu_queue queue);

/* One diagonal block of a factorisation, which cuBLAS has no function for: work(a, order, stride) is called on the host
 * with `bytes` bytes copied from the device address, and the result is copied back, all in the queue's order. `stride`
 * is the distance of columns in elements. The blocks of one program must follow each other: there is one buffer. */
typedef void gpu_block_work(size_t order, void *a, size_t stride);
void gpu_queue_block(gpu_queue queue, gpu_block_work *work, size_t order, void *a, size_t stride, size_t bytes);

#endif
