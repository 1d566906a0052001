/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "bench/sim/simulate.h"

#include "memmgr/clock.h"

#include <math.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PER_TASK = 1 }; /* a datum's first page: bases differ by at least this */

typedef enum way { TO_DEVICE, FROM_DEVICE, BETWEEN_DEVICES, WAYS } way;

/* What the engine has commanded and nobody has begun. */
typedef struct command {
    od_node node;
    od_task *task;
    double release; /* not before this time */
} command;

typedef struct queue {
    struct simulation *simulation;
    od_list demanded, prefetches; /* od_transfer.node */
    sg_sem_t work;
} queue;

typedef struct device {
    struct simulation *simulation;
    queue queue[WAYS];
    od_list started; /* command.node */
    sg_sem_t work;
} device;

/* Actors to be woken once the engine has returned. */
typedef struct wake_list {
    sg_sem_t *items;
    size_t first, count, capacity; /* those before `first` have been woken */
} wake_list;

typedef struct simulation {
    const sim_graph *graph;
    const sim_machine *machine;
    od_engine *engine;
    device device[OD_MAX_DEVICES];
    od_datum **datum;
    od_task *task;
    od_access *access;
    command *command;              /* by task */
    uint32_t *waiting_for;         /* by task: predecessors that have not ended */
    uint32_t *first_after, *after; /* successors */
    od_level **level;
    uint32_t *ready; /* a queue of those that have become ready and that the engine does not know yet */
    uint32_t first_ready, nready;
    uint32_t done;
    wake_list wake;
    sg_sem_t finished;
    double release;      /* when the scheduler has decided what it has been asked so far */
    uint64_t counted_ns; /* of the scheduling time, what `release` contains */
    double end;          /* of the last task */
    char *error;
    size_t error_size;
    bool failed;
    uint64_t shown_ns; /* real time of the last line of progress */
} simulation;

/* --- the driver -------------------------------------------------------------------- */

static void wake(simulation *s, sg_sem_t semaphore)
{
    wake_list *list = &s->wake;
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 64;
        list->items = realloc(list->items, list->capacity * sizeof *list->items);
        if (!list->items)
            abort();
    }
    list->items[list->count++] = semaphore;
}

static queue *queue_of(simulation *s, const od_transfer *x)
{
    way direction = x->to >= OD_SPILL ? FROM_DEVICE : x->from >= OD_SPILL ? TO_DEVICE : BETWEEN_DEVICES;
    return &s->device[direction == FROM_DEVICE ? x->from : x->to].queue[direction];
}

static void start_transfer(void *driver, od_transfer *x)
{
    simulation *s = driver;
    queue *q = queue_of(s, x);
    od_list_push_back(x->demanded ? &q->demanded : &q->prefetches, &x->node);
    wake(s, q->work);
}

static void fail(simulation *s, const char *message)
{
    if (!s->failed)
        snprintf(s->error, s->error_size, "%s", message);
    s->failed = true;
    wake(s, s->finished);
}

static void start_task(void *driver, od_task *task, int place)
{
    simulation *s = driver;
    if (place == OD_HOST) {
        fail(s, "a task does not fit on its device: there is no host version in the simulator");
        return;
    }
    command *c = &s->command[task - s->task];
    c->task = task;
    od_list_push_back(&s->device[place].started, &c->node);
    wake(s, s->device[place].work);
}

static void complete_task(void *driver, od_task *task)
{
    simulation *s = driver;
    uint32_t t = (uint32_t)(task - s->task);
    for (uint32_t i = s->first_after[t]; i < s->first_after[t + 1]; i++)
        if (--s->waiting_for[s->after[i]] == 0)
            s->ready[s->nready++] = s->after[i];
    if (++s->done == s->graph->ntasks)
        wake(s, s->finished);
}

static void complete_request(void *driver, od_request *request)
{
    (void)driver;
    od_request_destroy(request);
}

static uint64_t now_ns(void *driver)
{
    (void)driver;
    return (uint64_t)llround(simgrid_get_clock() * 1e9);
}

static uint64_t cost_ns(void *driver)
{
    const simulation *s = driver;
    return s->machine->cost == SIM_COST_IGNORED ? 0 : od_clock_ns();
}

