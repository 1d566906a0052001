/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Bottom levels of the task graph seen so far: the length of the longest path from the beginning of a task to the end
 * of the graph (the upward rank of list scheduling), the usual priority where the program gives none.
 *
 * Tasks come in the order of creation, with their dependences, and leave when they are ready. A new task lengthens
 * the paths of those before it. These updates are carried out in small portions, a bounded number per new task, so
 * that a long chain does not cost the square of its length; what has not been carried out when a task becomes ready
 * is lost to it. Dependences are those of OpenMP's depend clauses: by address, readers after writers and writers
 * after both.
 */
#ifndef OD_SCHED_GRAPH_LEVELS_H
#define OD_SCHED_GRAPH_LEVELS_H

#include "util/status.h"

#include <stdbool.h>
#include <stdint.h>

/* For each new task so many of them, at most. */
enum { OD_LEVELS_UPDATES = 32 };

typedef struct od_levels od_levels;
typedef struct od_level od_level; /* one submitted task */

typedef struct od_level_use {
    uintptr_t address;
    bool write;
    bool overwrites; /* and does not look at what was there; does not matter to dependences */
} od_level_use;

od_levels *od_levels_create(void); /* NULL: out of memory */
void od_levels_destroy(od_levels *levels);

/* A new task of the given weight (seconds, >= 0) with its dependences. NULL: out of memory; the task is not known
 * then. */
od_level *od_levels_submit(od_levels *levels, double weight, const od_level_use *uses, uint32_t nuses);

/* The task is ready: its bottom level in seconds. The caller has no further use for it. */
double od_levels_ready(od_levels *levels, od_level *level);

/* A bottom level in seconds as a priority: microseconds. */
static inline int32_t od_level_priority(double seconds)
{
    double microseconds = seconds * 1e6;
    return microseconds < INT32_MAX ? (int32_t)microseconds : INT32_MAX;
}

/* Tasks submitted and not ready yet. */
uint64_t od_levels_count(const od_levels *levels);

#endif
