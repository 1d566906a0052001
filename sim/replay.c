/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The program of a recorded run, on virtual time.
 *
 * One actor, the program's thread, goes through the recording. It creates tasks at the pace of the recorded thread,
 * requests what that requested of its data, and waits where that waited: a request comes after all tasks that were
 * complete when it was made. A task is ready when all that precede it are complete and the thread has come to the
 * line that says so; then its data are named to the engine by their recorded addresses, as the runtime does.
 */
#include "sim/replay_state.h"

#include <inttypes.h>
#include <math.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <stdlib.h>
#include <string.h>

/* --- waiting ------------------------------------------------------------------- */

static void note_waiting(sim_replay *p, sg_sem_t own)
{
    p->waiting = sim_grown(p->waiting, p->nwaiting, &p->waiting_capacity, sizeof *p->waiting);
    p->waiting[p->nwaiting++] = own;
}

/* A semaphore for an actor that will end. One that waits no longer may still be about to be released: so it is kept
 * for the next such actor, which looks again when woken for nothing. */
static sg_sem_t borrow_semaphore(sim_replay *p)
{
    return p->nspare ? p->spare[--p->nspare] : sg_sem_init(0);
}

static void give_semaphore_back(sim_replay *p, sg_sem_t semaphore)
{
    p->spare = sim_grown(p->spare, p->nspare, &p->spare_capacity, sizeof *p->spare);
    p->spare[p->nspare++] = semaphore;
}

static void pause_until_event(simulation *s, sg_sem_t own)
{
    note_waiting(s->replay, own);
    sg_sem_acquire(own);
}

static void await_requests(simulation *s, sg_sem_t own, const unsigned *pending)
{
    while (*pending && !s->failed)
        pause_until_event(s, own);
}

/* --- the recorded order of events ---------------------------------------------------- */

/* The replay goes another way than the recorded run, whose order says nothing any more. */
static void leave_order(simulation *s)
{
    sim_replay *p = s->replay;
    fprintf(stderr, "ompdarts sim: the replay leaves the recorded order after %" PRIu32 " of %" PRIu32 " events\n",
            p->next_event, p->nevents);
    p->next_event = p->nevents;
    s->bus.next = UINT32_MAX;
}

/* Of a replay with the settings of the recorded run: what came before this event may still come, a little late. */
static void await_turn(simulation *s, sg_sem_t own, uint32_t place)
{
    sim_replay *p = s->replay;
    double deadline = simgrid_get_clock() + sim_turn_timeout;
    if (!p->same)
        return;
    while (p->next_event < place && simgrid_get_clock() < deadline && !s->failed) {
        note_waiting(p, own);
        sg_sem_acquire_timeout(own, fmax(deadline - simgrid_get_clock(), 1e-9));
    }
    if (p->next_event < place && !s->failed)
        leave_order(s);
    p->events[place].happened = true;
    while (p->next_event < p->nevents && p->events[p->next_event].happened)
        p->next_event++;
}

void sim_replay_await_end(simulation *s, sg_sem_t own, uint32_t task)
{
    await_turn(s, own, s->replay->ran_event[s->replay->node_of[task]]);
}

void sim_replay_await_copy(simulation *s, sg_sem_t own, uint32_t rank)
{
    if (rank != SIM_NO_COPY)
        await_turn(s, own, s->replay->copy_event[rank]);
}

/* --- waiting for what must have been --------------------------------------------------- */

/* All that was complete in the recorded run by now. */
static void await_ended(simulation *s, sg_sem_t own)
{
    sim_replay *p = s->replay;
    while (p->first_ended < p->nended && !s->failed)
        if (p->node[p->ended[p->first_ended]].complete)
            p->first_ended++;
        else
            pause_until_event(s, own);
}

static void await_node(simulation *s, sg_sem_t own, uint32_t n)
{
    while (!s->replay->node[n].complete && !s->failed)
        pause_until_event(s, own);
}

