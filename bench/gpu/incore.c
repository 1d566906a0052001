/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The ceiling: one call of cuBLAS, or cuSOLVER, on data that are on the device; and CUDA's managed memory. See
 * peers.h. */
#include "bench/common/clock.h"
#include "bench/gpu/device.h"
#include "bench/gpu/peers.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Beyond it n^2 does not fit into an int, in which cuSOLVER's oldest interface counts. */
enum { MAX_SOLVER_ORDER = 46340 };

static const double usable_share = 0.8; /* of what is free on the device */

static bool fits(const char *what, size_t bytes)
{
    const size_t free_bytes = gpu_free_bytes();
    const bool result = (double)bytes <= usable_share * (double)free_bytes;
    if (!result) {
        fprintf(stderr, "%s left out: %.0f MB, of which the device has %.0f MB free\n", what, (double)bytes / 1e6,
                (double)free_bytes / 1e6);
    }
    return result;
}

static void upload(gpu_queue queue, gpu_address to, const void *from, size_t bytes)
{
    gpu_check(gpu_cuda.copy_h2d(to, from, bytes, queue.stream), "cuMemcpyHtoDAsync");
}

static void download(gpu_queue queue, void *to, gpu_address from, size_t bytes)
{
    gpu_check(gpu_cuda.copy_d2h(to, from, bytes, queue.stream), "cuMemcpyDtoHAsync");
    gpu_queue_wait(queue);
}

bool peer_in_core(const peer_problem *problem, peer_result *result)
{
    const size_t n = problem->n, bytes = n * n * gpu_element_bytes();
    if (!fits("in-core", 3 * bytes)) {
        return false;
    }
    const gpu_queue queue = gpu_queue_open();
    const gpu_matrices on_device = gpu_matrices_alloc(bytes);
    upload(queue, on_device.a, problem->a, bytes);
    upload(queue, on_device.b, problem->b, bytes);
    gpu_timed_gemm(queue, n, on_device); /* loads the kernels */
    upload(queue, on_device.c, problem->c, bytes);
    gpu_queue_wait(queue);
    *result = (peer_result){.seconds = gpu_timed_gemm(queue, n, on_device), .device_bytes = 3 * bytes};
    download(queue, problem->c, on_device.c, bytes);
    gpu_matrices_free(on_device);
    gpu_queue_close(queue);
    return true;
}

/* --- managed memory ---------------------------------------------------------------------------- */

static void copy_all(void *to, const void *from, size_t bytes)
{
    const size_t piece = 1 << 20;
#pragma omp parallel for
    for (size_t start = 0; start < bytes; start += piece) {
        memcpy((char *)to + start, (const char *)from + start, bytes - start < piece ? bytes - start : piece);
    }
}

static gpu_address managed_copy(const void *from, size_t bytes)
{
    gpu_address address = 0;
    gpu_check(gpu_cuda.alloc_managed(&address, bytes, GPU_ATTACH_GLOBAL), "cuMemAllocManaged");
    copy_all((void *)address, from, bytes);
    return address;
}

static void prefetch(gpu_queue queue, gpu_address address, size_t bytes, int device)
{
    gpu_check(gpu_cuda.prefetch(address, bytes, device, queue.stream), "cuMemPrefetchAsync");
}

static bool has_prefetch(void)
{
    int has = 0;
    gpu_check(gpu_cuda.device_attribute(&has, GPU_CONCURRENT_MANAGED, 0), "cuDeviceGetAttribute");
    if (!has) {
        fprintf(stderr, "managed left out: this machine cannot prefetch managed memory\n");
    }
    return has != 0;
}

bool peer_managed(const peer_problem *problem, peer_result *result)
{
    const size_t n = problem->n, bytes = n * n * gpu_element_bytes();
    if (!fits("managed", 3 * bytes) || !has_prefetch()) {
        return false;
    }
    const gpu_queue queue = gpu_queue_open();
    const gpu_matrices managed = {managed_copy(problem->a, bytes), managed_copy(problem->b, bytes),
                                  managed_copy(problem->c, bytes)};
    const double start = bench_now();
    prefetch(queue, managed.a, bytes, 0);
    prefetch(queue, managed.b, bytes, 0);
    prefetch(queue, managed.c, bytes, 0);
    gpu_gemm(queue, n, n, n, (gpu_block[]){{managed.a, n}, {managed.b, n}, {managed.c, n}});
    prefetch(queue, managed.c, bytes, GPU_PREFETCH_TO_HOST);
    gpu_queue_wait(queue);
    *result = (peer_result){.seconds = bench_now() - start,
                            .device_bytes = 3 * bytes,
                            .h2d_bytes = 3.0 * (double)bytes,
                            .d2h_bytes = (double)bytes};
    copy_all(problem->c, (const void *)managed.c, bytes);
    gpu_matrices_free(managed);
    gpu_queue_close(queue);
    return true;
}

