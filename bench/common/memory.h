/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef BENCH_COMMON_MEMORY_H
#define BENCH_COMMON_MEMORY_H

#include <stddef.h>

/* Bytes beyond which no matrix can be meant; keeps every product of sizes below from overflowing. */
#define BENCH_MAX_BYTES 0x1p48

/* `count` elements of `size` bytes, aligned for vector units; ends the program when there is no memory. free() it. */
void *bench_alloc(size_t count, size_t size);

/* `count` zeros, bench_alloc'ed, free() it. */
double *bench_zero_vector(size_t count);

#endif
