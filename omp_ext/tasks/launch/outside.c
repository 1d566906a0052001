/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Launches in memory beside the pools. See launch.h. */
#include "omp_ext/tasks/launch/launch.h"

#include "memmgr/data/attach.h"
#include "omp_ext/libomp/call.h"
#include "omp_ext/libomp/images.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/maps/parts/parts.h"
#include "omp_ext/process/fatal.h"
#include "omp_ext/process/signals/faults.h"
#include "omp_ext/process/memory.h"
#include "omp_ext/remote/numbers.h"
#include "omp_ext/tasks/launch/stored.h"
#include "util/lock.h"
#include "util/log.h"
#include "util/memory.h"

#include <stdlib.h>
#include <string.h>

static bool is_bound(const od_task *task)
{
    for (uint32_t i = 0; i < task->naccess; i++)
        if (task->access[i].datum->bound)
            return true;
    return false;
}

static bool is_spilled(const od_task *task)
{
    for (uint32_t i = 0; i < task->naccess; i++)
        if (od_datum_is_spilled(task->access[i].datum))
            return true;
    return false;
}

/* The host version could not run with right results: it knows neither device memory nor spill areas nor a device's own
 * variables, and what it writes after our return would not reach a copy whose device address the program holds. */
static bool needs_device(od_job *job)
{
    od_runtime_lock();
    bool needs =
        job->task.bound != OD_NOWHERE || is_bound(&job->task) || (job->task.uses_spill && is_spilled(&job->task));
    od_runtime_unlock();
    return (needs || od_images_have_variables() || !od_call_result_is_used(job->launch.call.from)) &&
           job->launch.storage;
}

static unsigned device_outside_pool(const od_job *job)
{
    int device = job->task.bound;
    for (uint32_t i = 0; i < job->task.naccess && device == OD_NOWHERE; i++)
        if (job->task.access[i].datum->bound)
            device = job->task.access[i].datum->home;
    return device == OD_NOWHERE ? od_runtime_least_busy() : (unsigned)device;
}

/* --- what its kernel uses as its data ------------------------------------------- */

/* Of each access. All malloc'ed. */
typedef struct stand_ins {
    unsigned view; /* where kernels see arrays in parts */
    bool *copies;  /* it is a copy */
    char **before; /* what that began as, malloc'ed */
    void **at;     /* on the kernel's device; NULL: libomptarget maps it */
} stand_ins;

/* Pointers in them lead to each other, and nobody looks at those in a spill area. */
static bool reaches_all(const od_task *task)
{
    bool all = true;
    od_runtime_lock();
    for (uint32_t i = 0; i < task->naccess; i++)
        all &= od_launch_reaches(task->access[i].datum) && od_datum_is_spilled(task->access[i].datum);
    od_runtime_unlock();
    return all;
}

static char *host_contents(const od_datum *d)
{
    od_runtime_lock();
    char *contents = od_launch_host_contents(d);
    od_runtime_unlock();
    return contents;
}

static int initial_device(void)
{
    return REAL(omp_get_initial_device)();
}

/* False: there is no memory. */
static bool make_copy(const stand_ins *s, uint32_t i, const od_datum *d, int device)
{
    s->before[i] = od_malloc(d->size);
    char *memory = s->before[i] ? od_runtime_target_alloc(od_datum_occupies(d), device) : NULL;
    if (!memory)
        return false;
    s->at[i] = memory + od_datum_phase(d);
    memcpy(s->before[i], host_contents(d), d->size);
    return !REAL(omp_target_memcpy)(s->at[i], s->before[i], d->size, 0, 0, device, initial_device());
}

/* In memory beside the pool; parts are there already. */
static bool find(const stand_ins *s, const od_job *job, int device)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < job->task.naccess; i++) {
        const od_datum *d = job->task.access[i].datum;
        if (s->copies[i])
            ok = make_copy(s, i, d, device);
        else if (d->window)
            s->at[i] = od_runtime_address(d, s->view);
        else if (od_launch_reaches(d))
            s->at[i] = host_contents(d);
    }
    return ok;
}

/* Attached pointers keep the host's values; in a spill area nobody looks at them. */
static void deliver(const od_datum *d, const char *before, const char *after)
{
    od_runtime_lock();
    char *to = od_launch_host_contents(d);
    const od_attachments *attached = od_datum_is_spilled(d) ? NULL : od_datum_attachments(d);
    bool around = od_attachments_overlap(attached, d->base, d->size);
    od_span changed = {around ? 0 : d->size, d->size};
    while ((changed = od_launch_next_change(before, after, (od_span){changed.begin, d->size})).begin < d->size) {
        size_t bytes = changed.end - changed.begin;
        od_attachments_deliver(attached, d->base + changed.begin, bytes, after + changed.begin);
        changed.begin = changed.end;
    }
    od_runtime_unlock();
    if (!around)
        od_launch_merge(to, initial_device(), before, after, d->size);
}

static void copy_home(const stand_ins *s, uint32_t i, const od_datum *d, int device)
{
    char *after = od_alloc(d->size);
    od_launch_copy_bytes(after, initial_device(), s->at[i], device, d->size);
    deliver(d, s->before[i], after);
    free(after);
}

static void let_go(const stand_ins *s, uint32_t i, const od_datum *d, int device)
{
    if (s->before[i] && s->at[i])
        REAL(omp_target_free)((char *)s->at[i] - od_datum_phase(d), device);
    free(s->before[i]);
}

