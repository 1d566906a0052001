/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The registered eviction rules, and what every one of them must respect. */
#include "sched/evict.h"

#include "sched/registry.h"

static od_registry rules = {.kind = "eviction rule"};

void od_evict_register(const od_evict_ops *ops)
{
    od_registry_add(&rules, ops->name, ops, ops->interface_version, OD_EVICT_INTERFACE);
}

const od_evict_ops *od_evict_find(const char *name)
{
    return od_registry_find(&rules, name);
}

const char *const *od_evict_names(void)
{
    return rules.names;
}

static bool task_uses(const od_task *task, const od_datum *datum)
{
    for (uint32_t i = 0; i < task->naccess; i++) {
        if (task->access[i].datum == datum)
            return true;
    }
    return false;
}

bool od_victim_allowed(const od_evict_query *query, const od_replica *replica)
{
    const od_datum *datum = replica->datum;
    if (replica->state != OD_PRESENT || replica->pins > 0)
        return false;
    if (datum->bound > 0 && datum->home == (int)query->k)
        return false;
    if (replica->buffered_uses == 0)
        return true;
    return query->head && !task_uses(query->head, datum);
}

size_t od_evict_place_in_buffer(const od_evict_query *query, const od_datum *datum)
{
    size_t place = 0;
    od_list_each(it, query->buffer) {
        if (task_uses(od_container_of(it, od_task, link), datum))
            break;
        place++;
    }
    return place;
}
