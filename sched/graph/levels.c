/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Bottom levels. See levels.h.
 *
 * A task points to its predecessors, for levels grow against the direction of the edges. A task that is ready is
 * `gone`: its predecessors are, too, and no level grows through it any more; it is freed when nothing points to it.
 */
#include "sched/graph/levels.h"

#include "util/container/array.h"
#include "util/container/list.h"
#include "util/container/tree.h"
#include "util/memory.h"

#include <stdlib.h>
#include <string.h>

enum { FEW_ADDRESSES = 1024, FEW_BEFORE = 4 };

struct od_level {
    double weight;
    double below; /* the longest path after this task */
    uint32_t references;
    uint32_t nbefore, capacity; /* capacity: of `more`; 0: there is none */
    bool gone;
    od_node queued; /* its predecessors have not been visited yet */
    od_level **more;
    od_level *few[FEW_BEFORE]; /* as long as they have room */
};

/* What a depend list has named. */
typedef struct address {
    od_tree_node node; /* by address */
    od_level *writer;
    od_level **readers; /* since that writer */
    uint32_t nreaders, capacity;
} address;

struct od_levels {
    od_tree addresses;
    od_list queue;
    uint64_t count;
    uint64_t left; /* addresses, when those that nobody needs any more went the last time */
};

static od_level **before(od_level *level)
{
    return level->capacity ? level->more : level->few;
}

static void release(od_level *level);

static void release_before(od_level *level)
{
    for (uint32_t i = 0; i < level->nbefore; i++)
        release(before(level)[i]);
    level->nbefore = 0;
}

static void release(od_level *level)
{
    if (!level || --level->references)
        return;
    release_before(level);
    free(level->more);
    free(level);
}

static od_level *hold(od_level *level)
{
    level->references++;
    return level;
}

/* --- addresses ----------------------------------------------------------- */

static void forget_readers(address *a)
{
    for (uint32_t i = 0; i < a->nreaders; i++)
        release(a->readers[i]);
    a->nreaders = 0;
}

static void forget_gone(address *a)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < a->nreaders; i++)
        if (a->readers[i]->gone)
            release(a->readers[i]);
        else
            a->readers[kept++] = a->readers[i];
    a->nreaders = kept;
    if (a->writer && a->writer->gone) {
        release(a->writer);
        a->writer = NULL;
    }
}

static void remove_address(od_levels *levels, address *a)
{
    forget_readers(a);
    release(a->writer);
    od_tree_remove(&levels->addresses, &a->node);
    free(a->readers);
    free(a);
}

/* Addresses that only finished tasks have named go, once there are many more of them than tasks, and than the last time
 * have been left. */
static void sweep(od_levels *levels)
{
    if (levels->addresses.count < 4 * levels->count + FEW_ADDRESSES || levels->addresses.count < 2 * levels->left)
        return;
    od_tree_node *node = od_tree_last(&levels->addresses);
    while (node) {
        address *a = od_container_of(node, address, node);
        od_tree_key key = node->key;
        forget_gone(a);
        if (!a->writer && !a->nreaders)
            remove_address(levels, a);
        node = key.major ? od_tree_floor(&levels->addresses, (od_tree_key){key.major - 1, 0}) : NULL;
    }
    levels->left = levels->addresses.count;
}

static address *find_address(od_levels *levels, uintptr_t where)
{
    od_tree_node *node = od_tree_find(&levels->addresses, (od_tree_key){where, 0});
    if (node)
        return od_container_of(node, address, node);
    address *a = od_calloc(1, sizeof *a);
    if (a)
        od_tree_insert(&levels->addresses, &a->node, (od_tree_key){where, 0});
    return a;
}

static bool has_room(address *a)
{
    if (a->nreaders < a->capacity)
        return true;
    forget_gone(a);
    if (2 * a->nreaders <= a->capacity && a->capacity)
        return true;
    return od_array_reserve(&a->readers, &a->capacity, (uint64_t)a->nreaders + 1, sizeof(od_level *));
}

static void add_use(address *a, od_level *level, bool write)
{
    if (write) {
        forget_readers(a);
        release(a->writer);
        a->writer = hold(level);
    } else if (has_room(a)) { /* else an edge will be missing: only speed depends on it */
        a->readers[a->nreaders++] = hold(level);
    }
}

/* --- levels -------------------------------------------------------------- */

/* What comes after a task has become longer. */
static void lengthen(od_levels *levels, od_level *level, double below)
{
    if (level->gone || below <= level->below)
        return;
    level->below = below;
    if (!od_list_contains(&level->queued))
        od_list_push_back(&levels->queue, &hold(level)->queued);
}

static void emit_before(od_levels *levels, od_level *level)
{
    for (uint32_t i = 0; i < level->nbefore; i++)
        lengthen(levels, before(level)[i], level->weight + level->below);
}

static void update(od_levels *levels)
{
    for (int i = 0; i < OD_LEVELS_UPDATES && levels->queue.count; i++) {
        od_level *level = od_container_of(od_list_pop_front(&levels->queue), od_level, queued);
        emit_before(levels, level);
        release(level);
    }
}

static void add_before(od_level *level, od_level *other)
{
    if (other && !other->gone && other != level)
        before(level)[level->nbefore++] = hold(other);
}

static bool make_room(od_level *level, uint64_t count)
{
    bool moves = !level->capacity;
    if (moves && count <= FEW_BEFORE)
        return true;
    if (!od_array_reserve(&level->more, &level->capacity, count, sizeof(od_level *)))
        return false;
    if (moves)
        memcpy(level->more, level->few, level->nbefore * sizeof(od_level *));
    return true;
}

static bool add_edges(od_level *level, const address *a, bool write)
{
    if (!make_room(level, (uint64_t)level->nbefore + 1 + (write ? a->nreaders : 0)))
        return false;
    add_before(level, a->writer);
    for (uint32_t i = 0; write && i < a->nreaders; i++)
        add_before(level, a->readers[i]);
    return true;
}

od_level *od_levels_submit(od_levels *levels, double weight, const od_level_use *uses, uint32_t nuses)
{
    od_level *level = od_calloc(1, sizeof *level);
    if (!level)
        return NULL;
    level->weight = weight;
    level->references = 1;
    sweep(levels);
    for (uint32_t i = 0; i < nuses; i++) {
        address *a = find_address(levels, uses[i].address);
        if (a && add_edges(level, a, uses[i].write))
            add_use(a, level, uses[i].write);
    }
    levels->count++;
    emit_before(levels, level);
    update(levels);
    return level;
}

double od_levels_ready(od_levels *levels, od_level *level)
{
    double bottom = level->weight + level->below;
    level->gone = true;
    levels->count--;
    release_before(level);
    release(level);
    return bottom;
}

uint64_t od_levels_count(const od_levels *levels)
{
    return levels->count;
}

od_levels *od_levels_create(void)
{
    od_levels *levels = od_calloc(1, sizeof *levels);
    if (levels)
        od_list_init(&levels->queue);
    return levels;
}

void od_levels_destroy(od_levels *levels)
{
    od_tree_node *node;
    if (!levels)
        return;
    for (od_node *queued; (queued = od_list_pop_front(&levels->queue));)
        release(od_container_of(queued, od_level, queued));
    while ((node = od_tree_last(&levels->addresses)))
        remove_address(levels, od_container_of(node, address, node));
    free(levels);
}
