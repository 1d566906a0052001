/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The lock, and what is carried out when it is given back: completions are reported to libomp, and copies and kernels
 * that are too short for another thread to be woken, or go on by themselves, are started.
 */
#define _GNU_SOURCE /* PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP */
#include "omp_ext/runtime/internal.h"

#include "omp_ext/libomp/real.h"
#include "omp_ext/libomp/teams/detach.h"
#include "omp_ext/libomp/teams/serial.h"
#include "omp_ext/libomp/thread.h"
#include "omp_ext/process/fatal.h"
#include "omp_ext/remote/numbers.h"
#include "omp_ext/runtime/own_copies.h"
#include "omp_ext/services/check/check.h"
#include "omp_ext/services/machine/speeds.h"
#include "omp_ext/tasks/entry.h"
#include "util/clock.h"
#include "util/thread.h"

od_runtime_state od_runtime = {.lock = OD_BUSY_LOCK_OF(OD_LOCK_RUNTIME), .changed = PTHREAD_COND_INITIALIZER};
_Thread_local unsigned od_own_jobs;

/* --- the end of a job ------------------------------------------------------ */

void od_runtime_note_job(od_job *job)
{
    od_list_push_back(&od_runtime.live, &job->live);
}

static void learn_speed(const od_job *job, unsigned k)
{
    const od_entry *entry = job->cost;
    if (entry && entry->cost.runs >= OD_COST_FIRST && job->kind == OD_JOB_KERNEL)
        od_kernel_speeds_note(job->code, k, job->seconds, entry->cost.mean);
}

void od_runtime_note_duration(const od_job *job)
{
    if (job->seconds <= 0)
        return;
    if (job->task.place == OD_HOST) {
        if (job->cost && job->kind == OD_JOB_KERNEL)
            od_cost_add(&job->cost->host, job->seconds);
        return;
    }
    unsigned k = (unsigned)job->task.place;
    learn_speed(job, k);
    double times = od_slowness_of(&od_runtime.links->slowness, job->task.speed_class, k);
    double seconds = job->seconds / times; /* on the fastest device */
    if (job->cost) {
        od_entry_record(job->cost, seconds);
        od_engine_expect(od_runtime.engine, job->task.kind, od_entry_duration(job->cost));
    }
    if (job->code)
        od_entry_record(job->code, seconds);
}

static od_status run_job(od_job *job, int place)
{
    od_modes before = od_thread_modes();
    od_own_jobs++;
    if (job->kind == OD_JOB_KERNEL)
        od_thread_set_modes(job->modes);
    od_status status = od_runtime.jobs->run(job, place);
    od_thread_set_modes(before);
    od_own_jobs--;
    return status;
}

/* Jobs that the calling thread is to run itself, because its event started them and they do not keep it for long; and
 * copies, likewise. */
static _Thread_local struct {
    bool open, running;
    bool allowed; /* jobs are */
    od_job *first, **last;
    bool shares_task; /* a kernel that runs: with what the thread is at, of which its own claimed task is a child */
    int level;        /* of the region in which it does */
    od_own_task own;  /* instead */
} inline_jobs __attribute__((tls_model("initial-exec")));

/* Where copies share a link they keep the thread. */
static void open_copies(void)
{
    if (!(od_runtime.backend.shared_link > 0))
        od_own_copies_open(OD_OWN_BYTES_PASSING);
}

static void allow_inline(bool jobs)
{
    if (inline_jobs.running || inline_jobs.open)
        return;
    open_copies();
    inline_jobs.open = true;
    inline_jobs.allowed = jobs;
    inline_jobs.first = NULL;
    inline_jobs.last = &inline_jobs.first;
}

/* What this starts is begun by the calling thread where it would have to wake another one. */
static void job_done(od_job *job, od_status status)
{
    od_runtime.busy--;
    allow_inline(!od_workers_have_me());
    if (!status && !job->task.undone)
        od_runtime_note_duration(job);
    od_engine_task_done(od_runtime.engine, &job->task, status);
}

static od_status poll_job(od_job *job)
{
    return od_runtime.jobs->poll(job);
}

static bool job_blocks(const od_job *job, int place)
{
    return od_runtime.jobs->blocks(job, place);
}

const od_workers_ops od_runtime_workers_ops = {.blocks = job_blocks,
                                               .run = run_job,
                                               .poll = poll_job,
                                               .done = job_done,
                                               .is_remote = od_remote_is_on,
                                               .release = od_runtime_release,
                                               .unlock = od_runtime_unlock};

