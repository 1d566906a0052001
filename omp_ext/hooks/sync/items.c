/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Waits for what depend items name. */
#include "omp_ext/libomp/ompt.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/libomp/teams/detach.h"
#include "omp_ext/libomp/thread.h"
#include "omp_ext/process/activity.h"
#include "omp_ext/runtime/runtime.h"
#include "omp_ext/tasks/reservation.h"
#include "omp_ext/tasks/tasks.h"

static void after_wait(int32_t ndepends, const od_depend *depends, int32_t n_noalias, const od_depend *noalias)
{
    /* A host task that has kept its reservation looks at data through device addresses only, and would wait for what it
     * holds itself. */
    bool as_job = od_self.mode == OD_ON_DEVICE && od_runtime_options()->coherence == OD_COHERENCE_DEPEND;
    if (od_self.kernels || as_job)
        return;
    od_task_host_access(depends, ndepends);
    od_task_host_access(noalias, n_noalias);
}

void __kmpc_omp_taskwait_deps_51(od_ident *ident, int32_t gtid, int32_t ndepends, od_depend *depends, int32_t n_noalias,
                                 od_depend *noalias, int32_t has_no_wait)
{
    if (od_runtime_is_idle()) {
        REAL(__kmpc_omp_taskwait_deps_51)(ident, gtid, ndepends, depends, n_noalias, noalias, has_no_wait);
        return;
    }
    if (has_no_wait) {
        OD_PROGRAM_CALL;
        od_detach_order_items(ident, ndepends, depends, n_noalias, noalias);
        return;
    }
    od_runtime_kernel_schedules();
    od_reservation_before_wait();
    od_detach_await_items(ident, ndepends, depends, n_noalias, noalias);
    {
        OD_PROGRAM_CALL;
        REAL(__kmpc_omp_taskwait_deps_51)(ident, gtid, ndepends, depends, n_noalias, noalias, has_no_wait);
    }
    after_wait(ndepends, depends, n_noalias, noalias);
}

void __kmpc_omp_wait_deps(od_ident *ident, int32_t gtid, int32_t ndepends, od_depend *depends, int32_t n_noalias,
                          od_depend *noalias)
{
    if (od_runtime_is_idle()) {
        REAL(__kmpc_omp_wait_deps)(ident, gtid, ndepends, depends, n_noalias, noalias);
        return;
    }
    od_runtime_kernel_schedules();
    od_reservation_before_wait();
    od_detach_await_items(ident, ndepends, depends, n_noalias, noalias);
    {
        OD_PROGRAM_CALL;
        REAL(__kmpc_omp_wait_deps)(ident, gtid, ndepends, depends, n_noalias, noalias);
    }
    after_wait(ndepends, depends, n_noalias, noalias);
}
