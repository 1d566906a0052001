/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What is written of a simulation: the timeline, and rows of CSV. */
#include "sim/simulate_internal.h"

#include <errno.h>
#include <simgrid/engine.h>
#include <string.h>

/* --- the timeline ------------------------------------------------------------- */

static void describe(void *driver, const od_task *task, od_trace_task *about)
{
    const simulation *s = driver;
    about->number = sim_task_number(s, task);
    about->name = s->graph->kernels[s->graph->tasks[about->number].kernel].name;
}

/* A workload's dependences follow from its accesses. */
static bool workload_depend(const simulation *s, const od_task *task, uint32_t i, od_level_use *item)
{
    if ((!s->graph->nbefore && !s->recursive) || i >= task->naccess)
        return false;
    const od_access *a = &task->access[i];
    *item = (od_level_use){a->datum->base, a->mode & OD_WRITE, a->mode == OD_WRITE};
    return true;
}

static bool depend(void *driver, const od_task *task, uint32_t i, od_trace_depend *item)
{
    const simulation *s = driver;
    od_level_use use;
    bool any =
        s->replay ? sim_replay_depend(s, sim_task_number(s, task), i, &use) : workload_depend(s, task, i, &use);
    if (!any)
        return false;
    *item = (od_trace_depend){use.address, use.overwrites ? "out" : use.write ? "inout" : "in"};
    return true;
}

void sim_emit_timeline(void *driver, const od_event *event)
{
    simulation *s = driver;
    if (s->is_play)
        return;
    od_trace_event(s->timeline, event);
}

od_status sim_open_timeline(simulation *s)
{
    char text[OD_MAX_DEVICES][16];
    const char *names[OD_MAX_DEVICES];
    const sim_machine *m = s->machine;
    od_trace_run run = {.program = "ompdarts sim",
                        .command = m->command,
                        .policy = m->policy_text,
                        .evict = m->evict->name,
                        .seed = m->seed,
                        .ndevices = m->ndevices,
                        .memory = m->memory,
                        .device = names,
                        .describe = describe,
                        .depend = depend,
                        .arg = s};
    for (unsigned k = 0; k < m->ndevices; k++) {
        snprintf(text[k], sizeof text[k], "device %u", k);
        names[k] = text[k];
    }
    s->timeline = od_trace_open(m->timeline, &run);
    if (!s->timeline)
        snprintf(s->error, s->error_size, "%s: %s", m->timeline, strerror(errno));
    return s->timeline ? OD_OK : OD_EIO;
}

/* --- rows of CSV --------------------------------------------------------------- */

const char sim_csv_header[] = "kind,name,task,row,column,layer,device,from,to,bytes,demanded,start_s,end_s\n";

/* "1", or "cpu1" where a CPU worker runs it. */
static const char *worker_name(const od_task *task, char name[16])
{
    if (task->place == OD_HOST)
        snprintf(name, 16, "cpu%u", task->worker);
    else
        snprintf(name, 16, "%d", task->place);
    return name;
}

static const sim_datum *datum_of(const simulation *s, const od_datum *datum)
{
    return &s->graph->data[(datum->user ? (od_datum *const *)datum->user : s->datum) - s->datum];
}

static void place_name(int place, char *name, size_t size)
{
    if (place >= OD_SPILL)
        snprintf(name, size, "ram");
    else
        snprintf(name, size, "%d", place);
}

/* The task, then what it uses: kind r, w or rw, the datum's matrix, and the task's number. */
void sim_write_task(const simulation *s, const od_task *task, double start)
{
    static const char *const kinds[] = {[OD_READ] = "r", [OD_WRITE] = "w", [OD_READ_WRITE] = "rw"};
    uint32_t t = sim_task_number(s, task);
    const sim_task *what = &s->graph->tasks[t];
    char place[16];
    if (!s->machine->trace || s->is_play)
        return;
    worker_name(task, place);
    fprintf(s->machine->trace, "task,%s,%u,%u,%u,%u,%s,,,,,%.9f,%.9f\n", s->graph->kernels[what->kernel].name, t,
            what->coordinate[0], what->coordinate[1], what->coordinate[2], place, start, simgrid_get_clock());
    for (uint32_t i = 0; i < task->naccess; i++) {
        const od_access *a = &task->access[i];
        const sim_datum *d = datum_of(s, a->datum);
        fprintf(s->machine->trace, "%s,%s,%u,%u,%u,,%s,,,%zu,,,\n", kinds[a->mode], s->graph->matrix[d->matrix], t,
                d->row, d->column, place, d->bytes);
    }
}

void sim_write_transfer(const simulation *s, const od_transfer *x, double start)
{
    char from[16], to[16];
    if (!s->machine->trace || s->is_play)
        return;
    static const char *const kinds[] = {
        [OD_LOAD] = "load", [OD_WRITE_BACK] = "store", [OD_EVICT] = "evict", [OD_UPDATE] = "update"};
    const sim_datum *d = datum_of(s, x->datum);
    place_name(x->from, from, sizeof from);
    place_name(x->to, to, sizeof to);
    fprintf(s->machine->trace, "%s,%s,,%u,%u,,%d,%s,%s,%zu,%d,%.9f,%.9f\n", kinds[x->kind], s->graph->matrix[d->matrix],
            d->row, d->column, x->to >= OD_SPILL ? x->from : x->to, from, to, x->bytes, x->demanded, start,
            simgrid_get_clock());
}
