/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The engine's test driver. See engine_world.h. */
#include "tests/unit/engine/engine_world.h"

#include "tests/unit/engine/emitted.h"
#include "tests/unit/engine/kept.h"

#include <stdlib.h>
#include <string.h>

/* A task that makes dropped contents again. */
typedef struct rerun {
    od_task task;
    od_access access[4];
    int of;
} rerun;

typedef struct world {
    const w_graph *graph;
    const w_machine *machine;
    od_engine *engine;
    od_datum *datum[W_DATA];
    od_task task[W_TASKS], reservation[W_TASKS];
    od_access access[W_TASKS][4], reserved[W_TASKS][4];
    bool alone[W_TASKS]; /* its reservation was declined, or has been given up */
    w_contents contents[W_DATA][W_PLACES];
    w_contents before[W_TASKS][W_DATA], after[W_TASKS][W_DATA], last[W_DATA]; /* of a serial execution */
    bool submitted[W_TASKS], completed[W_TASKS], failed_once[W_TASKS];
    od_transfer *transfer[64];
    int ntransfers;
    od_background *job[8];
    int njobs;
    od_task *running[2 * W_TASKS];
    int nrunning;
    kept_data kept;
    w_contents current[W_DATA]; /* of what has completed on a device or the host */
    od_placeset lost;
    unsigned shrunk;            /* bytes */
    bool given_up;              /* the engine has, rightly */
    bool touched[W_DATA];       /* the host's memory has been copied to or from, and not been let go since */
    bool host_asked, host_answered, broken;
    uint64_t now;
    uint64_t created_ns[W_TASKS];
    od_submission *submission[W_TASKS];
    told told;
} world;

#define BREAK(w, ...)                                                                                                  \
    do {                                                                                                               \
        fprintf(stderr, __VA_ARGS__);                                                                                  \
        fputc('\n', stderr);                                                                                           \
        (w)->broken = true;                                                                                            \
    } while (0)

static int place_index(int place)
{
    return place == OD_HOST ? W_PLACES - 1 : place == OD_SPILL ? W_PLACES - 2 : place;
}

static int datum_index(const world *w, const od_datum *d)
{
    for (int i = 0; i < w->graph->ndata; i++)
        if (w->datum[i] == d)
            return i;
    return -1;
}

static bool is_reservation(const world *w, const od_task *task)
{
    return task >= w->reservation && task < w->reservation + W_TASKS;
}

static int task_index(const world *w, const od_task *task)
{
    if (task->remakes)
        return od_container_of(task, rerun, task)->of;
    return (int)(is_reservation(w, task) ? task - w->reservation : task - w->task);
}

/* The task that does the work of task t now. */
static od_task *active(world *w, int t)
{
    bool reserves = (w->machine->reserving & (1u << t)) && !w->alone[t];
    return reserves ? &w->reservation[t] : &w->task[t];
}

/* --- the driver table ---------------------------------------------------- */

static void start_transfer(void *driver, od_transfer *x)
{
    world *w = driver;
    w->transfer[w->ntransfers++] = x;
    if (x->from == OD_HOST || x->to == OD_HOST)
        w->touched[datum_index(w, x->datum)] = true;
    if (x->to == OD_HOST && x->from < OD_SPILL && od_placeset_has(x->datum->valid, OD_SPILL))
        BREAK(w, "datum %d goes home from device %d, though it has been spilled", datum_index(w, x->datum), x->from);
}

/* Of a datum's own memory, or of a spill area's, which no datum's base is. */
static void release_host(void *driver, uintptr_t base, size_t size)
{
    world *w = driver;
    int d = 0;
    while (d < w->graph->ndata && w->datum[d]->base != base)
        d++;
    if (d == w->graph->ndata)
        return;
    if (size != w->datum[d]->size)
        BREAK(w, "a part of datum %d is let go", d);
    for (int i = 0; i < w->ntransfers; i++)
        if (w->transfer[i]->datum == w->datum[d] && (w->transfer[i]->from == OD_HOST || w->transfer[i]->to == OD_HOST))
            BREAK(w, "datum %d is let go while its host memory is being copied", d);
    w->touched[d] = false;
}

/* Where the task finds a datum. */
static w_contents *contents_for(world *w, const od_task *task, int place, int d)
{
    bool spilled = place == OD_HOST && task->uses_spill && od_datum_is_spilled(w->datum[d]);
    return &w->contents[d][place_index(spilled ? OD_SPILL : place)];
}

