/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Staged copies: of host memory that is not pinned, by a thread per device and direction. It moves a copy through a
 * ring of pinned buffers, so that the processor's copy of one part overlaps with the device's of another. The thread
 * starts at the first such copy, on the GPU's side of the machine where that is known, and takes the ring there.
 * Without pinned memory for a ring it takes one buffer that is not.
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
    od_stager *stager;
    const od_copy *copy;
    size_t parts;
} passage;

static size_t part_bytes(const passage *p, size_t i)
{
    size_t rest = p->copy->bytes - i * OD_STAGE;
    return rest < OD_STAGE ? rest : OD_STAGE;
}

static od_cu_result await(const od_stager *s, size_t slot)
{
    return s->device->cuda->cu.event_synchronize(s->event[slot]);
}

static od_cu_result part_to_device(const passage *p, size_t i)
{
    const od_stager *s = p->stager;
    const od_cu_driver *cu = &s->device->cuda->cu;
    size_t slot = i % s->nring, bytes = part_bytes(p, i);
    od_cu_result result = i >= s->nring ? await(s, slot) : OD_CU_SUCCESS;
    if (result)
        return result;
    memcpy(s->ring[slot], (const char *)p->copy->from_address + i * OD_STAGE, bytes);
    od_cu_address to = (od_cu_address)(uintptr_t)p->copy->to_address + i * OD_STAGE;
    result = cu->copy_h2d(to, s->ring[slot], bytes, s->device->stream[OD_H2D]);
    return result ? result : cu->event_record(s->event[slot], s->device->stream[OD_H2D]);
}

static od_cu_result part_from_device(const passage *p, size_t i)
{
    const od_stager *s = p->stager;
    const od_cu_driver *cu = &s->device->cuda->cu;
    od_cu_address from = (od_cu_address)(uintptr_t)p->copy->from_address + i * OD_STAGE;
    od_cu_result result = cu->copy_d2h(s->ring[i % s->nring], from, part_bytes(p, i), s->device->stream[OD_D2H]);
    return result ? result : cu->event_record(s->event[i % s->nring], s->device->stream[OD_D2H]);
}

static od_cu_result land(const passage *p, size_t i)
{
    const od_stager *s = p->stager;
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
    for (size_t slot = 0; slot < p->stager->nring && slot < p->parts && !result; slot++)
        result = await(p->stager, slot);
    return result;
}

static od_cu_result from_device(const passage *p)
{
    od_cu_result result = OD_CU_SUCCESS;
    size_t ahead = p->stager->nring, begun = 0;
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
    const od_stager *s = p->stager;
    const od_cu_driver *cu = &s->device->cuda->cu;
    od_cu_stream stream = s->device->stream[s->direction];
    od_cu_result result = s->plain ? OD_CU_SUCCESS : OD_CU_OUT_OF_MEMORY;
    for (size_t i = 0; i < p->parts && !result; i++) {
        size_t at = i * OD_STAGE, bytes = part_bytes(p, i);
        char *to = (char *)p->copy->to_address + at;
        const char *from = (const char *)p->copy->from_address + at;
        if (s->direction == OD_H2D) {
            memcpy(s->plain, from, bytes);
            result = cu->copy_h2d((od_cu_address)(uintptr_t)to, s->plain, bytes, stream);
        } else {
            result = cu->copy_d2h(s->plain, (od_cu_address)(uintptr_t)from, bytes, stream);
        }
        if (!result)
            result = cu->stream_synchronize(stream);
        if (!result && s->direction == OD_D2H)
            memcpy(to, s->plain, bytes);
    }
    return result;
}

static od_status carry_out(od_stager *s, const od_copy *copy)
{
    passage p = {s, copy, (copy->bytes + OD_STAGE - 1) / OD_STAGE};
    od_status status = od_cuda_enter(s->device);
    if (status)
        return status;
    od_cu_result result = !s->nring ? unpinned(&p) : s->direction == OD_H2D ? to_device(&p) : from_device(&p);
    status = od_cuda_check(s->device, result, s->direction == OD_H2D ? "copying to the device" : "copying to the host");
    if (status) /* the ring is used again */
        od_cuda_calm(s->device, s->device->stream[s->direction]);
    od_cuda_leave(s->device);
    return status;
}

/* --- the thread ----------------------------------------------------------------- */

static void take_ring(od_stager *s)
{
    const od_cu_driver *cu = &s->device->cuda->cu;
    if (s->device->near)
        hwloc_set_cpubind(s->device->cuda->topology, s->device->near, HWLOC_CPUBIND_THREAD);
    bool entered = !od_cuda_enter(s->device);
    while (entered && s->nring < OD_STAGES) {
        void *buffer;
        if (cu->host_alloc(&buffer, OD_STAGE, OD_CU_MEMHOST_PORTABLE))
            break;
        if (cu->event_create(&s->event[s->nring], OD_CU_EVENT_DISABLE_TIMING | OD_CU_EVENT_BLOCKING_SYNC)) {
            cu->host_free(buffer);
            break;
        }
        s->ring[s->nring++] = buffer;
    }
    if (!s->nring)
        s->plain = od_malloc(OD_STAGE);
    if (entered)
        od_cuda_leave(s->device);
}

static od_ticket *next(od_stager *s)
{
    pthread_mutex_lock(&s->lock);
    while (!s->first && !s->closing)
        pthread_cond_wait(&s->work, &s->lock);
    od_ticket *ticket = s->first;
    if (ticket && !(s->first = ticket->next))
        s->last = &s->first;
    pthread_mutex_unlock(&s->lock);
    return ticket;
}

static void *stage(void *arg)
{
    od_stager *s = arg;
    take_ring(s);
    for (od_ticket *ticket; (ticket = next(s));)
        atomic_store(&ticket->result, (int)carry_out(s, &ticket->copy)); /* the poller's from now on */
    return NULL;
}

od_status od_stager_init(od_stager *s, od_cuda_device *device, od_cuda_direction direction)
{
    *s = (od_stager){.device = device, .direction = direction};
    s->last = &s->first;
    if (pthread_mutex_init(&s->lock, NULL))
        return OD_ENOMEM;
    if (!pthread_cond_init(&s->work, NULL))
        return OD_OK;
    pthread_mutex_destroy(&s->lock);
    return OD_ENOMEM;
}

od_status od_stager_submit(od_stager *s, od_ticket *ticket)
{
    char name[16];
    od_status status = OD_OK;
    ticket->next = NULL;
    pthread_mutex_lock(&s->lock);
    if (!s->started) {
        snprintf(name, sizeof name, "od-stage-%s-%u", s->direction == OD_H2D ? "in" : "out", s->device->k % 100);
        status = od_thread_start(&s->thread, name, stage, s);
        s->started = !status;
    }
    if (!status) {
        *s->last = ticket;
        s->last = &ticket->next;
        pthread_cond_signal(&s->work);
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}

void od_stager_destroy(od_stager *s)
{
    const od_cu_driver *cu = &s->device->cuda->cu;
    pthread_mutex_lock(&s->lock);
    s->closing = true;
    pthread_cond_signal(&s->work);
    pthread_mutex_unlock(&s->lock);
    if (s->started)
        pthread_join(s->thread, NULL);
    for (unsigned i = 0; i < s->nring; i++) {
        cu->host_free(s->ring[i]);
        cu->event_destroy(s->event[i]);
    }
    free(s->plain);
    pthread_cond_destroy(&s->work);
    pthread_mutex_destroy(&s->lock);
}