/* The thread has worked since the last line at which its clock was set. */
static void keep_pace(sim_replay *p, double at)
{
    double target = p->clock + (at - p->at);
    if (target > simgrid_get_clock())
        sg_actor_sleep_until(target);
    p->at = at;
    p->clock = simgrid_get_clock();
}

static void set_clock(sim_replay *p, double at)
{
    p->at = at;
    p->clock = simgrid_get_clock();
}

/* --- requests -------------------------------------------------------------------- */

static void submit(simulation *s, od_status status, od_request *request, unsigned *pending)
{
    if (status)
        sim_fail(s, "out of memory for a request");
    if (status || !request)
        return;
    ++*pending;
    request->user = pending;
    od_engine_request(s->engine, request);
    sim_after_event(s);
}

void sim_replay_request_done(const od_request *request)
{
    --*(unsigned *)request->user;
}

/* Data that lie there otherwise are written back, so that the range can be divided anew. Tasks that are ready but have
 * not run hold it still: waits longer from try to try. */
static void settle(simulation *s, sg_sem_t own, uintptr_t base, size_t bytes, unsigned tries)
{
    enum { DOUBLINGS = 14, MOST_TRIES = 2000 }; /* up to 1.6 s, about an hour in all */
    static const double moment = 100e-6;
    unsigned pending = 0;
    od_request *request = NULL;
    od_status status = od_engine_range_request(s->engine, base, bytes, OD_REQUEST_SETTLE, &request);
    submit(s, status, request, &pending);
    await_requests(s, own, &pending);
    sg_actor_sleep_for(ldexp(moment, tries < DOUBLINGS ? (int)tries : DOUBLINGS));
    if (tries >= MOST_TRIES)
        sim_fail(s, "data of the recorded run overlap others that stay where they are");
}

static od_region *region_of(simulation *s, const sim_step *step)
{
    return od_directory_find_region(od_engine_directory(s->engine), step->base, step->bytes);
}

static od_section section_of(const sim_step *step)
{
    return (od_section){.begin = step->base, .size = step->bytes, .origin = step->base, .hold = step->hold};
}

static void open_region(simulation *s, sg_sem_t own, const sim_step *step)
{
    unsigned tries = 0;
    od_section section = section_of(step);
    while (od_engine_region_open(s->engine, &section, step->undefined) == OD_EFULL && !s->failed)
        settle(s, own, step->base, step->bytes, tries++);
    od_region *region = region_of(s, step);
    if (region && !step->undefined) /* a snapshot that follows seals before the next synchronisation point */
        od_engine_region_defer(s->engine, region);
}

static void close_region(simulation *s, const sim_step *step, unsigned *pending)
{
    od_request *request = NULL;
    od_section section = section_of(step);
    od_status status = od_engine_region_close(s->engine, &section, step->copy_out, step->all, &request);
    submit(s, status, request, pending);
}

static void ask_for_range(simulation *s, const sim_step *step, unsigned *pending)
{
    od_request *request = NULL;
    od_region *region = region_of(s, step);
    if (region && step->request == OD_REQUEST_PUSH) /* some of it is defined from now on */
        region->undefined = false;
    od_status status = od_engine_range_request(s->engine, step->base, step->bytes, step->request, &request);
    submit(s, status, request, pending);
}

static void synchronise(simulation *s, unsigned *pending)
{
    od_request *request = NULL;
    od_status status = od_engine_sync_request(s->engine, &request);
    submit(s, status, request, pending);
}

static void perform(simulation *s, sg_sem_t own, const sim_step *step)
{
    unsigned pending = 0;
    if (step->kind == SIM_OPEN)
        open_region(s, own, step);
    else if (step->kind == SIM_CLOSE)
        close_region(s, step, &pending);
    else if (step->kind == SIM_RANGE)
        ask_for_range(s, step, &pending);
    else
        synchronise(s, &pending);
    await_requests(s, own, &pending);
}

/* --- nodes ------------------------------------------------------------------------ */

static void push_ready(sim_replay *p, uint32_t n)
{
    p->ready[p->nready++] = n;
}

