/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reservations (omp_ext/tasks/reservation.h): granted, taken, ended, and revoked where somebody waits for their
 * data. */
#include "omp_ext/runtime/internal.h"

#include "omp_ext/process/fatal.h"
#include "omp_ext/process/memory.h"
#include "util/clock.h"
#include "util/lock.h"
#include "util/thread.h"

#include <stdlib.h>
#include <time.h>

/* The gate opens at the next unlock. */
void od_runtime_open_gate(od_job *job)
{
    od_list_remove(&od_runtime.live, &job->live);
    job->detached = (od_detached){0};
    job->gate->next = od_runtime.gates;
    od_runtime.gates = job->gate;
}

/* Under the lock, as what follows. */
static void revoke_reservation(od_job *job)
{
    od_list_remove(&od_runtime.reserved, &job->live);
    job->gate->job = NULL;
    od_engine_task_give_up(od_runtime.engine, &job->task, false);
}

/* Reservations that were granted before this moment and have not begun. */
void od_runtime_revoke_before(uint64_t before_ns)
{
    od_node *node;
    while ((node = od_list_first(&od_runtime.reserved))) {
        od_job *job = od_container_of(node, od_job, live);
        if (job->task.start_ns >= before_ns)
            break;
        revoke_reservation(job);
    }
}

void od_runtime_revoke_all(void)
{
    od_runtime_lock();
    od_runtime_revoke_before(UINT64_MAX);
    od_runtime_unlock();
}

static od_job *find_conflicting(const od_task *task)
{
    od_list_each(node, &od_runtime.reserved) {
        od_job *job = od_container_of(node, od_job, live);
        if (od_engine_tasks_conflict(&job->task, task))
            return job;
    }
    return NULL;
}

void od_runtime_revoke_for(const od_job *waiting)
{
    od_job *job;
    while (!waiting->granted && (job = find_conflicting(&waiting->task)))
        revoke_reservation(job);
}

enum { RESERVED_NS = 1000000000 }; /* a team that has no thread for a task by then may have none for long */

static void *count_seconds(void *arg)
{
    (void)arg;
    for (bool more = true; more && !od_runtime_ended();) {
        nanosleep(&(struct timespec){.tv_nsec = 500 * 1000 * 1000}, NULL);
        od_engine *engine = od_runtime_lock();
        more = !od_runtime.stopping;
        if (more)
            od_runtime_revoke_before(od_clock_ns() - RESERVED_NS);
        more = more && (od_engine_retry(engine) || od_runtime.reserved.count);
        od_runtime.deferred = more;
        od_runtime_unlock();
    }
    return NULL;
}

void od_runtime_start_retries(void)
{
    if (!od_runtime.deferred && od_thread_start(NULL, "od-retry", count_seconds, NULL))
        od_fatal("a thread could not be started");
    od_runtime.deferred = true;
}

void od_runtime_grant_reservation(od_job *job)
{
    od_runtime_open_gate(job);
    job->granted = true;
    job->gate->job = job;
    od_list_push_back(&od_runtime.reserved, &job->live);
    if (od_runtime.waiting) /* from now on they wait in reason only */
        pthread_cond_broadcast(&od_runtime.changed);
    od_runtime_start_retries();
}

od_job *od_runtime_take_reservation(od_gate *gate)
{
    od_lock_take(&od_runtime.lock);
    od_job *job = gate->job;
    if (job) {
        gate->job = NULL;
        od_list_remove(&od_runtime.reserved, &job->live);
        job->start_ns = od_clock_ns();
        job->running_on = job->granted_place;
    }
    od_runtime_unlock();
    return job;
}

void od_runtime_end_reservation(od_job *job, bool used)
{
    od_engine *engine = od_runtime_lock();
    if (used) {
        od_runtime_note_duration(job);
        od_engine_task_done(engine, &job->task, OD_OK);
    } else {
        od_engine_task_give_up(engine, &job->task, false);
    }
    od_runtime_unlock();
}

void od_runtime_watch_reservation(od_job *job)
{
    od_runtime_lock();
    od_runtime.busy++;
    od_runtime_note_job(job);
    if (od_workers_watch(od_runtime.workers, (unsigned)job->granted_place, job))
        od_fatal("a worker thread could not be started");
    od_runtime_unlock();
}

/* --- gates ---------------------------------------------------------------- */

od_gate *od_gate_create(struct od_record *record)
{
    od_gate *gate = od_alloc_zeroed(1, sizeof *gate);
    gate->record = record;
    gate->holders = 1;
    return gate;
}

void od_gate_release(od_gate *gate)
{
    od_runtime_lock();
    bool last = --gate->holders == 0;
    od_runtime_unlock();
    if (last)
        free(gate);
}
