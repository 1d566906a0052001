/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Target tasks with in_reduction. What the kernel gets is the calling thread's own copy, to which its other tasks add
 * as soon as this one has left the thread: so it does not, the construct is carried out here. Clang 19 gives kernels of
 * `nowait` tasks the reduced variable itself instead: so they are carried out one after the other.
 */
#include "omp_ext/tasks/tasks.h"

#include "omp_ext/libomp/real.h"
#include "omp_ext/libomp/thread.h"
#include "omp_ext/process/activity.h"
#include "util/lock.h"

static od_lock turn = OD_LOCK_OF(OD_LOCK_REDUCTION);
static _Thread_local bool has_turn; /* also where such a task runs on top of what another one's end has released */

void *__kmpc_task_reduction_get_th_data(int32_t gtid, void *taskgroup, void *data)
{
    if (!od_runtime_is_idle() && od_self.mode == OD_CAPTURE) {
        od_capture *capture = od_self.capture;
        capture->what = OD_CAPTURED_DONE;
        od_self = *capture->outside;
        if (!has_turn) {
            od_lock_take(&turn);
            has_turn = capture->has_turn = true;
        }
    }
    return REAL(__kmpc_task_reduction_get_th_data)(gtid, taskgroup, data);
}

void od_reduction_end_turn(const od_capture *capture)
{
    if (!capture->has_turn)
        return;
    has_turn = false;
    od_lock_give(&turn);
}
