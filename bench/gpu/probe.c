/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the machine is and how fast it copies and multiplies, see peers.h. */
#include "bench/common/clock.h"
#include "bench/common/command.h"
#include "bench/gpu/device.h"
#include "bench/gpu/peers.h"

#include <stdio.h>

enum { ORDER = 8192, SMALLEST_ORDER = 512, REPEAT = 3 };

/* Bytes per second between page-locked memory and the device: the fastest of a few. */
static double copy_rate(gpu_queue queue, gpu_address device, void *host, size_t bytes, bool to_device)
{
    double best = 0;
    for (int i = 0; i < REPEAT; i++) {
        const double start = bench_now();
        if (to_device) {
            gpu_check(gpu_cuda.copy_h2d(device, host, bytes, queue.stream), "cuMemcpyHtoDAsync");
        } else {
            gpu_check(gpu_cuda.copy_d2h(host, device, bytes, queue.stream), "cuMemcpyDtoHAsync");
        }
        gpu_queue_wait(queue);
        const double rate = (double)bytes / (bench_now() - start);
        best = rate > best ? rate : best;
    }
    return best;
}

/* Operations per second of cuBLAS' product of matrices of the order. */
static double product_rate(gpu_queue queue, size_t n, gpu_matrices matrices)
{
    double best = 0;
    for (int i = 0; i < REPEAT; i++) {
        const double rate = 2.0 * (double)n * (double)n * (double)n / gpu_timed_gemm(queue, n, matrices);
        best = rate > best ? rate : best;
    }
    return best;
}

/* A stand-in for a GPU takes very long for large ones. */
static size_t suitable_order(gpu_queue queue, gpu_matrices matrices)
{
    const double slow = 2e12;
    return product_rate(queue, SMALLEST_ORDER, matrices) < slow ? 2 * SMALLEST_ORDER : ORDER;
}

static void print_machine(void)
{
    char name[256] = "";
    int driver = 0, major = 0, minor = 0;
    size_t free_bytes = 0, total_bytes = 0;
    gpu_check(gpu_cuda.device_name(name, sizeof name, 0), "cuDeviceGetName");
    gpu_check(gpu_cuda.driver_version(&driver), "cuDriverGetVersion");
    gpu_check(gpu_cuda.device_attribute(&major, GPU_COMPUTE_CAPABILITY_MAJOR, 0), "cuDeviceGetAttribute");
    gpu_check(gpu_cuda.device_attribute(&minor, GPU_COMPUTE_CAPABILITY_MINOR, 0), "cuDeviceGetAttribute");
    gpu_check(gpu_cuda.memory_info(&free_bytes, &total_bytes), "cuMemGetInfo");
    printf("{\"gpu\": \"%s\", \"compute_capability\": \"%d.%d\", \"driver_api\": \"%d.%d\", "
           "\"memory_bytes\": %zu, \"free_bytes\": %zu, ",
           name, major, minor, driver / 1000, driver % 1000 / 10, total_bytes, free_bytes);
}

void peer_probe(void)
{
    const size_t bytes = (size_t)ORDER * ORDER * gpu_element_bytes();
    const gpu_queue queue = gpu_queue_open();
    const gpu_matrices matrices = gpu_matrices_alloc(bytes);
    void *host = gpu_host_alloc(bytes);
    if (host == NULL) {
        bench_fail("no page-locked memory for %.1f MB", (double)bytes / 1e6);
    }
    print_machine();
    const size_t order = suitable_order(queue, matrices);
    printf("\"h2d_bytes_per_s\": %.4g, ", copy_rate(queue, matrices.a, host, bytes, true));
    printf("\"d2h_bytes_per_s\": %.4g, ", copy_rate(queue, matrices.a, host, bytes, false));
    printf("\"gemm_order\": %zu, \"gemm_flops\": %.4g}\n", order, product_rate(queue, order, matrices));
    gpu_host_free(host);
    gpu_matrices_free(matrices);
    gpu_queue_close(queue);
}
