/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Best-fit pool. The blocks tile [0, capacity) and are listed by offset, so that a
 * block's neighbours are found in O(1) when it is given back; behind the capacity there may be taken ones with gaps
 * between them, until they are given back. A free block is also in a
 * tree by (size, offset), a taken one in a tree by offset: the smallest block that fits, and
 * the block at an offset, are found in O(log n). Among equals the lowest offset is taken.
 */
#include "memmgr/data/pool.h"

#include "util/container/list.h"
#include "util/container/tree.h"
#include "util/memory.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct block {
    od_tree_node node; /* in pool->free or pool->taken */
    od_node order;     /* in pool->blocks */
    size_t offset, size;
    bool is_free;
} block;

struct od_pool {
    size_t capacity, alignment;
    size_t used, peak, available;
    od_list blocks; /* all, by offset */
    od_tree free;   /* by (size, offset) */
    od_tree taken;  /* by offset */
};

static od_tree_key size_key(const block *b)
{
    return (od_tree_key){b->size, b->offset};
}

static od_tree_key offset_key(size_t offset)
{
    return (od_tree_key){offset, 0};
}

static block *block_of_node(od_tree_node *node)
{
    return node ? od_container_of(node, block, node) : NULL;
}

/* The block at a link of the list, or NULL at its ends. */
static block *block_of_link(const od_pool *pool, od_node *link)
{
    return link != &pool->blocks.root ? od_container_of(link, block, order) : NULL;
}

/* A new free block, before `where` in the list. NULL: out of memory. */
static block *add_free_block(od_pool *pool, od_node *where, size_t offset, size_t size)
{
    block *b = od_calloc(1, sizeof *b);
    if (!b)
        return NULL;
    b->offset = offset;
    b->size = size;
    b->is_free = true;
    od_list_insert_before(&pool->blocks, where, &b->order);
    od_tree_insert(&pool->free, &b->node, size_key(b));
    return b;
}

od_pool *od_pool_create(size_t capacity, size_t alignment)
{
    assert(alignment && (alignment & (alignment - 1)) == 0);
    od_pool *pool = od_calloc(1, sizeof *pool);
    if (!pool)
        return NULL;
    pool->alignment = alignment;
    pool->capacity = pool->available = capacity & ~(alignment - 1);
    od_list_init(&pool->blocks);
    if (pool->capacity && !add_free_block(pool, &pool->blocks.root, 0, pool->capacity)) {
        free(pool);
        return NULL;
    }
    return pool;
}

void od_pool_destroy(od_pool *pool)
{
    if (!pool)
        return;
    od_list_each(it, &pool->blocks)
        free(od_container_of(it, block, order));
    free(pool);
}

size_t od_pool_rounded(const od_pool *pool, size_t size)
{
    if (size == 0)
        size = 1;
    /* A size that cannot be rounded up stays larger than any block. */
    if (size > SIZE_MAX - (pool->alignment - 1))
        return SIZE_MAX;
    return (size + pool->alignment - 1) & ~(pool->alignment - 1);
}

/* The first free block from here on in the order of (size, offset), or NULL. */
static block *at_least(const od_pool *pool, size_t size, size_t offset)
{
    return block_of_node(od_tree_ceiling(&pool->free, (od_tree_key){size, offset}));
}

/* The first bytes of a free block are taken; the rest stays free. */
static od_status take(od_pool *pool, block *b, size_t size, size_t *offset)
{
    if (b->size > size && !add_free_block(pool, b->order.next, b->offset + size, b->size - size))
        return OD_ENOMEM;

    od_tree_remove(&pool->free, &b->node);
    b->size = size;
    b->is_free = false;
    od_tree_insert(&pool->taken, &b->node, offset_key(b->offset));
    pool->used += size;
    pool->available -= size;
    if (pool->peak < pool->used)
        pool->peak = pool->used;
    *offset = b->offset;
    return OD_OK;
}

od_status od_pool_alloc(od_pool *pool, size_t size, size_t *offset)
{
    size = od_pool_rounded(pool, size);
    block *b = at_least(pool, size, 0);
    return b ? take(pool, b, size, offset) : OD_EFULL;
}

/* Adds a free block's bytes to its left neighbour, and forgets it. Both are in no tree. */
static void absorb(od_pool *pool, block *left, block *right)
{
    left->size += right->size;
    od_list_remove(&pool->blocks, &right->order);
    free(right);
}

/* Where the last block of the size begins in a free one; SIZE_MAX: it has no room for one. */
static size_t last_aligned(const block *b, size_t size, size_t alignment)
{
    size_t end = (b->offset + b->size) & ~(alignment - 1);
    return end >= size && end - size >= b->offset ? end - size : SIZE_MAX;
}

