/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Virtual time: queues that send and workers that compute.
 *
 * What happens at one moment happens in rounds, as threads of a simulator would be served: all actors that can go on do
 * so until they ask for something; then each gets it, in the same order, and those for which that was all go on in the
 * next round.
 */
#include "sched/oracle/impl.h"

#include "util/container/array.h"
#include "util/memory.h"

#include <math.h>
#include <stdlib.h>

/* There is room for all actors. */
static void put(od_actors_round *round, uint32_t actor)
{
    round->actor[round->count++] = actor;
}

static uint32_t gate_of(unsigned k, od_direction direction)
{
    return k * (OD_DIRECTIONS + 1) + (uint32_t)direction;
}

static uint32_t turns(const od_player *p)
{
    return p->ngates - 1;
}

/* --- making and unmaking ------------------------------------------------------------------- */

static bool ends_first(const void *owner, uint32_t a, uint32_t b)
{
    const od_actor *actor = owner;
    return actor[a].date < actor[b].date || (actor[a].date <= actor[b].date && actor[a].order < actor[b].order);
}

static void wait_at(od_player *p, uint32_t gate, uint32_t actor)
{
    od_gate *g = &p->gate[gate];
    p->actor[actor].next = 0;
    *(g->last ? &p->actor[g->last - 1].next : &g->first) = actor + 1;
    g->last = actor + 1;
}

static void add_actor(od_player *p, unsigned k, od_direction direction)
{
    p->actor[p->nactors] = (od_actor){.device = k, .direction = direction};
    wait_at(p, gate_of(k, direction), p->nactors++);
}

od_status od_actors_init(od_player *p)
{
    unsigned n = p->p->ndevices, slots = p->p->slots;
    size_t most = n * (size_t)(OD_DIRECTIONS + slots) + p->p->cpus;
    p->ngates = (n + 1) * (OD_DIRECTIONS + 1) + 1;
    p->actor = od_calloc(most, sizeof *p->actor);
    p->gate = od_calloc(p->ngates, sizeof *p->gate);
    p->ended = od_malloc(most * sizeof *p->ended);
    p->runnable.actor = od_malloc(most * sizeof *p->runnable.actor);
    p->following.actor = od_malloc(most * sizeof *p->following.actor);
    od_heap_init(&p->sleeping, ends_first, p->actor);
    bool all = p->actor && p->gate && p->ended && p->runnable.actor && p->following.actor;
    if (!all || od_heap_reserve(&p->sleeping, (uint32_t)most))
        return OD_ENOMEM;
    p->gate[turns(p)].count = 1;
    for (unsigned k = 0; k < n; k++) {
        for (int d = 0; d < OD_DIRECTIONS; d++) {
            od_list_init(&p->device[k].demanded[d]);
            od_list_init(&p->device[k].prefetches[d]);
            add_actor(p, k, (od_direction)d);
        }
        for (unsigned i = 0; i < slots; i++)
            add_actor(p, k, OD_DIRECTIONS);
    }
    for (unsigned i = 0; i < p->p->cpus; i++)
        add_actor(p, n, OD_DIRECTIONS);
    return od_network_init(&p->network, p->p->topology, n * OD_DIRECTIONS);
}

void od_actors_free(od_player *p)
{
    od_network_free(&p->network);
    od_heap_free(&p->sleeping);
    free(p->actor);
    free(p->gate);
    free(p->ended);
    free(p->wake.items);
    free(p->runnable.actor);
    free(p->following.actor);
}

/* --- what ends ------------------------------------------------------------------------------ */

void od_actors_complete(od_player *p, uint32_t task)
{
    const od_play_task *done = &p->p->tasks[task];
    for (uint32_t i = done->first_after; i < done->first_after + done->nafter; i++)
        if (--p->waiting_for[p->p->after[i]] == 0)
            p->ready[p->nready++] = p->p->after[i];
    if (++p->done == (p->p->ntasks + 1) / 2)
        p->halfway = p->now;
}

/* --- what an actor does -------------------------------------------------------------------- */

void od_actors_wake(od_player *p, unsigned k, od_direction direction)
{
    od_fifo *wake = &p->wake;
    if (!od_array_reserve(&wake->items, &wake->room, (uint64_t)wake->count + 1, sizeof *wake->items))
        p->failed = true;
    else
        wake->items[wake->count++] = gate_of(k, direction);
}

void od_actors_start(od_player *p, unsigned k, uint32_t task)
{
    od_player_device *workers = &p->device[k];
    p->next_started[task] = 0;
    *(workers->last_started ? &p->next_started[workers->last_started - 1] : &workers->first_started) = task + 1;
    workers->last_started = task + 1;
    od_actors_wake(p, k, OD_DIRECTIONS);
}

