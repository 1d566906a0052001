/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "bench/common/memory.h"

#include "bench/common/command.h"

#include <stdlib.h>

void *bench_alloc(size_t count, size_t size)
{
    const size_t alignment = 4096; /* matrices that are divided into tiles by pages begin with one */
    const double wanted = (double)count * (double)size;
    void *memory = NULL;
    if (wanted < BENCH_MAX_BYTES) {
        memory = aligned_alloc(alignment, (count * size + alignment - 1) / alignment * alignment);
    }
    if (memory == NULL) {
        bench_fail("no memory for %.1f MB", wanted / 1e6);
    }
    return memory;
}

double *bench_zero_vector(size_t count)
{
    double *vector = bench_alloc(count, sizeof *vector);
    for (size_t i = 0; i < count; i++) {
        vector[i] = 0.0;
    }
    return vector;
}
