/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reservations for host tasks that offload from inside. See reservation.h. */
#include "omp_ext/tasks/reservation.h"

#include "omp_ext/tasks/entry.h"
#include "omp_ext/tasks/job.h"
#include "omp_ext/tasks/queue.h"
#include "omp_ext/libomp/real.h"
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
    size_t size = d && d->base == depend->base ? d->size : depend->length == learnt ? learnt : 0;
    if (!size || !od_directory_find_region(directory, depend->base, size))
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
    od_job *job = od_job_create_for(OD_JOB_RESERVATION, gate->record);
    job->detached = gate->detached;
    job->gate = gate;
    gate->holders++; /* nobody else has it yet */
    job->task.advisory = true;
    od_job_submit(job, uses, (const void *)(uintptr_t)gate->record->entry);
}

/* --- around the body ------------------------------------------------------ */

void od_reservation_begin(od_gate *gate)
{
    od_job *job = od_runtime_take_reservation(gate);
    if (!job)
        return;
    od_self.mode = OD_ON_DEVICE;
    od_self.job = job;
    od_self.place = job->granted_place;
    od_queue_enter((unsigned)od_self.place);
}

/* What the task has been given stays its own while the device is at work on what it has queued there. */
static bool hand_over(int32_t gtid, od_record *record, od_job *job)
{
    if (!record->detachable)
        return false;
    job->detached = record->detached;
    job->detached.event = REAL(__kmpc_task_allow_completion_event)(NULL, gtid, (void *)(uintptr_t)record->task);
    od_runtime_watch_reservation(job);
    return true;
}

static void await_ticket(od_job *job)
{
    while (od_job_poll(job) == OD_EBUSY)
        continue;
}

bool od_reservation_end(int32_t gtid, od_record *record)
{
    od_job *job = od_self.job;
    if (!job)
        return false;
    bool used = od_self.used;
    od_status status = od_queue_leave_ticket(&job->ticket);
    od_self.mode = OD_PLAIN;
    od_self.job = NULL;
    if (status)
        od_runtime_probe(od_self.place);
    if (job->ticket && hand_over(gtid, record, job))
        return true;
    await_ticket(job); /* notes the time, too */
    od_runtime_end_reservation(job, used);
    return false;
}

void od_reservation_give_up(void)
{
    od_job *job = od_self.job;
    if (od_self.mode != OD_ON_DEVICE || od_self.shown)
        return;
    od_log(OD_LOG_DEBUG, "omp", "a host task goes on without the %u data that were reserved for it", job->task.naccess);
    od_queue_leave(); /* what it has queued uses the data */
    od_self.mode = OD_PLAIN;
    od_self.job = NULL;
    od_engine_task_give_up(od_runtime_lock(), &job->task, od_self.used);
    od_runtime_unlock();
}
