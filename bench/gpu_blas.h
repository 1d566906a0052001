/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * cuBLAS for the programs' GPU build: one handle per host thread and device,
 * made on first use for the device that OpenMP has chosen for the thread.
 */
#ifndef BENCH_GPU_BLAS_H
#define BENCH_GPU_BLAS_H

#include <cublas_v2.h>

/* The calling thread's handle on the default device. Ends the program when cuBLAS cannot be set up. */
cublasHandle_t gpu_blas_handle(void);

/* Waits until the call that returned `status` has finished on the device. Ends the program on failure. */
void gpu_blas_done(cublasStatus_t status);

#endif
