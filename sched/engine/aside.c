/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Work that the driver does without the lock; see aside.h. */
#include "sched/engine/internal.h"

void od_aside_finish(od_engine *e, od_aside *aside, bool carried_out)
{
    od_list_remove(&e->asides, &aside->link);
    aside->done(aside, carried_out);
}

void od_engine_aside(od_engine *e, od_aside *aside, size_t tasks)
{
    const od_driver_ops *ops = e->config.driver_ops;
    od_list_push_back(&e->asides, &aside->link);
    if (tasks && ops->start_aside && ops->start_aside(e->config.driver, aside, tasks))
        return;
    uint64_t start_ns = od_engine_now(e);
    aside->run(aside);
    aside->seconds = (double)(od_engine_now(e) - start_ns) * 1e-9;
    od_aside_finish(e, aside, true);
}

void od_engine_abandon_asides(od_engine *e)
{
    for (od_node *node; (node = od_list_first(&e->asides));)
        od_aside_finish(e, od_container_of(node, od_aside, link), false);
}