static od_task *make_ready(od_player *p, uint32_t t)
{
    od_task *task = &p->task[t];
    if (p->foresees)
        od_engine_foreseen(p->engine, task, od_actors_uses(task));
    task->priority = p->priority[t];
    for (uint32_t i = 0; i < task->naccess; i++)
        task->access[i].datum->pending++;
    return task;
}

void od_actors_hand_over(od_player *p, uint32_t t)
{
    od_engine_task_ready(p->engine, make_ready(p, t));
}

void od_actors_begin_given(od_player *p, uint32_t t)
{
    od_engine_begin_given(p->engine, make_ready(p, t), (unsigned)p->p->tasks[t].bound);
}

static void hand_over(od_player *p, bool singly)
{
    if (p->first_ready == p->nready)
        return;
    if (!singly)
        od_engine_hold(p->engine);
    while (p->first_ready < p->nready)
        od_actors_hand_over(p, p->ready[p->first_ready++]);
    if (!singly)
        od_engine_resume(p->engine);
}

static void call(od_actor *a, od_actor_call which, uint32_t gate)
{
    a->call = which;
    a->gate = gate;
}

static void take_transfer(od_player *p, od_actor *a)
{
    od_player_device *device = &p->device[a->device];
    od_node *node = od_list_pop_front(&device->demanded[a->direction]);
    if (!node)
        node = od_list_pop_front(&device->prefetches[a->direction]);
    a->transfer = od_container_of(node, od_transfer, node);
    a->has_turn = p->p->topology->turns;
    a->state = a->has_turn ? OD_ACTOR_HAS_TURN : OD_ACTOR_WORKS;
    if (a->has_turn)
        call(a, OD_CALL_ACQUIRE, turns(p));
    else
        call(a, OD_CALL_SEND, 0);
    a->began = p->now;
}

static void take_task(od_player *p, od_actor *a)
{
    od_player_device *device = &p->device[a->device];
    a->task = device->first_started - 1;
    device->first_started = p->next_started[a->task];
    if (!device->first_started)
        device->last_started = 0;
    a->state = OD_ACTOR_WORKS;
    call(a, OD_CALL_SLEEP, 0);
}

static unsigned node_of(const od_topology *topology, int place)
{
    return place < OD_SPILL ? topology->node[place] : 0;
}

static void count_sent(const od_player *p, const od_transfer *x)
{
    unsigned from = node_of(p->p->topology, x->from), to = node_of(p->p->topology, x->to);
    if (from == to || !p->sent)
        return;
    p->sent[from] += x->bytes;
    p->received[to] += x->bytes;
}

static void end_transfer(od_player *p, od_actor *a)
{
    count_sent(p, a->transfer);
    a->transfer->start_ns = (uint64_t)(a->began * 1e9);
    a->transfer->end_ns = p->now_ns;
    od_engine_transfer_done(p->engine, a->transfer, OD_OK);
}

/* Opens the gates that the engine's commands need, one in each round; others may come here meanwhile. */
static void wake_next(od_player *p, od_actor *a)
{
    if (p->wake.first < p->wake.count) {
        call(a, OD_CALL_RELEASE, p->wake.items[p->wake.first++]);
        return;
    }
    p->wake.first = p->wake.count = 0;
    if (a->has_turn) {
        a->has_turn = false;
        call(a, OD_CALL_RELEASE, turns(p));
        return;
    }
    a->state = OD_ACTOR_WAITS;
    call(a, OD_CALL_ACQUIRE, gate_of(a->device, a->direction));
}

static void end_work(od_player *p, od_actor *a)
{
    if (a->direction == OD_DIRECTIONS) {
        p->end = p->now;
        if (p->p->tasks[a->task].bound == OD_HOST) /* the engine does not know it */
            od_actors_complete(p, a->task);
        else
            od_engine_task_done(p->engine, &p->task[a->task], OD_OK);
    } else {
        end_transfer(p, a);
    }
    hand_over(p, p->p->singly);
    a->state = OD_ACTOR_WAKES;
    wake_next(p, a);
}

/* Until it asks for something. */
static void go_on(od_player *p, od_actor *a)
{
    switch (a->state) {
    case OD_ACTOR_WAITS:
        if (a->direction == OD_DIRECTIONS)
            take_task(p, a);
        else
            take_transfer(p, a);
        break;
    case OD_ACTOR_HAS_TURN:
        a->began = p->now;
        a->state = OD_ACTOR_WORKS;
        call(a, OD_CALL_SEND, 0);
        break;
    case OD_ACTOR_WORKS:
        end_work(p, a);
        break;
    case OD_ACTOR_WAKES:
        wake_next(p, a);
        break;
    }
}

