/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Devices get less memory while tasks run. All get as much less: where a task fits, and what policies plan with, is one
 * number. Their memory ends earlier, so that what remains is one piece, in which tasks fit as before.
 */
#include "sched/engine/internal.h"

size_t od_engine_shrink(od_engine *e, size_t memory)
{
    e->events++;
    if (memory < e->largest)
        memory = e->largest;
    if (e->config.granule > 1)
        memory += (e->config.granule - memory % e->config.granule) % e->config.granule;
    if (memory >= e->config.memory)
        return e->config.memory;
    e->config.memory = memory;
    e->shrunk = true;
    for (unsigned k = 0; k < e->config.ndevices; k++) {
        od_pool_shrink(e->device[k].pool, memory);
        od_placeset_add(&e->todo, k);
    }
    od_engine_proceed(e);
    return memory;
}

size_t od_engine_memory(const od_engine *e)
{
    return e->config.memory;
}

size_t od_engine_memory_least(const od_engine *e)
{
    return e->largest < e->config.memory ? e->largest : e->config.memory;
}

size_t od_engine_memory_end(const od_engine *e, unsigned k)
{
    return od_pool_end(e->device[k].pool);
}

bool od_engine_memory_leaves(const od_engine *e, unsigned k)
{
    return e->device[k].leaving_bytes > 0;
}
