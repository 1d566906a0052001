/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The runtime: start, stop, the lock, and the engine's commands carried out.
 *
 * See runtime.h for who may do what under the lock. Everything starts at the first construct that could be
 * scheduled. When the process begins to end (a handler of exit()) what is under way is awaited, and from then on nothing is left to
 * other threads; constructs in destructors of static objects and in other exit handlers are still carried out. All ends with the
 * last of the program's device images, before that is unloaded.
 */
#define _GNU_SOURCE
#include "omp_ext/runtime/runtime.h"

#include "memmgr/data/attach.h"
#include "memmgr/device/host_copy.h"
#include "omp_ext/libomp/call.h"
#include "omp_ext/services/check.h"
#include "omp_ext/hooks/device_memory.h"
#include "omp_ext/runtime/devices.h"
#include "omp_ext/tasks/entry.h"
#include "omp_ext/runtime/fatal.h"
#include "omp_ext/hooks/images.h"
#include "omp_ext/services/info.h"
#include "omp_ext/services/interrupt.h"
#include "omp_ext/tasks/own_copies.h"
#include "omp_ext/runtime/planner.h"
#include "omp_ext/services/progress.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/services/recall.h"
#include "omp_ext/services/record.h"
#include "omp_ext/tasks/reservation.h"
#include "omp_ext/maps/structs.h"
#include "omp_ext/tasks/thread.h"
#include "omp_ext/services/tracing.h"
#include "omp_ext/services/watchdog.h"
#include "omp_ext/runtime/workers.h"
#include "sched/report/report.h"
#include "util/clock.h"
#include "util/fair.h"
#include "util/thread.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_BAD_CONFIGURATION = 2 };

static struct {
    pthread_mutex_t lock;   /* protects the engine, the queues, the outbox, and what has been learnt */
    pthread_cond_t changed; /* a waiter's flag has been set */
    od_options options;
    od_policy_choice policy;
    od_backend backend;
    od_engine *engine;
    od_transfer_queues *transfers;
    od_host_copies *host_copies;
    od_workers *workers;
    od_planner *planner;
    od_devices devices;
    int virtual_number;
    int kernel_threads;                 /* od_runtime_kernel_threads() */
    od_link *links;                     /* between places, from row to column, the host as the last one */
    od_job *jobs_done, **jobs_done_end; /* outbox: completed jobs */
    od_waiter *requests_done;           /* outbox: completed requests with a notify */
    od_gate *gates;                     /* outbox: gates to be opened */
    od_list reserved;                   /* od_job.live: reservations that have been granted and have not begun */
    unsigned waiting;                   /* threads of the program that wait for `changed` */
    od_list live;                       /* od_job.live: submitted, with an event, not complete */
    bool single_device;
    bool mandatory;
    uint64_t start_ns;
    unsigned busy;       /* transfers and jobs that the driver is carrying out */
    pid_t process;       /* whose threads we have */
    bool inherited;      /* from the process that has forked this one: that one reports */
    unsigned onlookers;  /* threads that wait for `changed` and want to look after each event */
    bool stopping;       /* and nothing new is started */
    bool abandoned;      /* libomp is ending, and has been told all that it will be told */
    atomic_uint telling; /* threads that tell libomp, without the lock, of what has completed */
    bool patient;        /* a thread counts the seconds of tasks that wait for what the program holds */
    bool untidy;         /* the back-end has been told of host memory that it may keep nothing about */
} runtime = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

typedef enum activity { UNSTARTED, OFF, ON, FORKED, ENDED } activity;
static atomic_int state = OFF; /* an activity; UNSTARTED once the library has been loaded with all it needs */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_bool ending; /* exit() has been called */
static _Thread_local bool ends_process __attribute__((tls_model("initial-exec"))); /* by the calling thread */
static atomic_uint inside; /* threads of the program that are inside of libomptarget, and how deep the calling one is: */
static _Thread_local unsigned own_inside __attribute__((tls_model("initial-exec")));
atomic_bool od_runtime_watches;

static _Noreturn void refuse(const char *message)
{
    fprintf(stderr, "ompdarts: %s\n", message);
    fflush(NULL);
    _exit(EXIT_BAD_CONFIGURATION);
}

static _Thread_local unsigned own_jobs __attribute__((tls_model("initial-exec"))); /* that the calling thread is inside of */

static od_status run_job(od_job *job, int place)
{
    own_jobs++;
    od_status status = od_job_run(job, place);
    own_jobs--;
    return status;
}

static void job_done(od_job *job, od_status status);

/* What the calling thread will wait for, and nobody else does: it looks before it sleeps. */
static _Thread_local const bool *awaited __attribute__((tls_model("initial-exec")));

/* Under the lock. */
static void set_flag(bool *flag)
{
    *flag = true;
    if (flag != awaited)
        pthread_cond_broadcast(&runtime.changed);
}

/* --- the driver table --------------------------------------------------- */

static _Thread_local bool helps_to_copy __attribute__((tls_model("initial-exec"))); /* the calling thread, as soon as it waits */
/* The host's memory never holds a device's addresses, not even for a moment. */
static void prepare_landing(od_transfer *transfer)
{
    const od_datum *d = transfer->datum;
    if (!od_attachments_overlap(od_datum_attachments(d), d->base + transfer->offset, transfer->bytes))
        return;
    transfer->landing = malloc(transfer->bytes);
    if (!transfer->landing)
        od_fatal("out of host memory for the contents of a struct");
}

static void submit_transfer(od_transfer *transfer)
{
    bool within_host = transfer->from >= OD_SPILL && transfer->to >= OD_SPILL;
    if (!within_host)
        od_transfer_submit(runtime.transfers, transfer);
    else if (od_host_copies_submit(runtime.host_copies, transfer, helps_to_copy))
        od_fatal("a thread that copies could not be started");
}

static void start_transfer(void *driver, od_transfer *transfer)
{
    (void)driver;
    if (runtime.stopping)
        return;
    runtime.busy++;
    if (transfer->to == OD_HOST) {
        od_check_before_store(transfer->datum);
        prepare_landing(transfer);
    }
    if (!od_own_copies_add(runtime.transfers, transfer))
        submit_transfer(transfer);
}

/* Jobs that the calling thread is to run itself, because its event started them and they are short. */
static _Thread_local struct {
    bool allowed, running;
    od_job *first, **last;
} inline_jobs __attribute__((tls_model("initial-exec")));

