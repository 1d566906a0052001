/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What one writes by hand: C in square blocks, dealt to two streams by turns. A stream brings a block of C, adds to it
 * the products of panels of A and B, one pair after the other, and takes it back. While one stream computes the other
 * one's panels come: double buffering, without events. See peers.h.
 *
 * Every stream has a block of C, of order s, and two panels, s x depth: 2 (s^2 + 2 s depth) elements in all. Of the
 * blocks that fit, the largest load least: 2 n^3 / s elements.
 */
#include "bench/common/clock.h"
#include "bench/gpu/device.h"
#include "bench/gpu/peers.h"

#include <stdio.h>

enum { STREAMS = 2, STEP = 128, MAX_DEPTH = 1024 };

typedef struct buffers {
    gpu_queue queue;
    gpu_address a, b, c;
} buffers;

typedef struct plan {
    size_t n, side, depth; /* of the matrices, of a block of C, of a panel */
} plan;

static size_t bytes_needed(plan plan)
{
    return STREAMS * (plan.side * plan.side + 2 * plan.side * plan.depth) * gpu_element_bytes();
}

/* Blocks of equal size, as few as fit, but one for each stream at least. */
static bool make_plan(size_t n, size_t limit, plan *plan)
{
    for (size_t count = 2; count <= n; count++) {
        const size_t side = (n + count - 1) / count, rounded = (side + STEP - 1) / STEP * STEP;
        plan->n = n;
        plan->side = rounded < n ? rounded : n;
        plan->depth = plan->side < MAX_DEPTH ? plan->side : MAX_DEPTH;
        if (bytes_needed(*plan) <= limit) {
            return true;
        }
        if (rounded <= STEP) {
            break;
        }
    }
    fprintf(stderr, "streams left out: %.1f MB are too little for blocks of %d\n", (double)limit / 1e6, STEP);
    return false;
}

/* A block of a host matrix and its place on the device, where columns lie without gaps. */
typedef struct piece {
    void *host;
    gpu_address device;
    size_t rows, columns, stride; /* stride: on the host */
} piece;

static double copy(piece p, bool to_device, gpu_stream stream)
{
    const size_t size = gpu_element_bytes();
    gpu_copy_2d copy = {.from_type = to_device ? GPU_MEMORY_HOST : GPU_MEMORY_DEVICE,
                        .to_type = to_device ? GPU_MEMORY_DEVICE : GPU_MEMORY_HOST,
                        .from_pitch = (to_device ? p.stride : p.rows) * size,
                        .to_pitch = (to_device ? p.rows : p.stride) * size,
                        .width = p.rows * size,
                        .height = p.columns};
    if (to_device) {
        copy.from_host = p.host;
        copy.to_device = p.device;
    } else {
        copy.from_device = p.device;
        copy.to_host = p.host;
    }
    gpu_check(gpu_cuda.copy_2d(&copy, stream), "cuMemcpy2DAsync");
    return (double)(p.rows * p.columns * size);
}

static size_t part(size_t n, size_t start, size_t size)
{
    return n - start < size ? n - start : size;
}

static void *element(void *matrix, size_t i)
{
    return (char *)matrix + i * gpu_element_bytes();
}

/* Queues all that one block of C needs. */
static void queue_block(const peer_problem *problem, plan plan, size_t i, size_t j, buffers on, peer_result *result)
{
    const size_t n = plan.n, rows = part(n, i, plan.side), columns = part(n, j, plan.side);
    const gpu_stream stream = on.queue.stream;
    const piece c = {element(problem->c, i + j * n), on.c, rows, columns, n};
    result->h2d_bytes += copy(c, true, stream);
    for (size_t k = 0; k < n; k += plan.depth) {
        const size_t depth = part(n, k, plan.depth);
        result->h2d_bytes += copy((piece){element(problem->a, i + k * n), on.a, rows, depth, n}, true, stream);
        result->h2d_bytes += copy((piece){element(problem->b, k + j * n), on.b, depth, columns, n}, true, stream);
        gpu_gemm(on.queue, rows, columns, depth, (gpu_block[]){{on.a, rows}, {on.b, depth}, {on.c, rows}});
    }
    result->d2h_bytes += copy(c, false, stream);
}

static double timed_product(const peer_problem *problem, plan plan, const buffers *sets, peer_result *result)
{
    const double start = bench_now();
    size_t turn = 0;
    for (size_t j = 0; j < plan.n; j += plan.side) {
        for (size_t i = 0; i < plan.n; i += plan.side) {
            queue_block(problem, plan, i, j, sets[turn++ % STREAMS], result);
        }
    }
    for (size_t s = 0; s < STREAMS; s++) {
        gpu_queue_wait(sets[s].queue);
    }
    return bench_now() - start;
}

/* Kernels are loaded at their first call: the result goes nowhere. */
static void warm_up(plan plan, buffers on)
{
    gpu_gemm(on.queue, plan.side, plan.side, plan.depth,
             (gpu_block[]){{on.a, plan.side}, {on.b, plan.depth}, {on.c, plan.side}});
    gpu_queue_wait(on.queue);
}

bool peer_streams(const peer_problem *problem, size_t limit, peer_result *result)
{
    plan plan;
    if (!make_plan(problem->n, limit, &plan)) {
        return false;
    }
    buffers sets[STREAMS];
    const size_t panel = plan.side * plan.depth * gpu_element_bytes();
    for (size_t s = 0; s < STREAMS; s++) {
        sets[s] = (buffers){.queue = gpu_queue_open(),
                            .a = gpu_device_alloc(panel),
                            .b = gpu_device_alloc(panel),
                            .c = gpu_device_alloc(plan.side * plan.side * gpu_element_bytes())};
        warm_up(plan, sets[s]);
    }
    *result = (peer_result){.block = plan.side, .device_bytes = bytes_needed(plan)};
    result->seconds = timed_product(problem, plan, sets, result);
    for (size_t s = 0; s < STREAMS; s++) {
        gpu_cuda.free(sets[s].a);
        gpu_cuda.free(sets[s].b);
        gpu_cuda.free(sets[s].c);
        gpu_queue_close(sets[s].queue);
    }
    return true;
}
