/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "sim/recursion/drive.h"

#include "sched/split/program.h"
#include "sim/recursion/recursion.h"

#include <math.h>
#include <simgrid/engine.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* A task that the engine has. */
typedef struct live {
    od_task task;
    command command;
    uint32_t node;   /* of the recursion */
    uint32_t number; /* of the graph, which gets its tasks as they become ready */
    od_access access[];
} live;

struct sim_recursive {
    sim_recursion *recursion;
    sim_graph *graph;
    unsigned busy_cpus;
    double bound_s;
    int answer;    /* of a play: where it goes */
    double latest; /* likewise: it need not go on */
};

static live *live_of(const od_task *task)
{
    return od_container_of((od_task *)(uintptr_t)task, live, task);
}

/* --- what the recursion asks ----------------------------------------------------------- */

static double device_seconds(void *arg, const sim_kernel *kernel)
{
    const simulation *s = arg;
    return sim_platform_seconds(s->machine->platform, kernel->name, kernel->tile);
}

static double host_seconds(void *arg, const sim_kernel *kernel)
{
    const sim_machine *m = ((const simulation *)arg)->machine;
    return m->cpus ? sim_platform_core_seconds(m->platform, kernel->name, kernel->tile, m->cores) : 0;
}

/* What no device has, over the link from the host. */
static double transfer_seconds(void *arg, const sim_access *uses, uint32_t count)
{
    const simulation *s = arg;
    double bytes = 0;
    for (uint32_t i = 0; i < count; i++)
        if ((uses[i].mode & OD_READ) && !s->datum[uses[i].datum]->nreplicas)
            bytes += (double)s->graph->data[uses[i].datum].bytes;
    return bytes / sim_platform_link(s->machine->platform, OD_HOST, 0, s->machine->ndevices).bandwidth;
}

/* --- plays --------------------------------------------------------------------------------- */

/* Of a play, when all of it has ended, or is late. */
static void answer(const struct sim_recursive *r, double end_s)
{
    ssize_t written = write(r->answer, &end_s, sizeof end_s);
    _exit(written == sizeof end_s ? EXIT_SUCCESS : EXIT_FAILURE);
}

/* The simulation goes on in a child process, which has a copy of all that there is. */
static bool play(void *arg, double limit, double *end_s)
{
    simulation *s = arg;
    int ends[2];
    *end_s = (double)INFINITY;
    if (pipe(ends))
        return false;
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        s->is_play = true;
        s->recursive->answer = ends[1];
        s->recursive->latest = limit;
        return true;
    }
    close(ends[1]);
    if (child > 0) {
        if (read(ends[0], end_s, sizeof *end_s) != sizeof *end_s)
            *end_s = (double)INFINITY;
        waitpid(child, NULL, 0);
    }
    close(ends[0]);
    return false;
}

/* --- from its tasks to the engine's ------------------------------------------------------ */

static uint32_t add_to_graph(sim_graph *graph, const sim_recursive_task *about)
{
    uint32_t number = sim_graph_task(graph, &(sim_task){.kernel = about->kernel});
    graph->tasks[number].coordinate[0] = about->row;
    graph->tasks[number].coordinate[1] = about->column;
    graph->tasks[number].coordinate[2] = about->level;
    return number;
}

static void make_ready(simulation *s, uint32_t node)
{
    struct sim_recursive *r = s->recursive;
    sim_access uses[SIM_MOST_BLOCKS];
    uint32_t count = sim_recursion_uses(r->recursion, node, uses);
    sim_recursive_task about = sim_recursion_task(r->recursion, node);
    live *l = sim_checked(calloc(1, sizeof *l + count * sizeof *l->access));
    l->node = node;
    l->number = add_to_graph(r->graph, &about);
    l->task =
        (od_task){.bound = about.on_host ? OD_HOST : OD_NOWHERE,
                  .priority = od_level_priority(about.bottom_s),
                  .duration = about.seconds,
                  .host_seconds = about.host_seconds > 0 ? about.host_seconds : -1,
                  .kind = &s->graph->kernels[about.kernel],
                  .speed_class = sim_platform_speed_class(s->machine->platform, s->graph->kernels[about.kernel].name),
                  .pure = true,
                  .naccess = count,
                  .access = l->access};
    for (uint32_t i = 0; i < count; i++) {
        l->access[i] = (od_access){.datum = s->datum[uses[i].datum], .mode = uses[i].mode};
        l->access[i].datum->pending++;
    }
    od_engine_task_ready(s->engine, &l->task);
}

