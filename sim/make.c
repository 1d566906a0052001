/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A simulation is made of a graph and a machine, and unmade. */
#include "sched/report/report.h"
#include "sim/recursion/drive.h"
#include "sim/simulate_internal.h"

#include <simgrid/semaphore.h>
#include <stdlib.h>

enum { FIRST_ADDRESS = 1 }; /* of data that have none: no datum begins at 0 */

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

size_t sim_recursive_footprint(const sim_workload *w)
{
    return (size_t)(w->n > 2 ? 3 : 2) * w->tile * w->tile * w->element;
}

double sim_task_seconds(const sim_graph *graph, const sim_platform *platform, uint32_t t)
{
    const sim_task *task = &graph->tasks[t];
    const sim_kernel *kernel = &graph->kernels[task->kernel];
    return task->seconds > 0 ? task->seconds
                             : kernel->calls * sim_platform_seconds(platform, kernel->name, kernel->tile);
}

double sim_task_host_seconds(const sim_graph *graph, const sim_machine *machine, uint32_t t)
{
    const sim_task *task = &graph->tasks[t];
    const sim_kernel *kernel = &graph->kernels[task->kernel];
    double seconds = 0;
    if (machine->cpus && task->seconds <= 0)
        seconds = kernel->calls *
                  sim_platform_core_seconds(machine->platform, kernel->name, kernel->tile, machine->cores);
    return seconds > 0 ? seconds : -1;
}

/* Successors from predecessors; while it fills them, first_after of the next task is where this one's next goes. */
static void link_successors(simulation *s)
{
    const sim_graph *g = s->graph;
    for (uint32_t i = 0; i < g->nbefore; i++)
        s->first_after[g->before[i] + 2]++;
    for (uint32_t t = 0; t < g->ntasks; t++)
        s->first_after[t + 2] += s->first_after[t + 1];
    for (uint32_t t = 0; t < g->ntasks; t++)
        for (uint32_t i = g->tasks[t].first_before; i < g->tasks[t].first_before + g->tasks[t].nbefore; i++)
            s->after[s->first_after[g->before[i] + 1]++] = t;
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
    s->seconds = calloc(g->ntasks + 1, sizeof *s->seconds);
    s->ready = calloc(g->ntasks + 1, sizeof *s->ready);
    s->cost = s->machine->durations == SIM_DURATIONS_LEARNT ? calloc(g->nkernels + 1, sizeof *s->cost) : NULL;
    s->submission = g->nbefore ? calloc(g->ntasks + 1, sizeof *s->submission) : NULL;
    bool all = s->datum && s->task && s->access && s->command && s->waiting_for && s->first_after && s->after &&
               s->seconds && s->ready && (s->cost || s->machine->durations == SIM_DURATIONS_KNOWN);
    return all && (s->submission || !g->nbefore) ? OD_OK : OD_ENOMEM;
}

void sim_release(simulation *s)
{
    od_engine_destroy(s->engine);
    sim_replay_destroy(s->replay);
    sim_recursive_destroy(s);
    free(s->datum);
    free(s->task);
    free(s->access);
    free(s->command);
    free(s->waiting_for);
    free(s->first_after);
    free(s->after);
    free(s->seconds);
    free(s->cost);
    free(s->job);
    free(s->ready);
    free(s->submission);
    free(s->wake.items);
    for (unsigned k = 0; k < s->machine->ndevices; k++)
        free(s->device[k].own);
}

static od_status make_data(simulation *s)
{
    uintptr_t next = FIRST_ADDRESS;
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
        s->access[a] = (od_access){.datum = s->datum[g->accesses[a].datum], .mode = g->accesses[a].mode};
    for (uint32_t t = 0; t < g->ntasks; t++) {
        const sim_task *task = &g->tasks[t];
        double seconds = sim_task_seconds(g, s->machine->platform, t);
        if (seconds <= 0) {
            snprintf(s->error, s->error_size, "platform %s has no time for the kernel %s", s->machine->platform->name,
                     g->kernels[task->kernel].name);
            return OD_EINVAL;
        }
        if (task->naccess > SIM_MOST_ACCESSES && !s->machine->recording) {
            snprintf(s->error, s->error_size, "task %u uses more than %d data", t, SIM_MOST_ACCESSES);
            return OD_EINVAL;
        }
        s->seconds[t] = seconds;
        s->task[t] =
            (od_task){.bound = (int)task->device - 1, /* OD_NOWHERE: none */
                      .duration = sim_expected_seconds(s, t),
                      .host_seconds = sim_task_host_seconds(g, s->machine, t),
                      .kind = &g->kernels[task->kernel],
                      .speed_class = sim_platform_speed_class(s->machine->platform, g->kernels[task->kernel].name),
                      .pure = true,
                      .naccess = task->naccess,
                      .access = &s->access[task->first_access]};
        s->waiting_for[t] = task->nbefore;
    }
    link_successors(s);
    return OD_OK;
}

static const size_t worth_sending = 64 << 10; /* as in the runtime */

