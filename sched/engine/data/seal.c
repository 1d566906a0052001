/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Sealing: what devices see of a region is what the program's memory held when the region was opened or updated,
 * whatever the host writes there afterwards.
 *
 * Nothing is loaded when a region opens. So before the program goes on, what only its own memory holds is copied to
 * the region's spill area, and what a device holds as well counts there alone from then on. A synchronous construct
 * has its range sealed before it ends (OD_REQUEST_SNAPSHOT). After an asynchronous one the host may not write until
 * it has synchronised with it: at a wait, a barrier, a host task with dependences. Until then the region is in a
 * list, and most of it has been loaded when that comes (od_engine_sync_request). A region whose contents have come to
 * the program's memory once more (a host version has run, a construct has passed through) is listed, too.
 */
#include "sched/engine/internal.h"

void od_engine_region_defer(od_engine *e, od_region *region)
{
    region->seal = 0;
    if (e->config.spill && !od_list_contains(&region->unsealed))
        od_list_push_back(&e->unsealed, &region->unsealed);
}

void od_seal_undo(od_engine *e, const od_datum *d)
{
    if (d->region)
        od_engine_region_defer(e, d->region);
}

void od_seal_forget(od_engine *e, od_region *region)
{
    if (od_list_contains(&region->unsealed))
        od_list_remove(&e->unsealed, &region->unsealed);
}

/* Those that no later request seals, and whose contents have stayed where they were put. */
void od_seal_done(od_engine *e, uint64_t seal)
{
    od_list_each(node, &e->unsealed) {
        od_region *region = od_container_of(node, od_region, unsealed);
        if (region->seal == seal)
            od_list_remove(&e->unsealed, node);
    }
}
