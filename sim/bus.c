/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Transfers that take turns on one bus. */
#include "sim/simulate_internal.h"

#include <simgrid/engine.h>

/* Of those that wait, in a replay, the one that was first in the recorded run; others in the order in which they
 * came. */
static uint32_t first_in_line(const bus *b)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < b->count; i++)
        if (b->waiting[i].place < b->waiting[best].place)
            best = i;
    return best;
}

/* True where no copy that was earlier in the recorded run may still come. */
static bool may_go(const bus *b, uint32_t best)
{
    double now = simgrid_get_clock();
    for (uint32_t i = 0; i < b->count; i++)
        if (now - b->waiting[i].since >= sim_turn_timeout)
            return true;
    return b->waiting[best].place <= b->next || b->waiting[best].place == SIM_NO_COPY;
}

void sim_bus_give(simulation *s)
{
    bus *b = &s->bus;
    uint32_t best = first_in_line(b);
    if (b->busy || !b->count || !may_go(b, best))
        return;
    sg_sem_t turn = b->waiting[best].turn;
    if (b->waiting[best].place != SIM_NO_COPY && b->waiting[best].place >= b->next)
        b->next = b->waiting[best].place + 1;
    b->busy = true;
    b->count--;
    for (uint32_t i = best; i < b->count; i++)
        b->waiting[i] = b->waiting[i + 1];
    sg_sem_release(turn);
}

void sim_bus_take(simulation *s, uint32_t place, sg_sem_t turn)
{
    bus *b = &s->bus;
    uint32_t last = b->count++;
    b->waiting[last].turn = turn;
    b->waiting[last].since = simgrid_get_clock();
    b->waiting[last].place = place;
    sim_bus_give(s);
    while (sg_sem_acquire_timeout(turn, 1e-3))
        sim_bus_give(s);
}

void sim_bus_leave(simulation *s)
{
    s->bus.busy = false;
}
