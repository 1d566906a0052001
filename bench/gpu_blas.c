/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuBLAS handles for the programs' GPU build, see gpu_blas.h. OpenMP and the CUDA runtime number devices alike. */
#include "gpu_blas.h"

#include "common.h"

#include <cuda_runtime_api.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_DEVICES = 64 };

/* Live as long as their threads; the driver frees them with the process. */
static _Thread_local cublasHandle_t handles[MAX_DEVICES];

/* Called from tasks, where exit() would run beside other threads: the first failure ends the process at once. */
static _Noreturn void fail(const char *what)
{
#pragma omp critical(gpu_blas_fail)
    {
        fprintf(stderr, "cuBLAS cannot be used: %s\n", what);
        _Exit(BENCH_EXIT_USAGE);
    }
}

cublasHandle_t gpu_blas_handle(void)
{
    const int device = omp_get_default_device();
    if (device < 0 || device >= MAX_DEVICES) {
        fail("OpenMP's default device is not a GPU");
    }
    const cudaError_t error = cudaSetDevice(device);
    if (error != cudaSuccess) {
        fail(cudaGetErrorString(error));
    }
    if (handles[device] == NULL) {
        cublasStatus_t status = cublasCreate(&handles[device]);
        if (status == CUBLAS_STATUS_SUCCESS) {
            /* Each thread waits for its own work only. */
            status = cublasSetStream(handles[device], cudaStreamPerThread);
        }
        if (status != CUBLAS_STATUS_SUCCESS) {
            fail(cublasGetStatusString(status));
        }
    }
    return handles[device];
}

void gpu_blas_done(cublasStatus_t status)
{
    if (status != CUBLAS_STATUS_SUCCESS) {
        fail(cublasGetStatusString(status));
    }
    const cudaError_t error = cudaStreamSynchronize(cudaStreamPerThread);
    if (error != cudaSuccess) {
        fail(cudaGetErrorString(error));
    }
}
