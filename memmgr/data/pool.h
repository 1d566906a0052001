/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Device memory pool: a range of offsets [0, capacity), best fit, with
 * immediate coalescing. Its end can come nearer, and what lies behind it stays until it is given back.
 *
 * Pure bookkeeping on offsets: no device is touched and nothing blocks. A device's
 * memory is taken once and sub-allocated here, so "never more than the
 * limit" is this file's invariant. Sizes are rounded up to the alignment; an
 * empty pool satisfies any sequence of allocations whose rounded sum is at
 * most the capacity.
 */
#ifndef OD_MEMMGR_DATA_POOL_H
#define OD_MEMMGR_DATA_POOL_H

#include "util/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct od_pool od_pool;

/* `alignment` is a power of two; `capacity` is rounded down to it. NULL: out of memory. */
od_pool *od_pool_create(size_t capacity, size_t alignment);
void od_pool_destroy(od_pool *pool);

/* Takes a block of at least `size` bytes (0 counts as 1). OD_EFULL: no block
 * of that size is free now; OD_ENOMEM: host memory for the bookkeeping. */
od_status od_pool_alloc(od_pool *pool, size_t size, size_t *offset);

/* Likewise, at a multiple of `alignment`, a power of two of which `size` is a multiple, too: at the end of the smallest
 * free block that has room there, so that an empty pool whose capacity is a multiple satisfies any sequence of both
 * kinds of allocations. */
od_status od_pool_alloc_aligned(od_pool *pool, size_t size, size_t alignment, size_t *offset);

/* Gives back the block at `offset`, which od_pool_alloc() returned. */
void od_pool_free(od_pool *pool, size_t offset);

/* From now on no block reaches beyond `capacity` bytes, which are at most what it has, and are rounded down. */
void od_pool_shrink(od_pool *pool, size_t capacity);
/* Its capacity, or the end of the last block where that was taken before and is further. */
size_t od_pool_end(const od_pool *pool);

size_t od_pool_capacity(const od_pool *pool);     /* bytes */
size_t od_pool_available(const od_pool *pool);    /* bytes of all free blocks */
size_t od_pool_used(const od_pool *pool);         /* bytes, rounded sizes */
size_t od_pool_peak(const od_pool *pool);         /* highest od_pool_used() so far */
size_t od_pool_largest_free(const od_pool *pool); /* bytes of the largest block */

/* What `size` bytes occupy in this pool. */
size_t od_pool_rounded(const od_pool *pool, size_t size);

/* Checks every invariant: blocks tile the range, no two free neighbours, sums agree. */
bool od_pool_is_valid(const od_pool *pool);

#endif
