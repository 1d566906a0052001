/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What surrounds barriers. See barrier.h. */
#include "omp_ext/hooks/sync/barrier.h"

#include "omp_ext/libomp/teams/detach.h"
#include "omp_ext/libomp/thread.h"
#include "omp_ext/process/activity.h"
#include "omp_ext/runtime/runtime.h"
#include "omp_ext/services/watchdog.h"

bool od_barrier_is_as_written(void)
{
    return od_runtime_is_idle() && !od_member_self;
}

static void begin(void)
{
    od_watchdog_note_wait(true);
    if (!od_self.kernels)
        od_runtime_await(true);
}

void od_barrier_begin(od_ident *ident, int32_t gtid)
{
    begin();
    od_detach_before_barrier(ident, gtid);
}

void od_barrier_begin_reduction(od_ident *ident, int32_t gtid)
{
    begin();
    od_detach_before_reduction(ident, gtid);
}

void od_barrier_begin_half(od_ident *ident, int32_t gtid)
{
    begin();
    od_detach_before_half_barrier(ident, gtid);
}

void od_barrier_synchronise(void)
{
    if (!od_self.kernels)
        od_runtime_synchronise();
}

void od_barrier_end(void)
{
    od_watchdog_note_wait(false);
    if (od_runtime_is_idle())
        return;
    if (!od_self.kernels)
        od_runtime_await(false);
    od_barrier_synchronise();
}