static void complete_node(simulation *s, uint32_t n)
{
    sim_replay *p = s->replay;
    if (p->node[n].construct != OD_BANKER_NO_STEP)
        od_engine_construct_done(s->engine, p->node[n].construct);
    p->node[n].complete = true;
    p->ncomplete++;
    for (uint32_t i = p->first_after[n]; i < p->first_after[n + 1]; i++) {
        node_state *next = &p->node[p->after[i]];
        if (--next->waiting_for)
            continue;
        next->earliest = simgrid_get_clock() + p->r->nodes[p->after[i]].delay;
        if (next->passed)
            push_ready(p, p->after[i]);
    }
}

/* The thread has come to the node. */
static void pass(simulation *s, uint32_t n)
{
    sim_replay *p = s->replay;
    if (p->node[n].passed)
        return;
    p->node[n].passed = true;
    p->npassed++;
    if (p->node[n].waiting_for == 0)
        push_ready(p, n);
    sim_after_event(s);
}

void sim_replay_completed(simulation *s, uint32_t task)
{
    sim_replay *p = s->replay;
    uint32_t n = p->node_of[task];
    p->node[n].ran = true;
    if (p->node[n].first_step)
        push_ready(p, n);
    else
        complete_node(s, n);
}

/* Two recorded data may be one here, in another order of events. */
static void add_access(od_engine *engine, od_task *task, od_datum *d, od_mode mode)
{
    for (uint32_t i = 0; i < task->naccess; i++)
        if (task->access[i].datum == d) {
            task->access[i].mode |= mode;
            od_engine_release(engine, d);
            return;
        }
    task->access[task->naccess++] = (od_access){.datum = d, .mode = mode};
}

/* Names the task's data. False: the range of *blocked must be divided anew first. */
static bool name_data(simulation *s, uint32_t t, uint32_t *blocked)
{
    const sim_task *what = &s->graph->tasks[t];
    od_task *task = &s->task[t];
    task->naccess = 0;
    task->pure = true;
    for (uint32_t a = what->first_access; a < what->first_access + what->naccess; a++) {
        od_datum *d;
        uint32_t index = s->graph->accesses[a].datum;
        if (od_engine_datum(s->engine, s->graph->data[index].base, s->graph->data[index].bytes, &d)) {
            for (uint32_t i = 0; i < task->naccess; i++)
                od_engine_release(s->engine, task->access[i].datum);
            *blocked = index;
            return false;
        }
        d->keep = !s->replay->r->home[a];
        d->user = &s->datum[index]; /* for the trace */
        task->pure &= d->region != NULL; /* the program may write to others */
        add_access(s->engine, task, d, s->graph->accesses[a].mode);
    }
    return true;
}

static bool arrive(simulation *s, uint32_t n, uint32_t *blocked)
{
    uint32_t t = s->replay->r->nodes[n].task;
    if (!name_data(s, t, blocked))
        return false;
    s->task[t].priority = s->graph->tasks[t].priority;
    s->task[t].duration = s->replay->r->predicted[t];
    od_engine_task_ready(s->engine, &s->task[t]);
    return true;
}

/* It is no longer only submitted. */
static void unsubmit(simulation *s, uint32_t n)
{
    const sim_node *node = &s->replay->r->nodes[n];
    od_submission **submission = &s->replay->node[n].submission;
    if (*submission && !s->replay->node[n].begun)
        od_engine_unsubmit(s->engine, submission);
    if (node->task != SIM_NO_TASK)
        s->task[node->task].submission = *submission;
    else
        od_engine_withdraw(s->engine, *submission);
    *submission = NULL;
    s->replay->node[n].begun = true;
}

