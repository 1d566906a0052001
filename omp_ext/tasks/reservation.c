/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reservations for host tasks that offload from inside. See reservation.h. */
#include "omp_ext/tasks/reservation.h"

#include "omp_ext/libomp/real.h"
#include "omp_ext/slices/early.h"
#include "omp_ext/tasks/entry.h"
#include "omp_ext/tasks/job.h"
#include "omp_ext/tasks/launch/queue.h"
#include "util/memory.h"

#include <stdlib.h>

/* --- predictions ---------------------------------------------------------- */

void od_reservation_learn(od_entry *entry, const od_depend *depends, int32_t ndepends, const od_map_args *args)
{
    for (int32_t j = 0; j < ndepends && j < OD_MAX_LEARNT_DEPENDS; j++)
        for (int32_t i = 0; i < args->count; i++) {
            if ((uintptr_t)args->begins[i] != depends[j].base || (args->types[i] & OD_MAP_NO_RANGE) ||
                args->sizes[i] <= 0)
                continue;
            entry->depend[j].size = (size_t)args->sizes[i];
            entry->depend[j].mode = depends[j].flags == OD_DEPEND_IN ? OD_READ : OD_READ_WRITE;
        }
}

/* The datum that a depend item names: a known one that begins there, or a new one of the learnt size where the item
 * itself has that size. Locked. NULL: unknown, or it lies in no region. */
static od_datum *predict_datum(od_engine *engine, const od_depend *depend, size_t learnt)
{
    od_directory *directory = od_engine_directory(engine);
    od_datum *d = od_directory_find(directory, depend->base, 0);
    size_t size = d && d->base == depend->base && !d->pieces ? d->size : depend->length == learnt ? learnt : 0;
    const od_region *region = size ? od_directory_find_region(directory, depend->base, size) : NULL;
    if (!region || region->window) /* constructs inside of host tasks get arrays in one piece */
        return NULL;
    return od_engine_datum(engine, depend->base, size, &d) ? NULL : d;
}

static void add_predicted(od_engine *engine, od_uses *uses, od_datum *d, od_mode mode)
{
    uint32_t i = 0;
    while (i < uses->count && uses->access[i].datum != d)
        i++;
    if (i < uses->count)
        od_engine_release(engine, d);
    else
        uses->access[uses->count++] = (od_access){.datum = d, .mode = 0};
    uses->access[i].mode |= mode;
}

/* All of its data or none: a construct needs them together. */
bool od_reservation_predict(const od_record *record, od_uses *uses)
{
    bool all = true;
    uses->access = od_calloc((size_t)record->ndepends + 1, sizeof *uses->access);
    if (!uses->access)
        return false;
    od_engine *engine = od_runtime_lock();
    for (int32_t j = 0; all && j < record->ndepends && j < OD_MAX_LEARNT_DEPENDS; j++) {
        const od_learnt_depend *learnt = &record->code->depend[j];
        od_datum *d = learnt->size ? predict_datum(engine, &record->depends[j], learnt->size) : NULL;
        if (d)
            add_predicted(engine, uses, d, learnt->mode);
        all = d || !learnt->size;
    }
    if (all)
        od_uses_trust(uses, record->depends, record->ndepends, false);
    od_runtime_unlock();
    if (!all || !uses->count)
        od_uses_release(uses);
    return uses->count > 0;
}

void od_reservation_submit(od_gate *gate, od_uses *uses)
{
    od_early_settle();
    od_job *job = od_job_create_for(OD_JOB_RESERVATION, gate->record);
    job->detached = gate->detached;
    job->gate = gate;
    gate->holders++; /* no other thread has it yet */
    job->task.advisory = true;
    od_job_submit(od_runtime_lock(), job, uses, (const void *)(uintptr_t)gate->record->entry);
    od_runtime_unlock();
}

/* --- around the body ------------------------------------------------------ */

void od_reservation_begin(od_gate *gate)
{
    int place = od_runtime_begin_reservation(gate);
    if (place == OD_NOWHERE)
        return;
    od_self.mode = OD_ON_DEVICE;
    od_self.gate = gate;
    od_self.place = place;
    od_queue_enter((unsigned)place);
}

/* What the task has been given stays its own while the device is at work on what it has queued there. */
static bool hand_over(int32_t gtid, od_record *record, od_job *job)
{
    if (!record->detachable)
        return false;
    job->detached = record->detached;
    job->detached.event = REAL(__kmpc_task_allow_completion_event)(NULL, gtid, (void *)(uintptr_t)record->task);
    od_runtime_watch_reservation(record->gate);
    return true;
}

static void await_ticket(od_job *job)
{
    while (od_job_poll(job) == OD_EBUSY)
        continue;
}

static void leave(void)
{
    od_self.mode = OD_PLAIN;
    od_self.job = NULL;
}

/* The mode is left last: until then libomp runs nothing on top of the body (od_thread_may_run_tasks). */
static bool end(int32_t gtid, od_record *record, od_job *job)
{
    if (od_queue_leave_ticket(&job->ticket))
        od_runtime_probe(od_self.place);
    if (job->ticket && hand_over(gtid, record, job))
        return true;
    await_ticket(job); /* notes the time, too */
    od_runtime_end_reservation(record->gate);
    return false;
}

bool od_reservation_end(int32_t gtid, od_record *record)
{
    bool completed_later = od_reservation_use() && end(gtid, record, od_self.job);
    leave();
    return completed_later;
}

/* A kernel on a host device, and what it runs, uses the data. */
static bool may_leave(void)
{
    return od_self.mode == OD_ON_DEVICE && !od_self.kernels;
}

void od_reservation_give_up(void)
{
    if (!may_leave() || od_self.shown)
        return;
    od_log(OD_LOG_DEBUG, "omp", "a host task continues without the data that were reserved for it");
    od_queue_leave(); /* what it has queued uses the data */
    leave();
    od_runtime_give_up_reservation(od_self.gate);
}

void od_reservation_leave(void)
{
    od_reservation_give_up();
    if (od_self.mode != OD_ON_DEVICE)
        return;
    od_queue_drain();
    for (; od_self.shown; od_self.shown--) {
        od_self.holds++;
        od_rivals_begin();
    }
    od_self.held_place = od_self.place;
    leave();
    od_runtime_give_up_reservation(od_self.gate);
}

void od_reservation_before_wait(void)
{
    od_reservation_give_up();
    if (may_leave())
        od_runtime_block_reservation(od_self.gate);
}

/* --- around what uses it ------------------------------------------------------ */

bool od_reservation_use(void)
{
    if (od_self.mode != OD_ON_DEVICE || od_self.job)
        return false;
    od_self.job = od_runtime_use_reservation(od_self.gate);
    if (od_self.job)
        return true;
    od_log(OD_LOG_DEBUG, "omp", "the data that were reserved for a host task have been revoked");
    od_queue_leave();
    leave();
    return false;
}

void od_reservation_offer(const bool *began)
{
    if (!*began || od_self.mode != OD_ON_DEVICE)
        return;
    od_self.job = NULL;
    od_runtime_offer_reservation(od_self.gate, od_self.shown || od_self.queue);
}

od_task *od_reservation_task(void)
{
    return od_self.mode == OD_ON_DEVICE && od_self.job ? &od_self.job->task : NULL;
}