static void check_reads(world *w, const od_task *task, int place)
{
    int t = task_index(w, task);
    for (int u = 0; u < w->graph->task[t].nuses; u++) {
        const w_use *use = &w->graph->task[t].use[u];
        const w_contents *here = contents_for(w, task, place, use->datum);
        if (!(use->mode & OD_READ) || w->graph->shared || w->given_up)
            continue;
        if (memcmp(here, &w->before[t][use->datum], sizeof *here))
            BREAK(w, "task %d reads stale contents of datum %d at place %d", t, use->datum, place);
    }
}

static void start_task(void *driver, od_task *task, int place)
{
    world *w = driver;
    check_reads(w, task, place);
    w->running[w->nrunning++] = task;
}

static void complete_task(void *driver, od_task *task)
{
    world *w = driver;
    int t = task_index(w, task);
    w->completed[t] = !task->failed;
    w->submitted[t] = w->completed[t];
    w->alone[t] |= task->failed;
}

static void complete_request(void *driver, od_request *request)
{
    world *w = driver;
    w->host_answered = true;
    od_request_destroy(request);
}

static od_task *again(void *driver, const od_task *task)
{
    rerun *r = calloc(1, sizeof *r);
    r->of = task_index(driver, task);
    memcpy(r->access, task->access, task->naccess * sizeof *task->access);
    r->task = (od_task){.bound = OD_NOWHERE, .duration = 1, .naccess = task->naccess, .access = r->access};
    return &r->task;
}

static void free_again(void *driver, od_task *task)
{
    (void)driver;
    free(od_container_of(task, rerun, task));
}

static bool start_background(void *driver, od_background *job, size_t tasks)
{
    world *w = driver;
    if (!w->machine->background || w->njobs == (int)(sizeof w->job / sizeof *w->job))
        return false;
    if (!tasks)
        BREAK(w, "a plan of no tasks");
    w->job[w->njobs++] = job;
    return true;
}

static uint64_t now_ns(void *driver)
{
    return ((world *)driver)->now++;
}

/* A replica that was dropped leaves its bytes behind in this world, but nobody knows of them. */
static bool holds(const world *w, int place, int d)
{
    bool is_device = place < (int)w->machine->ndevices;
    if ((is_device && (od_placeset_has(w->lost, place) || w->datum[d]->replica[place].state == OD_ABSENT)) ||
        (!is_device && place < W_PLACES - 2))
        return false;
    return memcmp(&w->contents[d][place], &w->current[d], sizeof w->current[d]) == 0;
}

/* True where no place that is left holds the datum's current contents. */
static bool is_gone(const world *w, int d)
{
    for (int p = 0; p < W_PLACES; p++)
        if (holds(w, p, d))
            return false;
    return true;
}

static void fatal(void *driver, const char *message)
{
    world *w = driver;
    bool lost = !od_placeset_is_empty(w->lost);
    for (int d = 0; lost && !w->machine->never_gives_up && d < w->graph->ndata; d++)
        w->given_up |= is_gone(w, d);
    if (!w->given_up)
        BREAK(w, "fatal: %s", message);
}

static void event(void *driver, const od_event *event)
{
    world *w = driver;
    size_t number = 0;
    if (event->task && event->task->remakes)
        return;
    if (event->task)
        number = (size_t)task_index(w, event->task) + (is_reservation(w, event->task) ? W_TASKS : 0);
    told_event(&w->told, event, number, w->machine->memory);
}

static const od_driver_ops driver_ops = {.start_transfer = start_transfer,
                                         .start_task = start_task,
                                         .complete_task = complete_task,
                                         .complete_request = complete_request,
                                         .start_background = start_background,
                                         .now_ns = now_ns,
                                         .release_host = release_host,
                                         .event = event,
                                         .again = again,
                                         .free_again = free_again,
                                         .fatal = fatal};

/* --- events --------------------------------------------------------------- */

static bool is_lost(const world *w, int place)
{
    return place >= 0 && place < OD_SPILL && od_placeset_has(w->lost, place);
}

/* Nothing of what was there can be read any more. */
static void lose_device(world *w, unsigned k)
{
    od_placeset_add(&w->lost, k);
    for (int d = 0; d < w->graph->ndata; d++)
        memset(&w->contents[d][k], 0xdd, sizeof w->contents[d][k]);
    od_engine_device_lost(w->engine, k);
}