static od_link link_between(void *driver, int from, int to)
{
    const simulation *s = driver;
    return sim_platform_link(s->machine->platform, from, to, s->machine->ndevices);
}

static void fatal(void *driver, const char *message)
{
    fail(driver, message);
}

static const od_driver_ops driver_ops = {.start_transfer = start_transfer,
                                         .start_task = start_task,
                                         .complete_task = complete_task,
                                         .complete_request = complete_request,
                                         .now_ns = now_ns,
                                         .cost_ns = cost_ns,
                                         .link = link_between,
                                         .fatal = fatal};

/* --- arrival --------------------------------------------------------------------------- */

static od_level_use *uses_of(const simulation *s, uint32_t t, od_level_use *uses)
{
    const sim_task *task = &s->graph->tasks[t];
    for (uint32_t i = 0; i < task->naccess; i++) {
        const od_access *a = &s->access[task->first_access + i];
        uses[i] = (od_level_use){a->datum->base, a->mode & OD_WRITE};
    }
    return uses;
}

enum { MOST_ACCESSES = 64 };

static int32_t priority_of(const simulation *s, uint32_t t, double bottom)
{
    if (s->graph->has_priorities)
        return s->graph->tasks[t].priority;
    double microseconds = bottom * 1e6;
    return microseconds < INT32_MAX ? (int32_t)microseconds : INT32_MAX;
}

/* The graph is known from the beginning, as when a program submits faster than devices compute. */
static void submit_all(simulation *s)
{
    od_level_use uses[MOST_ACCESSES];
    for (uint32_t t = 0; s->level && t < s->graph->ntasks; t++)
        s->level[t] = od_engine_submit(s->engine, s->task[t].duration, uses_of(s, t, uses), s->graph->tasks[t].naccess);
}

static void make_ready(simulation *s, uint32_t t)
{
    od_level_use uses[MOST_ACCESSES];
    double bottom = 0;
    if (s->level)
        bottom = od_engine_unsubmit(s->engine, s->level[t], uses_of(s, t, uses), s->graph->tasks[t].naccess);
    s->task[t].priority = priority_of(s, t, bottom);
    for (uint32_t i = 0; i < s->task[t].naccess; i++)
        s->task[t].access[i].datum->pending++;
    od_engine_task_ready(s->engine, &s->task[t]);
}

static void show_progress(simulation *s)
{
    enum { CHECK_EVERY = 256 };
    if (!s->machine->progress || s->done % CHECK_EVERY)
        return;
    uint64_t now = od_clock_ns();
    if (now - s->shown_ns < OD_NS_PER_S / 2)
        return;
    s->shown_ns = now;
    fprintf(stderr, "\rompdarts sim: %u of %u tasks, %.3f s simulated ", s->done, s->graph->ntasks,
            simgrid_get_clock());
}

/* After an event: hands over what has become ready, then wakes whom the engine has given work. */
static void after_event(simulation *s)
{
    od_engine_hold(s->engine);
    while (s->first_ready < s->nready)
        make_ready(s, s->ready[s->first_ready++]);
    od_engine_resume(s->engine);
    if (s->machine->cost == SIM_COST_ADDED) {
        od_engine_stats stats;
        od_engine_stats_get(s->engine, &stats);
        s->release = fmax(s->release, simgrid_get_clock()) + (double)(stats.sched_ns - s->counted_ns) * 1e-9;
        s->counted_ns = stats.sched_ns;
    }
    show_progress(s);
    while (s->wake.first < s->wake.count) /* other actors may come here meanwhile */
        sg_sem_release(s->wake.items[s->wake.first++]);
    s->wake.first = s->wake.count = 0;
}

static void await_release(const simulation *s)
{
    if (s->release > simgrid_get_clock())
        sg_actor_sleep_until(s->release);
}

/* --- the trace ------------------------------------------------------------------------- */

static const char trace_header[] = "kind,name,task,row,column,layer,device,from,to,bytes,demanded,start_s,end_s\n";

static void place_name(int place, char *name, size_t size)
{
    if (place >= OD_SPILL)
        snprintf(name, size, "ram");
    else
        snprintf(name, size, "%d", place);
}

