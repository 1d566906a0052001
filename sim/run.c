/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A simulation: the engine's driver, and the actors that carry out its commands in virtual time. */
#include "sim/recursion/drive.h"
#include "sim/simulate_internal.h"

#include "util/clock.h"

#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- the driver -------------------------------------------------------------------- */

/* Between a spill area and the program's memory. */
static bool stays_on_host(const od_transfer *x)
{
    return x->from >= OD_SPILL && x->to >= OD_SPILL;
}

static queue *queue_of(simulation *s, const od_transfer *x)
{
    way direction = x->to >= OD_SPILL ? FROM_DEVICE : x->from >= OD_SPILL ? TO_DEVICE : BETWEEN_DEVICES;
    return &s->device[direction == FROM_DEVICE ? x->from : x->to].queue[direction];
}

static void start_transfer(void *driver, od_transfer *x)
{
    simulation *s = driver;
    if (stays_on_host(x)) {
        od_list_push_back(&s->host_copies.copies, &x->node);
        sim_wake(s, s->host_copies.work);
        return;
    }
    queue *q = queue_of(s, x);
    od_list_push_back(x->demanded ? &q->demanded : &q->prefetches, &x->node);
    sim_wake(s, q->work);
}

static void start_task(void *driver, od_task *task, int place)
{
    simulation *s = driver;
    if (place == OD_HOST && !s->machine->cpus) {
        sim_fail(s, "a task does not fit on its device, and there are no CPU workers");
        return;
    }
    device *workers = &s->device[place == OD_HOST ? (int)s->machine->ndevices : place];
    command *c = s->recursive ? sim_recursive_command(task) : &s->command[sim_task_number(s, task)];
    c->task = task;
    if (s->recursive && place == OD_HOST)
        sim_recursive_runs(s, 1);
    od_list_push_back(&workers->started, &c->node);
    sim_wake(s, workers->work);
}

static void complete_task(void *driver, od_task *task)
{
    simulation *s = driver;
    if (s->recursive) {
        s->done++;
        sim_recursive_completed(s, task);
        return;
    }
    uint32_t t = (uint32_t)(task - s->task);
    if (s->replay)
        sim_replay_completed(s, t);
    for (uint32_t i = s->first_after[t]; !s->replay && i < s->first_after[t + 1]; i++)
        if (--s->waiting_for[s->after[i]] == 0)
            s->ready[s->nready++] = s->after[i];
    if (++s->done == s->graph->ntasks)
        sim_wake(s, s->finished);
}

static od_task *again(void *driver, const od_task *task)
{
    (void)driver;
    od_task *copy = malloc(sizeof *copy + task->naccess * sizeof *task->access);
    if (!copy)
        return NULL;
    *copy = (od_task){.bound = OD_NOWHERE,
                      .priority = task->priority,
                      .duration = task->duration,
                      .host_seconds = -1,
                      .kind = task->kind,
                      .speed_class = task->speed_class,
                      .naccess = task->naccess,
                      .access = (od_access *)(copy + 1),
                      .user = (void *)(uintptr_t)task};
    memcpy(copy->access, task->access, task->naccess * sizeof *task->access);
    return copy;
}

static void free_again(void *driver, od_task *task)
{
    (void)driver;
    free(task);
}

static void complete_request(void *driver, od_request *request)
{
    simulation *s = driver;
    if (s->replay)
        sim_replay_request_done(request);
    else
        sim_wake(s, s->finished);
    od_request_destroy(request);
}

static uint64_t now_ns(void *driver)
{
    (void)driver;
    return sim_now_ns();
}

/* Asking for processor time takes as long as many a decision. The least of some times: a wrong one is too long. */
static uint64_t time_of_reading(void)
{
    enum { TRIES = 100 };
    uint64_t least_ns = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        uint64_t begin_ns = od_clock_thread_ns(), ns = od_clock_thread_ns() - begin_ns;
        least_ns = ns < least_ns ? ns : least_ns;
    }
    return least_ns;
}

