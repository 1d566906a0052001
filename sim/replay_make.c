/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The making of a replay: from a recording to what follows what, and the recorded orders of events and of copies. */
#include "sim/replay_state.h"

#include <stdlib.h>
#include <string.h>

/* --- the order of copies --------------------------------------------------------------- */

static int compare_copies(const void *left, const void *right)
{
    const copy *a = left, *b = right;
    if (a->base != b->base)
        return a->base < b->base ? -1 : 1;
    if (a->to != b->to)
        return a->to < b->to ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

/* A datum is copied to one place many times: the first such copy that has not been asked for. */
uint32_t sim_replay_rank(const simulation *s, const od_transfer *x)
{
    sim_replay *p = s->replay;
    uint32_t low = 0, high = p->r->ncopies;
    if (!p->same)
        return SIM_NO_COPY;
    copy wanted = {.base = x->datum->base, .to = x->to};
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (compare_copies(&p->copies[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    while (low < p->r->ncopies && p->copies[low].base == wanted.base && p->copies[low].to == wanted.to) {
        if (!p->copies[low].asked) {
            p->copies[low].asked = true;
            return p->copies[low].number;
        }
        low++;
    }
    return SIM_NO_COPY;
}

uint32_t sim_replay_place_on_bus(const simulation *s, uint32_t rank)
{
    return rank == SIM_NO_COPY ? SIM_NO_COPY : s->replay->place_on_bus[rank];
}

/* --- making and unmaking --------------------------------------------------------------- */

static void link_after(sim_replay *p)
{
    const sim_recording *r = p->r;
    for (uint32_t i = 0; i < r->nbefore; i++)
        p->first_after[r->before[i] + 2]++;
    for (uint32_t n = 0; n < r->nnodes; n++)
        p->first_after[n + 2] += p->first_after[n + 1];
    for (uint32_t n = 0; n < r->nnodes; n++) {
        p->node[n].waiting_for = r->nodes[n].nbefore;
        for (uint32_t i = r->nodes[n].first_before; i < r->nodes[n].first_before + r->nodes[n].nbefore; i++)
            p->after[p->first_after[r->before[i] + 1]++] = n;
        if (r->nodes[n].task != SIM_NO_TASK)
            p->node_of[r->nodes[n].task] = n;
    }
}

/* The steps of each node, in order. */
static void link_steps(sim_replay *p)
{
    for (uint32_t i = p->r->nsteps; i > 0; i--) {
        const sim_step *step = &p->r->steps[i - 1];
        bool request = step->kind == SIM_OPEN || step->kind == SIM_CLOSE || step->kind == SIM_RANGE;
        if (!request || !step->node)
            continue;
        p->next_step[i - 1] = p->node[step->node - 1].first_step;
        p->node[step->node - 1].first_step = i;
    }
}

static int compare_events(const void *left, const void *right)
{
    const event *a = left, *b = right;
    if (a->at < b->at || a->at > b->at)
        return a->at < b->at ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

static void add_event(sim_replay *p, double at, uint32_t *index)
{
    p->events[p->nevents] = (event){.at = at, .number = p->nevents, .index = index};
    p->nevents++;
}

/* In a step of its own: what a task or its end does to the engine is an event of the node's. */
static bool changes_engine(sim_step_kind kind)
{
    return kind == SIM_CREATE || kind == SIM_AWAIT || kind == SIM_SYNC || kind >= SIM_OPEN;
}

static od_status order_events(sim_replay *p)
{
    const sim_recording *r = p->r;
    size_t most = 2 * (size_t)r->nnodes + r->ncopies + r->nsteps + r->nplans + 1;
    p->events = calloc(most, sizeof *p->events);
    p->ready_event = calloc(most, sizeof *p->ready_event);
    if (!p->events || !p->ready_event)
        return OD_ENOMEM;
    p->ran_event = p->ready_event + r->nnodes;
    p->copy_event = p->ran_event + r->nnodes;
    p->step_event = p->copy_event + r->ncopies;
    p->plan_event = p->step_event + r->nsteps;
    for (uint32_t n = 0; n < r->nnodes; n++)
        if (r->nodes[n].task != SIM_NO_TASK) {
            add_event(p, r->nodes[n].ready, &p->ready_event[n]);
            add_event(p, r->nodes[n].ran, &p->ran_event[n]);
        }
    for (uint32_t i = 0; i < r->ncopies; i++)
        add_event(p, r->copies[i].end, &p->copy_event[i]);
    for (uint32_t i = 0; i < r->nsteps; i++)
        if (changes_engine(r->steps[i].kind))
            add_event(p, r->steps[i].at, &p->step_event[i]);
    for (uint32_t i = 0; i < r->nplans; i++)
        add_event(p, r->plans[i].end, &p->plan_event[i]);
    qsort(p->events, p->nevents, sizeof *p->events, compare_events);
    for (uint32_t i = 0; i < p->nevents; i++)
        *p->events[i].index = i;
    return OD_OK;
}

bool sim_replay_is_same(const sim_machine *m, const sim_recording *r)
{
    return !m->guard && !m->spill_limit && !m->recompute && m->ndevices == r->ndevices && m->memory == r->memory &&
           m->buffer == r->buffer && m->seed == r->seed && m->active == r->active &&
           strcmp(m->policy_text, r->policy) == 0 &&
           strcmp(m->evict->name, r->evict) == 0;
}

od_status sim_replay_create(simulation *s, const sim_recording *r)
{
    sim_replay *p = calloc(1, sizeof *p);
    s->replay = p;
    if (!p)
        return OD_ENOMEM;
    p->r = r;
    p->node = calloc((size_t)r->nnodes + 1, sizeof *p->node);
    p->node_of = calloc((size_t)s->graph->ntasks + 1, sizeof *p->node_of);
    p->first_after = calloc((size_t)r->nnodes + 3, sizeof *p->first_after);
    p->after = calloc((size_t)r->nbefore + 1, sizeof *p->after);
    p->next_step = calloc((size_t)r->nsteps + 1, sizeof *p->next_step);
    p->ready = calloc(2 * (size_t)r->nnodes + 1, sizeof *p->ready);
    p->ended = calloc((size_t)r->nnodes + 1, sizeof *p->ended);
    p->copies = calloc((size_t)r->ncopies + 1, sizeof *p->copies);
    p->place_on_bus = calloc((size_t)r->ncopies + 1, sizeof *p->place_on_bus);
    p->job = calloc((size_t)r->nplans + 1, sizeof(od_background *));
    if (!p->copies || !p->place_on_bus || !p->job || !p->node || !p->node_of || !p->first_after || !p->after ||
        !p->next_step || !p->ready || !p->ended)
        return OD_ENOMEM;
    for (uint32_t i = 0; i < r->ncopies; i++)
        p->copies[i] = (copy){s->graph->data[r->copies[i].datum].base, r->copies[i].to, i, false};
    qsort(p->copies, r->ncopies, sizeof *p->copies, compare_copies);
    for (uint32_t i = 0; i < r->ncopies; i++)
        p->place_on_bus[i + 1] = p->place_on_bus[i] + (r->copies[i].from < OD_SPILL || r->copies[i].to < OD_SPILL);
    p->same = sim_replay_is_same(s->machine, r);
    for (uint32_t n = 0; n < r->nnodes; n++)
        p->node[n].construct = OD_BANKER_NO_STEP;
    link_after(p);
    link_steps(p);
    return order_events(p);
}

void sim_replay_destroy(sim_replay *p)
{
    if (!p)
        return;
    while (p->nspare)
        sg_sem_destroy(p->spare[--p->nspare]);
    free(p->spare);
    free(p->node);
    free(p->job);
    free(p->node_of);
    free(p->first_after);
    free(p->after);
    free(p->next_step);
    free(p->ready);
    free(p->ended);
    free(p->waiting);
    free(p->copies);
    free(p->place_on_bus);
    free(p->events);
    free(p->ready_event);
    free(p);
}