/* The actor of a node that must wait: for its time, for the division of its data, or for its own requests. */
static void node_main(int argc, char **argv)
{
    simulation *s = sim_running();
    sim_replay *p = s->replay;
    uint32_t n = sim_actor_number(argc, argv), blocked = 0;
    sg_sem_t own = borrow_semaphore(p);
    if (p->node[n].earliest > simgrid_get_clock())
        sg_actor_sleep_until(p->node[n].earliest);
    unsubmit(s, n);
    if (p->r->nodes[n].task != SIM_NO_TASK && !p->node[n].ran) {
        await_turn(s, own, p->ready_event[n]);
        for (unsigned tries = 0; !s->failed && !arrive(s, n, &blocked); tries++)
            settle(s, own, s->graph->data[blocked].base, s->graph->data[blocked].bytes, tries);
    } else {
        for (uint32_t i = p->node[n].first_step; i; i = p->next_step[i - 1]) {
            await_turn(s, own, p->step_event[i - 1]);
            perform(s, own, &p->r->steps[i - 1]);
        }
        complete_node(s, n);
    }
    sim_after_event(s);
    give_semaphore_back(p, own);
}

static void start_node(simulation *s, uint32_t n)
{
    sim_start_actor("node", s->machine->platform->memory, node_main, n, false);
}

/* It is its turn. */
static void note_ready(sim_replay *p, uint32_t n)
{
    p->events[p->ready_event[n]].happened = true;
    while (p->next_event < p->nevents && p->events[p->next_event].happened)
        p->next_event++;
}

/* --- background jobs ---------------------------------------------------------------------- */

bool sim_replay_depend(const simulation *s, uint32_t task, uint32_t i, od_level_use *item)
{
    const sim_node *node = &s->replay->r->nodes[s->replay->node_of[task]];
    if (i >= node->nuses)
        return false;
    *item = s->replay->r->uses[node->first_use + i];
    return true;
}

bool sim_replay_start_background(simulation *s, od_background *job, size_t tasks)
{
    sim_replay *p = s->replay;
    if (!p->same || tasks < OD_BACKGROUND_FEW || p->njobs == p->r->nplans)
        return false;
    p->job[p->njobs++] = job;
    return true;
}

static void job_main(int argc, char **argv)
{
    simulation *s = sim_running();
    uint32_t i = sim_actor_number(argc, argv);
    sg_sem_t own = borrow_semaphore(s->replay);
    await_turn(s, own, s->replay->plan_event[i]);
    od_background *job = s->replay->job[i];
    job->run(job);
    job->seconds = s->replay->r->plans[i].seconds;
    od_engine_background_done(s->engine, job);
    sim_after_event(s);
    give_semaphore_back(s->replay, own);
}

static void begin(simulation *s, uint32_t n)
{
    sim_replay *p = s->replay;
    uint32_t blocked;
    if (p->node[n].earliest > simgrid_get_clock() || (p->same && p->next_event < p->ready_event[n])) {
        start_node(s, n);
        return;
    }
    unsubmit(s, n);
    if (p->r->nodes[n].task != SIM_NO_TASK && !p->node[n].ran) {
        note_ready(p, n);
        if (!arrive(s, n, &blocked))
            start_node(s, n);
    } else if (p->node[n].first_step) {
        start_node(s, n);
    } else {
        complete_node(s, n);
    }
}

void sim_replay_advance(simulation *s)
{
    sim_replay *p = s->replay;
    while (p->first_ready < p->nready)
        begin(s, p->ready[p->first_ready++]);
    while (p->first_job < p->njobs)
        sim_start_actor("plan", s->machine->platform->memory, job_main, p->first_job++, false);
    for (uint32_t i = 0; i < p->nwaiting; i++)
        sim_wake(s, p->waiting[i]);
    p->nwaiting = 0;
}

/* --- the thread --------------------------------------------------------------------- */

/* What a data construct will do is known when it is created. */
static void announce(simulation *s, uint32_t n)
{
    sim_replay *p = s->replay;
    p->node[n].construct = od_engine_construct(s->engine);
    for (uint32_t i = p->node[n].first_step; i; i = p->next_step[i - 1]) {
        const sim_step *step = &p->r->steps[i - 1];
        if (step->kind == SIM_OPEN && step->undefined)
            od_engine_construct_opens(s->engine, step->base, step->bytes);
        else if (step->kind == SIM_CLOSE)
            od_engine_construct_closes(s->engine, p->node[n].construct, step->base);
    }
}