enum { SHORT_RUNS = 8 }; /* so many runs before a kernel's duration is believed */
static const double short_seconds = 20e-6;

static bool is_short(const od_job *job)
{
    return job->kind == OD_JOB_KERNEL && job->task.place != OD_HOST && job->cost &&
           job->cost->cost.runs >= SHORT_RUNS && job->cost->cost.mean < short_seconds;
}

/* For what OMPDARTS_CHECK says about a datum. */
static void note_user(const od_task *task, const od_entry *user)
{
    for (uint32_t i = 0; i < task->naccess; i++)
        task->access[i].datum->user = user;
}

/* The gate opens at the next unlock. */
static void open_gate(od_job *job)
{
    od_list_remove(&runtime.live, &job->live);
    job->detached = (od_detached){0};
    job->gate->next = runtime.gates;
    runtime.gates = job->gate;
}

static void start_patience(void);

static void grant_reservation(od_job *job)
{
    open_gate(job);
    job->granted = true;
    job->gate->job = job;
    od_list_push_back(&runtime.reserved, &job->live);
    if (runtime.waiting) /* from now on they wait in reason only */
        pthread_cond_broadcast(&runtime.changed);
    start_patience();
}

static void start_task(void *driver, od_task *task, int place)
{
    (void)driver;
    od_job *job = task->user;
    if (runtime.stopping)
        return;
    if (place == OD_HOST && runtime.mandatory)
        od_fatal("a target region cannot run on a device, and OMP_TARGET_OFFLOAD=mandatory forbids the host");
    if (place != OD_HOST)
        note_user(task, job->cost);
    job->granted_place = place;
    if (job->kind == OD_JOB_SYNC) {
        set_flag(&job->granted);
        return;
    }
    if (job->kind == OD_JOB_RESERVATION) {
        grant_reservation(job);
        return;
    }
    runtime.busy++;
    if (inline_jobs.allowed && is_short(job)) {
        job->next = NULL;
        *inline_jobs.last = job;
        inline_jobs.last = &job->next;
        return;
    }
    unsigned index = place == OD_HOST ? runtime.backend.ndevices : (unsigned)place;
    if (od_workers_submit(runtime.workers, index, place, job))
        od_fatal("a worker thread could not be started");
}

static void complete_task(void *driver, od_task *task)
{
    (void)driver;
    od_job *job = task->user;
    od_record_ran(job);
    if (job->kind == OD_JOB_RESERVATION && !job->granted)
        open_gate(job); /* it was declined */
    else if (job->detached.event)
        od_list_remove(&runtime.live, &job->live);
    if (job->kind == OD_JOB_SYNC) {
        set_flag(&job->completed);
        return;
    }
    job->next = NULL;
    *runtime.jobs_done_end = job;
    runtime.jobs_done_end = &job->next;
}

static void complete_request(void *driver, od_request *request)
{
    (void)driver;
    od_waiter *waiter = request->user;
    if (!waiter->notify) {
        set_flag(&waiter->done);
        return;
    }
    waiter->done = true;
    waiter->next = runtime.requests_done;
    runtime.requests_done = waiter;
}

/* Under the lock, as what follows. */
static void revoke_reservation(od_job *job)
{
    od_list_remove(&runtime.reserved, &job->live);
    job->gate->job = NULL;
    od_engine_task_give_up(runtime.engine, &job->task, false);
}

/* Reservations that were granted before this moment and have not begun. */
static void revoke_reservations(uint64_t before_ns)
{
    od_node *node;
    while ((node = od_list_first(&runtime.reserved))) {
        od_job *job = od_container_of(node, od_job, live);
        if (job->task.start_ns >= before_ns)
            break;
        revoke_reservation(job);
    }
}

void od_runtime_revoke_all(void)
{
    od_runtime_lock();
    revoke_reservations(UINT64_MAX);
    od_runtime_unlock();
}

static od_job *find_conflicting(const od_task *task)
{
    od_list_each(node, &runtime.reserved) {
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
        more = !runtime.stopping;
        if (more)
            revoke_reservations(od_clock_ns() - RESERVED_NS);
        more = more && (od_engine_lose_patience(engine) || runtime.reserved.count);
        runtime.patient = more;
        od_runtime_unlock();
    }
    return NULL;
}

static void start_patience(void)
{
    if (!runtime.patient && od_thread_start(NULL, "od-patience", count_seconds, NULL))
        od_fatal("a thread could not be started");
    runtime.patient = true;
}

static bool waits_for_program(void *driver, const od_task *task)
{
    (void)driver;
    if (!od_job_has_rivals(task->user))
        return false;
    start_patience();
    return true;
}

static void let_go(void *driver, uintptr_t base, size_t size)
{
    (void)driver;
    runtime.backend.ops->let_go(runtime.backend.state, base, size);
    runtime.untidy = true;
}

static od_link link_between(void *driver, int from, int to)
{
    unsigned n = runtime.backend.ndevices;
    (void)driver;
    return runtime.links[(from == OD_HOST ? n : (unsigned)from) * (n + 1) + (to == OD_HOST ? n : (unsigned)to)];
}

static uint64_t now_ns(void *driver)
{
    (void)driver;
    return od_clock_ns();
}

static void fatal(void *driver, const char *message)
{
    (void)driver;
    od_engine_dump(runtime.engine, stderr);
    od_fatal(message);
}

static bool start_aside(void *driver, od_aside *aside, size_t tasks)
{
    (void)driver;
    return tasks >= OD_ASIDE_FEW && od_planner_submit(runtime.planner, aside);
}

static od_driver_ops driver_ops = {
    .start_aside = start_aside,
    .start_transfer = start_transfer,
    .start_task = start_task,
    .complete_task = complete_task,
    .complete_request = complete_request,
    .now_ns = now_ns,
    .link = link_between,
    .waits_for_program = waits_for_program,
    .let_go = let_go,
    .fatal = fatal,
};

/* --- events from threads of ours ---------------------------------------- */

void od_runtime_probe(int place)
{
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER; /* they share the probe's bytes */
    if (place < 0 || (unsigned)place >= runtime.backend.ndevices)
        return;
    pthread_mutex_lock(&one_at_a_time);
    bool answers = od_backend_answers(&runtime.backend, (unsigned)place);
    pthread_mutex_unlock(&one_at_a_time);
    if (answers)
        return;
    char name[OD_DEVICE_NAME];
    od_log(OD_LOG_WARNING, "runtime", "%s does not answer any more: it is lost, and its tasks go elsewhere",
           od_devices_name(&runtime.devices, (unsigned)place, name));
    od_engine_device_lost(od_runtime_lock(), (unsigned)place);
    od_runtime_unlock();
}

