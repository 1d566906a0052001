/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The functions behind ompdarts.h. */
#include "omp_ext/hooks/ompdarts.h"

#include "omp_ext/libomp/thread.h"
#include "omp_ext/runtime/runtime.h"
#include "omp_ext/services/tracing.h"
#include "omp_ext/tasks/launch/queue.h"
#include "omp_ext/tasks/reservation.h"
#include "omp_ext/split/split.h"

int ompdarts_v1_ndevices(void)
{
    return od_runtime_started() ? (int)od_runtime_ndevices() : 0;
}

int ompdarts_v1_current_device(void)
{
    if (od_self.mode != OD_ON_DEVICE || od_self.place == OD_HOST)
        return -1;
    return od_runtime_device_number((unsigned)od_self.place);
}

void ompdarts_v1_name_task(const char *name)
{
    bool wanted = name && od_runtime_active() && od_tracing_wanted(od_runtime_options()->trace);
    od_self.task_name = wanted ? od_tracing_name(name) : NULL;
}

int ompdarts_v1_device_stats(int device, ompdarts_device_stats *stats)
{
    od_device_stats s;
    if (device < 0 || device >= ompdarts_v1_ndevices())
        return -1;
    od_engine *engine = od_runtime_lock();
    od_engine_device_stats(engine, (unsigned)device, &s);
    od_runtime_unlock();
    *stats = (ompdarts_device_stats){.tasks = s.tasks,
                                     .host_tasks = s.host_tasks,
                                     .h2d_bytes = s.h2d_bytes,
                                     .d2h_bytes = s.d2h_bytes,
                                     .d2d_bytes = s.d2d_bytes,
                                     .loads = s.loads,
                                     .reloads = s.reloads,
                                     .evictions = s.evictions,
                                     .peak_bytes = s.peak_bytes,
                                     .limit_bytes = s.limit_bytes};
    return 0;
}

int ompdarts_v1_split(int level, const void *const *data, int ndata)
{
    return od_runtime_active() && od_split_ask(__builtin_return_address(0), level, data, ndata);
}

void *ompdarts_v1_stream(void)
{
    OD_RESERVATION_USED;
    const od_queue *queue = od_queue_own();
    return queue ? od_runtime_backend()->ops->queues->handle(queue) : NULL;
}

void *ompdarts_v1_cublas_handle(void)
{
    OD_RESERVATION_USED;
    return od_queue_blas();
}