static void end_transfer(world *w, int i)
{
    od_transfer *x = w->transfer[i];
    int d = datum_index(w, x->datum);
    if (is_lost(w, x->from) || is_lost(w, x->to)) {
        w->transfer[i] = w->transfer[--w->ntransfers];
        od_engine_transfer_done(w->engine, x, OD_EDEVICE);
        return;
    }
    if (w->graph->region && x->kind == OD_EVICT && x->to == OD_HOST)
        BREAK(w, "datum %d is evicted to the program's memory inside a region", d);
    w->contents[d][place_index(x->to)] = w->contents[d][place_index(x->from)];
    w->transfer[i] = w->transfer[--w->ntransfers];
    od_engine_transfer_done(w->engine, x, OD_OK);
}

static void end_task(world *w, int i, bool gives_up)
{
    od_task *task = w->running[i];
    int t = task_index(w, task);
    w->running[i] = w->running[--w->nrunning];
    if (is_reservation(w, task) && (gives_up || is_lost(w, task->place))) {
        od_engine_task_give_up(w->engine, task, false);
        return;
    }
    bool fails = t == w->machine->failing_task && !task->remakes && task->place != OD_HOST && !w->failed_once[t];
    if (fails || is_lost(w, task->place)) {
        w->failed_once[t] |= fails;
        od_engine_task_done(w->engine, task, OD_EDEVICE);
        return;
    }
    check_reads(w, task, task->place);
    bool keeps = (w->machine->keeping & (1u << t)) && task->place != OD_HOST && !task->remakes;
    for (int u = 0; u < w->graph->task[t].nuses; u++) {
        const w_use *use = &w->graph->task[t].use[u];
        w_contents *here = contents_for(w, task, task->place, use->datum);
        if (use->mode == OD_WRITE)
            *here = w->after[t][use->datum];
        else if (use->mode & OD_WRITE)
            here->count[t]++;
        if (use->mode & OD_WRITE)
            w->current[use->datum] = *here;
        if (keeps)
            kept_add(&w->kept, w->engine, w->datum[use->datum], (unsigned)task->place, use->mode);
    }
    od_engine_task_done(w->engine, task, OD_OK);
}

static void end_job(world *w, int i)
{
    od_background *job = w->job[i];
    w->job[i] = w->job[--w->njobs];
    job->run(job);
    od_engine_background_done(w->engine, job);
}

static bool is_ready(const world *w, int t)
{
    for (int p = 0; p < t; p++)
        if ((w->graph->task[t].after & (1u << p)) && !w->completed[p])
            return false;
    return !w->submitted[t];
}

static uint32_t level_uses(const world *w, int t, od_level_use *uses)
{
    const w_task *spec = &w->graph->task[t];
    for (int u = 0; u < spec->nuses; u++)
        uses[u] = (od_level_use){w->datum[spec->use[u].datum]->base, (spec->use[u].mode & OD_WRITE) != 0,
                                 spec->use[u].mode == OD_WRITE};
    return (uint32_t)spec->nuses;
}

/* Those with dependences are known to the engine by their data before they are ready. */
static void create_tasks(world *w)
{
    od_level_use uses[4];
    for (int t = 0; t < w->graph->ntasks; t++) {
        w->created_ns[t] = w->now++;
        if (w->graph->task[t].after)
            w->submission[t] = od_engine_submit(w->engine, NULL, 0, 1, uses, level_uses(w, t, uses));
    }
}

/* It is ready, or will never be. */
static void unsubmit(world *w, int t)
{
    od_engine_unsubmit(w->engine, &w->submission[t]);
}

static void submit(world *w, int t)
{
    const w_task *spec = &w->graph->task[t];
    od_task *task = active(w, t);
    od_access *access = is_reservation(w, task) ? w->reserved[t] : w->access[t];
    if (!w->alone[t])
        unsubmit(w, t);
    *task = (od_task){.bound = OD_NOWHERE,
                      .duration = 1,
                      .host_seconds = w_host_seconds(t),
                      .uses_spill = w->machine->in_process,
                      .priority = t % 2,
                      .naccess = (uint32_t)spec->nuses,
                      .access = access,
                      .advisory = is_reservation(w, task),
                      .pure = w_is_pure(spec),
                      .user = task,
                      .submission = w->alone[t] ? NULL : w->submission[t],
                      .created_ns = w->created_ns[t]};
    for (int u = 0; u < spec->nuses; u++) {
        od_datum *d = w->datum[spec->use[u].datum];
        d->pending++;
        d->keep = w->graph->keep || w->graph->region;
        access[u] = (od_access){.datum = d, .mode = spec->use[u].mode};
    }
    w->submitted[t] = true;
    od_engine_task_ready(w->engine, task);
}

