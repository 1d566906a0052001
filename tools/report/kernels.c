/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See kernels.h. A load is counted for the first task that used what it brought, as the arrows of a trace lead. */
#include "tools/report/kernels.h"

#include <stdlib.h>

typedef struct arrival {
    double at_us; /* negative: it has never come by a load */
    uint64_t unused_bytes;
} arrival;

typedef struct moment {
    double at_us;
    size_t index;
} moment;

static int by_time(const void *a, const void *b)
{
    const moment *first = a, *second = b;
    if (first->at_us != second->at_us)
        return first->at_us < second->at_us ? -1 : 1;
    return (first->index > second->index) - (first->index < second->index);
}

static void sort_moments(moment *moments, size_t n)
{
    if (n)
        qsort(moments, n, sizeof *moments, by_time);
}

static size_t find_loads(const trace_file *t, moment *loads)
{
    size_t n = 0;
    for (size_t i = 0; i < t->ntransfers; i++)
        if (t->transfers[i].kind == TRACE_LOAD && !t->transfers[i].failed && t->transfers[i].to >= 0)
            loads[n++] = (moment){t->transfers[i].to_us, i};
    sort_moments(loads, n);
    return n;
}

static void use_data(const trace_file *t, const trace_task *task, arrival *arrivals, task_flow *flow)
{
    *flow = (task_flow){.arrived_us = -1};
    for (uint32_t u = 0; task->place >= 0 && u < task->nuses; u++) {
        arrival *a = &arrivals[t->uses[task->first_use + u].datum * t->ndevices + (unsigned)task->place];
        flow->arrived_us = a->at_us > flow->arrived_us ? a->at_us : flow->arrived_us;
        if (task->failed)
            continue;
        flow->loaded_bytes += a->unused_bytes;
        a->unused_bytes = 0;
    }
}

static void follow(const trace_file *t, moment *loads, moment *tasks, arrival *arrivals, task_flow *flow)
{
    size_t nloads = find_loads(t, loads), next = 0;
    for (size_t i = 0; i < t->ntasks; i++)
        tasks[i] = (moment){t->tasks[i].from_us, i};
    sort_moments(tasks, t->ntasks);
    for (size_t i = 0; i < t->ndata * t->ndevices; i++)
        arrivals[i] = (arrival){.at_us = -1};
    for (size_t i = 0; i < t->ntasks; i++) {
        for (; next < nloads && loads[next].at_us <= tasks[i].at_us; next++) {
            const trace_transfer *x = &t->transfers[loads[next].index];
            arrival *a = &arrivals[x->datum * t->ndevices + (unsigned)x->to];
            *a = (arrival){x->to_us, a->unused_bytes + x->bytes};
        }
        use_data(t, &t->tasks[tasks[i].index], arrivals, &flow[tasks[i].index]);
    }
}

od_status run_follow(const trace_file *t, task_flow *flow)
{
    moment *loads = malloc((t->ntransfers + 1) * sizeof *loads), *tasks = malloc((t->ntasks + 1) * sizeof *tasks);
    arrival *arrivals = malloc((t->ndata * t->ndevices + 1) * sizeof *arrivals);
    bool ok = loads && tasks && arrivals;
    if (ok)
        follow(t, loads, tasks, arrivals, flow);
    free(loads);
    free(tasks);
    free(arrivals);
    return ok ? OD_OK : OD_ENOMEM;
}

void run_waits(const trace_task *task, const task_flow *flow, double wait_us[TASK_WAITS])
{
    double data = flow->arrived_us > task->committed_us ? flow->arrived_us : task->committed_us;
    const double until[TASK_WAITS] = {
        [WAIT_DEPENDENCES] = task->ready_us,
        [WAIT_QUEUE] = task->buffered_us,
        [WAIT_DATA] = data,
        [WAIT_SLOT] = task->from_us,
    };
    double at = task->created_us >= 0 ? task->created_us : task->ready_us;
    for (unsigned i = 0; i < TASK_WAITS; i++) {
        double end = until[i] < task->from_us ? until[i] : task->from_us;
        wait_us[i] = at >= 0 && end > at ? end - at : 0;
        at = at >= 0 && end > at ? end : at;
    }
}

void run_sum_kernels(const trace_file *t, const task_flow *flow, run_kernel *kernels)
{
    for (size_t i = 0; i < t->ntasks; i++) {
        const trace_task *task = &t->tasks[i];
        run_kernel *k = &kernels[task->name];
        double took = task->to_us - task->from_us, wait_us[TASK_WAITS];
        if (task->failed)
            continue;
        run_waits(task, &flow[i], wait_us);
        k->count++;
        k->loaded_bytes += flow[i].loaded_bytes;
        k->total_us += took;
        k->longest_us = took > k->longest_us ? took : k->longest_us;
        for (unsigned w = 0; w < TASK_WAITS; w++)
            k->wait_us[w] += wait_us[w];
    }
}
