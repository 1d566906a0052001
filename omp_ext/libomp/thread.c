/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See thread.h. */
#include "omp_ext/libomp/thread.h"

_Thread_local od_thread od_self;

/* Constructs that the calling thread waits for or has been granted; apart from od_self, which is exchanged for each
 * task. */
static _Thread_local unsigned own_grants;

void od_thread_note_grant(bool begins)
{
    own_grants += begins ? 1u : -1u;
}

static _Thread_local bool at_scheduling_point;

bool od_thread_at_scheduling_point(bool is)
{
    bool was = at_scheduling_point;
    at_scheduling_point = is;
    return was;
}

bool od_thread_may_run_tasks(void)
{
    return at_scheduling_point && !own_grants && od_self.mode != OD_ON_DEVICE && !od_self.job && !od_self.holds;
}