/* All actors are of one thread. */
static uint64_t cost_ns(void *driver)
{
    simulation *s = driver;
    if (s->machine->cost == SIM_COST_IGNORED)
        return 0;
    s->readings_ns += s->reading_ns;
    uint64_t now_ns = od_clock_thread_ns() - s->readings_ns;
    s->cost_ns = now_ns > s->cost_ns ? now_ns : s->cost_ns;
    return s->cost_ns;
}

/* As the policy of the recorded run knew them. */
static od_link recorded_link(void *driver, int from, int to)
{
    const sim_recording *r = ((const simulation *)driver)->machine->recording;
    return from < OD_SPILL && to < OD_SPILL ? r->peer_link : r->host_link;
}

static void fatal(void *driver, const char *message)
{
    sim_fail(driver, message);
}

static bool start_background(void *driver, od_background *job, size_t tasks)
{
    return sim_replay_start_background(driver, job, tasks);
}

static const od_driver_ops driver_ops = {.start_transfer = start_transfer,
                                         .start_task = start_task,
                                         .complete_task = complete_task,
                                         .complete_request = complete_request,
                                         .now_ns = now_ns,
                                         .cost_ns = cost_ns,
                                         .again = again,
                                         .free_again = free_again,
                                         .fatal = fatal};

static void choose_ops(simulation *s)
{
    const sim_machine *m = s->machine;
    s->ops = driver_ops;
    s->ops.event = m->timeline ? sim_emit_timeline : NULL;
    s->ops.link = m->recording && sim_replay_is_same(m, m->recording) ? recorded_link : NULL;
    s->ops.start_background = m->recording ? start_background : NULL;
    if (m->processors) {
        s->ops.processor_ns = sim_processor_ns;
        s->ops.start_background = sim_plan_in_background;
    }
    s->reading_ns = m->cost == SIM_COST_IGNORED ? 0 : time_of_reading();
}

/* --- arrival --------------------------------------------------------------------------- */

static od_level_use *uses_of(const simulation *s, uint32_t t, od_level_use *uses)
{
    const sim_task *task = &s->graph->tasks[t];
    for (uint32_t i = 0; i < task->naccess; i++) {
        const od_access *a = &s->access[task->first_access + i];
        uses[i] = (od_level_use){a->datum->base, a->mode & OD_WRITE, a->mode == OD_WRITE};
    }
    return uses;
}

/* The graph is known from the beginning, as when a program submits faster than devices compute. */
static void submit_all(simulation *s)
{
    od_level_use uses[SIM_MOST_ACCESSES];
    for (uint32_t t = 0; t < s->graph->ntasks && s->machine->cpus; t++)
        od_engine_expect_host(s->engine, s->task[t].kind, s->task[t].host_seconds);
    for (uint32_t t = 0; s->submission && t < s->graph->ntasks; t++)
        s->submission[t] = od_engine_submit(s->engine, s->task[t].kind, s->task[t].speed_class, s->task[t].duration,
                                            uses_of(s, t, uses), s->graph->tasks[t].naccess);
}

static void make_ready(simulation *s, uint32_t t)
{
    double bottom = 0;
    if (s->submission) {
        bottom = od_engine_unsubmit(s->engine, &s->submission[t]);
        s->task[t].submission = s->submission[t];
    }
    s->task[t].duration = sim_expected_seconds(s, t);
    sim_note_guess(s, t);
    s->task[t].priority = s->graph->has_priorities ? s->graph->tasks[t].priority : od_level_priority(bottom);
    for (uint32_t i = 0; i < s->task[t].naccess; i++)
        s->task[t].access[i].datum->pending++;
    od_engine_task_ready(s->engine, &s->task[t]);
}

static void hand_over(simulation *s)
{
    od_engine_hold(s->engine);
    while (s->first_ready < s->nready)
        make_ready(s, s->ready[s->first_ready++]);
    od_engine_resume(s->engine);
}

static void await_release(const simulation *s)
{
    if (s->release > simgrid_get_clock())
        sg_actor_sleep_until(s->release);
}

/* --- the actors ------------------------------------------------------------------------ */