/* The task, then what it uses: kind r, w or rw, the datum's matrix, and the task's number. */
static void trace_task(const simulation *s, const od_task *task, double start)
{
    static const char *const kinds[] = {[OD_READ] = "r", [OD_WRITE] = "w", [OD_READ_WRITE] = "rw"};
    uint32_t t = (uint32_t)(task - s->task);
    const sim_task *what = &s->graph->tasks[t];
    if (!s->machine->trace)
        return;
    fprintf(s->machine->trace, "task,%s,%u,%u,%u,%u,%d,,,,,%.9f,%.9f\n", s->graph->kernels[what->kernel].name, t,
            what->coordinate[0], what->coordinate[1], what->coordinate[2], task->place, start, simgrid_get_clock());
    for (uint32_t i = 0; i < what->naccess; i++) {
        const sim_access *a = &s->graph->accesses[what->first_access + i];
        const sim_datum *d = &s->graph->data[a->datum];
        fprintf(s->machine->trace, "%s,%s,%u,%u,%u,,%d,,,%zu,,,\n", kinds[a->mode], s->graph->matrix[d->matrix], t,
                d->row, d->column, task->place, d->bytes);
    }
}

static void trace_transfer(const simulation *s, const od_transfer *x, double start)
{
    char from[16], to[16];
    if (!s->machine->trace)
        return;
    static const char *const kinds[] = {
        [OD_LOAD] = "load", [OD_WRITE_BACK] = "store", [OD_EVICT] = "evict", [OD_UPDATE] = "update"};
    const sim_datum *d = &s->graph->data[(x->datum->user ? (od_datum *const *)x->datum->user : s->datum) - s->datum];
    place_name(x->from, from, sizeof from);
    place_name(x->to, to, sizeof to);
    fprintf(s->machine->trace, "%s,%s,,%u,%u,,%d,%s,%s,%zu,%d,%.9f,%.9f\n", kinds[x->kind], s->graph->matrix[d->matrix],
            d->row, d->column, x->to >= OD_SPILL ? x->from : x->to, from, to, x->bytes, x->demanded, start,
            simgrid_get_clock());
}

/* --- the actors ------------------------------------------------------------------------ */

static simulation *running; /* actors get text arguments only */

static int actor_number(int argc, char **argv)
{
    return argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0;
}

static void queue_main(int argc, char **argv)
{
    simulation *s = running;
    int number = actor_number(argc, argv);
    queue *q = &s->device[number / WAYS].queue[number % WAYS];
    for (;;) {
        sg_sem_acquire(q->work);
        od_node *node = od_list_pop_front(&q->demanded);
        if (!node)
            node = od_list_pop_front(&q->prefetches);
        od_transfer *x = od_container_of(node, od_transfer, node);
        await_release(s);
        double start = simgrid_get_clock();
        sg_host_sendto(sim_platform_place(s->machine->platform, x->from),
                       sim_platform_place(s->machine->platform, x->to), (double)x->bytes);
        trace_transfer(s, x, start);
        od_engine_transfer_done(s->engine, x, OD_OK);
        after_event(s);
    }
}

static void worker_main(int argc, char **argv)
{
    simulation *s = running;
    device *self = &s->device[actor_number(argc, argv)];
    for (;;) {
        sg_sem_acquire(self->work);
        od_task *task = od_container_of(od_list_pop_front(&self->started), command, node)->task;
        await_release(s);
        double start = simgrid_get_clock();
        sg_actor_sleep_for(task->duration);
        s->end = simgrid_get_clock();
        trace_task(s, task, start);
        od_engine_task_done(s->engine, task, OD_OK);
        after_event(s);
    }
}

static void start_actor(const char *name, sg_host_t host, xbt_main_func_t code, unsigned number)
{
    char text[16], actor[32];
    snprintf(text, sizeof text, "%u", number);
    snprintf(actor, sizeof actor, "%s%u", name, number);
    char *arguments[] = {actor, text, NULL};
    sg_actor_daemonize(sg_actor_create(actor, host, code, 2, arguments));
}