/* What has come home around attached pointers goes where it belongs. */
static void land(od_transfer *transfer, od_status status)
{
    const od_datum *d = transfer->datum;
    if (transfer->landing && !status)
        od_attachments_deliver(od_datum_attachments(d), d->base + transfer->offset, transfer->bytes, transfer->landing);
    free(transfer->landing);
    transfer->landing = NULL;
}

static void probe_both(const od_transfer *transfer)
{
    od_runtime_probe(transfer->from);
    od_runtime_probe(transfer->to);
}

/* Under the lock. */
static void end_transfer(od_transfer *transfer, od_status status)
{
    runtime.busy--;
    if (!status)
        od_record_copied(transfer);
    land(transfer, status);
    od_engine_transfer_done(runtime.engine, transfer, status);
}

static void transfer_done(void *arg, od_transfer *transfer, od_status status)
{
    (void)arg;
    if (status)
        probe_both(transfer);
    od_runtime_lock();
    end_transfer(transfer, status);
    od_runtime_unlock();
}

static void note_duration(const od_job *job)
{
    if (job->task.place == OD_HOST || job->seconds <= 0)
        return;
    if (job->cost)
        od_entry_record(job->cost, job->seconds);
    if (job->code)
        od_entry_record(job->code, job->seconds);
}

static void job_done(od_job *job, od_status status)
{
    runtime.busy--;
    if (!status)
        note_duration(job);
    od_engine_task_done(runtime.engine, &job->task, status);
    od_runtime_unlock();
}

static void aside_done(od_aside *aside)
{
    od_engine *engine = od_runtime_lock();
    od_record_planned(aside->seconds);
    od_engine_aside_done(engine, aside);
    od_runtime_unlock();
}

static const od_workers_ops workers_ops = {
    .blocks = od_job_blocks, .run = run_job, .poll = od_job_poll, .done = job_done};

/* --- the lock ----------------------------------------------------------- */

od_engine *od_runtime_lock(void)
{
    pthread_mutex_lock(&runtime.lock);
    return runtime.engine;
}

od_engine *od_runtime_lock_inline(void)
{
    od_engine *engine = od_runtime_lock();
    if (!inline_jobs.running && !runtime.backend.ops->start) {
        inline_jobs.allowed = true;
        inline_jobs.first = NULL;
        inline_jobs.last = &inline_jobs.first;
    }
    return engine;
}

/* The last of a group of requests completes the task that they share. */
typedef struct group {
    atomic_uint pending;
    od_detached task;
} group;

static void leave_group(group *g)
{
    if (atomic_fetch_sub(&g->pending, 1) != 1)
        return;
    od_detached_complete(g->task);
    free(g);
}

static void notify_group(od_waiter *waiter)
{
    od_request_destroy(waiter->request);
    leave_group(waiter->group);
    free(waiter);
}

static group *new_group(od_detached task)
{
    group *g = calloc(1, sizeof *g);
    if (!g)
        od_fatal("out of host memory for requests");
    atomic_init(&g->pending, 1); /* whoever fills it */
    g->task = task;
    return g;
}

/* Locked. NULL: nothing to do. */
static void join_group(group *g, od_engine *engine, od_request *request)
{
    if (!request)
        return;
    od_waiter *waiter = calloc(1, sizeof *waiter);
    if (!waiter)
        od_fatal("out of host memory for requests");
    *waiter = (od_waiter){.notify = notify_group, .group = g, .request = request};
    request->user = waiter;
    atomic_fetch_add(&g->pending, 1);
    od_engine_request(engine, request);
}

static void finish_job(od_job *job)
{
    od_detached task = job->detached;
    od_request *after = job->after;
    od_structs *structs = job->launch.call.structs;
    group *g = after || structs ? new_group(task) : NULL;
    if (g) {
        od_engine *engine = od_runtime_lock();
        join_group(g, engine, after);
        join_group(g, engine, od_structs_leave(engine, structs));
        od_runtime_unlock();
    }
    if (job->gate)
        od_gate_release(job->gate);
    if (job->destructor)
        job->destructor(REAL(__kmpc_global_thread_num)(NULL), job->kmp_task);
    od_job_destroy(job);
    if (g)
        leave_group(g);
    else
        od_detached_complete(task);
}

/* What one may be started while another runs is added to the list and run here too. */
static void run_inline_jobs(void)
{
    if (!inline_jobs.allowed || inline_jobs.running)
        return;
    inline_jobs.running = true;
    while (inline_jobs.first) {
        od_job *job = inline_jobs.first;
        inline_jobs.first = job->next;
        if (!inline_jobs.first)
            inline_jobs.last = &inline_jobs.first;
        od_status status = run_job(job, job->task.place);
        while (status == OD_EBUSY) /* it is short */
            status = od_job_poll(job);
        od_runtime_lock();
        job_done(job, status);
    }
    inline_jobs.running = inline_jobs.allowed = false;
}

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
    outbox out = {runtime.jobs_done, runtime.requests_done, runtime.gates};
    if (runtime.abandoned || is_empty(&out))
        return (outbox){0};
    runtime.jobs_done = NULL;
    runtime.jobs_done_end = &runtime.jobs_done;
    runtime.requests_done = NULL;
    runtime.gates = NULL;
    atomic_fetch_add_explicit(&runtime.telling, 1, memory_order_relaxed);
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
        finish_job(out.jobs);
        out.jobs = next;
    }
    while (out.waiters) {
        od_waiter *next = out.waiters->next;
        out.waiters->notify(out.waiters);
        out.waiters = next;
    }
    atomic_fetch_sub_explicit(&runtime.telling, 1, memory_order_release);
}

/* What has been noted for libomp stays noted. */
static void release_lock(void)
{
    uint64_t wakes = runtime.workers ? od_workers_take_wakes(runtime.workers) : 0;
    bool untidy = runtime.untidy;
    runtime.untidy = false;
    if (runtime.onlookers)
        pthread_cond_broadcast(&runtime.changed);
    if (runtime.engine)
        od_check_update(od_engine_directory(runtime.engine));
    pthread_mutex_unlock(&runtime.lock);
    if (untidy)
        runtime.backend.ops->tidy(runtime.backend.state);
    if (wakes)
        od_workers_wake(runtime.workers, wakes);
}

