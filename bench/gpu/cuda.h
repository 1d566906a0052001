/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The parts of NVIDIA's driver API and of cuBLAS that the benchmarks call, opened at run time.
 *
 * The declarations are our own, so that building needs no installation of CUDA; names, numbers and argument types are
 * those of cuda.h, cublas_api.h and cublasXt.h. Libraries are looked for as the dynamic linker does; the environment
 * variables BENCH_CUDA and BENCH_CUBLAS name other files. A function that a library lacks returns an error when it is
 * called.
 */
#ifndef BENCH_GPU_CUDA_H
#define BENCH_GPU_CUDA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum { GPU_EXIT_SKIPPED = 77 }; /* no driver, no device or no cuBLAS */

typedef unsigned long long gpu_address; /* CUdeviceptr */
typedef struct gpu_context_st *gpu_context;
typedef struct gpu_stream_st *gpu_stream;
typedef struct gpu_blas_handle_st *gpu_blas_handle;
typedef struct gpu_xt_handle_st *gpu_xt_handle;

typedef struct gpu_copy_2d { /* CUDA_MEMCPY2D_v2 */
    size_t from_x, from_y;
    int from_type;
    const void *from_host;
    gpu_address from_device;
    void *from_array;
    size_t from_pitch;
    size_t to_x, to_y;
    int to_type;
    void *to_host;
    gpu_address to_device;
    void *to_array;
    size_t to_pitch;
    size_t width, height; /* bytes, rows */
} gpu_copy_2d;

enum {
    GPU_MEMORY_HOST = 1,         /* CU_MEMORYTYPE_HOST */
    GPU_MEMORY_DEVICE = 2,       /* CU_MEMORYTYPE_DEVICE */
    GPU_STREAM_NON_BLOCKING = 1, /* CU_STREAM_NON_BLOCKING */
    GPU_HOST_PORTABLE = 1,       /* CU_MEMHOSTALLOC_PORTABLE */
    GPU_ATTACH_GLOBAL = 1,       /* CU_MEM_ATTACH_GLOBAL */
    GPU_PREFETCH_TO_HOST = -1,   /* CU_DEVICE_CPU */
    GPU_COMPUTE_CAPABILITY_MAJOR = 75,
    GPU_COMPUTE_CAPABILITY_MINOR = 76,
    GPU_CONCURRENT_MANAGED = 89, /* CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS */
};

enum { /* cublas_api.h, cublasXt.h */
       CUBLAS_NO_TRANSPOSE = 0,
       CUBLAS_TRANSPOSE = 1,
       CUBLAS_LOWER = 0,
       CUBLAS_UPPER = 1,
       CUBLAS_LEFT = 0,
       CUBLAS_RIGHT = 1,
       CUBLAS_NON_UNIT = 0,
       CUBLAS_UNIT = 1,
       CUBLAS_TF32_MATH = 3, /* CUBLAS_TF32_TENSOR_OP_MATH */
       CUBLAS_XT_PINNING_ENABLED = 1,
};

/* FUNCTION(member, name in libcuda, argument types); all return a CUresult */
#define GPU_DRIVER_FUNCTIONS(FUNCTION)                                                                                 \
    FUNCTION(init, cuInit, (unsigned flags))                                                                           \
    FUNCTION(driver_version, cuDriverGetVersion, (int *version))                                                       \
    FUNCTION(device_count, cuDeviceGetCount, (int *count))                                                             \
    FUNCTION(device_get, cuDeviceGet, (int *device, int ordinal))                                                      \
    FUNCTION(device_name, cuDeviceGetName, (char *name, int length, int device))                                       \
    FUNCTION(device_attribute, cuDeviceGetAttribute, (int *value, int attribute, int device))                          \
    FUNCTION(context_retain, cuDevicePrimaryCtxRetain, (gpu_context * context, int device))                            \
    FUNCTION(context_set, cuCtxSetCurrent, (gpu_context context))                                                      \
    FUNCTION(memory_info, cuMemGetInfo_v2, (size_t *free_bytes, size_t *total_bytes))                                  \
    FUNCTION(alloc, cuMemAlloc_v2, (gpu_address * address, size_t bytes))                                              \
    FUNCTION(alloc_managed, cuMemAllocManaged, (gpu_address * address, size_t bytes, unsigned flags))                  \
    FUNCTION(free, cuMemFree_v2, (gpu_address address))                                                                \
    FUNCTION(host_alloc, cuMemHostAlloc, (void **address, size_t bytes, unsigned flags))                               \
    FUNCTION(host_free, cuMemFreeHost, (void *address))                                                                \
    FUNCTION(prefetch, cuMemPrefetchAsync, (gpu_address address, size_t bytes, int device, gpu_stream stream))         \
    FUNCTION(stream_create, cuStreamCreate, (gpu_stream * stream, unsigned flags))                                     \
    FUNCTION(stream_destroy, cuStreamDestroy_v2, (gpu_stream stream))                                                  \
    FUNCTION(stream_wait, cuStreamSynchronize, (gpu_stream stream))                                                    \
    FUNCTION(launch_host, cuLaunchHostFunc, (gpu_stream stream, void (*call)(void *), void *argument))                 \
    FUNCTION(copy_h2d, cuMemcpyHtoDAsync_v2, (gpu_address to, const void *from, size_t bytes, gpu_stream stream))      \
    FUNCTION(copy_d2h, cuMemcpyDtoHAsync_v2, (void *to, gpu_address from, size_t bytes, gpu_stream stream))            \
    FUNCTION(copy_2d, cuMemcpy2DAsync_v2, (const gpu_copy_2d *copy, gpu_stream stream))                                \
    FUNCTION(error_name, cuGetErrorName, (int error, const char **name))