static void main_main(int argc, char **argv)
{
    simulation *s = running;
    (void)argc;
    (void)argv;
    for (unsigned k = 0; k < s->machine->ndevices; k++) {
        sg_host_t host = sim_platform_place(s->machine->platform, (int)k);
        for (unsigned w = 0; w < WAYS; w++)
            start_actor("queue", host, queue_main, k * WAYS + w);
        for (unsigned i = 0; i < s->machine->platform->slots; i++)
            start_actor("worker", host, worker_main, k);
    }
    submit_all(s);
    for (uint32_t t = 0; t < s->graph->ntasks; t++)
        if (s->waiting_for[t] == 0)
            s->ready[s->nready++] = t;
    after_event(s);
    if (s->graph->ntasks)
        sg_sem_acquire(s->finished);
}

/* --- making and unmaking --------------------------------------------------------------- */

size_t sim_footprint(const sim_graph *graph)
{
    size_t largest = 0;
    for (uint32_t t = 0; t < graph->ntasks; t++) {
        size_t bytes = 0;
        for (uint32_t i = 0; i < graph->tasks[t].naccess; i++)
            bytes += graph->data[graph->accesses[graph->tasks[t].first_access + i].datum].bytes;
        largest = bytes > largest ? bytes : largest;
    }
    return largest;
}

double sim_task_seconds(const sim_graph *graph, const sim_platform *platform, uint32_t t)
{
    const sim_task *task = &graph->tasks[t];
    const sim_kernel *kernel = &graph->kernels[task->kernel];
    return task->seconds > 0 ? task->seconds
                             : kernel->calls * sim_platform_seconds(platform, kernel->name, kernel->tile);
}

/* Successors from predecessors. */
static void link_successors(simulation *s)
{
    const sim_graph *g = s->graph;
    for (uint32_t i = 0; i < g->nbefore; i++)
        s->first_after[g->before[i] + 1]++;
    for (uint32_t t = 0; t < g->ntasks; t++)
        s->first_after[t + 1] += s->first_after[t];
    uint32_t *filled = calloc(g->ntasks + 1, sizeof *filled);
    for (uint32_t t = 0; filled && t < g->ntasks; t++)
        for (uint32_t i = g->tasks[t].first_before; i < g->tasks[t].first_before + g->tasks[t].nbefore; i++)
            s->after[s->first_after[g->before[i]] + filled[g->before[i]]++] = t;
    free(filled);
}

static od_status allocate(simulation *s)
{
    const sim_graph *g = s->graph;
    s->datum = calloc(g->ndata + 1, sizeof *s->datum);
    s->task = calloc(g->ntasks + 1, sizeof *s->task);
    s->access = calloc(g->naccesses + 1, sizeof *s->access);
    s->command = calloc(g->ntasks + 1, sizeof *s->command);
    s->waiting_for = calloc(g->ntasks + 1, sizeof *s->waiting_for);
    s->first_after = calloc(g->ntasks + 2, sizeof *s->first_after);
    s->after = calloc(g->nbefore + 1, sizeof *s->after);
    s->ready = calloc(g->ntasks + 1, sizeof *s->ready);
    s->level = g->nbefore ? calloc(g->ntasks + 1, sizeof *s->level) : NULL;
    bool all =
        s->datum && s->task && s->access && s->command && s->waiting_for && s->first_after && s->after && s->ready;
    return all && (s->level || !g->nbefore) ? OD_OK : OD_ENOMEM;
}

static void release(simulation *s)
{
    od_engine_destroy(s->engine);
    free(s->datum);
    free(s->task);
    free(s->access);
    free(s->command);
    free(s->waiting_for);
    free(s->first_after);
    free(s->after);
    free(s->ready);
    free(s->level);
    free(s->wake.items);
}

static od_status make_data(simulation *s)
{
    uintptr_t next = PER_TASK;
    for (uint32_t d = 0; d < s->graph->ndata; d++) {
        uintptr_t base = s->graph->data[d].base ? s->graph->data[d].base : next;
        od_status status = od_engine_datum(s->engine, base, s->graph->data[d].bytes, &s->datum[d]);
        if (status)
            return status;
        s->datum[d]->keep = true;
        s->datum[d]->user = &s->datum[d];
        next = base + s->graph->data[d].bytes;
    }
    return OD_OK;
}

