/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Staged copies: of host memory that is not pinned, by up to OD_LANES threads per device and direction, each of which
 * moves it through a ring of pinned buffers, so that the processor's copy of one part overlaps with the device's of
 * another. Memory that is due for it (pins.h) will be pinned for the next copy. Threads start as such copies come, on
 * the GPU's side of the machine where that is known, and take the ring there. Without pinned memory for a ring a thread
 * takes one buffer that is not.
 */
#include "memmgr/device/cuda/cuda.h"

#include "util/memory.h"
#include "util/thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- one copy ------------------------------------------------------------------ */

/* A copy's way through the ring. Part i goes through buffer i % nring. */
typedef struct passage {
    od_lane *lane;
    const od_copy *copy;
    size_t parts;
} passage;

static size_t part_bytes(const passage *p, size_t i)
{
    size_t rest = p->copy->bytes - i * OD_STAGE;
    return rest < OD_STAGE ? rest : OD_STAGE;
}

static od_cuda_device *device_of(const od_lane *lane)
{
    return lane->stager->device;
}

static od_cu_result await(const od_lane *lane, size_t slot)
{
    return device_of(lane)->cuda->cu.event_synchronize(lane->event[slot]);
}

static od_cu_result part_to_device(const passage *p, size_t i)
{
    const od_lane *s = p->lane;
    const od_cu_driver *cu = &device_of(s)->cuda->cu;
    size_t slot = i % s->nring, bytes = part_bytes(p, i);
    od_cu_result result = i >= s->nring ? await(s, slot) : OD_CU_SUCCESS;
    if (result)
        return result;
    memcpy(s->ring[slot], (const char *)p->copy->from_address + i * OD_STAGE, bytes);
    od_cu_address to = (od_cu_address)(uintptr_t)p->copy->to_address + i * OD_STAGE;
    result = cu->copy_h2d(to, s->ring[slot], bytes, device_of(s)->stream[OD_H2D]);
    return result ? result : cu->event_record(s->event[slot], device_of(s)->stream[OD_H2D]);
}

static od_cu_result part_from_device(const passage *p, size_t i)
{
    const od_lane *s = p->lane;
    const od_cu_driver *cu = &device_of(s)->cuda->cu;
    od_cu_address from = (od_cu_address)(uintptr_t)p->copy->from_address + i * OD_STAGE;
    od_cu_result result = cu->copy_d2h(s->ring[i % s->nring], from, part_bytes(p, i), device_of(s)->stream[OD_D2H]);
    return result ? result : cu->event_record(s->event[i % s->nring], device_of(s)->stream[OD_D2H]);
}

static od_cu_result land(const passage *p, size_t i)
{
    const od_lane *s = p->lane;
    od_cu_result result = await(s, i % s->nring);
    if (!result)
        memcpy((char *)p->copy->to_address + i * OD_STAGE, s->ring[i % s->nring], part_bytes(p, i));
    return result;
}

static od_cu_result to_device(const passage *p)
{
    od_cu_result result = OD_CU_SUCCESS;
    for (size_t i = 0; i < p->parts && !result; i++)
        result = part_to_device(p, i);
    for (size_t slot = 0; slot < p->lane->nring && slot < p->parts && !result; slot++)
        result = await(p->lane, slot);
    return result;
}

static od_cu_result from_device(const passage *p)
{
    od_cu_result result = OD_CU_SUCCESS;
    size_t ahead = p->lane->nring, begun = 0;
    for (size_t i = 0; i < p->parts && !result; i++) {
        while (begun < p->parts && begun < i + ahead && !result)
            result = part_from_device(p, begun++);
        if (!result)
            result = land(p, i);
    }
    return result;
}

/* Without a ring, part by part through a buffer that is not pinned. The driver never sees the program's memory itself:
 * that may be pinned in part, or by a stale pin that another copy still uses. */
static od_cu_result unpinned(const passage *p)
{
    const od_lane *s = p->lane;
    const od_cu_driver *cu = &device_of(s)->cuda->cu;
    od_cu_stream stream = device_of(s)->stream[s->stager->direction];
    od_cu_result result = s->plain ? OD_CU_SUCCESS : OD_CU_OUT_OF_MEMORY;
    for (size_t i = 0; i < p->parts && !result; i++) {
        size_t at = i * OD_STAGE, bytes = part_bytes(p, i);
        char *to = (char *)p->copy->to_address + at;
        const char *from = (const char *)p->copy->from_address + at;
        if (s->stager->direction == OD_H2D) {
            memcpy(s->plain, from, bytes);
            result = cu->copy_h2d((od_cu_address)(uintptr_t)to, s->plain, bytes, stream);
        } else {
            result = cu->copy_d2h(s->plain, (od_cu_address)(uintptr_t)from, bytes, stream);
        }
        if (!result)
            result = cu->stream_synchronize(stream);
        if (!result && s->stager->direction == OD_D2H)
            memcpy(to, s->plain, bytes);
    }
    return result;
}

/* At the first copy that needs it. */
static void take_ring(od_lane *lane)
{
    const od_cu_driver *cu = &device_of(lane)->cuda->cu;
    while (!lane->has_ring && lane->nring < OD_STAGES) {
        void *buffer;
        if (cu->host_alloc(&buffer, OD_STAGE, OD_CU_MEMHOST_PORTABLE))
            break;
        if (cu->event_create(&lane->event[lane->nring], OD_CU_EVENT_DISABLE_TIMING | OD_CU_EVENT_BLOCKING_SYNC)) {
            cu->host_free(buffer);
            break;
        }
        lane->ring[lane->nring++] = buffer;
    }
    if (!lane->nring && !lane->plain)
        lane->plain = od_malloc(OD_STAGE);
    lane->has_ring = true;
}