void od_runtime_unlock(void)
{
    outbox out = take_outbox();
    release_lock();
    carry_out(out);
    run_inline_jobs();
}

/* What has been reserved for tasks that have not begun may be what the calling thread waits for, and it may be the thread that
 * would run them. */
static void wait_beside_reservations(void)
{
    enum { WAIT_NS = 2000000 };
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_nsec += WAIT_NS;
    limit.tv_sec += limit.tv_nsec / 1000000000;
    limit.tv_nsec %= 1000000000;
    if (pthread_cond_timedwait(&runtime.changed, &runtime.lock, &limit))
        revoke_reservations(UINT64_MAX);
}

static void prepare_to_wait(const bool *flag)
{
    awaited = flag;
    od_own_copies_open();
}

od_engine *od_runtime_lock_to_wait(const bool *flag)
{
    prepare_to_wait(flag);
    return od_runtime_lock();
}

/* Under the lock, which is given away meanwhile. Nothing is told to libomp in between: it might run a task of the program's here, which
 * might wait for what these copies bring. */
static void make_own_copies(void)
{
    od_own_copies copies = od_own_copies_take();
    release_lock();
    od_own_copies_make(runtime.transfers, &copies);
    for (unsigned i = 0; i < copies.count; i++)
        if (copies.status[i])
            probe_both(copies.transfer[i]);
    od_engine *engine = od_runtime_lock();
    od_own_copies_open();
    od_engine_hold(engine); /* they are one event */
    for (unsigned i = 0; i < copies.count; i++)
        end_transfer(copies.transfer[i], copies.status[i]);
    od_engine_resume(engine);
}

/* The calling thread need not wait any longer: what it has not copied is for the others. Under the lock. */
static void leave_own_copies(void)
{
    od_own_copies copies = od_own_copies_take();
    for (unsigned i = 0; i < copies.count; i++)
        submit_transfer(copies.transfer[i]);
}

/* Constructs that the calling thread waits for or has been granted. */
static _Thread_local unsigned own_grants;

void od_runtime_note_grant(bool begins)
{
    own_grants += begins ? 1u : -1u;
}

bool od_runtime_may_run_tasks(void)
{
    return !own_grants && !od_self.job && !od_self.holds;
}

void od_runtime_wait(const bool *flag)
{
    od_runtime_note_grant(true);
    while (!*flag && od_own_copies_are_left())
        make_own_copies();
    leave_own_copies();
    runtime.waiting++;
    while (!*flag) {
        /* Commands noted so far may be what lets the flag be set. */
        od_runtime_unlock();
        od_host_copies_help(runtime.host_copies);
        pthread_mutex_lock(&runtime.lock);
        if (!*flag && runtime.reserved.count)
            wait_beside_reservations();
        else if (!*flag)
            pthread_cond_wait(&runtime.changed, &runtime.lock);
    }
    runtime.waiting--;
    awaited = NULL;
    od_runtime_note_grant(false);
}

/* --- reservations ------------------------------------------------------- */

od_job *od_runtime_take_reservation(od_gate *gate)
{
    pthread_mutex_lock(&runtime.lock);
    od_job *job = gate->job;
    if (job) {
        gate->job = NULL;
        od_list_remove(&runtime.reserved, &job->live);
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
        note_duration(job);
        od_engine_task_done(engine, &job->task, OD_OK);
    } else {
        od_engine_task_give_up(engine, &job->task, false);
    }
    od_runtime_unlock();
}

void od_runtime_watch_reservation(od_job *job)
{
    od_runtime_lock();
    runtime.busy++;
    od_runtime_note_job(job);
    if (od_workers_watch(runtime.workers, (unsigned)job->granted_place, job))
        od_fatal("a worker thread could not be started");
    od_runtime_unlock();
}

/* --- requests ----------------------------------------------------------- */

/* Under the lock, which is gone at the end. A job that waits here keeps no device from running tasks: one of them may have the
 * right to what is asked for. */
void od_runtime_request_and_unlock(od_engine *engine, od_request *request)
{
    if (!request) {
        od_runtime_unlock();
        return;
    }
    od_task *asker = od_self.mode == OD_ON_DEVICE ? &od_self.job->task : NULL;
    od_waiter waiter = {.request = request};
    request->user = &waiter;
    prepare_to_wait(&waiter.done);
    if (asker)
        od_engine_task_block(engine, asker, true);
    helps_to_copy = true;
    od_engine_request(engine, request);
    helps_to_copy = false;
    od_runtime_wait(&waiter.done);
    if (asker)
        od_engine_task_block(engine, asker, false);
    od_runtime_unlock();
    od_host_copies_help(runtime.host_copies); /* what others wait for, of what it has promised to carry */
    od_request_destroy(request);
}

void od_runtime_request(od_request *request)
{
    if (!request)
        return;
    od_runtime_request_and_unlock(od_runtime_lock(), request);
    od_record_resume();
}

void od_runtime_request_async(od_request *const *requests, size_t n, od_detached task)
{
    group *g = new_group(task);
    for (size_t i = 0; i < n; i++) {
        od_engine *engine = od_runtime_lock();
        join_group(g, engine, requests[i]);
        od_runtime_unlock();
    }
    leave_group(g);
}

void od_runtime_synchronise(void)
{
    od_request *request;
    if (!od_runtime_started())
        return;
    od_engine *engine = od_runtime_lock();
    od_record_sync();
    if (od_engine_sync_request(engine, &request))
        od_fatal("out of host memory at a synchronisation point");
    if (request) /* in one step: another thread's must not take it for a task that still uses the data */
        od_runtime_request_and_unlock(engine, request);
    else
        od_runtime_unlock();
    od_record_resume();
}

void od_runtime_host_range(uintptr_t base, size_t size, od_request_kind kind)
{
    od_request *request;
    od_engine *engine = od_runtime_lock();
    if (kind != OD_REQUEST_SETTLE) /* follows from the data that tasks name */
        od_record_range(base, size, kind);
    od_status status = od_engine_range_request(engine, base, size, kind, &request);
    od_runtime_unlock();
    if (status)
        od_fatal("out of host memory for a data construct");
    od_runtime_request(request);
}

void od_runtime_note_job(od_job *job)
{
    od_list_push_back(&runtime.live, &job->live);
}

/* --- asking ------------------------------------------------------------- */

od_backend *od_runtime_backend(void)
{
    return &runtime.backend;
}

