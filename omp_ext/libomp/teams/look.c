/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Looking for tasks. See look.h. */
#include "omp_ext/libomp/teams/look.h"

#include "omp_ext/libomp/real.h"

_Thread_local unsigned od_tasks_begun;

static bool goes_on(const od_look *look, unsigned before)
{
    return before == od_tasks_begun && !(look->stop && atomic_load(look->stop));
}

void od_look_for_task(const od_look *look, int32_t gtid)
{
    unsigned before = od_tasks_begun;
    for (unsigned i = 0; i < look->most && goes_on(look, before); i++)
        REAL(__kmpc_omp_taskyield)(look->ident, gtid, 0);
}

void od_look_for_all(bool (*may_look)(void))
{
    unsigned before;
    do {
        before = od_tasks_begun;
        REAL(__kmpc_omp_taskyield)(NULL, REAL(__kmpc_global_thread_num)(NULL), 0);
    } while (before != od_tasks_begun && may_look());
}

typedef struct looking {
    od_kmp_task task;
    od_look look;
} looking;

static int32_t run(int32_t gtid, void *task)
{
    od_look_for_task(&((const looking *)task)->look, gtid);
    return 0;
}

/* libomp runs it at once, as the merged task of an if clause. */
void od_look_for_any(const od_look *look, int32_t gtid)
{
    looking *task = REAL(__kmpc_omp_task_alloc)(look->ident, gtid, OD_TASK_MERGED_IF0, sizeof *task, 0, run);
    task->look = *look;
    REAL(__kmpc_omp_task)(look->ident, gtid, task);
}