/* Returns when it began. */
static double send(simulation *s, const od_transfer *x, size_t bytes, uint32_t rank, sg_sem_t turn)
{
    const sim_platform *platform = s->machine->platform;
    if (platform->turns)
        sim_bus_take(s, sim_replay_place_on_bus(s, rank), turn);
    double start = simgrid_get_clock();
    sg_host_sendto(sim_platform_place(platform, x->from), sim_platform_place(platform, x->to), (double)bytes);
    if (platform->turns)
        sim_bus_leave(s);
    return start;
}

/* What goes over the cards of two nodes. */
static void count_sent(simulation *s, const od_transfer *x)
{
    unsigned from = sim_platform_node(s->machine->platform, x->from),
             to = sim_platform_node(s->machine->platform, x->to);
    if (from == to)
        return;
    s->sent[from] += x->bytes;
    s->received[to] += x->bytes;
}

static uint32_t rank_of(const simulation *s, const od_transfer *x)
{
    return s->replay ? sim_replay_rank(s, x) : SIM_NO_COPY;
}

static void end_transfer(simulation *s, od_transfer *x, uint32_t rank, double start, sg_sem_t event)
{
    if (s->replay)
        sim_replay_await_copy(s, event, rank);
    x->start_ns = (uint64_t)(start * 1e9);
    x->end_ns = sim_now_ns();
    count_sent(s, x);
    sim_write_transfer(s, x, start);
    od_engine_transfer_done(s->engine, x, OD_OK);
    sim_after_event(s);
    sim_bus_give(s);
}

/* What waits behind it and moves with it, and how many bytes these are together. */
static size_t gather(simulation *s, queue *q, od_list *waiting, const od_transfer *x, od_list *with)
{
    size_t bytes = x->bytes;
    od_list_init(with);
    while (s->recursive && waiting->count) {
        od_transfer *next = od_container_of(od_list_first(waiting), od_transfer, node);
        if (!sim_recursive_is_one_copy(s, x, next))
            break;
        od_list_push_back(with, od_list_pop_front(waiting));
        bytes += next->bytes;
    }
    for (size_t i = 0; i < with->count; i++)
        sg_sem_acquire(q->work);
    return bytes;
}

static void queue_main(int argc, char **argv)
{
    simulation *s = sim_running();
    unsigned number = sim_actor_number(argc, argv);
    queue *q = &s->device[number / WAYS].queue[number % WAYS];
    for (;;) {
        sg_sem_acquire(q->work);
        od_list *waiting = q->demanded.count ? &q->demanded : &q->prefetches, with;
        od_transfer *x = od_container_of(od_list_pop_front(waiting), od_transfer, node);
        size_t bytes = gather(s, q, waiting, x, &with);
        await_release(s);
        uint32_t rank = rank_of(s, x);
        double start = send(s, x, bytes, rank, q->turn);
        end_transfer(s, x, rank, start, q->event);
        for (od_node *node; (node = od_list_pop_front(&with));)
            end_transfer(s, od_container_of(node, od_transfer, node), rank, start, q->event);
    }
}

static void host_copier_main(int argc, char **argv)
{
    static const double bandwidth = 10e9; /* bytes/s, of one thread */
    simulation *s = sim_running();
    sg_sem_t event = s->host_copies.event[sim_actor_number(argc, argv)];
    for (;;) {
        sg_sem_acquire(s->host_copies.work);
        od_transfer *x = od_container_of(od_list_pop_front(&s->host_copies.copies), od_transfer, node);
        await_release(s);
        uint32_t rank = rank_of(s, x);
        double start = simgrid_get_clock();
        sg_actor_sleep_for((double)x->bytes / bandwidth);
        end_transfer(s, x, rank, start, event);
    }
}

