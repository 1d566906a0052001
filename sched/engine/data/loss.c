/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A device that is lost: what was there is gone, what was meant for it goes elsewhere.
 *
 * Contents with a valid copy at another place are recovered from there. A datum whose only current copy was on the
 * lost device ends the program, for its results could not be right any more. Tasks that had not begun there are
 * placed anew; those that were running follow when the driver reports them as failed. Without any device left,
 * everything runs on the host.
 *
 * Replicas of the device keep their memory until nothing pins them; their contents stop counting at once, except that
 * a transfer under way may still have saved them: it is waited for.
 */
#include "sched/engine/internal.h"

#include <inttypes.h>
#include <stdio.h>

static void report_lost_contents(od_engine *e, const od_datum *d, unsigned k, const char *what)
{
    char message[256];
    snprintf(message, sizeof message,
             "device %u is lost, and with it the only copy of the %zu bytes at host address %#" PRIxPTR "%s", k,
             d->size, d->base, what);
    e->config.driver_ops->fatal(e->config.driver, message);
}

/* The contents on k do not count any more. */
static void lose_contents(od_engine *e, od_datum *d, unsigned k)
{
    if (od_datum_is_dirty(d, k) && od_datum_is_discarded(d))
        d->valid = od_placeset_of(OD_HOST);
    else if (od_datum_is_stranded(e, d))
        report_lost_contents(e, d, k, "");
    od_placeset_remove(&d->valid, k);
}

static void lose_replica(od_engine *e, od_datum *d, unsigned k)
{
    od_replica *r = &d->replica[k];
    if (d->bound && d->home == (int)k)
        report_lost_contents(e, d, k, ", of which the program holds the device address");
    if (od_datum_is_stranded(e, d) && d->transfers) /* one may have saved it */
        return;
    if (od_placeset_has(d->valid, k))
        lose_contents(e, d, k);
    bool being_loaded = r->state == OD_LOADING && !r->awaits_source;
    if (!r->pins && !being_loaded)
        od_memory_drop(e, d, k);
}

void od_loss_settle(od_engine *e, od_datum *d)
{
    od_placeset_walk at = od_placeset_begin(e->lost);
    while (d->nreplicas && od_placeset_next(&at)) {
        if (d->replica[at.place].state != OD_ABSENT)
            lose_replica(e, d, at.place);
    }
}

/* --- transfers ------------------------------------------------------------ */

/* A load that did not take place: it has been counted, and comes from elsewhere, or not at all. */
static void undo_load(od_engine *e, od_transfer *x)
{
    od_replica *r = &x->datum->replica[x->to];
    e->device[x->to].stats.loads--;
    if (--r->loads)
        e->device[x->to].stats.reloads--;
    if (od_device_is_lost(e, x->to))
        r->state = OD_PRESENT;
    else
        od_memory_await_source(e, x->datum, (unsigned)x->to);
}

bool od_loss_concerns(const od_engine *e, const od_transfer *x)
{
    return od_device_is_lost(e, x->from) || od_device_is_lost(e, x->to);
}

void od_loss_undo_transfer(od_engine *e, od_transfer *x)
{
    if (x->kind == OD_LOAD)
        undo_load(e, x);
    else if (x->item)
        x->item->started = false;
    if (x->kind == OD_EVICT) {
        lose_contents(e, x->datum, (unsigned)x->from);
        od_memory_stop_leaving(e, x->datum, (unsigned)x->from);
    }
}
