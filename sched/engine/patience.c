/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Tasks that need a device. What keeps one from a device may be what the program holds there by its address: other
 * threads are shown it just now, and the task waits for them. They may themselves wait for it, so it does not wait
 * for ever.
 */
#include "sched/engine/internal.h"

static const uint64_t patience_ns = UINT64_C(5000000000);

bool od_engine_is_patient(const od_engine *e, const od_task *t)
{
    return t->needs_device && e->config.driver_ops->waits_for_program && !od_no_device_is_left(e) &&
           (!t->patient_ns || od_engine_now(e) - t->patient_ns < patience_ns) &&
           e->config.driver_ops->waits_for_program(e->config.driver, t);
}

void od_engine_be_patient(od_engine *e, od_task *t)
{
    if (!t->patient_ns)
        t->patient_ns = od_engine_now(e);
    t->state = OD_TASK_READY;
    t->place = OD_NOWHERE;
    od_list_push_back(&e->patient, &t->link);
}
