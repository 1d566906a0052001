/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Queues for the program's own device code. See queue.h. */
#include "omp_ext/tasks/launch/queue.h"

#include "omp_ext/libomp/thread.h"
#include "omp_ext/maps/args.h"
#include "util/log.h"

void od_queue_enter(unsigned k)
{
    const od_backend *backend = od_runtime_backend();
    const od_queue_ops *queues = backend->ops->queues;
    if (!queues || od_self.entered || queues->enter(backend->state, k))
        return;
    od_self.entered = true;
    od_self.entered_place = k;
    od_self.queue = NULL;
}

od_status od_queue_leave_ticket(od_ticket **ticket)
{
    const od_backend *backend = od_runtime_backend();
    const od_queue_ops *queues = backend->ops->queues;
    od_status status = OD_OK;
    *ticket = NULL;
    if (!od_self.entered)
        return OD_OK;
    if (od_self.queue)
        status = queues->mark(backend->state, od_self.queue, ticket);
    od_self.queue = NULL;
    od_self.entered = false;
    queues->leave(backend->state, od_self.entered_place);
    return status;
}

od_status od_queue_leave(void)
{
    const od_backend *backend = od_runtime_backend();
    od_ticket *ticket;
    od_queue_drain();
    od_status status = od_queue_leave_ticket(&ticket);
    while (ticket && (status = backend->ops->poll(backend->state, ticket)) == OD_EBUSY)
        continue;
    return status;
}

void od_queue_drain(void)
{
    const od_backend *backend = od_runtime_backend();
    if (od_self.entered && od_self.queue && backend->ops->queues->drain(backend->state, od_self.queue))
        od_runtime_probe((int)od_self.entered_place);
}

od_queue *od_queue_own(void)
{
    const od_backend *backend = od_runtime_backend();
    if (od_self.entered && !od_self.queue)
        od_runtime_make_room(od_self.entered_place, 0); /* its user is a library that takes some */
    if (od_self.entered && !od_self.queue &&
        backend->ops->queues->take(backend->state, od_self.entered_place, &od_self.queue))
        od_self.queue = NULL;
    return od_self.entered ? od_self.queue : NULL;
}

void *od_queue_blas(void)
{
    const od_backend *backend = od_runtime_backend();
    od_queue *queue = od_queue_own();
    if (!queue)
        return NULL;
    enum { MOST_PIECES = 16 }; /* a library takes some hundred MB */
    od_status status;
    void *blas = backend->ops->queues->blas(backend->state, queue, &status);
    for (int n = 0; status == OD_EFULL && n < MOST_PIECES && od_runtime_give_room(od_self.entered_place); n++)
        blas = backend->ops->queues->blas(backend->state, queue, &status);
    if (status)
        od_log(OD_LOG_ERROR, "runtime", "device %u: the vendor's BLAS could not be had", od_self.entered_place);
    return blas;
}

od_status od_queue_enter_device(unsigned k)
{
    const od_backend *backend = od_runtime_backend();
    const od_queue_ops *queues = backend->ops->queues;
    if (!queues)
        return OD_OK;
    od_status status = queues->enter(backend->state, k);
    if (status || !queues->has_failed(backend->state, k))
        return status;
    queues->leave(backend->state, k);
    return OD_EDEVICE;
}

void od_queue_leave_device(unsigned k)
{
    const od_backend *backend = od_runtime_backend();
    if (backend->ops->queues)
        backend->ops->queues->leave(backend->state, k);
}

int od_queue_enter_passing(int64_t device, const od_map_args *args)
{
    od_runtime_enter_libomptarget();
    int place = od_runtime_started() ? od_runtime_device_index((int)device) : OD_NOWHERE;
    if (place != OD_NOWHERE)
        od_runtime_make_room((unsigned)place, od_args_absent_bytes(args, (int)device));
    return place == OD_NOWHERE || od_queue_enter_device((unsigned)place) ? OD_NOWHERE : place;
}

void od_queue_leave_passing(int place)
{
    if (place != OD_NOWHERE)
        od_queue_leave_device((unsigned)place);
    od_runtime_leave_libomptarget();
}
