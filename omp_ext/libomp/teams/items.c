/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Waiting for what depend items name, by tasks that end when it is released. See detach.h. */
#include "omp_ext/libomp/teams/detach.h"

#include "omp_ext/libomp/real.h"
#include "omp_ext/libomp/teams/look.h"
#include "omp_ext/libomp/teams/serial.h"
#include "omp_ext/libomp/thread.h"

#include "util/lock.h"

typedef struct marker {
    od_kmp_task task;
    od_member *member; /* that waits for it */
    atomic_bool *reached;
} marker;

static int32_t reach(int32_t gtid, void *task)
{
    const marker *m = task;
    od_team *team = m->member->team;
    (void)gtid;
    od_tasks_begun++;
    od_lock_take(&team->lock); /* with it, the waiting thread may go on */
    atomic_store_explicit(m->reached, true, memory_order_release);
    od_member_wake(m->member);
    od_lock_give(&team->lock);
    return 0;
}

/* A task that does nothing but to end, of so many bytes. Its destructor is told: libomp may discard it. */
static void *ending_task(od_ident *ident, int32_t gtid, size_t size, od_task_entry destructor)
{
    od_detach_expect_task();
    int32_t flags = od_serial_flags(OD_TASK_TIED | OD_TASK_DESTRUCTORS);
    od_kmp_task *task = REAL(__kmpc_omp_task_alloc)(ident, gtid, flags, size, 0, od_do_nothing);
    task->destructor = (void *)(uintptr_t)destructor;
    return task;
}

static bool is_set(const od_goal *goal)
{
    return atomic_load_explicit(goal->flag, memory_order_acquire);
}

/* A task with these items runs when they are released: what a taskwait with them means. libomp's would not pass on
 * completions. */
void od_detach_await_items(od_ident *ident, int32_t ndepends, od_depend *depends, int32_t n_noalias, od_depend *noalias)
{
    atomic_bool reached = false;
    od_parent *parent = od_parent_now();
    od_goal goal = {.reached = is_set, .creator = parent, .flag = &reached};
    od_detach_finish_around(ident);
    if (od_self.kernels || !parent || od_children_are_complete(&parent->children))
        return;
    od_member *member = parent->member;
    int32_t gtid = REAL(__kmpc_global_thread_num)(ident);
    marker *m = ending_task(ident, gtid, sizeof *m, reach);
    m->member = member;
    m->reached = &reached;
    REAL(__kmpc_omp_task_with_deps)(ident, gtid, m, ndepends, depends, n_noalias, noalias);
    od_team_note_task(member->team);
    od_team_wait(member, ident, &goal);
    od_team_quiesce(member->team);
}

typedef struct order {
    od_kmp_task task;
    od_detached counted;
} order;

static int32_t end_order(int32_t gtid, void *task)
{
    (void)gtid;
    od_detached_leave(((const order *)task)->counted);
    return 0;
}

/* A task with these items, and nothing else: what a taskwait with them and nowait means. libomp's waits. */
void od_detach_order_items(od_ident *ident, int32_t ndepends, od_depend *depends, int32_t n_noalias, od_depend *noalias)
{
    int32_t gtid = REAL(__kmpc_global_thread_num)(ident);
    order *task = ending_task(ident, gtid, sizeof *task, end_order);
    task->counted = od_detached_join(false);
    REAL(__kmpc_omp_task_with_deps)(ident, gtid, task, ndepends, depends, n_noalias, noalias);
    od_detach_note_task(OD_CREATES_OURS);
}
