/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Threads of kernels on workers. See kernel.h. */
#include "omp_ext/hooks/kernel.h"

#include "omp_ext/libomp/real.h"
#include "omp_ext/libomp/thread.h"
#include "omp_ext/runtime/runtime.h"
#include "omp_ext/runtime/workers.h"

static _Thread_local bool size_given; /* of the next league, by the code that begins it */

static bool is_on_worker(void)
{
    return od_self.kernels && (od_workers_have_me() || od_self.stands_in);
}

static int32_t limited(int32_t threads)
{
    size_given = true;
    return is_on_worker() && threads == 0 ? od_runtime_kernel_threads() : threads;
}

/* libomp leaves the size of a league with the threads of its teams. Where such a thread begins one of its own, later in
 * a region of the program, it takes that for its size, and fails an assertion. */
void od_kernel_before_league(od_ident *ident)
{
    if (!size_given)
        REAL(__kmpc_push_num_teams)(ident, REAL(__kmpc_global_thread_num)(ident), 0, limited(0));
    size_given = false;
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
