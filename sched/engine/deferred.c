/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Tasks that need a device. What keeps one from a device may be what the program holds there by its address: other
 * threads are shown it just now, and the task waits for them. They may themselves wait for it, so it does not wait
 * for ever.
 */
#include "sched/engine/internal.h"

static const uint64_t retry_ns = UINT64_C(5000000000);

bool od_engine_has_deferred(const od_engine *e, const od_task *t)
{
    return t->needs_device && e->config.driver_ops->waits_for_program && !od_no_device_is_left(e) &&
           (!t->deferred_ns || od_engine_now(e) - t->deferred_ns < retry_ns) &&
           e->config.driver_ops->waits_for_program(e->config.driver, t);
}

void od_engine_defer(od_engine *e, od_task *t)
{
    if (!t->deferred_ns)
        t->deferred_ns = od_engine_now(e);
    t->state = OD_TASK_READY;
    t->place = OD_NOWHERE;
    od_list_push_back(&e->deferred, &t->link);
}
