/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * fork(): the child gets a copy of everything but the threads. All locks are taken before, so that nothing is copied
 * half-changed and none stays locked; the runtime starts its threads again in a child that goes on offloading
 * (od_runtime_after_fork()). exec, system() and popen() need none of this.
 */
#include "omp_ext/services/check.h"
#include "omp_ext/maps/device_memory.h"
#include "omp_ext/tasks/entry.h"
#include "omp_ext/libomp/detach.h"
#include "omp_ext/libomp/events.h"
#include "omp_ext/libomp/images.h"
#include "omp_ext/tasks/queue.h"
#include "omp_ext/services/record.h"
#include "omp_ext/tasks/records.h"
#include "omp_ext/runtime/runtime.h"

/* The locks below the runtime's. */
static void visit_locks(int (*visit)(pthread_mutex_t *lock))
{
    od_team_locks(visit, od_member_now());
    od_events_locks(visit);
    od_entry_locks(visit);
    od_records_locks(visit);
    od_device_memory_locks(visit);
    od_record_locks(visit);
    od_images_locks(visit);
    od_interop_locks(visit);
}

static void before(void)
{
    od_runtime_before_fork();
    visit_locks(pthread_mutex_lock);
    od_check_before_fork();
}

static void after(bool child)
{
    od_check_after_fork(child);
    visit_locks(pthread_mutex_unlock);
    if (child)
        od_team_after_fork();
    od_runtime_after_fork(child);
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
