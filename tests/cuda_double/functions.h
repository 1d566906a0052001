/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What the doubles of libcuda and libcublas offer beyond memmgr/device/cuda/driver.h. The declarations are our own,
 * so that no installation of CUDA is needed; names and numbers are those of cuda.h and cublas_v2.h.
 */
#ifndef CUDA_DOUBLE_FUNCTIONS_H
#define CUDA_DOUBLE_FUNCTIONS_H

#include "memmgr/device/cuda/driver.h"

typedef struct cd_copy_2d { /* CUDA_MEMCPY2D */
    size_t from_x, from_y;
    int from_type;
    const void *from_host;
    od_cu_address from_device;
    void *from_array;
    size_t from_pitch;
    size_t to_x, to_y;
    int to_type;
    void *to_host;
    od_cu_address to_device;
    void *to_array;
    size_t to_pitch;
    size_t width, height; /* bytes, rows */
} cd_copy_2d;

/* FUNCTION(member, name in libcuda, argument types): what programs and the double of cuBLAS call. */
#define CD_MORE_CU_FUNCTIONS(FUNCTION)                                                                                 \
    FUNCTION(context_set, cuCtxSetCurrent, (od_cu_context context))                                                    \
    FUNCTION(context_get, cuCtxGetCurrent, (od_cu_context * context))                                                  \
    FUNCTION(stream_context, cuStreamGetCtx, (od_cu_stream stream, od_cu_context * context))                           \
    FUNCTION(launch_host, cuLaunchHostFunc, (od_cu_stream stream, void (*function)(void *), void *data))               \
    FUNCTION(copy_2d, cuMemcpy2DAsync_v2, (const cd_copy_2d *copy, od_cu_stream stream))                               \
    CD_PLUGINS_CU_FUNCTIONS(FUNCTION)

typedef struct od_cu_module_st *od_cu_module;
typedef struct od_cu_function_st *od_cu_function;

enum { /* the arguments of a launch in one block: CU_LAUNCH_PARAM_... */
       CD_LAUNCH_END = 0,
       CD_LAUNCH_BUFFER = 1,
       CD_LAUNCH_SIZE = 2,
};

/* What LLVM's CUDA plug-ins call besides, or look for. */
#define CD_PLUGINS_CU_FUNCTIONS(FUNCTION)                                                                              \
    FUNCTION(device_memory, cuDeviceTotalMem_v2, (size_t *bytes, od_cu_device device))                                 \
    FUNCTION(device_uuid, cuDeviceGetUuid, (unsigned char uuid[16], od_cu_device device))                              \
    FUNCTION(context_state, cuDevicePrimaryCtxGetState, (od_cu_device device, unsigned *flags, int *active))           \
    FUNCTION(context_flags, cuDevicePrimaryCtxSetFlags_v2, (od_cu_device device, unsigned flags))                      \
    FUNCTION(context_device, cuCtxGetDevice, (od_cu_device * device))                                                  \
    FUNCTION(limit_get, cuCtxGetLimit, (size_t *value, int limit))                                                     \
    FUNCTION(limit_set, cuCtxSetLimit, (int limit, size_t value))                                                      \
    FUNCTION(stream_wait, cuStreamWaitEvent, (od_cu_stream stream, od_cu_event event, unsigned flags))                 \
    FUNCTION(stream_callback, cuStreamAddCallback,                                                                     \
             (od_cu_stream stream, void (*function)(od_cu_stream, od_cu_result, void *), void *data, unsigned flags))  \
    FUNCTION(alloc_async, cuMemAllocAsync, (od_cu_address * address, size_t bytes, od_cu_stream stream))               \
    FUNCTION(free_async, cuMemFreeAsync, (od_cu_address address, od_cu_stream stream))                                 \
    FUNCTION(alloc_host, cuMemAllocHost_v2, (void **address, size_t bytes))                                            \
    FUNCTION(copy_h2d_wait, cuMemcpyHtoD_v2, (od_cu_address to, const void *from, size_t bytes))                       \
    FUNCTION(copy_d2h_wait, cuMemcpyDtoH_v2, (void *to, od_cu_address from, size_t bytes))                             \
    FUNCTION(fill_8, cuMemsetD8Async, (od_cu_address to, unsigned char value, size_t n, od_cu_stream stream))          \
    FUNCTION(fill_16, cuMemsetD16Async, (od_cu_address to, unsigned short value, size_t n, od_cu_stream stream))       \
    FUNCTION(fill_32, cuMemsetD32Async, (od_cu_address to, unsigned value, size_t n, od_cu_stream stream))             \
    FUNCTION(module_load, cuModuleLoadDataEx,                                                                          \
             (od_cu_module * module, const void *image, unsigned noptions, int *options, void **values))               \
    FUNCTION(module_unload, cuModuleUnload, (od_cu_module module))                                                     \
    FUNCTION(module_function, cuModuleGetFunction,                                                                     \
             (od_cu_function * function, od_cu_module module, const char *name))                                       \
    FUNCTION(module_global, cuModuleGetGlobal_v2,                                                                      \
             (od_cu_address * address, size_t *bytes, od_cu_module module, const char *name))                          \
    FUNCTION(function_attribute, cuFuncGetAttribute, (int *value, int attribute, od_cu_function function))             \
    FUNCTION(function_set_attribute, cuFuncSetAttribute, (od_cu_function function, int attribute, int value))          \
    FUNCTION(function_parameter, cuFuncGetParamInfo,                                                                   \
             (od_cu_function function, size_t index, size_t * offset, size_t * bytes))                                 \
    FUNCTION(launch, cuLaunchKernel,                                                                                   \
             (od_cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,            \
              unsigned block_y, unsigned block_z, unsigned shared_bytes, od_cu_stream stream, void **params,           \
              void **extra))

