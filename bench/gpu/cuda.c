/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* NVIDIA's libraries, opened at run time, see cuda.h. */
#include "bench/gpu/cuda.h"

#include "bench/common/command.h"

#include <dlfcn.h>
#include <float.h>
#include <stdio.h>
#include <stdlib.h>

gpu_driver gpu_cuda;
gpu_blas gpu_cublas;
atomic_bool gpu_waited;
gpu_precision gpu_computes_in;

size_t gpu_element_bytes(void)
{
    return gpu_computes_in == GPU_DOUBLE ? sizeof(double) : sizeof(float);
}

double gpu_epsilon(void)
{
    static const double tf32 = 0x1p-10; /* ten bits of mantissa */
    return gpu_computes_in == GPU_DOUBLE ? DBL_EPSILON : gpu_computes_in == GPU_TF32 ? tf32 : (double)FLT_EPSILON;
}

static const char *const driver_names[] = {"libcuda.so.1", "libcuda.so", NULL};
static const char *const blas_names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", NULL};

enum {
    NOT_FOUND = 500, /* CUDA_ERROR_NOT_FOUND; cuBLAS has no such number */
    MAX_DEVICES = 64,
};

/* Stands for every function that a library lacks. */
static int absent(void)
{
    return NOT_FOUND;
}

static void find(void *library, const char *name, void *member)
{
    void *address = dlsym(library, name);
    *(void **)member = address != NULL ? address : (void *)absent;
}

void *gpu_open_library(const char *variable, const char *const *names)
{
    const char *file = getenv(variable);
    if (file != NULL && file[0] != '\0') {
        return dlopen(file, RTLD_NOW | RTLD_LOCAL);
    }
    void *library = NULL;
    for (size_t i = 0; names[i] != NULL && library == NULL; i++) {
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    }
    return library;
}

static _Noreturn void skip(const char *what, const char *why)
{
    fprintf(stderr, "skipped: %s%s%s\n", what, why != NULL ? ": " : "", why != NULL ? why : "");
    exit(GPU_EXIT_SKIPPED);
}

static void open_driver(void)
{
    void *library = gpu_open_library("BENCH_CUDA", driver_names);
    if (library == NULL) {
        skip("NVIDIA's driver library libcuda.so.1 cannot be opened", dlerror());
    }
#define FIND(member, name, arguments) find(library, #name, &gpu_cuda.member);
    GPU_DRIVER_FUNCTIONS(FIND)
#undef FIND
    int count = 0;
    const int result = gpu_cuda.init(0);
    if (result != 0 || gpu_cuda.device_count(&count) != 0 || count == 0) {
        const char *name = NULL;
        gpu_cuda.error_name(result, &name);
        skip("no NVIDIA device", name);
    }
}

static void open_blas(void)
{
    void *library = gpu_open_library("BENCH_CUBLAS", blas_names);
    if (library == NULL) {
        skip("cuBLAS (libcublas.so.13, .12 or .11) cannot be opened", dlerror());
    }
#define FIND(member, name, arguments) find(library, #name, &gpu_cublas.member);
    GPU_BLAS_FUNCTIONS(FIND)
#undef FIND
}

void gpu_open(void)
{
    if (gpu_cuda.init == NULL) {
        open_driver();
        open_blas();
    }
}

void gpu_use_device(int ordinal)
{
    static gpu_context contexts[MAX_DEVICES];
    gpu_context context = NULL;
#pragma omp critical(gpu_use_device)
    {
        if (contexts[ordinal] == NULL) {
            int device = 0;
            gpu_check(gpu_cuda.device_get(&device, ordinal), "cuDeviceGet");
            gpu_check(gpu_cuda.context_retain(&contexts[ordinal], device), "cuDevicePrimaryCtxRetain");
        }
        context = contexts[ordinal];
    }
    gpu_check(gpu_cuda.context_set(context), "cuCtxSetCurrent");
}

/* Called from tasks, where exit() would run beside other threads: the first failure ends the process at once. */
static _Noreturn void fail(const char *what, int number, const char *name)
{
#pragma omp critical(gpu_fail)
    {
        fprintf(stderr, "%s failed: %d %s\n", what, number, name);
        _Exit(BENCH_EXIT_USAGE);
    }
}

void gpu_check(int driver_result, const char *what)
{
    if (driver_result != 0) {
        const char *name = "";
        gpu_cuda.error_name(driver_result, &name);
        fail(what, driver_result, driver_result == NOT_FOUND ? "(the driver does not have it)" : name);
    }
}

void gpu_check_blas(int blas_status, const char *what)
{
    if (blas_status != 0) {
        fail(what, blas_status, blas_status == NOT_FOUND ? "(this cuBLAS does not have it)" : "(a cublasStatus_t)");
    }
}

void gpu_set_math(gpu_blas_handle handle)
{
    if (gpu_computes_in == GPU_TF32) {
        gpu_check_blas(gpu_cublas.set_math_mode(handle, CUBLAS_TF32_MATH), "cublasSetMathMode");
    }
}

void *gpu_host_alloc(size_t bytes)
{
    void *memory = NULL;
    gpu_use_device(0);
    return gpu_cuda.host_alloc(&memory, bytes, GPU_HOST_PORTABLE) == 0 ? memory : NULL;
}

void gpu_host_free(void *memory)
{
    gpu_use_device(0);
    gpu_check(gpu_cuda.host_free(memory), "cuMemFreeHost");
}