unsigned od_runtime_ndevices(void)
{
    return runtime.backend.ndevices;
}

int od_runtime_device_number(unsigned k)
{
    return runtime.devices.number[k];
}

int od_runtime_device_index(int n)
{
    for (unsigned k = 0; k < runtime.backend.ndevices; k++)
        if (runtime.devices.number[k] == n)
            return (int)k;
    return OD_NOWHERE;
}

int od_runtime_kernel_threads(void)
{
    return runtime.kernel_threads;
}

int od_runtime_virtual_number(void)
{
    return runtime.virtual_number;
}

int od_runtime_pool_of(uintptr_t address)
{
    for (unsigned k = 0; k < runtime.backend.ndevices; k++)
        if (address - (uintptr_t)runtime.backend.pool_address[k] < runtime.backend.pool_bytes[k])
            return (int)k;
    return OD_NOWHERE;
}

void *od_runtime_address(const od_datum *datum, unsigned k)
{
    return (char *)runtime.backend.pool_address[k] + datum->replica[k].offset;
}

const od_options *od_runtime_options(void)
{
    return &runtime.options;
}

static const char single_device_text[] =
    "the program has declare target variables, of which each device has its own: only one device is used";

/* A library may bring the first ones when more devices are already in use. */
void od_runtime_single_device(void)
{
    if (!runtime.single_device && od_runtime_started() && !od_devices_are_one(&runtime.devices))
        od_log(OD_LOG_WARNING, "runtime", "%s from now on", single_device_text);
    runtime.single_device = true;
}

int od_runtime_required_device(void)
{
    return runtime.single_device && !od_devices_are_one(&runtime.devices) ? 0 : OD_NOWHERE;
}

/* --- stop --------------------------------------------------------------- */

static void report(void)
{
    char names[OD_MAX_DEVICES][OD_DEVICE_NAME];
    od_report_device devices[OD_MAX_DEVICES];
    od_report r = {.policy = runtime.options.sched,
                   .evict = runtime.options.evict,
                   .seed = runtime.options.seed,
                   .wall_s = (double)(od_clock_ns() - runtime.start_ns) * 1e-9,
                   .ndevices = runtime.backend.ndevices,
                   .devices = devices};
    od_engine_stats_get(runtime.engine, &r.engine);
    for (unsigned k = 0; k < r.ndevices; k++) {
        devices[k].name = od_devices_name(&runtime.devices, k, names[k]);
        od_engine_device_stats(runtime.engine, k, &devices[k].stats);
    }
    if (runtime.inherited)
        return;
    if (runtime.options.summary)
        od_report_print(&r, stderr);
    if (runtime.options.stats[0] && od_report_write_json(&r, runtime.options.stats))
        od_log(OD_LOG_ERROR, "runtime", "the statistics could not be written to %s", runtime.options.stats);
}

static void record_start(void)
{
    od_record_run run = {.ndevices = runtime.backend.ndevices,
                         .memory = runtime.backend.pool_bytes[0],
                         .buffer = runtime.options.task_buffer,
                         .lookahead = runtime.options.lookahead_s,
                         .seed = runtime.options.seed,
                         .spill = runtime.options.spill,
                         .working = runtime.options.working,
                         .policy = runtime.options.sched,
                         .evict = runtime.options.evict};
    od_engine_links(runtime.engine, &run.host_link, &run.peer_link);
    if (runtime.options.record[0])
        od_record_start(runtime.options.record, &run);
}

static void trace_start(void)
{
    char text[OD_MAX_DEVICES][OD_DEVICE_NAME];
    const char *names[OD_MAX_DEVICES];
    od_trace_run run = {.policy = runtime.options.sched,
                        .evict = runtime.options.evict,
                        .seed = runtime.options.seed,
                        .ndevices = runtime.backend.ndevices,
                        .memory = runtime.backend.pool_bytes[0],
                        .device = names,
                        .start_ns = runtime.start_ns};
    for (unsigned k = 0; k < run.ndevices; k++)
        names[k] = od_devices_name(&runtime.devices, k, text[k]);
    od_tracing_start(runtime.options.trace, &run);
}

static void record_end(void)
{
    od_device_stats stats[OD_MAX_DEVICES];
    for (unsigned k = 0; k < runtime.backend.ndevices; k++)
        od_engine_device_stats(runtime.engine, k, &stats[k]);
    od_record_end(stats, runtime.backend.ndevices);
}

enum { EXIT_PATIENCE_S = 2 };

static bool is_idle(const void *arg)
{
    (void)arg;
    return od_engine_is_idle(runtime.engine);
}

/* Only what the calling thread itself is inside of is still being carried out. */
static bool is_quiet(const void *arg)
{
    (void)arg;
    return runtime.busy <= own_jobs;
}

/* The caller is an onlooker. Seconds are the process's own: what has not had its turn yet is waited for. */
static bool wait_for(bool (*condition)(const void *arg), const void *arg)
{
    od_fair fair;
    uint64_t left_ns = EXIT_PATIENCE_S * OD_NS_PER_S;
    od_fair_begin(&fair, 0, false);
    while (!condition(arg) && left_ns) {
        struct timespec limit;
        clock_gettime(CLOCK_REALTIME, &limit);
        limit.tv_sec++;
        while (!condition(arg) && !pthread_cond_timedwait(&runtime.changed, &runtime.lock, &limit))
            continue;
        uint64_t lap_ns = od_fair_lap(&fair);
        left_ns -= lap_ns < left_ns ? lap_ns : left_ns;
    }
    return condition(arg);
}

typedef struct job_filter {
    bool (*is)(const od_job *job, const void *arg);
    const void *arg;
} job_filter;

static bool none_is_live(const void *filter)
{
    const job_filter *f = filter;
    od_list_each(node, &runtime.live) {
        if (f->is(od_container_of(node, od_job, live), f->arg))
            return false;
    }
    return true;
}

void od_runtime_await_jobs(bool (*is)(const od_job *job, const void *arg), const void *arg)
{
    if (atomic_load_explicit(&state, memory_order_acquire) != ON)
        return;
    pthread_mutex_lock(&runtime.lock);
    runtime.onlookers++;
    wait_for(none_is_live, &(job_filter){is, arg});
    runtime.onlookers--;
    pthread_mutex_unlock(&runtime.lock);
}

