/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Transfers: what one counts while it is under way, and failed ones, which are tried again. And which data outside
 * regions a synchronisation point is to look at. */
#include "memmgr/data/spill.h"
#include "sched/engine/internal.h"

#include "util/memory.h"

#include <stdio.h>

static od_transfer *new_transfer(od_engine *e)
{
    od_node *spare = od_list_pop_front(&e->spare_transfers);
    if (spare)
        return od_container_of(spare, od_transfer, link);
    od_transfer *x = od_malloc(sizeof *x);
    if (!x)
        e->config.driver_ops->fatal(e->config.driver, "out of host memory for a transfer");
    return x;
}

static void start_transfer(od_engine *e, od_transfer *x)
{
    x->start_ns = x->end_ns = 0;
    if (od_is_observed(e)) {
        x->queued_ns = od_engine_now(e);
        od_emit(e, (od_event){.kind = OD_EVENT_TRANSFER_QUEUED,
                              .ns = x->queued_ns,
                              .place = x->to,
                              .datum = x->datum,
                              .transfer = x});
    }
    e->config.driver_ops->start_transfer(e->config.driver, x);
}

void od_outside_update(od_engine *e, od_datum *d)
{
    bool belongs = (d->nreplicas > 0 || d->touched || od_datum_is_dropped(d)) && !d->region;
    if (belongs && !od_list_contains(&d->outside))
        od_list_push_back(&e->outside, &d->outside);
    else if (!belongs && od_list_contains(&d->outside))
        od_list_remove(&e->outside, &d->outside);
}

void od_transfer_start(od_engine *e, const od_transfer *what)
{
    od_transfer *x = new_transfer(e);
    if (!x)
        return;
    od_datum *d = what->datum;
    *x = *what;
    x->for_writing = d->writers > 0;
    for (int side = 0; side < 2; side++) {
        int place = side ? x->to : x->from;
        if (place == OD_SPILL)
            x->spill = od_spill_address(d->region ? d->region->spill : d->spill, d->base);
        if (place == OD_HOST && e->config.pins && !d->touched) {
            d->touched = true;
            od_outside_update(e, d);
        }
        if (place >= OD_SPILL)
            continue;
        od_stats_account(e, (unsigned)place);
        e->device[place].transfers++;
        e->device[place].loads += side && x->kind == OD_LOAD;
        od_placeset_add(&e->moved, place);
        e->device[place].stores += !side && x->to >= OD_SPILL;
        *(side ? &x->to_offset : &x->from_offset) = d->replica[place].offset;
    }
    if (x->from < OD_SPILL) {
        d->replica[x->from].pins++;
        if (x->kind == OD_LOAD)
            od_engine_count_send(e, d, x->from, x->to, +1);
    }
    if (x->to < OD_SPILL && x->kind == OD_UPDATE)
        d->replica[x->to].pins++;
    if (x->to < OD_SPILL)
        od_patches_spoil(d->replica[x->to].patches);
    if (x->to >= OD_SPILL && x->kind != OD_UPDATE)
        d->stores++;
    d->transfers++;
    od_list_push_back(&e->transfers, &x->link);
    start_transfer(e, x);
}

/* What a transfer counted when it began. */
void od_transfer_uncount(od_engine *e, od_transfer *x)
{
    od_datum *d = x->datum;
    for (int side = 0; side < 2; side++) {
        int place = side ? x->to : x->from;
        if (place >= OD_SPILL)
            continue;
        od_stats_account(e, (unsigned)place);
        e->device[place].transfers--;
        e->device[place].loads -= side && x->kind == OD_LOAD;
        od_placeset_add(&e->moved, place);
        e->device[place].stores -= !side && x->to >= OD_SPILL;
        od_placeset_add(&e->todo, place);
    }
    if (x->from < OD_SPILL) {
        d->replica[x->from].pins--;
        if (x->kind == OD_LOAD)
            od_engine_count_send(e, d, x->from, x->to, -1);
    }
    if (x->to < OD_SPILL && x->kind == OD_UPDATE)
        d->replica[x->to].pins--;
    if (x->to >= OD_SPILL && x->kind != OD_UPDATE)
        d->stores--;
    d->transfers--;
    od_list_remove(&e->transfers, &x->link);
}

enum { MAX_TRIES = 3 };

/* True where the transfer is being tried again. */
bool od_transfer_try_again(od_engine *e, od_transfer *x)
{
    char message[256];
    if (++x->tries < MAX_TRIES) {
        start_transfer(e, x);
        return true;
    }
    snprintf(message, sizeof message,
             "copying %zu bytes of the datum at host address %#lx %s device %d failed %d times", x->bytes,
             (unsigned long)x->datum->base, x->from >= OD_SPILL ? "to" : "from", x->from >= OD_SPILL ? x->to : x->from,
             MAX_TRIES);
    e->config.driver_ops->fatal(e->config.driver, message);
    return false;
}