/* These are only looked for: none of the plug-ins' calls of them is part of a program's run. */
#define CD_ABSENT_CU_FUNCTIONS(NAME)                                                                                   \
    NAME(cuOccupancyMaxPotentialBlockSize)                                                                             \
    NAME(cuMemsetD2D8Async)                                                                                            \
    NAME(cuMemsetD2D16Async)                                                                                           \
    NAME(cuMemsetD2D32Async)

typedef struct cublasContext *cd_cublas;

enum { /* cublasStatus_t */
       CD_CUBLAS_SUCCESS = 0,
       CD_CUBLAS_NOT_INITIALIZED = 1,
       CD_CUBLAS_ALLOC_FAILED = 3,
       CD_CUBLAS_INVALID_VALUE = 7,
       CD_CUBLAS_EXECUTION_FAILED = 13,
};

enum { CD_CUBLAS_N, CD_CUBLAS_T, CD_CUBLAS_C }; /* cublasOperation_t */
enum { CD_CUBLAS_LOWER, CD_CUBLAS_UPPER };      /* cublasFillMode_t */
enum { CD_CUBLAS_LEFT, CD_CUBLAS_RIGHT };       /* cublasSideMode_t */
enum { CD_CUBLAS_NON_UNIT, CD_CUBLAS_UNIT };    /* cublasDiagType_t */

/* FUNCTION(member, name in libcublas, argument types); all return int. Columns of matrices are contiguous; alpha and
 * beta are read during the call. */
#define CD_CUBLAS_FUNCTIONS(FUNCTION)                                                                                  \
    FUNCTION(create, cublasCreate_v2, (cd_cublas * handle))                                                            \
    FUNCTION(destroy, cublasDestroy_v2, (cd_cublas handle))                                                            \
    FUNCTION(set_stream, cublasSetStream_v2, (cd_cublas handle, od_cu_stream stream))                                  \
    FUNCTION(get_stream, cublasGetStream_v2, (cd_cublas handle, od_cu_stream * stream))                                \
    FUNCTION(set_math_mode, cublasSetMathMode, (cd_cublas handle, int mode))                                           \
    FUNCTION(get_math_mode, cublasGetMathMode, (cd_cublas handle, int *mode))                                          \
    FUNCTION(set_pointer_mode, cublasSetPointerMode_v2, (cd_cublas handle, int mode))                                  \
    FUNCTION(get_pointer_mode, cublasGetPointerMode_v2, (cd_cublas handle, int *mode))                                 \
    FUNCTION(set_atomics_mode, cublasSetAtomicsMode, (cd_cublas handle, int mode))                                     \
    FUNCTION(get_atomics_mode, cublasGetAtomicsMode, (cd_cublas handle, int *mode))                                    \
    FUNCTION(set_workspace, cublasSetWorkspace_v2, (cd_cublas handle, void *workspace, size_t bytes))                  \
    FUNCTION(sgemm, cublasSgemm_v2,                                                                                    \
             (cd_cublas handle, int op_a, int op_b, int m, int n, int k, const float *alpha, const float *a, int lda,  \
              const float *b, int ldb, const float *beta, float *c, int ldc))                                          \
    FUNCTION(dgemm, cublasDgemm_v2,                                                                                    \
             (cd_cublas handle, int op_a, int op_b, int m, int n, int k, const double *alpha, const double *a,         \
              int lda, const double *b, int ldb, const double *beta, double *c, int ldc))                              \
    FUNCTION(ssyrk, cublasSsyrk_v2,                                                                                    \
             (cd_cublas handle, int fill, int op, int n, int k, const float *alpha, const float *a, int lda,           \
              const float *beta, float *c, int ldc))                                                                   \
    FUNCTION(dsyrk, cublasDsyrk_v2,                                                                                    \
             (cd_cublas handle, int fill, int op, int n, int k, const double *alpha, const double *a, int lda,         \
              const double *beta, double *c, int ldc))                                                                 \
    FUNCTION(strsm, cublasStrsm_v2,                                                                                    \
             (cd_cublas handle, int side, int fill, int op, int diag, int m, int n, const float *alpha,                \
              const float *a, int lda, float *b, int ldb))                                                             \
    FUNCTION(dtrsm, cublasDtrsm_v2,                                                                                    \
             (cd_cublas handle, int side, int fill, int op, int diag, int m, int n, const double *alpha,               \
              const double *a, int lda, double *b, int ldb))

