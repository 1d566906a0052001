/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Memory for what cannot be left undone: the construct has begun, and part of what it does has been done. Without it
 * the program ends. Kernels are left to libomptarget long before, from when the reserve of util/memory.h is given back.
 */
#ifndef OD_OMP_EXT_MEMORY_H
#define OD_OMP_EXT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* Never NULL. */
void *od_alloc(size_t bytes) __attribute__((malloc, returns_nonnull));
void *od_alloc_zeroed(size_t n, size_t bytes) __attribute__((malloc, returns_nonnull));
void *od_alloc_more(void *old, size_t bytes) __attribute__((returns_nonnull));
/* Of what others have allocated: ends the program where it is not there. */
void od_expect_memory(bool there);

#endif
