/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The registered eviction rules, and what every one of them must respect. */
#include "sched/evict.h"

#include "util/container/registry.h"

#include <pthread.h>

extern const od_evict_ops *const __start_od_evict_rules[] __attribute__((visibility("hidden")));
extern const od_evict_ops *const __stop_od_evict_rules[] __attribute__((visibility("hidden")));

static od_registry registry = {.kind = "eviction rule"};

static void add_own(void)
{
    for (const od_evict_ops *const *ops = __start_od_evict_rules; ops < __stop_od_evict_rules; ops++)
        od_registry_add(&registry, (*ops)->name, *ops, (*ops)->interface_version, OD_EVICT_INTERFACE);
}

static od_registry *rules(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, add_own);
    return &registry;
}

const od_evict_ops *od_evict_find(const char *name)
{
    return od_registry_find(rules(), name);
}

const char *const *od_evict_names(void)
{
    return rules()->names;
}

static bool task_uses(const od_task *task, const od_datum *datum)
{
    for (uint32_t i = 0; i < task->naccess; i++) {
        if (task->access[i].datum == datum)
            return true;
    }
    return false;
}

bool od_victim_has_no_place(const od_evict_query *query, const od_datum *datum)
{
    const od_region *region = datum->region;
    return query->bounded && region && !region->spill && region->size > query->room && !datum->discarding &&
           od_datum_is_dirty(datum, query->k);
}

bool od_victim_allowed(const od_evict_query *query, const od_replica *replica)
{
    const od_datum *datum = replica->datum;
    if (replica->state != OD_PRESENT || replica->pins > 0 || od_datum_is_held(datum))
        return false;
    if ((datum->bound > 0 && datum->home == (int)query->k) || od_victim_has_no_place(query, datum))
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