/* --- cuSOLVER ------------------------------------------------------------------------------------ */

typedef struct solver_handle_st *solver_handle;

typedef struct solver {
    int (*create)(solver_handle *handle);
    int (*set_stream)(solver_handle handle, gpu_stream stream);
    int (*buffer_size)(solver_handle handle, int part, int n, void *a, int lda, int *elements);
    int (*potrf)(solver_handle handle, int part, int n, void *a, int lda, void *buffer, int elements, int *info);
} solver;

static bool open_solver(solver *solver)
{
    static const char *const names[] = {"libcusolver.so.12", "libcusolver.so.11", NULL};
    void *library = gpu_open_library("BENCH_CUSOLVER", names);
    if (library == NULL) {
        fprintf(stderr, "in-core Cholesky left out: %s\n", dlerror());
        return false;
    }
    *(void **)&solver->create = dlsym(library, "cusolverDnCreate");
    *(void **)&solver->set_stream = dlsym(library, "cusolverDnSetStream");
    const bool is_double = gpu_computes_in == GPU_DOUBLE;
    *(void **)&solver->buffer_size =
        dlsym(library, is_double ? "cusolverDnDpotrf_bufferSize" : "cusolverDnSpotrf_bufferSize");
    *(void **)&solver->potrf = dlsym(library, is_double ? "cusolverDnDpotrf" : "cusolverDnSpotrf");
    return solver->create != NULL && solver->set_stream != NULL && solver->buffer_size != NULL && solver->potrf != NULL;
}

typedef struct factorisation {
    const solver *solver;
    solver_handle handle;
    gpu_queue queue;
    gpu_address matrix, buffer, info;
    int n, buffer_elements;
} factorisation;

static double timed_factorisation(const factorisation *f, const void *from)
{
    const size_t n = (size_t)f->n;
    upload(f->queue, f->matrix, from, n * n * gpu_element_bytes());
    gpu_queue_wait(f->queue);
    const double start = bench_now();
    gpu_check_blas(f->solver->potrf(f->handle, CUBLAS_LOWER, f->n, (void *)f->matrix, f->n, (void *)f->buffer,
                                    f->buffer_elements, (int *)f->info),
                   "cusolverDn[SD]potrf");
    gpu_queue_wait(f->queue);
    return bench_now() - start;
}

bool peer_cholesky(const peer_problem *problem, peer_result *result)
{
    const size_t bytes = problem->n * problem->n * gpu_element_bytes();
    solver solver;
    if (gpu_computes_in == GPU_TF32) {
        fprintf(stderr, "in-core Cholesky left out: cuSOLVER's is not in TF32\n");
        return false;
    }
    if (problem->n > MAX_SOLVER_ORDER) {
        fprintf(stderr, "in-core Cholesky left out: the order is above %d\n", MAX_SOLVER_ORDER);
        return false;
    }
    if (!fits("in-core Cholesky", bytes + bytes / 8) || !open_solver(&solver)) {
        return false;
    }
    factorisation f = {.solver = &solver, .queue = gpu_queue_open(), .n = (int)problem->n};
    f.matrix = gpu_device_alloc(bytes);
    f.info = gpu_device_alloc(sizeof(int));
    gpu_check_blas(solver.create(&f.handle), "cusolverDnCreate");
    gpu_check_blas(solver.set_stream(f.handle, f.queue.stream), "cusolverDnSetStream");
    gpu_check_blas(solver.buffer_size(f.handle, CUBLAS_LOWER, f.n, (void *)f.matrix, f.n, &f.buffer_elements),
                   "cusolverDn[SD]potrf_bufferSize");
    f.buffer = gpu_device_alloc((size_t)f.buffer_elements * gpu_element_bytes() + 1);
    timed_factorisation(&f, problem->c); /* loads the kernels */
    *result = (peer_result){.seconds = timed_factorisation(&f, problem->c), .device_bytes = bytes};
    download(f.queue, problem->c, f.matrix, bytes);
    gpu_cuda.free(f.buffer);
    gpu_cuda.free(f.info);
    gpu_cuda.free(f.matrix);
    gpu_queue_close(f.queue);
    return true;
}