#define GPU_GEMM_ARGUMENTS(REAL, INTEGER, HANDLE)                                                                      \
    (HANDLE handle, int transpose_a, int transpose_b, INTEGER m, INTEGER n, INTEGER k, const REAL *alpha,              \
     const REAL *a, INTEGER lda, const REAL *b, INTEGER ldb, const REAL *beta, REAL *c, INTEGER ldc)
#define GPU_SYRK_ARGUMENTS(REAL)                                                                                       \
    (gpu_blas_handle handle, int part, int transpose, int n, int k, const REAL *alpha, const REAL *a, int lda,         \
     const REAL *beta, REAL *c, int ldc)
#define GPU_TRSM_ARGUMENTS(REAL)                                                                                       \
    (gpu_blas_handle handle, int side, int part, int transpose, int diagonal, int m, int n, const REAL *alpha,         \
     const REAL *a, int lda, REAL *b, int ldb)

/* FUNCTION(member, name in libcublas, argument types); all return a cublasStatus_t */
#define GPU_BLAS_FUNCTIONS(FUNCTION)                                                                                   \
    FUNCTION(create, cublasCreate_v2, (gpu_blas_handle * handle))                                                      \
    FUNCTION(destroy, cublasDestroy_v2, (gpu_blas_handle handle))                                                      \
    FUNCTION(set_stream, cublasSetStream_v2, (gpu_blas_handle handle, gpu_stream stream))                              \
    FUNCTION(set_math_mode, cublasSetMathMode, (gpu_blas_handle handle, int mode))                                     \
    FUNCTION(sgemm, cublasSgemm_v2, GPU_GEMM_ARGUMENTS(float, int, gpu_blas_handle))                                   \
    FUNCTION(dgemm, cublasDgemm_v2, GPU_GEMM_ARGUMENTS(double, int, gpu_blas_handle))                                  \
    FUNCTION(ssyrk, cublasSsyrk_v2, GPU_SYRK_ARGUMENTS(float))                                                         \
    FUNCTION(dsyrk, cublasDsyrk_v2, GPU_SYRK_ARGUMENTS(double))                                                        \
    FUNCTION(strsm, cublasStrsm_v2, GPU_TRSM_ARGUMENTS(float))                                                         \
    FUNCTION(dtrsm, cublasDtrsm_v2, GPU_TRSM_ARGUMENTS(double))                                                        \
    FUNCTION(xt_create, cublasXtCreate, (gpu_xt_handle * handle))                                                      \
    FUNCTION(xt_destroy, cublasXtDestroy, (gpu_xt_handle handle))                                                      \
    FUNCTION(xt_select, cublasXtDeviceSelect, (gpu_xt_handle handle, int count, int *devices))                         \
    FUNCTION(xt_set_block, cublasXtSetBlockDim, (gpu_xt_handle handle, int block))                                     \
    FUNCTION(xt_set_pinning, cublasXtSetPinningMemMode, (gpu_xt_handle handle, int mode))                              \
    FUNCTION(xt_sgemm, cublasXtSgemm, GPU_GEMM_ARGUMENTS(float, size_t, gpu_xt_handle))                                \
    FUNCTION(xt_dgemm, cublasXtDgemm, GPU_GEMM_ARGUMENTS(double, size_t, gpu_xt_handle))

typedef struct gpu_driver {
#define GPU_MEMBER(member, name, arguments) int(*member) arguments;
    GPU_DRIVER_FUNCTIONS(GPU_MEMBER)
} gpu_driver;

typedef struct gpu_blas {
    GPU_BLAS_FUNCTIONS(GPU_MEMBER)
#undef GPU_MEMBER
} gpu_blas;

/* Set where a task had no queue of the library's and so waited for its own (gpu_blas.c). */
extern atomic_bool gpu_waited;

/* What products are computed in, of the whole program: the elements of TF32's matrices are floats. */
typedef enum gpu_precision { GPU_SINGLE, GPU_DOUBLE, GPU_TF32 } gpu_precision;
extern gpu_precision gpu_computes_in;
size_t gpu_element_bytes(void);
/* The distance from 1 to the next number. */
double gpu_epsilon(void);
/* Makes the handle compute so. */
void gpu_set_math(gpu_blas_handle handle);

/* Valid once gpu_open() has returned. */
extern gpu_driver gpu_cuda;
extern gpu_blas gpu_cublas;

/* Opens both libraries; ends the program with GPU_EXIT_SKIPPED, saying why, where one or a device is missing. */
void gpu_open(void);

/* A library by the first of the names that can be opened, or by the file that the environment variable names. NULL:
 * none. */
void *gpu_open_library(const char *variable, const char *const *names);

/* Makes the device's primary context, which OpenMP's runtime uses as well, the calling thread's. */
void gpu_use_device(int ordinal);

/* End the program at once, other threads may be running, with one message when a call has failed. */
void gpu_check(int driver_result, const char *what);
void gpu_check_blas(int blas_status, const char *what);

/* Page-locked host memory, or NULL. gpu_host_free() it. */
void *gpu_host_alloc(size_t bytes);
void gpu_host_free(void *memory);

#endif
