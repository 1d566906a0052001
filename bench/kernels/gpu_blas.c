/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuBLAS inside tasks, see gpu_blas.h. OpenMP and CUDA number devices alike. */
#include "bench/kernels/gpu_blas.h"

#include "ompdarts.h"

#include <omp.h>
#include <stdint.h>
#include <stdlib.h>

enum { MAX_DEVICES = 64 };

/* Live as long as their threads; the driver frees them with the process. */
static _Thread_local gpu_queue own_queues[MAX_DEVICES];

static int own_device(void)
{
    int count = 1;
    gpu_check(gpu_cuda.device_count(&count), "cuDeviceGetCount");
    const int device = omp_get_default_device();
    /* More OpenMP devices than GPUs: these are host devices (tests), to which any GPU's name is as good. */
    return device >= 0 && device < MAX_DEVICES ? device % count : 0;
}

static gpu_queue own_queue(void)
{
    const int device = own_device();
    gpu_queue *queue = &own_queues[device];
    gpu_use_device(device);
    atomic_store_explicit(&gpu_waited, true, memory_order_relaxed);
    if (queue->handle == NULL) {
        *queue = gpu_queue_open();
    }
    return *queue;
}

gpu_queue gpu_queue_begin(void)
{
    const gpu_queue queue = {.handle = ompdarts_cublas_handle(), .stream = ompdarts_stream()};
    if (queue.handle == NULL) {
        return own_queue();
    }
    gpu_set_math(queue.handle); /* a handle comes as a new one is */
    return queue;
}

void gpu_queue_end(gpu_queue queue)
{
    if (queue.stream == own_queues[own_device()].stream) {
        gpu_queue_wait(queue);
    }
}

typedef struct block_call {
    gpu_block_work *work;
    size_t order, stride;
    void *buffer;
} block_call;

static void call_block(void *argument)
{
    block_call *call = argument;
    call->work(call->order, call->buffer, call->stride);
    free(call);
}

static void *block_buffer(size_t bytes)
{
    static void *buffer;
    static size_t size;
    if (size < bytes) {
        void *larger = NULL;
        gpu_check(gpu_cuda.host_alloc(&larger, bytes, GPU_HOST_PORTABLE), "cuMemHostAlloc");
        buffer = larger; /* the smaller one may still be in use, and goes with the process */
        size = bytes;
    }
    return buffer;
}

void gpu_queue_block(gpu_queue queue, gpu_block_work *work, size_t order, void *a, size_t stride, size_t bytes)
{
    block_call *call = malloc(sizeof *call);
    if (call == NULL) {
        abort();
    }
    *call = (block_call){work, order, stride, block_buffer(bytes)};
    void *const buffer = call->buffer;
    const gpu_address address = (uintptr_t)a;
    gpu_check(gpu_cuda.copy_d2h(buffer, address, bytes, queue.stream), "cuMemcpyDtoHAsync");
    gpu_check(gpu_cuda.launch_host(queue.stream, call_block, call), "cuLaunchHostFunc");
    gpu_check(gpu_cuda.copy_h2d(address, buffer, bytes, queue.stream), "cuMemcpyHtoDAsync");
}
