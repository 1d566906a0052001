/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Constructs inside a host task that has a reservation (reservation.h): on its data, which are on a device already. */
#include "omp_ext/libomp/thread.h"
#include "omp_ext/maps/refer.h"
#include "omp_ext/process/memory.h"
#include "omp_ext/tasks/job.h"
#include "omp_ext/tasks/launch/stored.h"
#include "omp_ext/tasks/launch/queue.h"
#include "omp_ext/tasks/reservation.h"

#include <stdlib.h>

/* What a kernel writes to an argument mapped `to` must stay invisible: it needs a copy that may be lost, not the
 * only one, which the job may have written before. */
static bool suits(const od_access *held, od_mode mode)
{
    bool only_copy = !held->datum->region && (held->mode & OD_WRITE);
    return (mode & ~held->mode) == 0 && !(mode == OD_READ && only_copy);
}

/* Finds each argument's datum among the job's own. False: one is missing, or held in another mode. Locked. */
static bool covers(od_engine *engine, const od_job *job, const od_map_args *args, int32_t *access_of)
{
    for (int32_t i = 0; i < args->count; i++) {
        uintptr_t base;
        size_t size;
        access_of[i] = -1;
        if (od_arg_classify(args, i) != OD_ARG_DATUM || !od_arg_range(engine, args, i, &base, &size))
            continue;
        od_mode mode = od_arg_mode(engine, args, i, od_self.depends, od_self.ndepends);
        for (uint32_t j = 0; j < job->task.naccess && access_of[i] < 0; j++) {
            const od_access *a = &job->task.access[j];
            if (od_datum_covers(a->datum, base, size) && suits(a, mode))
                access_of[i] = (int32_t)j;
        }
        if (access_of[i] < 0)
            return false;
    }
    return true;
}

static bool own(const od_job *job, const od_map_args *args, int32_t *access_of)
{
    od_engine *engine = od_runtime_lock();
    bool all = covers(engine, job, args, access_of);
    od_runtime_unlock();
    return all;
}

bool od_job_owns(const od_map_args *args)
{
    int32_t *access_of = od_alloc(((size_t)args->count + 1) * sizeof *access_of);
    bool all = own(od_self.job, args, access_of);
    free(access_of);
    return all;
}

/* The data are the job's. 0: done. */
static int launch_on_own(od_job *job, od_launch *launch)
{
    const od_map_args *map = &launch->call.map;
    job->used = true;
    od_args_push_always(map);
    int failed = od_launch_run(launch, job->task.access, (unsigned)od_self.place, NULL);
    if (!failed) {
        od_stored_look(od_entry_of_task(launch->call.kernel), &job->task, (unsigned)od_self.place);
        od_args_fetch_always(map);
    }
    return failed;
}

int od_job_launch_inside(const od_kernel_call *call)
{
    od_job *job = od_self.job;
    od_launch launch;
    if (call->structs) { /* its data are more than the list says: a separate task inside this one */
        od_queue_drain();
        return od_job_launch_sync(call, job);
    }
    od_expect_memory(!od_launch_copy(&launch, call));
    int bound = od_launch_bound(&launch);
    bool all = (bound == OD_NOWHERE || bound == od_self.place) && own(job, &launch.call.map, launch.access_of);
    od_queue_drain();
    int failed = all ? launch_on_own(job, &launch) : 1;
    if (failed) { /* as a separate task it may use other data, those of other reservations among them, or fail */
        od_reservation_leave();
        failed = od_job_launch_sync(call, od_self.job);
    }
    od_launch_free(&launch);
    return failed;
}
