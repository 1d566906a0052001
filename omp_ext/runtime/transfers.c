/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Transfers: begun for the engine, ended for it, and what is done where one has failed. */
#include "omp_ext/runtime/internal.h"

#include "memmgr/data/attach.h"
#include "omp_ext/process/memory.h"
#include "omp_ext/services/check/check.h"
#include "omp_ext/services/record/record.h"
#include "omp_ext/runtime/own_copies.h"
#include "util/lock.h"
#include "util/log.h"

#include <stdlib.h>

_Thread_local bool od_helps_to_copy;

/* The host's memory never holds a device's addresses, not even for a moment. */
static void prepare_landing(od_transfer *transfer)
{
    const od_datum *d = transfer->datum;
    if (d->pieces) /* kernels get it whole: it has no attached pointers */
        return;
    if (!od_attachments_overlap(od_datum_attachments(d), d->base + transfer->offset, transfer->bytes))
        return;
    transfer->landing = od_alloc(transfer->bytes);
}

void od_runtime_submit_transfer(od_transfer *transfer)
{
    bool within_host = transfer->from >= OD_SPILL && transfer->to >= OD_SPILL;
    if (within_host)
        od_host_copies_submit(od_runtime.host_copies, transfer, od_helps_to_copy);
    else
        od_transfer_submit(od_runtime.transfers, transfer);
}

/* Contents that are in two places stay the same. */
static void share(const od_transfer *transfer)
{
    if (!transfer->datum->window)
        return;
    if (transfer->from < OD_SPILL)
        od_runtime_share_part(transfer->datum, (unsigned)transfer->from);
    if (transfer->to < OD_SPILL)
        od_runtime_share_part(transfer->datum, (unsigned)transfer->to);
}

void od_runtime_start_transfer(void *driver, od_transfer *transfer)
{
    (void)driver;
    if (od_runtime.stopping)
        return;
    od_runtime.busy++;
    share(transfer);
    if (transfer->to == OD_HOST) {
        od_check_before_store(transfer->datum);
        prepare_landing(transfer);
    }
    if (!od_own_copies_add(od_runtime.transfers, transfer))
        od_runtime_submit_transfer(transfer);
}

void od_runtime_probe(int place)
{
    static od_lock one_at_a_time = OD_LOCK_OF(OD_LOCK_ASKING); /* they share the probe's bytes */
    if (place < 0 || (unsigned)place >= od_runtime.backend.ndevices)
        return;
    od_lock_take(&one_at_a_time);
    bool answers = od_backend_answers(&od_runtime.backend, (unsigned)place);
    od_lock_give(&one_at_a_time);
    if (answers)
        return;
    char name[OD_DEVICE_NAME];
    od_engine *engine = od_runtime_lock();
    if (!od_placeset_has(od_engine_lost(engine), (unsigned)place)) /* else another thread has said so */
        od_log(OD_LOG_WARNING, "runtime", "%s no longer responds: it is lost, and its tasks move to other devices",
               od_devices_name(&od_runtime.devices, (unsigned)place, name));
    od_engine_device_lost(engine, (unsigned)place);
    od_runtime_unlock();
}

/* Copies what was written back around attached pointers to its place. */
static void land(od_transfer *transfer, od_status status)
{
    const od_datum *d = transfer->datum;
    if (transfer->landing && !status)
        od_attachments_deliver(od_datum_attachments(d), d->base + transfer->offset, transfer->bytes, transfer->landing);
    free(transfer->landing);
    transfer->landing = NULL;
}

void od_runtime_probe_both(const od_transfer *transfer)
{
    od_runtime_probe(transfer->from);
    od_runtime_probe(transfer->to);
}

/* Under the lock. */
void od_runtime_end_transfer(od_transfer *transfer, od_status status)
{
    od_runtime.busy--;
    if (!status)
        od_recorder_copied(transfer);
    land(transfer, status);
    od_engine_transfer_done(od_runtime.engine, transfer, status);
}

static void make_own_copies(size_t most_bytes)
{
    od_own_copies copies = od_own_copies_take();
    od_own_copies_make(od_runtime.transfers, &copies);
    for (unsigned i = 0; i < copies.count; i++)
        if (copies.status[i])
            od_runtime_probe_both(copies.transfer[i]);
    od_engine *engine = od_runtime_lock();
    od_own_copies_open(most_bytes);
    od_engine_hold(engine); /* they are one event */
    for (unsigned i = 0; i < copies.count; i++)
        od_runtime_end_transfer(copies.transfer[i], copies.status[i]);
    od_engine_resume(engine);
}

static void leave_own_copies(void)
{
    od_own_copies copies = od_own_copies_take();
    for (unsigned i = 0; i < copies.count; i++)
        od_runtime_submit_transfer(copies.transfer[i]);
}

const od_copy_ops od_runtime_copy_ops = {.make = make_own_copies, .leave = leave_own_copies};

void od_runtime_transfer_done(void *arg, od_transfer *transfer, od_status status)
{
    (void)arg;
    if (status)
        od_runtime_probe_both(transfer);
    od_runtime_lock();
    od_runtime_end_transfer(transfer, status);
    od_runtime_unlock();
}