/* The host reads a datum that no unfinished task is going to write. */
static bool host_may_ask(const world *w)
{
    int d = w->graph->host_reads;
    if (d < 0 || w->host_asked)
        return false;
    for (int t = 0; t < w->graph->ntasks; t++)
        for (int u = 0; u < w->graph->task[t].nuses; u++)
            if (w->graph->task[t].use[u].datum == d && (w->graph->task[t].use[u].mode & OD_WRITE) && !w->completed[t])
                return false;
    return true;
}

static void host_ask(world *w)
{
    od_request *r = od_request_create(1);
    od_datum *d = w->datum[w->graph->host_reads];
    r->items[0] = (od_request_item){.kind = OD_REQUEST_READ, .datum = d, .bytes = d->size};
    d->pending++;
    w->host_asked = true;
    od_engine_request(w->engine, r);
}

static unsigned ready_tasks(const world *w, int *ready)
{
    unsigned n = 0;
    for (int t = 0; t < w->graph->ntasks; t++)
        if (is_ready(w, t))
            ready[n++] = t;
    return n;
}

static void shrink(world *w)
{
    w->shrunk++;
    od_engine_shrink(w->engine, od_engine_memory(w->engine) - 1);
}

static od_placeset doomed_devices(const world *w)
{
    od_placeset set = OD_NO_PLACES;
    for (unsigned i = 0; i < w->machine->ndevices && i < 32; i++)
        if (w->machine->losses >> i & 1)
            od_placeset_add(&set, w->machine->ndevices - 1 - i);
    return od_placeset_minus(set, w->lost);
}

/* One event; false: none is possible. */
static bool step(world *w, w_choose choose, void *arg)
{
    int ready[W_TASKS];
    unsigned nready = ready_tasks(w, ready);
    unsigned ntransfers = (unsigned)w->ntransfers, nrunning = (unsigned)w->nrunning;
    od_placeset doomed = doomed_devices(w);
    unsigned ndoomed = od_placeset_count(doomed);
    unsigned njobs = (unsigned)w->njobs, nshrinks = w->shrunk < w->machine->shrinks;
    unsigned n = nready + ntransfers + nrunning + njobs + host_may_ask(w);
    if (!n)
        return false;
    n += ndoomed + nshrinks;
    unsigned c = choose(arg, n);
    if (c < nready)
        submit(w, ready[c]);
    else if ((c -= nready) < ntransfers)
        end_transfer(w, (int)c);
    else if ((c -= ntransfers) < nrunning)
        end_task(w, (int)c, w->machine->reserving && choose(arg, 2));
    else if ((c -= nrunning) < njobs)
        end_job(w, (int)c);
    else if ((c -= njobs) < ndoomed)
        lose_device(w, od_placeset_first(doomed));
    else if ((c -= ndoomed) < nshrinks)
        shrink(w);
    else
        host_ask(w);
    if (w->given_up)
        return false;
    if (!od_engine_is_valid(w->engine))
        BREAK(w, "an invariant is broken");
    return true;
}

/* --- a run ----------------------------------------------------------------- */

static void serial_contents(world *w)
{
    w_run_serially(w->graph, w->before, w->after, w->last);
    for (int d = 0; d < w->graph->ndata; d++)
        for (int p = 0; p < W_PLACES - 1; p++)
            memset(&w->contents[d][p], 0xee, sizeof w->contents[d][p]);
}

static uintptr_t datum_base(int d)
{
    return 0x10000 * (uintptr_t)(d + 1);
}

static size_t region_bytes(const world *w)
{
    return datum_base(w->graph->ndata) - datum_base(0);
}

static od_section region_section(const world *w)
{
    return (od_section){.begin = datum_base(0), .size = region_bytes(w), .origin = datum_base(0)};
}

