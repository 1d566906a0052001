/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See whole.h. */
#include "omp_ext/slices/whole.h"

#include "omp_ext/slices/slice.h"
#include "omp_ext/tasks/job.h"
#include "util/clock.h"

int od_whole_launch(const od_kernel_call *call, od_slicing *s, od_whole reason)
{
    od_slice all = {.count = 1, .trip_count = call->args.trip_count, .seen = &s->seen, .teams = &s->teams};
    od_kernel_call watched = *call;
    uint64_t start_ns = od_clock_ns();
    watched.slice = &all;
    atomic_store(&s->teams, 0);
    int failed = od_job_launch_sync(&watched, NULL);
    od_runtime_lock();
    s->reason = reason;
    if (failed)
        od_slicing_note_host(s);
    else
        od_slicing_note_whole(s, (double)(od_clock_ns() - start_ns) * 1e-9);
    od_runtime_unlock();
    return failed;
}
