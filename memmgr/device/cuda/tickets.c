/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a device keeps for its next copy or task: tickets, and queues that have been given back. */
#include "memmgr/device/cuda/cuda.h"
#include "util/memory.h"

#include <stdlib.h>

od_ticket *od_ticket_take(od_cuda_device *d)
{
    const od_cu_driver *cu = &d->cuda->cu;
    pthread_mutex_lock(&d->lock);
    od_ticket *t = d->tickets;
    if (t)
        d->tickets = t->next;
    pthread_mutex_unlock(&d->lock);
    if (t)
        return t;
    void *bounce = NULL;
    t = od_calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->device = d;
    od_status status = od_cuda_check(d, cu->event_create(&t->event, OD_CU_EVENT_DISABLE_TIMING), "making an event");
    if (!status)
        status = od_cuda_check(d, cu->host_alloc(&bounce, OD_BOUNCE, OD_CU_MEMHOST_PORTABLE), "taking pinned memory");
    t->bounce = bounce;
    if (!status)
        return t;
    if (t->event)
        cu->event_destroy(t->event);
    free(t);
    return NULL;
}

void od_queue_give(od_queue *queue)
{
    od_cuda_device *d = queue->device;
    pthread_mutex_lock(&d->lock);
    queue->next = d->queues;
    d->queues = queue;
    pthread_mutex_unlock(&d->lock);
}

void od_ticket_give(od_ticket *t)
{
    od_cuda_device *d = t->device;
    if (t->pin)
        od_pins_release(&d->cuda->pins, t->pin);
    t->pin = NULL;
    t->landings = 0;
    t->staged = false;
    if (t->queue)
        od_queue_give(t->queue);
    t->queue = NULL;
    pthread_mutex_lock(&d->lock);
    t->next = d->tickets;
    d->tickets = t;
    pthread_mutex_unlock(&d->lock);
}

void od_tickets_destroy(od_cuda_device *d)
{
    const od_cu_driver *cu = &d->cuda->cu;
    while (d->tickets) {
        od_ticket *t = d->tickets;
        d->tickets = t->next;
        cu->host_free(t->bounce);
        cu->event_destroy(t->event);
        free(t);
    }
}
