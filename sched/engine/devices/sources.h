/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Who can send to a device fastest, of any set of places: for each device the others in the order of their bandwidths,
 * equal ones as one set. So it costs as much as there are different bandwidths, which are few, and not as there are
 * devices in the set.
 */
#ifndef OD_SCHED_ENGINE_DEVICES_SOURCES_H
#define OD_SCHED_ENGINE_DEVICES_SOURCES_H

#include "memmgr/device/topology.h"

typedef struct od_source_level {
    double bandwidth; /* bytes/s, of each of them */
    od_placeset from;
} od_source_level;

typedef struct od_sources {
    unsigned ndevices;
    unsigned nlevels[OD_MAX_DEVICES]; /* by device */
    od_source_level *level; /* by device (row), the fastest first; those behind `nlevels` are not initialised */
} od_sources;

/* OD_ENOMEM: there is none. */
od_status od_sources_init(od_sources *sources, unsigned ndevices);
void od_sources_free(od_sources *sources);
/* From links between places by row (from) and column (to), `ndevices` devices and the host last. */
void od_sources_find(od_sources *sources, const od_link *links);

static inline const od_source_level *od_sources_of(const od_sources *sources, unsigned k)
{
    return &sources->level[(size_t)k * sources->ndevices];
}

/* The first of those places that send to device k fastest, which is not one of them; OD_NOWHERE: there is none. */
static inline int od_sources_fastest(const od_sources *sources, od_placeset places, unsigned k)
{
    const od_source_level *level = od_sources_of(sources, k);
    for (unsigned l = 0; l < sources->nlevels[k]; l++) {
        od_placeset some = od_placeset_intersection(level[l].from, places);
        if (!od_placeset_is_empty(some))
            return (int)od_placeset_first(some);
    }
    return OD_NOWHERE;
}

#endif