/* Under the lock, which is given away meanwhile. */
static void await_count(const atomic_uint *count, unsigned own)
{
    static const struct timespec nap = {.tv_nsec = 20000};
    uint64_t limit_ns = od_clock_ns() + EXIT_PATIENCE_S * OD_NS_PER_S;
    while (atomic_load(count) > own && od_clock_ns() < limit_ns) {
        pthread_mutex_unlock(&runtime.lock);
        nanosleep(&nap, NULL);
        pthread_mutex_lock(&runtime.lock);
    }
}

/* The tasks of libomp's whose completion a thread of ours is in the middle of: a program that has waited for a task may end
 * while the thread that has completed it is still at it. */
static void await_tellers(void)
{
    await_count(&runtime.telling, 0);
}

/* libomp ends, too, and runs and awaits what tasks it still has: those that will not run any more are complete. Under the
 * lock, which is gone at the end; what ends later is not told to libomp, which is no longer there. */
static void abandon_jobs(void)
{
    size_t n = 0;
    runtime.abandoned = true;
    od_detached *tasks = malloc((runtime.live.count + 1) * sizeof *tasks);
    od_list_each(node, &runtime.live) {
        if (tasks)
            tasks[n++] = od_container_of(node, od_job, live)->detached;
    }
    pthread_mutex_unlock(&runtime.lock);
    for (size_t i = 0; i < n; i++)
        od_detached_tell((od_detached){.event = tasks[i].event});
    free(tasks);
    od_team_abandon_all();
}

/* Other threads may be in the middle of anything: nothing is torn down, the process ends with its threads. */
static void stop(int status)
{
    ends_process = true;
    if (getpid() != runtime.process || atomic_exchange(&state, ENDED) != ON)
        return;
    pthread_mutex_lock(&runtime.lock);
    runtime.onlookers++;
    runtime.stopping = true;
    wait_for(is_quiet, NULL);
    await_count(&inside, own_inside);
    od_transfer_queues_halt(runtime.transfers);
    od_check_stop();
    record_end();
    od_tracing_end();
    od_progress_end();
    report();
    if (runtime.backend.ops->report)
        runtime.backend.ops->report(runtime.backend.state);
    od_recall_save();
    if (own_jobs) { /* libomp cannot be ended from a thread that is none of its own while a team is active */
        fflush(NULL);
        _exit(status);
    }
    await_tellers();
    abandon_jobs();
    od_images_let_go();
}

/* A program may end with tasks that nobody waited for, or from inside one: they are given a moment. When nothing is under way
 * any more, it goes on as long as the program may still need it. */
static void begin_to_end(int status, void *arg)
{
    bool idle;
    (void)arg;
    if (getpid() != runtime.process || atomic_load(&state) != ON || atomic_exchange(&ending, true))
        return;
    pthread_mutex_lock(&runtime.lock);
    runtime.onlookers++;
    idle = !own_jobs && !od_self.job && wait_for(is_idle, NULL);
    runtime.onlookers--;
    if (idle)
        await_tellers();
    pthread_mutex_unlock(&runtime.lock);
    if (!idle) {
        stop(status);
        return;
    }
    od_runtime_synchronise();
    od_recall_save(); /* while the names of kernels are known, also those of libraries that go first */
}

void od_runtime_last_image(void)
{
    if (atomic_load(&ending))
        stop(0);
}

/* What a library's constructor registers for exit() is called after all destructors of libraries: it may have been there that all
 * started. Libraries that were there before ours have theirs called after this. */
__attribute__((destructor)) static void unload(void)
{
    begin_to_end(0, NULL);
    if (!od_images_exist())
        stop(0);
}

/* A signal has arrived, and the process may be anywhere: only a moment is spent on the lock. */
static bool lock_for_signal(void)
{
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += EXIT_PATIENCE_S;
    return pthread_mutex_timedlock(&runtime.lock, &limit) == 0;
}

static void show_state(void)
{
    if (!lock_for_signal()) {
        od_log(OD_LOG_WARNING, "runtime", "SIGUSR1: the scheduler did not answer");
        return;
    }
    od_engine_dump(runtime.engine, stderr);
    pthread_mutex_unlock(&runtime.lock);
}

static void report_interrupted(int signal)
{
    if (atomic_exchange(&state, ENDED) != ON) /* it is ending anyhow, and gives its figures */
        return;
    od_progress_end();
    if (!lock_for_signal()) {
        od_log(OD_LOG_WARNING, "runtime", "interrupted (%s): no figures, the scheduler did not answer",
               strsignal(signal));
        return;
    }
    od_log(OD_LOG_WARNING, "runtime", "interrupted (%s): figures so far", strsignal(signal));
    od_transfer_queues_halt(runtime.transfers);
    od_record_interrupt();
    od_tracing_end();
    report();
}

bool od_runtime_ending(void)
{
    return atomic_load_explicit(&ending, memory_order_acquire);
}

void od_runtime_rest_if_ended(void)
{
    bool late = atomic_load(&state) == ENDED && od_runtime_ending() && !ends_process;
    while (late)
        pause();
}

void od_runtime_enter_libomptarget(void)
{
    atomic_fetch_add(&inside, 1);
    if (atomic_load(&state) == ENDED && od_runtime_ending() && !ends_process) {
        atomic_fetch_sub(&inside, 1);
        od_runtime_rest_if_ended();
    }
    own_inside++;
}

void od_runtime_leave_libomptarget(void)
{
    own_inside--;
    atomic_fetch_sub(&inside, 1);
}

bool od_runtime_ended(void)
{
    return atomic_load_explicit(&state, memory_order_acquire) == ENDED;
}

/* --- start -------------------------------------------------------------- */

static void choose_devices(unsigned available)
{
    char error[160];
    if (od_devices_choose(&runtime.options.devices, available, &runtime.devices, error, sizeof error))
        refuse(error);
    if (runtime.single_device && !od_devices_are_one(&runtime.devices)) {
        od_log(OD_LOG_WARNING, "runtime", "%s", single_device_text);
        runtime.devices.count = 1;
    }
}

static od_status take_pools(void)
{
    unsigned n = runtime.devices.count;
    size_t limit = runtime.options.mem_limit;
    size_t bytes = limit ? limit : od_devices_memory(&runtime.devices, &runtime.backend);
    od_status status = od_backend_take_pools(&runtime.backend, n, bytes);
    /* The default is a guess: take less where it does not fit. */
    for (int i = 0; status && !limit && i < 8; i++) {
        bytes = bytes / 4 * 3;
        status = od_backend_take_pools(&runtime.backend, n, bytes);
    }
    return status;
}

