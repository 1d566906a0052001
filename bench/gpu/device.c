/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "bench/gpu/device.h"

#include "bench/common/clock.h"

gpu_queue gpu_queue_open(void)
{
    gpu_queue queue;
    gpu_check(gpu_cuda.stream_create(&queue.stream, GPU_STREAM_NON_BLOCKING), "cuStreamCreate");
    gpu_check_blas(gpu_cublas.create(&queue.handle), "cublasCreate");
    gpu_check_blas(gpu_cublas.set_stream(queue.handle, queue.stream), "cublasSetStream");
    gpu_set_math(queue.handle);
    return queue;
}

void gpu_queue_close(gpu_queue queue)
{
    gpu_check_blas(gpu_cublas.destroy(queue.handle), "cublasDestroy");
    gpu_check(gpu_cuda.stream_destroy(queue.stream), "cuStreamDestroy");
}

void gpu_queue_wait(gpu_queue queue)
{
    gpu_check(gpu_cuda.stream_wait(queue.stream), "cuStreamSynchronize");
}

gpu_address gpu_device_alloc(size_t bytes)
{
    gpu_address address = 0;
    gpu_check(gpu_cuda.alloc(&address, bytes), "cuMemAlloc");
    return address;
}

size_t gpu_free_bytes(void)
{
    size_t free_bytes = 0, total_bytes = 0;
    gpu_check(gpu_cuda.memory_info(&free_bytes, &total_bytes), "cuMemGetInfo");
    return free_bytes;
}

gpu_matrices gpu_matrices_alloc(size_t bytes)
{
    gpu_matrices matrices;
    matrices.a = gpu_device_alloc(bytes);
    matrices.b = gpu_device_alloc(bytes);
    matrices.c = gpu_device_alloc(bytes);
    return matrices;
}

void gpu_matrices_free(gpu_matrices matrices)
{
    gpu_cuda.free(matrices.a);
    gpu_cuda.free(matrices.b);
    gpu_cuda.free(matrices.c);
}

void gpu_gemm(gpu_queue queue, size_t m, size_t n, size_t k, const gpu_block block[3])
{
    const gpu_block a = block[0], b = block[1], c = block[2];
    const int transpose = CUBLAS_NO_TRANSPOSE;
    if (gpu_computes_in == GPU_DOUBLE) {
        const double one = 1;
        gpu_check_blas(gpu_cublas.dgemm(queue.handle, transpose, transpose, (int)m, (int)n, (int)k, &one,
                                        (const double *)a.address, (int)a.stride, (const double *)b.address,
                                        (int)b.stride, &one, (double *)c.address, (int)c.stride),
                       "cublasDgemm");
    } else {
        const float one = 1;
        gpu_check_blas(gpu_cublas.sgemm(queue.handle, transpose, transpose, (int)m, (int)n, (int)k, &one,
                                        (const float *)a.address, (int)a.stride, (const float *)b.address,
                                        (int)b.stride, &one, (float *)c.address, (int)c.stride),
                       "cublasSgemm");
    }
}

double gpu_timed_gemm(gpu_queue queue, size_t n, gpu_matrices matrices)
{
    const double start = bench_now();
    gpu_gemm(queue, n, n, n, (gpu_block[]){{matrices.a, n}, {matrices.b, n}, {matrices.c, n}});
    gpu_queue_wait(queue);
    return bench_now() - start;
}
