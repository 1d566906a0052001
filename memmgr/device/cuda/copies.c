/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Copies of the CUDA back-end. Each device has a stream per direction; a copy is one to three asynchronous calls on
 * it and an event behind them. Of a large host range the whole pages inside are pinned, once per datum, and copied in
 * place; its two ends go through the ticket's bounce buffer. What is not pinned yet, or cannot be, is the stager's. No
 * call here waits for a device, but the blocking od_cuda_copy(), and any that fails.
 */
#include "memmgr/device/cuda/cuda.h"

#include "util/log.h"

#include <string.h>
#include <time.h>

static od_cu_address device_address(const void *address)
{
    return (od_cu_address)(uintptr_t)address;
}

/* --- between host and device ------------------------------------------------ */

static od_status stage(od_cuda_device *d, od_ticket *ticket, const od_copy *c)
{
    ticket->staged = true;
    ticket->copy = *c;
    atomic_store(&ticket->result, OD_EBUSY);
    if (!od_stager_submit(&d->stager[c->from == OD_HOST ? OD_H2D : OD_D2H], ticket))
        return OD_OK;
    od_log(OD_LOG_ERROR, "cuda", "device %u: no thread could be started for its copies", d->k);
    return OD_EDEVICE;
}

static od_status start_host(od_cuda_device *d, od_ticket *ticket, const od_copy *c)
{
    od_status status;
    if (c->bytes <= OD_BOUNCE)
        return od_cuda_start_bounced(d, ticket, c);
    return od_cuda_start_in_place(d, ticket, c, &status) ? status : stage(d, ticket, c);
}

/* --- between devices --------------------------------------------------------- */

/* Whether the device's context answers with an error that stays. Another one's is current, and is again. */
static bool is_broken(od_cuda_device *d)
{
    const od_cu_driver *cu = &d->cuda->cu;
    od_cu_context context;
    size_t free_bytes, total;
    od_cu_result result = cu->context_push(d->context);
    if (!result) {
        result = cu->memory_info(&free_bytes, &total);
        cu->context_pop(&context);
    }
    return od_cu_is_sticky(result);
}

static od_status start_peer(od_cuda_device *to, const od_copy *c)
{
    const od_cu_driver *cu = &to->cuda->cu;
    od_cuda_device *from = &to->cuda->device[c->from];
    od_cu_address target = device_address(c->to_address), source = device_address(c->from_address);
    od_cu_result result = to->context == from->context
                              ? cu->copy_d2d(target, source, c->bytes, to->stream[OD_D2D])
                              : cu->copy_peer(target, to->context, source, from->context, c->bytes, to->stream[OD_D2D]);
    return od_cuda_check(od_cu_is_sticky(result) && is_broken(from) ? from : to, result, "copying between devices");
}

/* --- tickets ------------------------------------------------------------------ */

static od_cuda_device *device_of(od_cuda *cuda, const od_copy *c)
{
    return &cuda->device[c->to == OD_HOST ? c->from : c->to];
}

static od_cu_stream stream_of(const od_cuda_device *d, const od_copy *c)
{
    return d->stream[c->to == OD_HOST ? OD_D2H : c->from == OD_HOST ? OD_H2D : OD_D2D];
}

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 2000}, NULL);
}

/* The context is current. */
static od_status start_here(od_cuda_device *d, const od_copy *c, od_ticket **ticket)
{
    od_ticket *t = od_ticket_take(d);
    if (!t)
        return OD_EDEVICE;
    t->stream = stream_of(d, c);
    od_status status = c->to_address == c->from_address               ? od_managed_start(d, c, t->stream)
                       : c->to != OD_HOST && c->from != OD_HOST ? start_peer(d, c)
                                                                      : start_host(d, t, c);
    if (!status && !t->staged)
        status = od_cuda_check(d, d->cuda->cu.event_record(t->event, t->stream), "recording an event");
    if (!status) {
        *ticket = t;
        return OD_OK;
    }
    od_cuda_calm(d, t->stream);
    od_ticket_give(t);
    return status;
}

static od_status begin(od_cuda *cuda, const od_copy *c, od_ticket **ticket)
{
    od_cuda_device *d = device_of(cuda, c);
    *ticket = NULL;
    if (atomic_load(&d->lost) || (c->from != OD_HOST && atomic_load(&cuda->device[c->from].lost)))
        return OD_EDEVICE;
    od_status status = od_cuda_enter(d);
    if (status)
        return status;
    status = start_here(d, c, ticket);
    od_cuda_leave(d);
    return status;
}

/* What the program's run needs is counted; measurements, and questions whether a device still answers, are not. */
od_status od_cuda_start(void *state, const od_copy *c, od_ticket **ticket)
{
    od_cuda *cuda = state;
    od_status status = begin(cuda, c, ticket);
    atomic_fetch_add(&cuda->copies, 1);
    atomic_fetch_add(&cuda->bytes, c->bytes);
    return status;
}

static od_status ask(od_cuda_device *d, od_ticket *ticket)
{
    int staged = ticket->staged ? atomic_load(&ticket->result) : OD_IN_PLACE;
    if (staged != OD_IN_PLACE)
        return (od_status)staged;
    ticket->staged = false;
    od_cu_result result = d->cuda->cu.event_query(ticket->event);
    if (result && result != OD_CU_NOT_READY && !od_cu_is_sticky(result)) { /* says nothing about the work */
        od_cuda_check(d, result, "asking for the end of its work");
        result = d->cuda->cu.event_query(ticket->event);
    }
    return result == OD_CU_NOT_READY ? OD_EBUSY : od_cuda_check(d, result, "waiting for its work to end");
}

/* Of a ticket that has failed nothing is under way afterwards. */
static void give_up(od_cuda_device *d, od_ticket *ticket)
{
    while (ticket->staged && atomic_load(&ticket->result) == OD_EBUSY) /* the stager's still */
        nap();
    if (!ticket->staged)
        od_cuda_calm(d, ticket->stream);
}

od_status od_cuda_poll(void *state, od_ticket *ticket)
{
    od_cuda_device *d = ticket->device;
    (void)state;
    od_status status = od_cuda_enter(d);
    bool entered = !status;
    if (entered)
        status = ask(d, ticket);
    if (status == OD_EBUSY) {
        od_cuda_leave(d);
        return status;
    }
    if (status)
        give_up(d, ticket);
    for (unsigned i = 0; i < ticket->landings && !status; i++)
        memcpy(ticket->landing[i].to, ticket->landing[i].from, ticket->landing[i].bytes);
    od_ticket_give(ticket);
    if (entered)
        od_cuda_leave(d);
    return status;
}

od_status od_cuda_copy(void *state, int to, void *to_address, int from, const void *from_address, size_t bytes)
{
    od_copy copy = {.to = to, .from = from, .to_address = to_address, .from_address = from_address, .bytes = bytes};
    od_ticket *ticket;
    copy.host_base = (uintptr_t)(from == OD_HOST ? from_address : to_address);
    copy.host_bytes = bytes;
    od_status status = begin(state, &copy, &ticket);
    if (status || !ticket)
        return status;
    while ((status = od_cuda_poll(state, ticket)) == OD_EBUSY)
        nap();
    return status;
}