/* What is not measured is taken for a PCIe link. A slowed one is shared by all devices. */
static void find_links(void)
{
    unsigned n = runtime.backend.ndevices;
    bool slowed = runtime.options.link_bandwidth > 0;
    runtime.links = calloc((n + 1) * (n + 1), sizeof *runtime.links);
    for (unsigned i = 0; runtime.links && i < (n + 1) * (n + 1); i++)
        runtime.links[i] = (od_link){slowed ? runtime.options.link_bandwidth / n : 12e9, 1e-6};
    if (runtime.links && !slowed && runtime.options.cache)
        od_recall_links(&runtime.backend, runtime.links);
}

static od_status start_engine(void)
{
    const od_policy_ops *policy = runtime.policy.ops;
    unsigned n = runtime.backend.ndevices;
    bool asynchronous = runtime.backend.ops->start != NULL;
    driver_ops.event = od_tracing_wanted(runtime.options.trace) ? od_tracing_event : NULL;
    if (strcmp(runtime.options.evict, "auto") == 0)
        snprintf(runtime.options.evict, sizeof runtime.options.evict, "%s", policy->default_evict);
    find_links();
    if (!runtime.links)
        return OD_ENOMEM;
    od_engine_config config = {
        .ndevices = n,
        .memory = runtime.backend.pool_bytes[0],
        .buffer = runtime.options.task_buffer,
        .lookahead = runtime.options.lookahead_s,
        .slots = asynchronous ? 2 : 1, /* one runs, the next is queued behind it */
        .host_slots = runtime.options.host_workers,
        .peer = runtime.backend.ops->peer,
        .pins = runtime.backend.ops->let_go != NULL,
        .spill = runtime.options.spill,
        .host_link = link_between(NULL, OD_HOST, 0),
        .peer_link = n > 1 ? link_between(NULL, 0, 1) : link_between(NULL, OD_HOST, 0),
        .policy = policy,
        .working = runtime.options.working,
        .policy_values = runtime.policy.values,
        .evict = od_evict_find(runtime.options.evict),
        .seed = runtime.options.seed,
        .driver_ops = &driver_ops,
    };
    return od_engine_create(&config, &runtime.engine);
}

static bool start_threads(void)
{
    od_transfer_config transfers = {.backend = &runtime.backend,
                                    .seed = runtime.options.seed,
                                    .jitter_s = runtime.options.jitter_s,
                                    .done = transfer_done};
    runtime.process = getpid();
    runtime.workers = od_workers_create(&runtime.lock, runtime.backend.ndevices + 1, &workers_ops);
    runtime.planner = od_planner_create(&runtime.lock, aside_done);
    runtime.host_copies = od_host_copies_create(transfer_done, NULL);
    if (!runtime.workers || !runtime.planner || !runtime.host_copies ||
        od_transfer_queues_create(&transfers, &runtime.transfers))
        return false;
    if (runtime.options.watchdog_s > 0)
        od_watchdog_start(runtime.options.watchdog_s);
    bool reports = runtime.options.summary || runtime.options.stats[0] || runtime.options.record[0] ||
                   od_tracing_wanted(runtime.options.trace);
    if (!runtime.inherited)
        od_interrupt_start(reports ? report_interrupted : NULL, show_state);
    return true;
}

static void start_or_refuse(void)
{
    char message[400];
    if (od_devices_open(&runtime.devices, &runtime.options, &runtime.backend, message, sizeof message))
        refuse(message);
    if (take_pools()) {
        snprintf(message, sizeof message, "the memory of %u devices could not be taken; set OMPDARTS_MEM_LIMIT to less",
                 runtime.devices.count);
        refuse(message);
    }
    if (start_engine() || !start_threads())
        refuse("the scheduler could not be started: out of memory or threads");
}

/* The processors are there for all workers together; a program that wants fewer threads gets fewer. */
static int share_processors(void)
{
    int threads = REAL(omp_get_num_procs)(), wanted = REAL(omp_get_max_threads)();
    unsigned n = runtime.backend.ops->start ? runtime.options.host_workers : runtime.backend.ndevices;
    threads = (wanted < threads ? wanted : threads) / (n ? (int)n : 1);
    return threads > 0 ? threads : 1;
}

static void start(void)
{
    int available = REAL(omp_get_num_devices)();
    if (available <= 0) {
        od_log(OD_LOG_WARNING, "runtime",
               "no device for this program's device code: its target regions run on the host, nothing is scheduled "
               "(`ompdarts info` shows what is there)");
        atomic_store(&state, OFF);
        return;
    }
    runtime.jobs_done_end = &runtime.jobs_done;
    od_list_init(&runtime.live);
    od_list_init(&runtime.reserved);
    /* libomp looks only at the first task of each queue for one that a waiting thread may run. Detached tasks complete in
     * any order, and then that need not be one: threads would wait for each other for ever. */
    REAL(kmp_set_defaults)("KMP_TASK_STEALING_CONSTRAINT=0");
    if (runtime.options.cache)
        od_recall_start();
    choose_devices((unsigned)available);
    start_or_refuse();
    runtime.kernel_threads = share_processors();
    runtime.start_ns = od_clock_ns();
    od_check_start(runtime.options.check);
    record_start();
    trace_start();
    od_info_start();
    if (runtime.options.progress)
        od_progress_start(runtime.start_ns);
    od_images_hold();
    on_exit(begin_to_end, NULL);
    od_log(OD_LOG_INFO, "runtime", "%u devices of %zu bytes, back-end %s, policy %s, eviction %s",
           runtime.backend.ndevices, runtime.backend.pool_bytes[0], runtime.backend.ops->name, runtime.options.sched,
           runtime.options.evict);
    atomic_store_explicit(&state, ON, memory_order_release);
}

/* --- after a fork ---------------------------------------------------------- */

void od_runtime_before_fork(void)
{
    pthread_mutex_lock(&runtime.lock);
}

void od_runtime_after_fork(bool child)
{
    int on = ON;
    if (child)
        atomic_compare_exchange_strong(&state, &on, FORKED);
    pthread_mutex_unlock(&runtime.lock);
}

/* Tasks that were under way in the parent will never end here. */
static void give_up_inherited(void)
{
    if (od_directory_has_regions(od_engine_directory(runtime.engine)))
        od_fatal(
            "this process was forked while target tasks were under way and data regions were open, and now "
            "it offloads");
    od_log(OD_LOG_WARNING, "runtime",
           "this process was forked while target tasks were under way: what it offloads is not scheduled");
    atomic_store(&state, OFF);
}

