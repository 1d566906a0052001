/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * fork(): the child gets a copy of everything but the threads. All locks are taken before, so that nothing is copied
 * half-changed and none stays locked; the runtime starts its threads again in a child that goes on offloading
 * (od_runtime_revive()). exec, system() and popen() need none of this.
 */
#include "omp_ext/maps/device_memory.h"
#include "omp_ext/tasks/entry.h"
#include "omp_ext/libomp/teams/detach.h"
#include "omp_ext/libomp/teams/events.h"
#include "omp_ext/libomp/teams/pool.h"
#include "omp_ext/libomp/images.h"
#include "omp_ext/libomp/league.h"
#include "omp_ext/tasks/launch/queue.h"
#include "omp_ext/tasks/task_table.h"
#include "omp_ext/runtime/internal.h"
#include "omp_ext/services/services.h"

/* In the order of util/lock.h, as before() takes them all. */
static void visit_locks(void (*visit)(od_lock *lock))
{
    od_team_locks(visit, od_member_now());
    od_events_locks(visit);
    od_entry_locks(visit);
    od_task_table_locks(visit);
    od_device_memory_locks(visit);
    od_images_locks(visit);
    od_league_locks(visit);
    od_interop_locks(visit);
}

static void before(void)
{
    od_lock_take(&od_runtime.lock);
    od_services_before_fork();
    visit_locks(od_lock_take);
}

static bool others_are_inside(void)
{
    return od_runtime.busy > od_own_jobs || atomic_load(&od_process_self.inside) > od_own_inside;
}

static void after(bool child)
{
    int on = OD_ON;
    if (child) {
        od_process_self.left_inside |= others_are_inside();
        atomic_compare_exchange_strong(&od_process_self.activity, &on, OD_FORKED);
    }
    visit_locks(od_lock_give);
    if (child)
        od_team_after_fork();
    od_services_after_fork(child);
    od_lock_give(&od_runtime.lock);
}

static void in_parent(void)
{
    after(false);
}

static void in_child(void)
{
    after(true);
}

__attribute__((constructor)) static void load(void)
{
    pthread_atfork(before, in_parent, in_child);
}