/* --- jobs that the calling thread runs itself ------------------------------- */

enum {
    SHORT_RUNS = 8,    /* so many runs before a kernel's duration is believed */
    SHORT_NS = 20000,
    PATIENCE_NS = 2 * SHORT_NS, /* others may be before it on its device */
    IN_A_ROW = 16,
};

static atomic_bool kernels_schedule;

/* Its tasks become children of one of its own, and it waits for no others. */
static void leave_task(void)
{
    if (!inline_jobs.shares_task || REAL(omp_get_level)() != inline_jobs.level)
        return;
    inline_jobs.shares_task = false;
    inline_jobs.own = od_serial_begin_task();
}

void od_runtime_kernel_schedules(void)
{
    if (!od_self.kernels)
        return;
    if (!atomic_load_explicit(&kernels_schedule, memory_order_relaxed))
        atomic_store_explicit(&kernels_schedule, true, memory_order_relaxed);
    leave_task();
}

static bool is_short(const od_job *job)
{
    return job->kind == OD_JOB_KERNEL && job->task.place != OD_HOST && job->cost &&
           job->cost->cost.runs >= SHORT_RUNS && job->cost->cost.mean < SHORT_NS * 1e-9 &&
           !atomic_load_explicit(&kernels_schedule, memory_order_relaxed);
}

/* On a device that is at work by itself no thread need be woken to begin it. */
static bool keeps_thread(const od_job *job)
{
    return od_runtime.backend.ops->start ? !od_runtime.jobs->only_launches(job, job->task.place) : !is_short(job);
}

bool od_runtime_run_inline(od_job *job)
{
    if (!inline_jobs.allowed || keeps_thread(job))
        return false;
    job->is_short = is_short(job);
    job->next = NULL;
    *inline_jobs.last = job;
    inline_jobs.last = &job->next;
    return true;
}

static od_job *take_inline(void)
{
    od_job *job = inline_jobs.first;
    inline_jobs.first = job->next;
    if (!inline_jobs.first)
        inline_jobs.last = &inline_jobs.first;
    return job;
}

/* Called without the lock, returns with it. */
static void run_inline(od_job *job)
{
    od_own_copies_close();
    od_task *outer = od_self.awaited;
    od_self.awaited = &job->task;
    od_self.stands_in = od_runtime.backend.in_process;
    inline_jobs.shares_task = job->detached.team;
    inline_jobs.level = job->detached.team ? REAL(omp_get_level)() : 0;
    od_status status = run_job(job, job->task.place);
    inline_jobs.shares_task = false;
    od_serial_end_task(inline_jobs.own);
    inline_jobs.own = (od_own_task){0};
    od_self.stands_in = false;
    od_self.awaited = outer;
    while (status == OD_EBUSY && job->is_short && od_clock_ns() - job->start_ns < PATIENCE_NS)
        status = od_runtime.jobs->poll(job);
    od_runtime_lock();
    open_copies();
    if (status != OD_EBUSY)
        job_done(job, status);
    else if (od_workers_watch(od_runtime.workers, job))
        od_fatal("a worker thread could not be started");
}

void od_runtime_leave_inline_jobs(void)
{
    while (inline_jobs.open && inline_jobs.first)
        if (od_workers_submit(od_runtime.workers, take_inline()))
            od_fatal("a worker thread could not be started");
}

static bool any_is_inline(void)
{
    return inline_jobs.first || od_own_copies_are_left();
}

/* The own copies at once, or one job. Called without the lock, returns with it. */
static void run_next(void)
{
    if (od_own_copies_are_left())
        od_runtime.copies->make(OD_OWN_BYTES_PASSING);
    else
        run_inline(take_inline());
}

/* What one may be started while another runs is added to the list and run here too; there is no end to that where many
 * are ready. Nothing is reported before: libomp could run a task of the program here, which might wait for what is
 * left. */
static void run_inline_jobs(void)
{
    if (!inline_jobs.open || inline_jobs.running)
        return;
    inline_jobs.running = true;
    bool any = any_is_inline();
    int cancellation = any ? od_thread_defer_cancellation() : 0;
    for (unsigned i = 0; any_is_inline() && i < IN_A_ROW; i++) {
        if (i)
            od_runtime_release();
        run_next();
    }
    if (any) {
        od_runtime_leave_inline_jobs();
        od_thread_admit_cancellation(cancellation);
    }
    od_runtime.copies->leave();
    inline_jobs.running = inline_jobs.open = inline_jobs.allowed = false;
    if (any)
        od_runtime_unlock();
}

