/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Threads of kernels on workers. See kernel.h. */
#include "omp_ext/hooks/kernel.h"

#include "omp_ext/libomp/real.h"
#include "omp_ext/libomp/thread.h"
#include "omp_ext/runtime/runtime.h"
#include "omp_ext/runtime/workers.h"

static _Thread_local bool limit_given; /* for the next league */

static bool is_on_worker(void)
{
    return od_self.kernels && (od_workers_have_me() || od_self.stands_in);
}

static int32_t limited(int32_t threads)
{
    limit_given = is_on_worker();
    return limit_given && threads == 0 ? od_runtime_kernel_threads() : threads;
}

void od_kernel_before_league(od_ident *ident)
{
    if (!limit_given && is_on_worker())
        REAL(__kmpc_push_num_teams)(ident, REAL(__kmpc_global_thread_num)(ident), 0, limited(0));
    limit_given = false;
}

/* Compiled code calls it in the task that the construct is in. */
void __kmpc_set_thread_limit(od_ident *ident, int32_t gtid, int32_t limit)
{
    if (od_self.mode == OD_CAPTURE)
        od_self.thread_limit = limit;
    REAL(__kmpc_set_thread_limit)(ident, gtid, limit);
}

void __kmpc_push_num_teams(od_ident *ident, int32_t gtid, int32_t teams, int32_t threads)
{
    REAL(__kmpc_push_num_teams)(ident, gtid, teams, limited(threads));
}

void __kmpc_push_num_teams_51(od_ident *ident, int32_t gtid, int32_t least, int32_t most, int32_t threads)
{
    REAL(__kmpc_push_num_teams_51)(ident, gtid, least, most, limited(threads));
}
