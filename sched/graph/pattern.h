/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What a program submits, as a number: kinds of tasks, and what they do with which addresses, in order. A program that
 * submits the same graph again, with the same data, has the same pattern.
 */
#ifndef OD_SCHED_GRAPH_PATTERN_H
#define OD_SCHED_GRAPH_PATTERN_H

#include <stdint.h>

enum { OD_PATTERN_FIRST = 16 }; /* tasks by which it is recognised */

typedef struct od_pattern {
    uint64_t hash, tasks;
    uint64_t first; /* the hash of the first tasks, once there are so many */
    uint64_t batch; /* od_known.batches: each has its own */
} od_pattern;

static inline void od_pattern_mix(od_pattern *p, uint64_t value)
{
    p->hash = (31 * p->hash + value) * UINT64_C(0x9e3779b97f4a7c15);
    p->hash ^= p->hash >> 29;
}

/* A task; what it uses is mixed in before. */
static inline void od_pattern_add(od_pattern *p, const void *kind)
{
    od_pattern_mix(p, (uintptr_t)kind);
    if (++p->tasks == OD_PATTERN_FIRST)
        p->first = p->hash;
}

#endif