od_status od_pool_alloc_aligned(od_pool *pool, size_t size, size_t alignment, size_t *offset)
{
    assert(size && size % alignment == 0 && alignment % pool->alignment == 0);
    block *b = at_least(pool, size, 0);
    while (b && last_aligned(b, size, alignment) == SIZE_MAX)
        b = at_least(pool, b->size, b->offset + 1);
    if (!b)
        return OD_EFULL;
    size_t begin = last_aligned(b, size, alignment), before = begin - b->offset;
    if (!before)
        return take(pool, b, size, offset);
    block *rest = add_free_block(pool, b->order.next, begin, b->size - before);
    if (!rest)
        return OD_ENOMEM;
    od_tree_remove(&pool->free, &b->node);
    b->size = before;
    od_tree_insert(&pool->free, &b->node, size_key(b));
    od_status status = take(pool, rest, size, offset);
    if (!status)
        return OD_OK;
    od_tree_remove(&pool->free, &b->node);
    od_tree_remove(&pool->free, &rest->node);
    absorb(pool, b, rest);
    od_tree_insert(&pool->free, &b->node, size_key(b));
    return status;
}

/* What of the block, which is in no tree, lies behind the capacity is not the pool's any more. False: that is all of
 * it, and it is gone. */
static bool keep_inside(od_pool *pool, block *b)
{
    if (b->offset >= pool->capacity) {
        od_list_remove(&pool->blocks, &b->order);
        free(b);
        return false;
    }
    if (b->size > pool->capacity - b->offset)
        b->size = pool->capacity - b->offset;
    return true;
}

void od_pool_free(od_pool *pool, size_t offset)
{
    block *b = block_of_node(od_tree_find(&pool->taken, offset_key(offset)));
    assert(b);
    od_tree_remove(&pool->taken, &b->node);
    b->is_free = true;
    pool->used -= b->size;
    if (!keep_inside(pool, b))
        return;
    pool->available += b->size;

    block *right = block_of_link(pool, b->order.next);
    if (right && right->is_free) {
        od_tree_remove(&pool->free, &right->node);
        absorb(pool, b, right);
    }
    block *left = block_of_link(pool, b->order.prev);
    if (left && left->is_free) {
        od_tree_remove(&pool->free, &left->node);
        absorb(pool, left, b);
        b = left;
    }
    od_tree_insert(&pool->free, &b->node, size_key(b));
}

void od_pool_shrink(od_pool *pool, size_t capacity)
{
    pool->capacity = capacity & ~(pool->alignment - 1);
    for (od_node *it = pool->blocks.root.prev, *previous; it != &pool->blocks.root; it = previous) {
        block *b = od_container_of(it, block, order);
        previous = it->prev;
        if (b->offset + b->size <= pool->capacity)
            break;
        if (!b->is_free)
            continue;
        od_tree_remove(&pool->free, &b->node);
        pool->available -= b->size;
        if (!keep_inside(pool, b))
            continue;
        pool->available += b->size;
        od_tree_insert(&pool->free, &b->node, size_key(b));
    }
}

size_t od_pool_end(const od_pool *pool)
{
    const block *last = block_of_link(pool, pool->blocks.root.prev);
    size_t end = last ? last->offset + last->size : 0;
    return end > pool->capacity ? end : pool->capacity;
}

size_t od_pool_available(const od_pool *pool)
{
    return pool->available;
}

size_t od_pool_capacity(const od_pool *pool)
{
    return pool->capacity;
}

size_t od_pool_used(const od_pool *pool)
{
    return pool->used;
}

size_t od_pool_peak(const od_pool *pool)
{
    return pool->peak;
}

size_t od_pool_largest_free(const od_pool *pool)
{
    const block *b = block_of_node(od_tree_last(&pool->free));
    return b ? b->size : 0;
}

static bool block_is_valid(const od_pool *pool, const block *b)
{
    if (b->size == 0 || b->size % pool->alignment != 0)
        return false;
    if (b->is_free)
        return od_tree_find(&pool->free, size_key(b)) == &b->node;
    return od_tree_find(&pool->taken, offset_key(b->offset)) == &b->node;
}

bool od_pool_is_valid(const od_pool *pool)
{
    size_t end = 0, used = 0, available = 0;
    bool after_free = false;
    od_list_each(it, &pool->blocks) {
        const block *b = od_container_of(it, block, order);
        bool outside = b->offset >= pool->capacity, fits = b->offset + b->size <= pool->capacity;
        if ((outside ? b->offset < end : b->offset != end) || (b->is_free && (after_free || !fits)) ||
            !block_is_valid(pool, b))
            return false;
        end = b->offset + b->size;
        used += b->is_free ? 0 : b->size;
        available += b->is_free ? b->size : 0;
        after_free = b->is_free;
    }
    return end >= pool->capacity && used == pool->used && available == pool->available && used <= pool->peak &&
           pool->blocks.count == pool->free.count + pool->taken.count && od_tree_is_valid(&pool->free) &&
           od_tree_is_valid(&pool->taken);
}