static bool build(world *w)
{
    const w_machine *m = w->machine;
    od_policy_choice policy;
    char error[256];
    if (od_policy_choose(m->policy, &policy, error, sizeof error))
        return false;
    od_engine_config config = {.ndevices = m->ndevices,
                               .memory = m->memory,
                               .alignment = 1,
                               .buffer = m->buffer,
                               .ahead = m->ahead,
                               .early = m->early,
                               .active = m->active,
                               .slots = m->slots,
                               .cpus = m->cpus,
                               .devices_only = m->devices_only,
                               .in_process = m->in_process,
                               .peer = m->peer,
                               .ranks = told_ranks,
                               .pins = true,
                               .spill = true,
                               .recompute = m->recompute,
                               .host_link = {1e9, 1e-6},
                               .peer_link = {m->fast_peers ? 1e10 : 1e9, 1e-6},
                               .policy = policy.ops,
                               .policy_values = policy.values,
                               .evict = od_evict_find(m->evict ? m->evict : policy.ops->default_evict),
                               .seed = 1,
                               .driver_ops = &driver_ops,
                               .driver = w};
    od_section section = region_section(w);
    if (od_engine_create(&config, &w->engine) ||
        (w->graph->region && od_engine_region_open(w->engine, &section, false)))
        return false;
    for (int d = 0; d < w->graph->ndata; d++) {
        if (od_engine_datum(w->engine, datum_base(d), w->graph->size[d], &w->datum[d]))
            return false;
        od_engine_release(w->engine, w->datum[d]);
    }
    create_tasks(w);
    od_engine_await(w->engine, true);
    return true;
}

static void check_completed(world *w)
{
    for (int t = 0; t < w->graph->ntasks; t++)
        if (!w->completed[t])
            BREAK(w, "deadlock: task %d has not completed", t);
}

static void check_end(world *w)
{
    od_engine_stats all;
    od_engine_stats_get(w->engine, &all);
    for (unsigned i = 0; i < all.cpus && w->machine->taken; i++)
        *w->machine->taken += all.cpu[i].tasks;
    if (w->host_asked && !w->host_answered)
        BREAK(w, "deadlock: the host has not been answered");
    for (int d = 0; d < w->graph->ndata && !w->broken; d++)
        if (memcmp(&w->contents[d][W_PLACES - 1], &w->last[d], sizeof w->last[d]))
            BREAK(w, "the host's datum %d lacks a write", d);
    for (int d = 0; d < w->graph->ndata && !w->broken; d++)
        if (w->touched[d])
            BREAK(w, "datum %d has not been let go at the end", d);
    for (unsigned k = 0; k < w->machine->ndevices && !w->broken; k++) {
        od_device_stats stats;
        od_engine_device_stats(w->engine, k, &stats);
        if (w->machine->reruns)
            *w->machine->reruns += stats.reruns;
        if (stats.peak_bytes > w->machine->memory)
            BREAK(w, "device %u exceeded its limit", k);
        if (!stats.lost && od_engine_memory_end(w->engine, k) != od_engine_memory(w->engine))
            BREAK(w, "device %u still uses memory that others need", k);
    }
}

static void synchronise(world *w, w_choose choose, void *arg)
{
    od_request *r;
    od_section section = region_section(w);
    if (w->graph->region ? od_engine_region_close(w->engine, &section, true, false, &r)
                         : od_engine_sync_request(w->engine, &r))
        BREAK(w, "out of memory");
    if (r)
        od_engine_request(w->engine, r);
    while (!w->broken && step(w, choose, arg))
        ;
    if (!w->broken && !w->given_up && !od_engine_is_idle(w->engine))
        BREAK(w, "not idle after the last event");
}

bool w_run(const w_graph *graph, const w_machine *machine, w_choose choose, void *arg)
{
    world *w = calloc(1, sizeof *w);
    w->graph = graph;
    w->machine = machine;
    w->told.ndevices = machine->ndevices;
    serial_contents(w);
    if (!build(w))
        BREAK(w, "the engine could not be made");
    while (!w->broken && step(w, choose, arg))
        ;
    if (!w->broken && !w->given_up)
        check_completed(w);
    if (!w->broken) /* not before: no task may wait for that */
        kept_let_go(&w->kept, w->engine);
    if (!w->broken && !w->given_up)
        synchronise(w, choose, arg);
    if (!w->broken && !w->given_up)
        check_end(w);
    if (!w->broken)
        told_check_end(&w->told, w->engine, machine->ndevices, !w->given_up);
    if (w->told.error[0])
        BREAK(w, "%s", w->told.error);
    if (w->broken && w->engine)
        od_engine_dump(w->engine, stderr);
    for (unsigned kind = 0; machine->decisions && kind < OD_DECISION_KINDS; kind++)
        machine->decisions[kind] += w->told.decisions[kind];
    for (int t = 0; w->given_up && t < graph->ntasks; t++)
        if (!w->submitted[t] && !w->alone[t])
            unsubmit(w, t);
    bool ok = !w->broken;
    od_engine_destroy(w->engine);
    free(w);
    return ok;
}