static od_status make_engine(simulation *s)
{
    const sim_machine *m = s->machine;
    od_engine_config config = {.ndevices = m->ndevices,
                               .memory = m->memory,
                               .alignment = m->recording ? 0 : 1, /* of a real device's pool, or none */
                               .buffer = m->buffer,
                               .ahead = m->policy.ahead,
                               .active = m->active,
                               .guard = m->guard,
                               .spill_limit = m->spill_limit,
                               .recompute = m->recompute,
                               .early = m->recording || m->results == SIM_RESULTS_EARLY ? worth_sending : 0,
                               .slots = m->platform->slots,
                               .singly = m->recording != NULL,
                               .cpus = m->cpus,
                               .processors = m->processors,
                               .ranked = m->recursive != NULL,
                               .peer = m->platform->peer,
                               .spill = m->recording && m->recording->spill,
                               .topology = m->platform->topology,
                               .policy = m->policy.ops,
                               .policy_values = m->policy.values,
                               .evict = m->evict,
                               .seed = m->seed,
                               .driver_ops = &s->ops,
                               .driver = s};
    return od_engine_create(&config, &s->engine);
}

/* Tasks begin there. */
static void make_workers(device *self)
{
    od_list_init(&self->started);
    self->work = sg_sem_init(0);
}

static od_status make_devices(simulation *s)
{
    unsigned slots = s->machine->platform->slots;
    for (unsigned k = 0; k < s->machine->ndevices; k++)
        if (!(s->device[k].own = calloc(slots, sizeof *s->device[k].own)))
            return OD_ENOMEM;
    for (unsigned k = 0; k < s->machine->ndevices; k++) {
        device *self = &s->device[k];
        make_workers(self);
        for (unsigned i = 0; i < slots; i++)
            self->own[i] = sg_sem_init(0);
        for (int w = 0; w < WAYS; w++) {
            od_list_init(&self->queue[w].demanded);
            od_list_init(&self->queue[w].prefetches);
            self->queue[w].work = sg_sem_init(0);
            self->queue[w].turn = sg_sem_init(0);
            self->queue[w].event = sg_sem_init(0);
        }
    }
    make_workers(&s->device[s->machine->ndevices]);
    od_list_init(&s->host_copies.copies);
    s->host_copies.work = sg_sem_init(0);
    for (int i = 0; i < SIM_HOST_COPIERS; i++)
        s->host_copies.event[i] = sg_sem_init(0);
    s->finished = sg_sem_init(0);
    return OD_OK;
}

void sim_unmake_devices(const simulation *s)
{
    for (unsigned k = 0; k < s->machine->ndevices; k++) {
        const device *self = &s->device[k];
        sg_sem_destroy(self->work);
        for (unsigned i = 0; i < s->machine->platform->slots; i++)
            sg_sem_destroy(self->own[i]);
        for (int w = 0; w < WAYS; w++) {
            sg_sem_destroy(self->queue[w].work);
            sg_sem_destroy(self->queue[w].turn);
            sg_sem_destroy(self->queue[w].event);
        }
    }
    sg_sem_destroy(s->device[s->machine->ndevices].work);
    sg_sem_destroy(s->host_copies.work);
    for (int i = 0; i < SIM_HOST_COPIERS; i++)
        sg_sem_destroy(s->host_copies.event[i]);
    sg_sem_destroy(s->finished);
}

od_cpu_stats sim_cpu_stats(const od_engine_stats *stats)
{
    od_cpu_stats all = {0};
    for (unsigned i = 0; i < stats->cpus; i++) {
        all.tasks += stats->cpu[i].tasks;
        all.busy_ns += stats->cpu[i].busy_ns;
    }
    return all;
}

void sim_collect(const simulation *s, sim_result *result)
{
    od_engine_stats stats;
    od_engine_stats_get(s->engine, &stats);
    *result = (sim_result){
        .makespan = s->end,
        .splits = s->recursive ? sim_recursive_splits(s) : 0,
        .bound_s = s->recursive ? sim_recursive_bound(s) : 0,
        .sched_s = (double)stats.sched_ns * 1e-9, .spill_peak_bytes = stats.spill_peak_bytes};
    memcpy(result->sent, s->sent, sizeof result->sent);
    memcpy(result->received, s->received, sizeof result->received);
    result->cpu = sim_cpu_stats(&stats);
    for (unsigned k = 0; k < s->machine->ndevices; k++) {
        od_engine_device_stats(s->engine, k, &result->device[k]);
        od_report_add(&result->total, &result->device[k]);
    }
}

od_status sim_make(simulation *s)
{
    const sim_machine *m = s->machine;
    od_status status = allocate(s);
    if (!status && m->timeline)
        status = sim_open_timeline(s);
    if (!status)
        status = make_engine(s);
    if (!status && !m->recording)
        status = make_data(s);
    if (!status)
        status = m->recursive ? sim_recursive_create(s) : make_tasks(s);
    if (!status && m->recording)
        status = sim_replay_create(s, m->recording);
    return status ? status : make_devices(s);
}
