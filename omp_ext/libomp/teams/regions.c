/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See regions.h. */
#include "omp_ext/libomp/teams/regions.h"

#include "omp_ext/libomp/teams/detach.h"
#include "omp_ext/libomp/teams/pool.h"

enum { KNOWN_REGIONS = 1024 };

/* Code of regions that have ended without having detached a task, by a hash of its address. */
static _Atomic uintptr_t plain_regions[KNOWN_REGIONS];

static _Atomic uintptr_t *plain_region(const void *outlined)
{
    return &plain_regions[((uintptr_t)outlined * UINT64_C(0x9e3779b97f4a7c15)) >> 54];
}

od_team *od_region_begin(const void *outlined)
{
    od_team *team = od_team_take();
    team->gathers = atomic_load_explicit(&od_program_detaches, memory_order_relaxed) ||
                    atomic_load_explicit(plain_region(outlined), memory_order_relaxed) != (uintptr_t)outlined;
    return team;
}

void od_region_end(od_team *team, const void *outlined)
{
    bool detaches = atomic_load_explicit(&team->detaches, memory_order_relaxed);
    if (detaches != team->gathers)
        atomic_store_explicit(plain_region(outlined), detaches ? 0 : (uintptr_t)outlined, memory_order_relaxed);
    od_team_give_back(team);
}
