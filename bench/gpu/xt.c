/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * cublasXt, cuBLAS' own product of matrices in host memory, see peers.h.
 *
 * It has no option for the memory it uses, only one for the order of its blocks. So a thread looks at the device's free
 * memory while it works, and the caller compares the most it used with a limit. Nor does it say what it copies.
 */
#include "bench/common/clock.h"
#include "bench/common/command.h"
#include "bench/common/memory.h"
#include "bench/gpu/device.h"
#include "bench/gpu/peers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const long look_every_ns = 500000;

typedef struct watch {
    pthread_t thread;
    atomic_bool done;
    size_t least; /* free bytes; the thread's until it is joined */
} watch;

static void *look(void *argument)
{
    watch *watch = argument;
    gpu_use_device(0);
    while (!atomic_load(&watch->done)) {
        const size_t free_bytes = gpu_free_bytes();
        watch->least = free_bytes < watch->least ? free_bytes : watch->least;
        nanosleep(&(struct timespec){.tv_nsec = look_every_ns}, NULL);
    }
    return NULL;
}

static void watch_begin(watch *watch)
{
    atomic_init(&watch->done, false);
    watch->least = gpu_free_bytes();
    if (pthread_create(&watch->thread, NULL, look, watch) != 0) {
        bench_fail("cannot create a thread");
    }
}

static size_t watch_end(watch *watch)
{
    atomic_store(&watch->done, true);
    pthread_join(watch->thread, NULL);
    return watch->least;
}

static void product(gpu_xt_handle handle, const peer_problem *problem, size_t order)
{
    const size_t n = problem->n;
    const int transpose = CUBLAS_NO_TRANSPOSE;
    if (gpu_computes_in == GPU_DOUBLE) {
        const double one = 1;
        gpu_check_blas(gpu_cublas.xt_dgemm(handle, transpose, transpose, order, order, order, &one, problem->a, n,
                                           problem->b, n, &one, problem->c, n),
                       "cublasXtDgemm");
    } else {
        const float one = 1;
        gpu_check_blas(gpu_cublas.xt_sgemm(handle, transpose, transpose, order, order, order, &one, problem->a, n,
                                           problem->b, n, &one, problem->c, n),
                       "cublasXtSgemm");
    }
    gpu_check(gpu_cuda.stream_wait(NULL), "cuStreamSynchronize");
}

/* The leading block of the order: from a matrix with columns so far apart into another one. */
static void copy_block(size_t order, const void *from, size_t from_stride, void *to, size_t to_stride)
{
    const size_t size = gpu_element_bytes();
    for (size_t j = 0; j < order; j++) {
        memcpy((char *)to + j * to_stride * size, (const char *)from + j * from_stride * size, order * size);
    }
}

/* Loads its kernels. The block of C that it changes is put back. */
static void warm_up(gpu_xt_handle handle, const peer_problem *problem, size_t block)
{
    const size_t order = block < problem->n ? block : problem->n;
    void *kept = bench_alloc(order * order, gpu_element_bytes());
    copy_block(order, problem->c, problem->n, kept, order);
    product(handle, problem, order);
    copy_block(order, kept, order, problem->c, problem->n);
    free(kept);
}

bool peer_xt(const peer_problem *problem, size_t block, peer_result *result)
{
    if (gpu_computes_in == GPU_TF32) {
        fprintf(stderr, "cublasXt left out: it does not compute in TF32\n");
        return false;
    }
    const size_t free_before = gpu_free_bytes();
    int first_device = 0;
    gpu_xt_handle handle = NULL;
    watch watch;
    gpu_check_blas(gpu_cublas.xt_create(&handle), "cublasXtCreate");
    gpu_check_blas(gpu_cublas.xt_select(handle, 1, &first_device), "cublasXtDeviceSelect");
    gpu_check_blas(gpu_cublas.xt_set_block(handle, (int)block), "cublasXtSetBlockDim");
    gpu_check_blas(gpu_cublas.xt_set_pinning(handle, CUBLAS_XT_PINNING_ENABLED), "cublasXtSetPinningMemMode");
    warm_up(handle, problem, block);
    watch_begin(&watch);
    const double start = bench_now();
    product(handle, problem, problem->n);
    *result = (peer_result){.seconds = bench_now() - start, .block = block, .h2d_bytes = -1, .d2h_bytes = -1};
    const size_t least = watch_end(&watch);
    result->device_bytes = free_before > least ? free_before - least : 0;
    gpu_check_blas(gpu_cublas.xt_destroy(handle), "cublasXtDestroy");
    gpu_use_device(0); /* the library may have left another context */
    return true;
}
