/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "bench/common/check.h"

#include "bench/common/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

bool bench_residual_is_right(double residual, double epsilon, size_t terms)
{
    return residual <= 2.0 * epsilon * sqrt((double)terms);
}

void bench_print_residual(double residual)
{
    if (isfinite(residual)) {
        printf("\"residual\": %.3e, ", residual);
    } else {
        printf("\"residual\": null, ");
    }
}

static uint64_t fnv(const void *data, size_t bytes)
{
    const unsigned char *byte = data;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < bytes; i++) {
        hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

uint64_t bench_checksum(const void *data, size_t bytes)
{
    const size_t block = (size_t)1 << 20, count = (bytes + block - 1) / block;
    uint64_t *hashes = bench_alloc(count, sizeof *hashes);
#pragma omp parallel for
    for (size_t i = 0; i < count; i++) {
        const size_t rest = bytes - i * block;
        hashes[i] = fnv((const char *)data + i * block, rest < block ? rest : block);
    }
    const uint64_t hash = fnv(hashes, count * sizeof *hashes);
    free(hashes);
    return hash;
}

double bench_product_norm(size_t n, size_t inner)
{
    return (double)n * sqrt((double)inner / (12.0 * 12.0 * 12.0));
}

double bench_relative_error(const double *reference, const double *result, size_t count, double floor)
{
    double error = 0.0, norm = 0.0;
    for (size_t i = 0; i < count; i++) {
        const double difference = reference[i] - result[i];
        error += difference * difference;
        norm += reference[i] * reference[i];
    }
    return sqrt(error) / fmax(sqrt(norm), floor);
}