/* --- what is carried out without the lock ----------------------------------- */

typedef struct outbox {
    od_job *jobs;
    od_waiter *waiters;
    od_gate *gates;
} outbox;

static bool is_empty(const outbox *out)
{
    return !out->jobs && !out->waiters && !out->gates;
}

/* Under the lock. Once libomp is ending, what completes stays where it is. */
static outbox take_outbox(void)
{
    outbox out = {od_runtime.jobs_done, od_runtime.requests_done, od_runtime.gates};
    if (od_runtime.abandoned || is_empty(&out))
        return (outbox){0};
    od_runtime.jobs_done = NULL;
    od_runtime.jobs_done_end = &od_runtime.jobs_done;
    od_runtime.requests_done = NULL;
    od_runtime.gates = NULL;
    atomic_fetch_add_explicit(&od_runtime.reporting, 1, memory_order_relaxed);
    return out;
}

/* Without the lock. */
static void carry_out(outbox out)
{
    if (is_empty(&out))
        return;
    while (out.gates) { /* a gate may be gone as soon as it is open */
        od_gate *next = out.gates->next;
        od_detached_complete(out.gates->detached);
        out.gates = next;
    }
    while (out.jobs) {
        od_job *next = out.jobs->next;
        od_runtime.jobs->finish(out.jobs);
        out.jobs = next;
    }
    while (out.waiters) {
        od_waiter *next = out.waiters->next;
        out.waiters->notify(out.waiters);
        out.waiters = next;
    }
    atomic_fetch_sub_explicit(&od_runtime.reporting, 1, memory_order_release);
}

/* --- the lock --------------------------------------------------------------- */

od_engine *od_runtime_lock(void)
{
    od_lock_take(&od_runtime.lock);
    return od_runtime.engine;
}

od_engine *od_runtime_lock_inline(void)
{
    od_engine *engine = od_runtime_lock();
    allow_inline(true);
    return engine;
}

static void set_if_other(atomic_bool *flag, bool value)
{
    if (atomic_load_explicit(flag, memory_order_relaxed) != value)
        atomic_store_explicit(flag, value, memory_order_release);
}

bool od_runtime_has_regions(void)
{
    return atomic_load_explicit(&od_runtime.has_regions, memory_order_acquire);
}

/* Under the lock, which is about to be given back: what others ask without it. */
static void show_state(void)
{
    bool quiet = false;
    bool settled = od_runtime.engine && od_engine_is_settled(od_runtime.engine, &quiet) && !od_runtime.reclaiming;
    set_if_other(&od_runtime.settled, settled);
    set_if_other(&od_runtime.quiet, settled && quiet);
    set_if_other(&od_runtime.has_regions,
                 od_runtime.engine && od_directory_has_regions(od_engine_directory(od_runtime.engine)));
}

/* Without the lock. */
static void reclaim(void)
{
    od_runtime.backend.ops->reclaim(od_runtime.backend.state);
    od_lock_take(&od_runtime.lock);
    if (--od_runtime.reclaiming == 0)
        pthread_cond_broadcast(&od_runtime.changed);
    show_state();
    od_lock_give(&od_runtime.lock);
}

/* What has been noted for libomp stays noted. */
void od_runtime_release(void)
{
    uint64_t wakes = od_runtime.workers ? od_workers_take_wakes(od_runtime.workers) : 0;
    bool must_reclaim = od_runtime.must_reclaim;
    od_runtime.must_reclaim = false;
    od_runtime.reclaiming += must_reclaim;
    if (od_runtime.onlookers)
        pthread_cond_broadcast(&od_runtime.changed);
    if (od_runtime.engine)
        od_check_update(od_engine_directory(od_runtime.engine));
    show_state();
    od_lock_give(&od_runtime.lock);
    if (must_reclaim)
        reclaim();
    if (wakes)
        od_workers_wake(od_runtime.workers, wakes);
}

void od_runtime_unlock(void)
{
    outbox out = take_outbox();
    od_runtime_release();
    run_inline_jobs();
    carry_out(out);
}
