/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reservations (omp_ext/tasks/reservation.h): granted, used, ended, and revoked where somebody waits while nothing uses
 * them. */
#include "omp_ext/runtime/internal.h"

#include "omp_ext/process/fatal.h"
#include "omp_ext/process/memory.h"
#include "omp_ext/process/quiet.h"
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

/* --- offers ------------------------------------------------------------------ */

/* Under the lock, as what follows. */
static void offer(od_job *job, bool shown)
{
    job->offered = true;
    job->shown = shown;
    job->offered_ns = od_clock_ns();
    od_list_push_back(&od_runtime.offered, &job->live);
}

static void withdraw(od_job *job)
{
    if (job->offered)
        od_list_remove(&od_runtime.offered, &job->live);
    job->offered = false;
}

static void end(od_job *job)
{
    withdraw(job);
    job->gate->job = NULL;
    od_runtime.nreservations--;
}

static void set_blocked(od_job *job, bool blocked)
{
    if (job->blocked != blocked)
        od_engine_task_block(od_runtime.engine, &job->task, blocked);
    job->blocked = blocked;
}

static void give_up(od_job *job)
{
    end(job);
    set_blocked(job, false);
    od_engine_task_give_up(od_runtime.engine, &job->task, job->used);
}

/* What is shown stays, but a task that runs beside it may be what its body waits for. */
static void revoke(od_job *job)
{
    if (!job->shown) {
        give_up(job);
        return;
    }
    withdraw(job);
    set_blocked(job, true);
}

/* --- revoking ---------------------------------------------------------------- */

void od_runtime_revoke_before(uint64_t before_ns, bool shown_too)
{
    od_list_each(node, &od_runtime.offered) {
        od_job *job = od_container_of(node, od_job, live);
        if (job->offered_ns >= before_ns)
            break;
        if (shown_too || !job->shown)
            revoke(job);
    }
}

void od_runtime_revoke_all(void)
{
    od_runtime_lock();
    od_runtime_revoke_before(UINT64_MAX, false);
    od_runtime_unlock();
}

static od_job *find_conflicting(const od_task *task)
{
    od_list_each(node, &od_runtime.offered) {
        od_job *job = od_container_of(node, od_job, live);
        if (!job->shown && od_engine_tasks_conflict(&job->task, task))
            return job;
    }
    return NULL;
}

void od_runtime_revoke_for(const od_job *waiting)
{
    od_job *job;
    while (!waiting->granted && (job = find_conflicting(&waiting->task)))
        give_up(job);
}

enum { OFFERED_NS = 1000000000 }; /* a team that has no thread for a task by then may have none for long */

/* The program makes what the guard holds wait for itself: nothing happens, though each thread has had a processor. */
typedef struct held_look {
    uint64_t events; /* at the last look */
    bool held;       /* nothing but what is held could go on */
    od_quiet quiet;
} held_look;

static void look_at_held(held_look *look, od_engine *engine)
{
    bool held = !od_runtime.stopping && od_engine_holds_all(engine);
    bool again = held && look->held && od_engine_events(engine) == look->events;
    look->held = held;
    look->events = od_engine_events(engine);
    if (!held)
        return;
    od_runtime_unlock(); /* threads that wait for the lock seem to sleep */
    if (!again)
        od_quiet_begin(&look->quiet);
    bool quiet = again && od_quiet_lasts(&look->quiet);
    engine = od_runtime_lock();
    if (quiet && !od_runtime.stopping && od_engine_events(engine) == look->events)
        od_engine_let_go(engine);
}

static void *count_seconds(void *arg)
{
    held_look look = {0};
    (void)arg;
    for (bool more = true; more && !od_runtime_ended();) {
        nanosleep(&(struct timespec){.tv_nsec = 500 * 1000 * 1000}, NULL);
        od_engine *engine = od_runtime_lock();
        look_at_held(&look, engine);
        more = !od_runtime.stopping;
        if (more)
            od_runtime_revoke_before(od_clock_ns() - OFFERED_NS, true);
        more = more && (od_engine_retry(engine) || od_runtime.nreservations);
        od_runtime.deferred = more;
        od_runtime_unlock();
    }
    od_quiet_end(&look.quiet);
    return NULL;
}

bool od_runtime_start_retries(void)
{
    od_runtime.deferred = od_runtime.deferred || !od_thread_start(NULL, "od-retry", count_seconds, NULL);
    return od_runtime.deferred;
}

/* --- from the grant to the end ------------------------------------------------ */

void od_runtime_grant_reservation(od_job *job)
{
    od_runtime_open_gate(job);
    job->granted = true;
    job->gate->job = job;
    od_runtime.nreservations++;
    offer(job, false);
    if (od_runtime.waiting) /* from now on they wait in reason only */
        pthread_cond_broadcast(&od_runtime.changed);
    od_runtime_start_retries();
}

int od_runtime_begin_reservation(od_gate *gate)
{
    int place = OD_NOWHERE;
    od_runtime_lock();
    if (gate->job) {
        gate->job->start_ns = od_clock_ns();
        place = gate->job->running_on = gate->job->granted_place;
    }
    od_runtime_unlock();
    return place;
}

od_job *od_runtime_use_reservation(od_gate *gate)
{
    od_runtime_lock();
    od_job *job = gate->job;
    if (job) {
        withdraw(job);
        set_blocked(job, false);
    }
    od_runtime_unlock();
    return job;
}

void od_runtime_offer_reservation(od_gate *gate, bool shown)
{
    od_runtime_lock();
    offer(gate->job, shown);
    od_runtime_unlock();
}

void od_runtime_block_reservation(od_gate *gate)
{
    od_runtime_lock();
    if (gate->job)
        set_blocked(gate->job, true);
    od_runtime_unlock();
}

void od_runtime_give_up_reservation(od_gate *gate)
{
    od_runtime_lock();
    if (gate->job)
        give_up(gate->job);
    od_runtime_unlock();
}

void od_runtime_end_reservation(od_gate *gate)
{
    od_engine *engine = od_runtime_lock();
    od_job *job = gate->job;
    if (job->used) {
        end(job);
        od_runtime_note_duration(job);
        od_engine_task_done(engine, &job->task, OD_OK);
    } else {
        give_up(job);
    }
    od_runtime_unlock();
}

void od_runtime_watch_reservation(od_gate *gate)
{
    od_runtime_lock();
    od_job *job = gate->job;
    end(job);
    od_runtime.busy++;
    od_runtime_note_job(job);
    if (od_workers_watch(od_runtime.workers, job))
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