static od_status make_tasks(simulation *s)
{
    const sim_graph *g = s->graph;
    for (uint32_t a = 0; a < g->naccesses; a++)
        s->access[a] = (od_access){s->datum[g->accesses[a].datum], g->accesses[a].mode};
    for (uint32_t t = 0; t < g->ntasks; t++) {
        const sim_task *task = &g->tasks[t];
        double seconds = sim_task_seconds(g, s->machine->platform, t);
        if (seconds <= 0) {
            snprintf(s->error, s->error_size, "platform %s has no time for the kernel %s", s->machine->platform->name,
                     g->kernels[task->kernel].name);
            return OD_EINVAL;
        }
        if (task->naccess > MOST_ACCESSES) {
            snprintf(s->error, s->error_size, "task %u uses more than %d data", t, MOST_ACCESSES);
            return OD_EINVAL;
        }
        s->task[t] = (od_task){.bound = OD_NOWHERE,
                               .duration = seconds,
                               .naccess = task->naccess,
                               .access = &s->access[task->first_access]};
        s->waiting_for[t] = task->nbefore;
    }
    link_successors(s);
    return OD_OK;
}

static od_status make_engine(simulation *s)
{
    const sim_machine *m = s->machine;
    od_engine_config config = {.ndevices = m->ndevices,
                               .memory = m->memory,
                               .alignment = 1,
                               .buffer = m->buffer,
                               .slots = m->platform->slots,
                               .host_slots = 1,
                               .peer = m->platform->peer,
                               .policy = m->policy.ops,
                               .policy_values = m->policy.values,
                               .evict = m->evict,
                               .seed = m->seed,
                               .driver_ops = &driver_ops,
                               .driver = s};
    return od_engine_create(&config, &s->engine);
}

static void make_devices(simulation *s)
{
    for (unsigned k = 0; k < s->machine->ndevices; k++) {
        device *self = &s->device[k];
        self->simulation = s;
        od_list_init(&self->started);
        self->work = sg_sem_init(0);
        for (int w = 0; w < WAYS; w++) {
            self->queue[w].simulation = s;
            od_list_init(&self->queue[w].demanded);
            od_list_init(&self->queue[w].prefetches);
            self->queue[w].work = sg_sem_init(0);
        }
    }
    s->finished = sg_sem_init(0);
}

static void add_stats(od_device_stats *total, const od_device_stats *one)
{
    total->tasks += one->tasks;
    total->h2d_bytes += one->h2d_bytes;
    total->d2h_bytes += one->d2h_bytes;
    total->d2d_bytes += one->d2d_bytes;
    total->loads += one->loads;
    total->reloads += one->reloads;
    total->evictions += one->evictions;
    total->busy_ns += one->busy_ns;
    total->stall_ns += one->stall_ns;
    total->transfer_ns += one->transfer_ns;
    total->overlapped_ns += one->overlapped_ns;
    total->peak_bytes = one->peak_bytes > total->peak_bytes ? one->peak_bytes : total->peak_bytes;
    total->limit_bytes = one->limit_bytes;
}

static void collect(const simulation *s, sim_result *result)
{
    od_engine_stats stats;
    od_engine_stats_get(s->engine, &stats);
    *result = (sim_result){.makespan = s->end, .sched_s = (double)stats.sched_ns * 1e-9};
    for (unsigned k = 0; k < s->machine->ndevices; k++) {
        od_engine_device_stats(s->engine, k, &result->device[k]);
        add_stats(&result->total, &result->device[k]);
    }
}

od_status sim_run(const sim_graph *graph, const sim_machine *machine, sim_result *result, char *error, size_t size)
{
    simulation *s = calloc(1, sizeof *s);
    if (!s)
        return OD_ENOMEM;
    s->graph = graph;
    s->machine = machine;
    s->error = error;
    s->error_size = size;
    snprintf(error, size, "out of memory");
    od_status status = allocate(s);
    if (!status)
        status = make_engine(s);
    if (!status)
        status = make_data(s);
    if (!status)
        status = make_tasks(s);
    if (!status) {
        if (machine->trace)
            fputs(trace_header, machine->trace);
        make_devices(s);
        running = s;
        sg_actor_create("main", machine->platform->memory, main_main, 0, NULL);
        simgrid_run();
        running = NULL;
        if (machine->progress && s->shown_ns)
            fprintf(stderr, "\r\033[K");
        collect(s, result);
        status = s->failed ? OD_EINVAL : OD_OK;
    }
    release(s);
    free(s);
    return status;
}