typedef struct cublasXtContext *cd_cublas_xt;

#define CD_XT_GEMM_ARGUMENTS(REAL)                                                                                     \
    (cd_cublas_xt handle, int op_a, int op_b, size_t m, size_t n, size_t k, const REAL *alpha, const REAL *a,          \
     size_t lda, const REAL *b, size_t ldb, const REAL *beta, REAL *c, size_t ldc)

/* The same of cublasXt, whose matrices are the host's and finished when a call returns. */
#define CD_CUBLAS_XT_FUNCTIONS(FUNCTION)                                                                               \
    FUNCTION(create, cublasXtCreate, (cd_cublas_xt * handle))                                                          \
    FUNCTION(destroy, cublasXtDestroy, (cd_cublas_xt handle))                                                          \
    FUNCTION(select, cublasXtDeviceSelect, (cd_cublas_xt handle, int count, int *devices))                             \
    FUNCTION(set_block, cublasXtSetBlockDim, (cd_cublas_xt handle, int block))                                         \
    FUNCTION(set_pinning, cublasXtSetPinningMemMode, (cd_cublas_xt handle, int mode))                                  \
    FUNCTION(sgemm, cublasXtSgemm, CD_XT_GEMM_ARGUMENTS(float))                                                        \
    FUNCTION(dgemm, cublasXtDgemm, CD_XT_GEMM_ARGUMENTS(double))

typedef struct cusolverDnContext *cd_cusolver;

/* The same of cuSOLVER. */
#define CD_CUSOLVER_FUNCTIONS(FUNCTION)                                                                                \
    FUNCTION(create, cusolverDnCreate, (cd_cusolver * handle))                                                         \
    FUNCTION(destroy, cusolverDnDestroy, (cd_cusolver handle))                                                         \
    FUNCTION(set_stream, cusolverDnSetStream, (cd_cusolver handle, od_cu_stream stream))                               \
    FUNCTION(spotrf_size, cusolverDnSpotrf_bufferSize,                                                                 \
             (cd_cusolver handle, int fill, int n, float *a, int lda, int *elements))                                  \
    FUNCTION(dpotrf_size, cusolverDnDpotrf_bufferSize,                                                                 \
             (cd_cusolver handle, int fill, int n, double *a, int lda, int *elements))                                 \
    FUNCTION(spotrf, cusolverDnSpotrf,                                                                                 \
             (cd_cusolver handle, int fill, int n, float *a, int lda, float *buffer, int elements, int *info))         \
    FUNCTION(dpotrf, cusolverDnDpotrf,                                                                                 \
             (cd_cusolver handle, int fill, int n, double *a, int lda, double *buffer, int elements, int *info))

#define CD_EXPORT __attribute__((visibility("default")))

/* Of libcuda's double for cuBLAS's, not part of CUDA. */

/* Says `cuda double: misuse: ...` and aborts; with CUDA_DOUBLE_MISUSE=warn returns `result` instead. */
CD_EXPORT int cuda_double_misuse(int result, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Misuse unless the bytes lie in one live allocation of the context's device. */
CD_EXPORT od_cu_result cuda_double_check_range(const char *what, const void *address, size_t bytes,
                                               od_cu_context context);

#endif
