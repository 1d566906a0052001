/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What a program submits, as a number: kinds of tasks, and what they do with which addresses, in order. A program that
 * submits the same graph again, with the same data, has the same pattern.
 *
 * Addresses are others in another run. The shape of what is submitted is not: kinds, and of the first tasks data, are
 * numbered in order of their first use.
 */
#ifndef OD_SCHED_GRAPH_PATTERN_H
#define OD_SCHED_GRAPH_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

enum { OD_PATTERN_FIRST = 16 }; /* tasks by which it is recognised */

typedef struct od_pattern {
    uint64_t hash, tasks;
    uint64_t first; /* the hash of the first tasks, once there are so many */
    uint64_t batch; /* od_known.batches: each has its own */
    uint64_t shape, shape_first; /* likewise, of the shape */
} od_pattern;

/* What has been met of a batch so far; more than these have one number together. */
enum { OD_PATTERN_KINDS = 64, OD_PATTERN_DATA = 128 };

typedef struct od_pattern_met {
    const void *kind[OD_PATTERN_KINDS];
    uintptr_t base[OD_PATTERN_DATA];
    uint32_t nkinds, ndata;
} od_pattern_met;

static inline void od_pattern_mix(uint64_t *hash, uint64_t value)
{
    *hash = (31 * *hash + value) * UINT64_C(0x9e3779b97f4a7c15);
    *hash ^= *hash >> 29;
}

static inline uint32_t od_pattern_number_of_kind(od_pattern_met *met, const void *kind)
{
    uint32_t i = 0;
    while (i < met->nkinds && met->kind[i] != kind)
        i++;
    if (i == met->nkinds && i < OD_PATTERN_KINDS)
        met->kind[met->nkinds++] = kind;
    return i;
}

static inline uint32_t od_pattern_number_of_datum(od_pattern_met *met, uintptr_t base)
{
    uint32_t i = 0;
    while (i < met->ndata && met->base[i] != base)
        i++;
    if (i == met->ndata && i < OD_PATTERN_DATA)
        met->base[met->ndata++] = base;
    return i;
}

/* What the next task uses. */
static inline void od_pattern_use(od_pattern *p, od_pattern_met *met, uintptr_t base, unsigned mode)
{
    bool first = p->tasks < OD_PATTERN_FIRST;
    od_pattern_mix(&p->hash, base + mode);
    od_pattern_mix(&p->shape, 4 * (uint64_t)(first ? od_pattern_number_of_datum(met, base) : 0) + mode);
}

/* A task; what it uses comes before. */
static inline void od_pattern_add(od_pattern *p, od_pattern_met *met, const void *kind)
{
    od_pattern_mix(&p->hash, (uintptr_t)kind);
    od_pattern_mix(&p->shape, OD_PATTERN_DATA * (uint64_t)4 + od_pattern_number_of_kind(met, kind));
    if (++p->tasks == OD_PATTERN_FIRST) {
        p->first = p->hash;
        p->shape_first = p->shape;
    }
}

#endif