/* A GPU's driver does not follow into a child. */
static void give_up_gpus(void)
{
    od_log(
        OD_LOG_WARNING, "runtime",
        "this process was forked by one that uses GPUs, which the CUDA driver does not support: nothing is scheduled");
    atomic_store(&state, OFF);
}

/* A child of a process that forked while nothing was under way goes on with a copy of the engine, of the data and of the
 * regions, as it does with libomptarget's. */
static void revive(void)
{
    pthread_mutex_lock(&runtime.lock);
    if (atomic_load(&state) == FORKED) {
        od_workers_abandon(runtime.workers);
        od_planner_abandon(runtime.planner);
        od_engine_abandon_asides(runtime.engine);
        od_transfer_queues_abandon(runtime.transfers);
        od_host_copies_abandon(runtime.host_copies);
        runtime.changed = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
        runtime.onlookers = 0;
        atomic_store(&runtime.telling, 0);
        atomic_store(&inside, own_inside);
        runtime.patient = false;
        runtime.inherited = true;
        od_tracing_abandon();
        if (runtime.backend.ops->start)
            give_up_gpus();
        else if (!od_engine_is_idle(runtime.engine) || runtime.busy || own_jobs)
            give_up_inherited();
        else if (start_threads())
            atomic_store_explicit(&state, ON, memory_order_release);
        else
            od_fatal("the threads of the scheduler could not be started after a fork");
    }
    pthread_mutex_unlock(&runtime.lock);
}

/* --- how far we are -------------------------------------------------------- */

static activity current(void)
{
    if (atomic_load_explicit(&state, memory_order_acquire) == FORKED)
        revive();
    return (activity)atomic_load_explicit(&state, memory_order_acquire);
}

bool od_runtime_active(void)
{
    activity now = current();
    if (now == UNSTARTED) {
        pthread_once(&once, start);
        now = current();
    }
    return now == ON;
}

bool od_runtime_started(void)
{
    return current() == ON;
}

void od_runtime_switch_off(const char *why)
{
    od_log(OD_LOG_INFO, "runtime", "%s: ompdarts is off", why);
    atomic_store(&state, OFF);
}

static atomic_bool has_images;

void od_runtime_has_images(void)
{
    atomic_store(&has_images, true);
}

bool od_runtime_offloads(void)
{
    return atomic_load_explicit(&has_images, memory_order_relaxed) &&
           atomic_load_explicit(&state, memory_order_acquire) != OFF; /* ENDED, too: tasks must still be known */
}

static bool knows_llvm(void)
{
    static const char *const known[] = {"19.", "22."};
    const char *version = od_real_llvm_version();
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strncmp(version, known[i], strlen(known[i])) == 0)
            return true;
    od_log(OD_LOG_WARNING, "runtime", "libomptarget version '%s' is not known (known: 19, 22): ompdarts is off",
           version);
    return false;
}

static bool loaded; /* the entry points have been found */

/* The virtual device goes by the number of our first one, where libomptarget has its own copies of global variables: the
 * program's default device is the same, unless the user says otherwise. */
static void set_default_device(const od_device_choice *devices)
{
    char number[16];
    snprintf(number, sizeof number, "%d", devices->number[0]);
    if (devices->listed)
        od_environment_default("OMP_DEFAULT_DEVICE", number);
}

/* Without its hidden helper threads libomp counts their places in its table of threads as free, but never uses them: some
 * 25 threads are too many then (LLVM 19 to 22). Our workers and their kernels' threads are among these. */
static void mend_thread_table(void)
{
    const char *helpers = od_environment("LIBOMP_USE_HIDDEN_HELPER_TASK");
    if (helpers && (strcspn(helpers, "0fFnN") == 0 || strcasecmp(helpers, "off") == 0))
        od_environment_default("LIBOMP_NUM_HIDDEN_HELPER_THREADS", "0");
}

static void configure(void)
{
    char error[512];
    loaded = true;
    if (od_options_parse(&runtime.options, od_policy_names(), od_evict_names(), error, sizeof error) ||
        od_policy_choose(runtime.options.sched, &runtime.policy, error, sizeof error))
        refuse(error);
    od_log_set_level(runtime.options.log);
    const char *offload = od_environment("OMP_TARGET_OFFLOAD");
    if (!runtime.options.disable)
        set_default_device(&runtime.options.devices);
    const char *number = od_environment("OMP_DEFAULT_DEVICE");
    runtime.virtual_number = number && atoi(number) > 0 ? atoi(number) : 0;
    runtime.mandatory = offload && strcasecmp(offload, "mandatory") == 0;
    bool disabled = offload && strcasecmp(offload, "disabled") == 0;
    if (disabled) /* who has asked for a summary is told why there is none */
        od_log(runtime.options.summary ? OD_LOG_WARNING : OD_LOG_INFO, "runtime",
               "OMP_TARGET_OFFLOAD=%s: target regions run on the host, nothing is scheduled", offload);
    if (!runtime.options.disable && !disabled && knows_llvm()) {
        /* A thread that asks libomptarget for the end of kernels is made to wait for one after so many questions. */
        mend_thread_table();
        od_environment_default("OMPTARGET_QUERY_COUNT_MAX", "1000000000");
        od_environment_default("OMPTARGET_QUERY_COUNT_THRESHOLD", "1000000000");
        atomic_store(&state, UNSTARTED);
        atomic_store(&od_runtime_watches, true);
    }
}

static void load_next(void)
{
    const char *missing;
    od_thread_note_places();
    if (od_real_resolve(&missing))
        configure();
    else if (missing)
        od_log(OD_LOG_WARNING, "runtime", "the OpenMP runtime has no %s: ompdarts is off", missing);
}

static void forward_where_idle(void)
{
    bool idle = od_runtime_is_idle();
    __atomic_store_n(&od_forward_fork_call, idle ? od_real_table.__kmpc_fork_call : NULL, __ATOMIC_RELAXED);
    __atomic_store_n(&od_forward_fork_teams, idle ? od_real_table.__kmpc_fork_teams : NULL, __ATOMIC_RELAXED);
}

__attribute__((constructor)) void od_runtime_load(void)
{
    static pthread_once_t next = PTHREAD_ONCE_INIT;
    pthread_once(&next, load_next);
    if (!loaded && od_real_resolve_opened())
        configure();
    forward_where_idle();
}
