/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Work that the driver does without the lock; see background.h. */
#include "sched/engine/internal.h"

void od_background_finish(od_engine *e, od_background *job, bool carried_out)
{
    od_list_remove(&e->background, &job->link);
    job->done(job, carried_out);
}

bool od_engine_start_background(od_engine *e, od_background *job, size_t tasks)
{
    const od_driver_ops *ops = e->config.driver_ops;
    od_list_push_back(&e->background, &job->link);
    return tasks && ops->start_background && ops->start_background(e->config.driver, job, tasks);
}

void od_engine_background(od_engine *e, od_background *job, size_t tasks)
{
    if (od_engine_start_background(e, job, tasks))
        return;
    job->run(job);
    job->seconds = 0;
    od_background_finish(e, job, true);
}

void od_engine_abandon_background(od_engine *e)
{
    for (od_node *node; (node = od_list_first(&e->background));)
        od_background_finish(e, od_container_of(node, od_background, link), false);
}
