/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A graph played by the oracle. */
#include "sched/oracle/play.h"
#include "sched/report/report.h"
#include "sim/simulate.h"

#include <math.h>
#include <stdlib.h>

/* What a graph is as a problem; the arrays are its own. */
typedef struct played {
    od_play_problem problem;
    od_play_task *tasks;
    od_play_access *accesses;
    od_play_datum *data;
    uint32_t *after;
    int32_t *priority;
} played;

static void make_data(const sim_graph *g, played *p)
{
    p->data = sim_checked(calloc(g->ndata + 1, sizeof *p->data));
    p->accesses = sim_checked(calloc(g->naccesses + 1, sizeof *p->accesses));
    for (uint32_t d = 0; d < g->ndata; d++)
        p->data[d] = (od_play_datum){g->data[d].bytes, od_placeset_of(OD_HOST), d};
    for (uint32_t a = 0; a < g->naccesses; a++)
        p->accesses[a] = (od_play_access){g->accesses[a].datum, g->accesses[a].mode};
}

/* Successors from predecessors. */
static void link_successors(const sim_graph *g, played *p)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < g->nbefore; i++)
        p->tasks[g->before[i]].nafter++;
    for (uint32_t t = 0; t < g->ntasks; t++) {
        p->tasks[t].first_after = next;
        next += p->tasks[t].nafter;
        p->tasks[t].nafter = 0;
    }
    for (uint32_t t = 0; t < g->ntasks; t++)
        for (uint32_t i = g->tasks[t].first_before; i < g->tasks[t].first_before + g->tasks[t].nbefore; i++) {
            od_play_task *before = &p->tasks[g->before[i]];
            p->after[before->first_after + before->nafter++] = t;
        }
}

/* False: the platform does not know the kernel. */
static bool make_tasks(const sim_graph *g, const sim_machine *m, played *p)
{
    p->tasks = sim_checked(calloc(g->ntasks + 1, sizeof *p->tasks));
    p->after = sim_checked(calloc(g->nbefore + 1, sizeof *p->after));
    p->priority = sim_checked(calloc(g->ntasks + 1, sizeof *p->priority));
    for (uint32_t t = 0; t < g->ntasks; t++) {
        const sim_task *task = &g->tasks[t];
        p->tasks[t] =
            (od_play_task){.seconds = sim_task_seconds(g, m->platform, t),
                           .host_seconds = sim_task_host_seconds(g, m, t),
                           .kind = &g->kernels[task->kernel],
                           .speed_class = sim_platform_speed_class(m->platform, g->kernels[task->kernel].name),
                           .bound = (int)task->device - 1, /* OD_NOWHERE: none */
                           .first_access = task->first_access,
                           .naccess = task->naccess,
                           .before = task->nbefore};
        p->priority[t] = task->priority;
        if (p->tasks[t].seconds <= 0)
            return false;
    }
    link_successors(g, p);
    return true;
}

static void free_played(played *p)
{
    free(p->tasks);
    free(p->accesses);
    free(p->data);
    free(p->after);
    free(p->priority);
}

static void fill_problem(const sim_graph *g, const sim_machine *m, played *p)
{
    p->problem = (od_play_problem){.tasks = p->tasks,
                                   .accesses = p->accesses,
                                   .after = p->after,
                                   .data = p->data,
                                   .ntasks = g->ntasks,
                                   .ndata = g->ndata,
                                   .naccesses = g->naccesses,
                                   .nafter = g->nbefore,
                                   .priority = g->has_priorities ? p->priority : NULL,
                                   .topology = m->platform->topology,
                                   .ndevices = m->ndevices,
                                   .slots = m->platform->slots,
                                   .cpus = m->cpus,
                                   .memory = m->memory,
                                   .alignment = 1,
                                   .peer = m->platform->peer,
                                   .seed = m->seed};
}

od_status sim_play(const sim_graph *g, const sim_machine *m, sim_result *result, char *error, size_t size)
{
    played p = {0};
    od_engine_stats all = {0};
    od_play_result played_result = {
        .device = result->device, .all = &all, .sent = result->sent, .received = result->received};
    od_settings settings = {.policy = m->policy,
                            .evict = m->evict,
                            .buffer = m->buffer,
                            .active = m->active};
    *result = (sim_result){0};
    make_data(g, &p);
    if (!make_tasks(g, m, &p)) {
        snprintf(error, size, "platform %s has no time for a kernel of the graph", m->platform->name);
        free_played(&p);
        return OD_EINVAL;
    }
    fill_problem(g, m, &p);
    od_status status = od_play(&p.problem, &settings, (double)INFINITY, &played_result);
    if (status)
        snprintf(error, size, "%s", status == OD_ENOMEM ? "out of memory" : "the oracle cannot play the graph");
    result->makespan = played_result.seconds;
    result->cpu = sim_cpu_stats(&all);
    for (unsigned k = 0; k < m->ndevices; k++)
        od_report_add(&result->total, &result->device[k]);
    free_played(&p);
    return status;
}