void sim_recursive_advance(simulation *s)
{
    struct sim_recursive *r = s->recursive;
    od_split_view *view = sim_recursion_view(r->recursion);
    view->now = simgrid_get_clock();
    if (s->is_play && view->now > r->latest)
        answer(r, (double)INFINITY);
    view->idle_cpus = view->cpus - r->busy_cpus;
    od_engine_hold(s->engine);
    for (uint32_t node; sim_recursion_next(r->recursion, &node);)
        make_ready(s, node);
    od_engine_resume(s->engine);
}

command *sim_recursive_command(od_task *task)
{
    return &live_of(task)->command;
}

uint32_t sim_task_number(const simulation *s, const od_task *task)
{
    const od_task *first = task->remakes ? task->user : task;
    return s->recursive ? live_of(first)->number : (uint32_t)(first - s->task);
}

void sim_recursive_completed(simulation *s, od_task *task)
{
    live *l = live_of(task);
    sim_recursion_done(s->recursive->recursion, l->node);
    free(l);
    if (!sim_recursion_is_done(s->recursive->recursion))
        return;
    if (s->is_play)
        answer(s->recursive, s->end);
    sim_wake(s, s->finished);
}

void sim_recursive_runs(simulation *s, int more)
{
    s->recursive->busy_cpus += (unsigned)more;
}

bool sim_recursive_is_done(const simulation *s)
{
    return sim_recursion_is_done(s->recursive->recursion);
}

uint32_t sim_recursive_splits(const simulation *s)
{
    return sim_recursion_splits(s->recursive->recursion);
}

double sim_recursive_bound(const simulation *s)
{
    return s->recursive->bound_s;
}

/* The linear program's: all units work without a break, whatever waits for what. */
static double find_bound(const od_split_view *view)
{
    char error[256];
    od_split_solver *solver;
    od_split_ratios ratios = {0};
    if (od_split_solver_create(&solver, error, sizeof error))
        return 0;
    bool found = od_split_solve(solver, view, 0, &ratios);
    od_split_solver_destroy(solver);
    return found ? ratios.seconds : 0;
}

/* --- copies ---------------------------------------------------------------------------------- */

static const sim_datum *block_of(const simulation *s, const od_transfer *x)
{
    return &s->graph->data[(od_datum *const *)x->datum->user - s->datum];
}

bool sim_recursive_is_one_copy(const simulation *s, const od_transfer *a, const od_transfer *b)
{
    const sim_workload *w = s->machine->recursive;
    const sim_datum *x = block_of(s, a), *y = block_of(s, b);
    uint32_t span = w->level[0] / w->level[w->nlevels - 1];
    return a->from == b->from && a->to == b->to && x->matrix == y->matrix && x->row / span == y->row / span &&
           x->column / span == y->column / span;
}

/* --- all of it -------------------------------------------------------------------------------- */

static od_status check_times(simulation *s)
{
    const od_split_view *view = sim_recursion_view(s->recursive->recursion);
    for (unsigned op = 0; op < view->nkinds; op++) {
        bool used = false;
        for (unsigned l = 0; l < view->nlevels; l++)
            used |= view->kind[op].waiting[l] > 0;
        if (!used || view->kind[op].device_s[0] > 0)
            continue;
        snprintf(s->error, s->error_size, "platform %s has no time for the kernel %s", s->machine->platform->name,
                 s->graph->kernels[op * view->nlevels].name);
        return OD_EINVAL;
    }
    return OD_OK;
}

od_status sim_recursive_create(simulation *s)
{
    const sim_machine *m = s->machine;
    sim_recursion_config config = {.workload = m->recursive,
                                   .graph = s->graph,
                                   .rule = m->split,
                                   .ndevices = m->ndevices * m->platform->slots,
                                   .cpus = m->cpus,
                                   .buffer = m->buffer,
                                   .device_seconds = device_seconds,
                                   .host_seconds = host_seconds,
                                   .transfer_seconds = transfer_seconds,
                                   .play = play,
                                   .arg = s};
    s->recursive = sim_checked(calloc(1, sizeof *s->recursive));
    s->recursive->graph = (sim_graph *)(uintptr_t)s->graph; /* it grows */
    s->recursive->recursion = sim_recursion_create(&config, s->error, s->error_size);
    if (!s->recursive->recursion)
        return OD_EINVAL;
    s->recursive->bound_s = find_bound(sim_recursion_view(s->recursive->recursion));
    for (uint32_t k = 0; k < s->graph->nkernels && m->cpus; k++) {
        double seconds = host_seconds(s, &s->graph->kernels[k]);
        od_engine_expect_host(s->engine, &s->graph->kernels[k], seconds > 0 ? seconds : -1);
    }
    return check_times(s);
}

void sim_recursive_destroy(simulation *s)
{
    if (s->recursive)
        sim_recursion_destroy(s->recursive->recursion);
    free(s->recursive);
}