/* With other settings than those of the recorded run the order of its lines says nothing of when a task is ready, or a
 * data construct is carried out: any thread of the program may do that. */
static void create(simulation *s, uint32_t n)
{
    const sim_node *node = &s->replay->r->nodes[n];
    if (node->task != SIM_NO_TASK)
        s->task[node->task].created_ns = sim_now_ns();
    const od_task *task = node->task != SIM_NO_TASK ? &s->task[node->task] : &(od_task){0};
    od_submission **submission = &s->replay->node[n].submission;
    if (node->seconds > 0 || ((s->machine->guard || s->machine->spill_limit) && node->task != SIM_NO_TASK))
        *submission = od_engine_submit(s->engine, task->kind, task->speed_class, node->seconds,
                                       s->replay->r->uses + node->first_use, node->nuses);
    else
        announce(s, n);
    if (node->task != SIM_NO_TASK)
        od_engine_submission_rank(*submission, s->graph->tasks[node->task].priority);
    if (!s->replay->same && (node->task != SIM_NO_TASK || s->replay->node[n].first_step))
        pass(s, n);
    else
        sim_after_event(s);
}

static void note_ended(sim_replay *p, uint32_t n)
{
    p->ended[p->nended++] = n;
}

static void end_node(simulation *s, sg_sem_t own, const sim_step *step)
{
    sim_replay *p = s->replay;
    if (!p->node[step->node].first_step) { /* the thread ran it */
        await_ended(s, own);
        keep_pace(p, step->at);
        note_ended(p, step->node);
    }
    pass(s, step->node);
}

static void ask(simulation *s, sg_sem_t own, const sim_step *step)
{
    if (step->node) /* a task's own */
        return;
    await_ended(s, own);
    keep_pace(s->replay, step->at);
    await_turn(s, own, s->replay->step_event[step - s->replay->r->steps]);
    perform(s, own, step);
}

static void follow(simulation *s, sg_sem_t own, const sim_step *step)
{
    sim_replay *p = s->replay;
    switch (step->kind) {
    case SIM_CREATE:
        keep_pace(p, step->at);
        await_turn(s, own, p->step_event[step - p->r->steps]);
        create(s, step->node);
        return;
    case SIM_TASK:
        pass(s, step->node);
        return;
    case SIM_RAN:
        note_ended(p, step->node);
        return;
    case SIM_DONE:
        end_node(s, own, step);
        return;
    case SIM_AWAIT: /* until it submits more: tasks that run meanwhile synchronise, too */
        keep_pace(p, step->at);
        await_turn(s, own, p->step_event[step - p->r->steps]);
        od_engine_await(s->engine, true);
        sim_after_event(s);
        return;
    case SIM_SYNC:
        await_ended(s, own);
        await_turn(s, own, p->step_event[step - p->r->steps]);
        perform(s, own, step);
        set_clock(p, step->at);
        return;
    case SIM_RESUME:
        await_ended(s, own);
        set_clock(p, step->at);
        return;
    case SIM_WAIT:
        await_node(s, own, step->node);
        set_clock(p, step->at);
        return;
    case SIM_OPEN:
    case SIM_CLOSE:
    case SIM_RANGE:
        ask(s, own, step);
        return;
    }
}

void sim_replay_main(simulation *s)
{
    sim_replay *p = s->replay;
    sg_sem_t own = borrow_semaphore(p);
    for (uint32_t i = 0; i < p->r->nsteps && !s->failed; i++)
        follow(s, own, &p->r->steps[i]);
    while (p->ncomplete < p->npassed && !s->failed)
        pause_until_event(s, own);
    give_semaphore_back(p, own);
    sg_actor_sleep_for(sim_turn_timeout); /* other actors finish first: the simulation ends with this one */
}
