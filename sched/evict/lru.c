/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* lru: the least recently used replica leaves; the engine's list is in that order. */
#include "sched/evict.h"

static od_replica *lru_victim(const od_evict_query *query)
{
    od_list_each(it, query->resident) {
        od_replica *replica = od_container_of(it, od_replica, lru);
        if (od_victim_allowed(query, replica))
            return replica;
    }
    return NULL;
}

static const od_evict_ops lru_ops = {
    .interface_version = OD_EVICT_INTERFACE,
    .name = "lru",
    .description = "least recently used",
    .victim = lru_victim,
};

OD_REGISTER_EVICT(lru_ops)
