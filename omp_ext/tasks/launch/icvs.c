/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See icvs.h. */
#include "omp_ext/tasks/launch/icvs.h"

#include "omp_ext/libomp/real.h"

od_icvs od_icvs_read(void)
{
    od_icvs now = {.threads = REAL(omp_get_max_threads)(),
                   .thread_limit = REAL(omp_get_thread_limit)(),
                   .dynamic = REAL(omp_get_dynamic)(),
                   .active_levels = REAL(omp_get_max_active_levels)()};
    REAL(omp_get_schedule)(&now.schedule, &now.chunk);
    return now;
}

static void limit_threads(int limit)
{
    REAL(__kmpc_set_thread_limit)(NULL, REAL(__kmpc_global_thread_num)(NULL), limit);
}

od_icvs od_icvs_begin(int thread_limit)
{
    od_icvs before = od_icvs_read();
    if (thread_limit)
        limit_threads(thread_limit);
    return before;
}

void od_icvs_end(const od_icvs *before)
{
    if (!before->threads)
        return;
    od_icvs now = od_icvs_read();
    if (now.threads != before->threads)
        REAL(omp_set_num_threads)(before->threads);
    if (now.thread_limit != before->thread_limit)
        limit_threads(before->thread_limit);
    if (now.dynamic != before->dynamic)
        REAL(omp_set_dynamic)(before->dynamic);
    if (now.active_levels != before->active_levels)
        REAL(omp_set_max_active_levels)(before->active_levels);
    if (now.schedule != before->schedule || now.chunk != before->chunk)
        REAL(omp_set_schedule)(before->schedule, before->chunk);
}