static void worker_main(int argc, char **argv)
{
    simulation *s = sim_running();
    unsigned k = sim_actor_number(argc, argv);
    device *self = &s->device[k];
    const od_slowness *slowness = &s->machine->platform->topology->slowness;
    sg_sem_t own = self->own ? self->own[self->workers++] : NULL;
    for (;;) {
        sg_sem_acquire(self->work);
        od_task *task = od_container_of(od_list_pop_front(&self->started), command, node)->task;
        await_release(s);
        double start = simgrid_get_clock();
        uint32_t t = sim_task_number(s, task);
        double seconds = s->recursive ? task->duration : s->seconds[t];
        sg_actor_sleep_for(task->place == OD_HOST ? task->host_seconds
                                                  : seconds * od_slowness_of(slowness, task->speed_class, k));
        if (s->replay)
            sim_replay_await_end(s, own, t);
        sim_measured(s, t);
        s->end = simgrid_get_clock();
        sim_write_task(s, task, start);
        if (s->recursive && task->place == OD_HOST)
            sim_recursive_runs(s, -1);
        od_engine_task_done(s->engine, task, OD_OK);
        sim_after_event(s);
    }
}

/* As a program does that waits for its tasks. */
static void bring_home(simulation *s)
{
    od_request *request;
    if (od_engine_sync_request(s->engine, &request))
        sim_fail(s, "out of memory for a request");
    if (!request)
        return;
    od_engine_request(s->engine, request);
    sim_after_event(s);
    sg_sem_acquire(s->finished);
    s->end = simgrid_get_clock();
}

static void main_main(int argc, char **argv)
{
    simulation *s = sim_running();
    (void)argc;
    (void)argv;
    for (unsigned k = 0; k < s->machine->ndevices; k++) {
        sg_host_t host = sim_platform_place(s->machine->platform, (int)k);
        for (unsigned w = 0; w < WAYS; w++)
            sim_start_actor("queue", host, queue_main, k * WAYS + w, true);
        for (unsigned i = 0; i < s->machine->platform->slots; i++)
            sim_start_actor("worker", host, worker_main, k, true);
    }
    for (unsigned i = 0; i < s->machine->cpus; i++)
        sim_start_actor("CPU worker", s->machine->platform->memory, worker_main, s->machine->ndevices, true);
    if (s->replay) { /* of a program that has regions */
        for (unsigned i = 0; i < SIM_HOST_COPIERS; i++)
            sim_start_actor("host copier", s->machine->platform->memory, host_copier_main, i, true);
        sim_replay_main(s);
        return;
    }
    if (!s->recursive)
        submit_all(s);
    od_engine_await(s->engine, true);
    for (uint32_t t = 0; t < s->graph->ntasks && !s->recursive; t++)
        if (s->waiting_for[t] == 0)
            s->ready[s->nready++] = t;
    bool any = s->recursive || s->graph->ntasks;
    sim_after_event(s);
    if (any)
        sg_sem_acquire(s->finished);
    if (s->machine->results != SIM_RESULTS_STAY)
        bring_home(s);
}

/* --- all of it ------------------------------------------------------------------------ */

od_status sim_run(const sim_graph *graph, const sim_machine *machine, sim_result *result, char *error, size_t size)
{
    simulation *s = calloc(1, sizeof *s);
    if (!s)
        return OD_ENOMEM;
    s->graph = graph;
    s->machine = machine;
    s->error = error;
    s->error_size = size;
    s->advance = machine->recording ? sim_replay_advance : machine->recursive ? sim_recursive_advance : hand_over;
    snprintf(error, size, "out of memory");
    choose_ops(s);
    od_status status = sim_make(s);
    if (!status) {
        if (machine->trace)
            fputs(sim_csv_header, machine->trace);
        sim_set_running(s);
        sg_actor_create("main", machine->platform->memory, main_main, 0, NULL);
        simgrid_run();
        if (s->is_play) /* it has failed, or its end would not have come */
            _exit(EXIT_FAILURE);
        if (s->recursive ? !sim_recursive_is_done(s) : s->done < graph->ntasks)
            sim_fail(s, "the simulation stopped before all tasks had run: they wait for events that never come");
        sim_unmake_devices(s);
        sim_set_running(NULL);
        if (machine->progress && s->shown_ns)
            fprintf(stderr, "\r\033[K");
        sim_collect(s, result);
        status = s->failed ? OD_EINVAL : OD_OK;
    }
    if (s->timeline && od_trace_close(s->timeline) && !status) {
        snprintf(error, size, "%s could not be written", machine->timeline);
        status = OD_EIO;
    }
    sim_release(s);
    free(s);
    return status;
}
