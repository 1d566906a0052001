/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Launches in memory beside the pools. See launch.h. */
#include "omp_ext/tasks/launch/launch.h"

#include "memmgr/data/attach.h"
#include "omp_ext/libomp/images.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/process/fatal.h"
#include "omp_ext/process/faults.h"
#include "omp_ext/process/memory.h"
#include "util/log.h"
#include "util/memory.h"

#include <stdlib.h>

bool od_launch_has_parts(const od_task *task)
{
    for (uint32_t i = 0; i < task->naccess; i++)
        if (task->access[i].datum->window)
            return true;
    return false;
}

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
    return (needs || od_images_have_variables()) && job->launch.storage;
}

static unsigned device_outside_pool(const od_job *job)
{
    int device = job->task.bound;
    for (uint32_t i = 0; i < job->task.naccess && device == OD_NOWHERE; i++)
        if (job->task.access[i].datum->bound)
            device = job->task.access[i].datum->home;
    return device == OD_NOWHERE ? 0 : (unsigned)device;
}

/* A launch for which there is no memory ends the process, by libomptarget's rules. */
static bool has_memory(const od_job *job, int device)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < job->task.naccess; i++)
        bytes += od_launch_reaches(job->task.access[i].datum) ? 0 : job->task.access[i].datum->size;
    void *probe = bytes ? od_runtime_target_alloc(bytes, device) : NULL;
    if (probe)
        REAL(omp_target_free)(probe, device);
    return probe || !bytes;
}

static int initial_device(void)
{
    return REAL(omp_get_initial_device)();
}

static char *host_contents(const od_datum *d)
{
    od_runtime_lock();
    char *contents = od_launch_host_contents(d);
    od_runtime_unlock();
    return contents;
}

/* In memory beside the pool; parts are there already. NULL: there is none. */
static void *copy_to_device(const od_access *access, int device)
{
    const od_datum *d = access->datum;
    if (d->window)
        return od_runtime_address_outside(d);
    void *copy = od_runtime_target_alloc(d->size, device);
    int failed = copy ? REAL(omp_target_memcpy)(copy, host_contents(d), d->size, 0, 0, device, initial_device()) : 0;
    if (failed)
        REAL(omp_target_free)(copy, device);
    return failed ? NULL : copy;
}

/* Attached pointers keep the host's values; in a spill area nobody looks at them. */
static void copy_home(const od_datum *d, const void *copy, int device)
{
    od_runtime_lock();
    bool lands = !od_datum_is_spilled(d) && od_attachments_overlap(od_datum_attachments(d), d->base, d->size);
    od_runtime_unlock();
    char *to = lands ? od_alloc(d->size) : host_contents(d);
    if (REAL(omp_target_memcpy)(to, copy, d->size, 0, 0, initial_device(), device))
        od_fatal("a copy from a device has failed");
    if (!lands)
        return;
    od_runtime_lock();
    od_attachments_deliver(od_datum_attachments(d), d->base, d->size, to);
    od_runtime_unlock();
    free(to);
}

static void drop_copy(const od_access *access, void *copy, int device, bool done)
{
    if (access->datum->window)
        return;
    if (done && (access->mode & OD_WRITE))
        copy_home(access->datum, copy, device);
    REAL(omp_target_free)(copy, device);
}

/* Structs lead to other data: with copies of all of them. False: there is no memory, or the kernel has failed. */
static bool run_copies(const od_job *job, int device)
{
    uint32_t n = job->task.naccess, made = 0;
    void **copy = od_calloc(n + 1, sizeof *copy);
    while (copy && made < n && (copy[made] = copy_to_device(&job->task.access[made], device)))
        made++;
    bool done = copy && made == n && !od_launch_run_copies(&job->launch, job->task.access, copy, device);
    for (uint32_t i = 0; i < made; i++)
        drop_copy(&job->task.access[i], copy[i], device, done);
    free(copy);
    return done;
}

static bool run_on(const od_job *job, int device)
{
    if (od_launch_has_parts(&job->task) && !od_runtime_guards_parts())
        return false;
    if (job->launch.call.structs)
        return run_copies(job, device);
    return has_memory(job, device) && !od_launch_as_written(&job->launch, job->task.access, device);
}

/* Of its parts page faults bring what it touches. Which device it is does not matter, where one still runs kernels. */
static bool run_by_pages(od_job *job)
{
    unsigned first = device_outside_pool(job), n = job->task.bound == OD_NOWHERE ? od_runtime_ndevices() : 1;
    bool done = false;
    sigset_t mask;
    if (od_runtime_open_outside(&job->task))
        return false;
    od_faults_begin_kernel(&mask);
    for (unsigned i = 0; i < n && !done; i++)
        done = run_on(job, od_runtime_device_number((first + i) % od_runtime_ndevices()));
    od_faults_end_kernel(&mask);
    od_runtime_close_outside(&job->task);
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
    bool by_pages = od_launch_has_parts(&job->task) && od_runtime_guards_parts();
    if (!by_pages && !needs_device(job))
        return false;
    bool done = by_pages ? run_by_pages(job) : run_on(job, od_runtime_device_number(device_outside_pool(job)));
    if (!od_runtime_options()->cpu.workers) /* else it may have been given to one of these */
        od_log(OD_LOG_INFO, "omp", "region %p fits on no device: %s", job->launch.call.kernel,
               done ? "libomptarget ran it in memory beyond the limit"
                    : "its host version runs on the program's memory");
    return done || ((by_pages || job->task.uses_spill) && leave_for_later(job));
}