/* The context is current. */
static od_cu_result pass_through(od_lane *lane, const od_copy *copy)
{
    passage p = {lane, copy, (copy->bytes + OD_STAGE - 1) / OD_STAGE};
    take_ring(lane);
    return !lane->nring ? unpinned(&p) : lane->stager->direction == OD_H2D ? to_device(&p) : from_device(&p);
}

static void count(od_cuda *cuda, const od_copy *copy)
{
    atomic_fetch_add(&cuda->staged, 1);
    atomic_fetch_add(&cuda->staged_bytes, copy->bytes);
}

/* OD_IN_PLACE, or how it went. Only what should be pinned, and cannot be, counts as staged. */
static int carry(od_lane *lane, od_ticket *ticket)
{
    od_cuda_device *d = device_of(lane);
    const od_copy *copy = &ticket->copy;
    od_cu_stream stream = d->stream[lane->stager->direction];
    bool loads = copy->from == OD_HOST;
    uintptr_t first = od_cuda_first_page(copy);
    bool due = od_pins_is_due(&d->cuda->pins, first, loads);
    od_status status;
    if (od_cuda_start_in_place(d, ticket, copy, &status)) {
        if (!status)
            status = od_cuda_check(d, d->cuda->cu.event_record(ticket->event, stream), "recording an event");
        if (!status)
            return OD_IN_PLACE;
    } else {
        if (due && !od_pins_want(&d->cuda->pins, first, od_cuda_last_page(copy), loads))
            count(d->cuda, copy);
        od_cu_result result = pass_through(lane, copy);
        status = od_cuda_check(d, result, copy->from == OD_HOST ? "copying to the device" : "copying to the host");
    }
    if (status) /* the ring is used again */
        od_cuda_calm(d, stream);
    return (int)status;
}

static int carry_out(od_lane *lane, od_ticket *ticket)
{
    od_status status = od_cuda_enter(device_of(lane));
    if (status)
        return (int)status;
    int result = carry(lane, ticket);
    od_cuda_leave(device_of(lane));
    return result;
}

/* --- the thread ----------------------------------------------------------------- */

static od_ticket *next(od_stager *s)
{
    pthread_mutex_lock(&s->lock);
    s->idle++;
    while (!s->first && !s->closing)
        pthread_cond_wait(&s->work, &s->lock);
    s->idle--;
    od_ticket *ticket = s->first;
    if (ticket && !(s->first = ticket->next))
        s->last = &s->first;
    s->queued -= ticket != NULL;
    pthread_mutex_unlock(&s->lock);
    return ticket;
}

static void *stage(void *arg)
{
    od_lane *lane = arg;
    const od_cuda_device *d = device_of(lane);
    if (d->near)
        hwloc_set_cpubind(d->cuda->topology, d->near, HWLOC_CPUBIND_THREAD);
    for (od_ticket *ticket; (ticket = next(lane->stager));)
        atomic_store(&ticket->result, carry_out(lane, ticket)); /* the poller's from now on */
    return NULL;
}

od_status od_stager_init(od_stager *s, od_cuda_device *device, od_cuda_direction direction)
{
    *s = (od_stager){.device = device, .direction = direction};
    s->last = &s->first;
    for (unsigned i = 0; i < OD_LANES; i++)
        s->lane[i].stager = s;
    if (pthread_mutex_init(&s->lock, NULL))
        return OD_ENOMEM;
    if (!pthread_cond_init(&s->work, NULL))
        return OD_OK;
    pthread_mutex_destroy(&s->lock);
    return OD_ENOMEM;
}

/* One more thread, where none would wait for the ticket and there may be more. */
static od_status start_lane(od_stager *s)
{
    char name[16];
    if (s->queued < s->idle || s->nlanes == OD_LANES)
        return OD_OK;
    snprintf(name, sizeof name, "od-stage-%s-%u", s->direction == OD_H2D ? "in" : "out", s->device->k % 100);
    od_status status = od_thread_start(&s->lane[s->nlanes].thread, name, stage, &s->lane[s->nlanes]);
    s->nlanes += !status;
    return s->nlanes ? OD_OK : status;
}

od_status od_stager_submit(od_stager *s, od_ticket *ticket)
{
    ticket->next = NULL;
    pthread_mutex_lock(&s->lock);
    od_status status = start_lane(s);
    if (!status) {
        *s->last = ticket;
        s->last = &ticket->next;
        s->queued++;
        pthread_cond_signal(&s->work);
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}

static void drop_lane(const od_lane *lane)
{
    const od_cu_driver *cu = &device_of(lane)->cuda->cu;
    for (unsigned i = 0; i < lane->nring; i++) {
        cu->host_free(lane->ring[i]);
        cu->event_destroy(lane->event[i]);
    }
    free(lane->plain);
}

void od_stager_destroy(od_stager *s)
{
    pthread_mutex_lock(&s->lock);
    s->closing = true;
    pthread_cond_broadcast(&s->work);
    pthread_mutex_unlock(&s->lock);
    for (unsigned i = 0; i < s->nlanes; i++)
        pthread_join(s->lane[i].thread, NULL);
    for (unsigned i = 0; i < s->nlanes; i++)
        drop_lane(&s->lane[i]);
    pthread_cond_destroy(&s->work);
    pthread_mutex_destroy(&s->lock);
}