/* A launch for which there is no memory ends the process, by libomptarget's rules. */
static bool has_memory(const stand_ins *s, const od_job *job, int device)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < job->task.naccess; i++)
        bytes += s->at[i] ? 0 : job->task.access[i].datum->size;
    void *probe = bytes ? od_runtime_target_alloc(bytes, device) : NULL;
    if (probe)
        REAL(omp_target_free)(probe, device);
    return probe || !bytes;
}

/* --- the kernel ------------------------------------------------------------------ */

/* Two that use copies may add to the same sum: one after the other. */
static od_lock turn = OD_LOCK_OF(OD_LOCK_COPIES);

/* Whether any of them is a copy. */
static bool choose_copies(const stand_ins *s, const od_job *job)
{
    bool structs = job->launch.call.structs, in_place = !structs || reaches_all(&job->task), any = false;
    for (uint32_t i = 0; i < job->task.naccess; i++) {
        const od_datum *d = job->task.access[i].datum;
        bool is_there = d->window || (in_place && od_launch_reaches(d));
        s->copies[i] = !is_there && (structs || d->region || od_remote_is_on());
        any |= s->copies[i];
    }
    return any;
}

/* False: there is no memory, or the kernel has failed. */
static bool run_with(const stand_ins *s, const od_job *job, int device)
{
    const od_access *access = job->task.access;
    bool done = find(s, job, device) && has_memory(s, job, device) &&
                !od_launch_run_at(&job->launch, access, s->at, device);
    if (done && od_runtime_backend()->in_process)
        od_stored_look_outside(&job->task, s->at);
    for (uint32_t i = 0; i < job->task.naccess; i++) {
        if (done && s->copies[i] && (access[i].mode & OD_WRITE))
            copy_home(s, i, access[i].datum, device);
        let_go(s, i, access[i].datum, device);
    }
    return done;
}

/* With parts in this view. */
static bool run_on(const od_job *job, int device, unsigned view)
{
    uint32_t n = job->task.naccess;
    if (od_launch_has_parts(&job->task) && !od_runtime_forgives_parts())
        return false;
    stand_ins s = {view, od_alloc_zeroed(n + 1, sizeof *s.copies), od_alloc_zeroed(n + 1, sizeof *s.before),
                   od_alloc_zeroed(n + 1, sizeof *s.at)};
    bool has_copies = choose_copies(&s, job);
    if (has_copies)
        od_lock_take(&turn);
    bool done = run_with(&s, job, device);
    if (has_copies)
        od_lock_give(&turn);
    free(s.copies);
    free(s.before);
    free(s.at);
    return done;
}

/* Of its parts page faults bring what it touches, to device k or beside all limits. */
static bool run_by_pages(od_job *job, unsigned k)
{
    unsigned view = od_parts_go_by_pages() ? k : od_runtime_outside();
    sigset_t mask;
    if (od_runtime_open_pages(&job->task, view))
        return false;
    od_faults_begin_kernel(&mask);
    bool done = run_on(job, od_runtime_device_number(k), view);
    od_faults_end_kernel(&mask);
    od_runtime_close_pages(&job->task, view);
    return done;
}

/* Which device it is does not matter, where one still runs kernels. */
static bool run_anywhere(od_job *job)
{
    unsigned ndevices = od_runtime_ndevices(), first = device_outside_pool(job);
    bool done = run_by_pages(job, first);
    for (unsigned i = 1; i < ndevices && !done && job->task.bound == OD_NOWHERE; i++)
        done = run_by_pages(job, (first + i) % ndevices);
    return done;
}

/* Nothing has been done, and the job is made anew: where the program is shown its data by now; or no device can run its
 * kernel, and the host version is to find all of its arrays in the program's memory, used by nobody else. */
static bool leave_for_later(od_job *job)
{
    if (job->ended)
        od_fatal("no device can run a slice of a kernel");
    job->task.undone = job->again = true;
    return true;
}

/* While it waited, the program was shown its data on another device than its addresses are of. */
static bool is_misplaced(const od_job *job)
{
    return job->task.bound != OD_NOWHERE && !job->ended &&
           od_launch_place(&job->launch, job->task.access, job->task.naccess) != job->task.bound;
}

bool od_launch_outside(od_job *job)
{
    if (is_misplaced(job))
        return leave_for_later(job);
    bool in_parts = od_launch_has_parts(&job->task), by_pages = in_parts && od_runtime_guards_parts();
    bool is_shared = in_parts && !by_pages && od_runtime_forgives_parts(); /* which the host version does not see */
    if (is_shared && !od_parts_go_by_pages())
        return leave_for_later(job);
    if (!by_pages && !is_shared && !needs_device(job))
        return false;
    job->task.by_pages |= is_shared;
    unsigned k = device_outside_pool(job);
    bool done = by_pages ? run_anywhere(job) : run_on(job, od_runtime_device_number(k), k);
    if (!done && !od_call_result_is_used(job->launch.call.from))
        od_log(OD_LOG_WARNING, "omp",
               "region %p fits on no device, and its host version runs: if it has been compiled with "
               "-fopenmp-offload-mandatory there is none, and nothing is done",
               job->launch.call.kernel);
    if (!od_runtime_options()->cpu.workers) /* else it may have been given to one of these */
        od_log(OD_LOG_INFO, "omp", "region %p fits on no device: %s", job->launch.call.kernel,
               done ? (by_pages || is_shared) && od_parts_go_by_pages()
                          ? "page faults brought what it touched"
                          : "libomptarget ran it in memory beyond the limit"
                    : "its host version runs on the program's memory");
    return done || ((by_pages || is_shared || job->task.uses_spill) && leave_for_later(job));
}