/* --- virtual time ------------------------------------------------------------------------- */

static void release(od_player *p, uint32_t gate)
{
    od_gate *g = &p->gate[gate];
    if (!g->first) {
        g->count++;
        return;
    }
    uint32_t woken = g->first - 1;
    g->first = p->actor[woken].next;
    if (!g->first)
        g->last = 0;
    put(&p->following, woken);
}

/* When the task will have been computed that a worker begins now. */
static double end_of(od_player *p, const od_actor *a)
{
    const od_play_task *task = &p->p->tasks[a->task];
    if (a->device == p->p->ndevices)
        return p->now + task->host_seconds;
    double *until = &p->device[a->device].computes_until;
    double seconds = task->seconds * od_slowness_of(&p->p->topology->slowness, task->speed_class, a->device);
    *until = p->p->in_turn ? fmax(*until, p->now) + seconds : p->now + seconds;
    return *until;
}

static void serve(od_player *p, uint32_t number)
{
    od_actor *a = &p->actor[number];
    switch (a->call) {
    case OD_CALL_ACQUIRE:
        if (p->gate[a->gate].count) {
            p->gate[a->gate].count--;
            put(&p->following, number);
        } else {
            wait_at(p, a->gate, number);
        }
        break;
    case OD_CALL_RELEASE:
        release(p, a->gate);
        put(&p->following, number);
        break;
    case OD_CALL_SLEEP:
        a->date = end_of(p, a);
        p->unbegun -= p->p->tasks[a->task].seconds;
        a->order = (p->moments << 32) - p->begun++; /* of those that begin at once the last ends first, as in SimGrid */
        od_heap_push(&p->sleeping, number);
        break;
    case OD_CALL_SEND:
        od_network_start(&p->network, a->transfer->from, a->transfer->to, (double)a->transfer->bytes, number);
        break;
    }
}

/* All that can happen now. */
static void run_rounds(od_player *p)
{
    while (p->runnable.count && !p->failed) {
        const od_actors_round now = p->runnable;
        for (uint32_t i = 0; i < now.count; i++)
            go_on(p, &p->actor[now.actor[i]]);
        for (uint32_t i = 0; i < now.count; i++)
            serve(p, now.actor[i]);
        p->runnable = p->following;
        p->following = (od_actors_round){.actor = now.actor};
    }
}

/* As llround(), of what is not negative. */
static uint64_t rounded(double x)
{
    uint64_t whole = (uint64_t)x;
    return whole + (x - (double)whole >= 0.5);
}

static double first_date(const od_player *p)
{
    return p->sleeping.count ? p->actor[od_heap_first(&p->sleeping)].date : (double)INFINITY;
}

/* To the next moment at which something ends. False: nothing is under way. */
static bool pass(od_player *p)
{
    static const double same = 1e-9; /* seconds: what ends so soon ends at once */
    double seconds = fmin(od_network_next(&p->network), first_date(p) - p->now);
    if (isinf(seconds))
        return false;
    p->moments++;
    p->now += seconds;
    p->now_ns = rounded(p->now * 1e9);
    while (first_date(p) - p->now < same) {
        uint32_t actor = od_heap_first(&p->sleeping);
        od_heap_remove(&p->sleeping, actor);
        put(&p->runnable, actor);
    }
    uint32_t count = od_network_pass(&p->network, seconds, p->ended);
    for (uint32_t i = 0; i < count; i++)
        put(&p->runnable, p->ended[i]);
    return true;
}

double od_actors_least(const od_player *p)
{
    return p->now + p->unbegun / p->most_at_once;
}

static bool is_late(od_player *p, double limit)
{
    enum { NOW_AND_THEN = 64 }; /* moments */
    static const double about = 1 + 1e-9; /* rounding */
    p->late = p->now > limit || od_actors_least(p) > about * limit ||
              (p->p->stop && p->moments % NOW_AND_THEN == 0 && p->p->stop(p->p->stop_data));
    return p->late;
}

bool od_actors_run(od_player *p, double limit)
{
    hand_over(p, false);
    while (p->wake.first < p->wake.count)
        release(p, p->wake.items[p->wake.first++]);
    p->wake.first = p->wake.count = 0;
    od_actors_round empty = p->runnable;
    p->runnable = p->following;
    p->following = empty;
    do
        run_rounds(p);
    while (p->done < p->p->ntasks && !p->failed && !is_late(p, limit) && pass(p));
    return p->done == p->p->ntasks && !p->failed && p->end <= limit;
}
