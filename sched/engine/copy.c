/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A copy for the oracle; see copy.h. */
#include "sched/engine/copy.h"

#include "sched/engine/internal.h"
#include "util/memory.h"

#include <math.h>
#include <stdlib.h>

/* While a copy is made. */
struct copier {
    const od_engine *e;
    od_engine_copy *copy;
    const od_known_task **task; /* in order of submission */
    uint32_t ntasks;
    uint32_t *number;             /* by id of known tasks: in the copy plus one */
    uint32_t *of_datum, *of_item; /* likewise of data, and of items that have none yet */
    const od_datum **datum;       /* by id: those that matter */
    uint32_t ndata, naccesses, nafter, nlater, ngiven;
    bool ranked; /* some task is */
    uint64_t now_ns;
    double starting; /* seconds for which a task keeps a device beside its code */
};

static void *array(size_t count, size_t size, bool *ok)
{
    void *memory = od_calloc(count + 1, size);
    *ok &= memory != NULL;
    return memory;
}

/* --- sizes ------------------------------------------------------------------------------- */

static int by_base(const void *a, const void *b)
{
    uintptr_t x = (*(od_known_item *const *)a)->base, y = (*(od_known_item *const *)b)->base;
    return (x > y) - (x < y);
}

/* A region of the program that begins with the item will be its datum, unless it has other items, too, of which
 * perhaps not all were known before. */
static void expect_size(const od_engine *e, od_known_item *item, uintptr_t next)
{
    const od_region *region = item->datum ? NULL : od_directory_find_region(e->directory, item->base, 1);
    if (!region || region->base != item->base)
        return;
    if (region->size <= next - item->base)
        item->size = region->size;
    else if (item->size == region->size)
        item->size = 0;
}

/* Without memory what is known of sizes stays as it is. */
static void expect_sizes(const od_engine *e)
{
    const od_known *known = e->known;
    uint32_t n = 0;
    bool any = od_directory_has_regions(e->directory);
    od_known_item **items = any ? od_malloc((known->nitems + (size_t)1) * sizeof(od_known_item *)) : NULL;
    for (size_t i = 0; items && i < (size_t)1 << known->bits; i++)
        for (od_known_item *item = known->bucket[i]; item; item = item->next)
            items[n++] = item;
    if (n)
        qsort(items, n, sizeof(od_known_item *), by_base);
    for (uint32_t i = 0; i < n; i++)
        expect_size(e, items[i], i + 1 < n ? items[i + 1]->base : UINTPTR_MAX);
    free(items);
}

/* --- tasks ------------------------------------------------------------------------------- */

static bool still_runs(const od_known_task *task)
{
    return !task->taken || !task->task || task->task->state <= OD_TASK_RUNNING;
}

static void collect(struct copier *c, const od_list *tasks)
{
    od_list_each(it, tasks) {
        const od_known_task *task = od_container_of(it, od_known_task, link);
        if (still_runs(task))
            c->task[c->ntasks++] = task;
    }
}

static int by_order(const void *a, const void *b)
{
    uint64_t x = (*(const od_known_task *const *)a)->order, y = (*(const od_known_task *const *)b)->order;
    return x < y ? -1 : x > y;
}

static bool find_tasks(struct copier *c, uint64_t most)
{
    const od_known *known = c->e->known;
    size_t count = known->open.count + known->taken.count;
    bool ok = true;
    for (unsigned k = 0; k < known->ndevices; k++)
        count += known->claimed[k].count;
    c->task = array(count, sizeof *c->task, &ok);
    c->number = array(known->task_ids.bound, sizeof *c->number, &ok);
    if (!ok)
        return false;
    collect(c, &known->taken);
    collect(c, &known->open);
    for (unsigned k = 0; k < known->ndevices; k++)
        collect(c, &known->claimed[k]);
    qsort(c->task, c->ntasks, sizeof *c->task, by_order);
    if (c->ntasks > most)
        c->ntasks = (uint32_t)most;
    for (uint32_t t = 0; t < c->ntasks; t++) {
        c->number[c->task[t]->id] = t + 1;
        c->naccesses += c->task[t]->nuses;
        c->nafter += c->task[t]->nsuccessors;
    }
    return true;
}

static const double least = 1e-9; /* every task takes some time */

/* As the tasks so far have done, on the average: from when a device has one to when its code runs, and from its end to
 * when that is known. Where tasks are short, or threads wait for a processor, it is most of their time. */
static double starting_seconds(const od_engine *e)
{
    enum { ENOUGH = 50 };
    double ns = 0;
    uint64_t tasks = 0;
    for (unsigned k = 0; k < e->config.ndevices; k++) {
        const od_device_stats *s = &e->device[k].stats;
        ns += (double)s->occupied_ns - (double)s->busy_ns;
        tasks += s->tasks;
    }
    od_list_each(it, &e->known->taken) { /* its code counts at its end */
        const od_task *t = od_container_of(it, od_known_task, link)->task;
        if (t && t->state == OD_TASK_RUNNING && t->place != OD_HOST && t->start_ns)
            ns -= fmax((double)e->device[t->place].last_ns - (double)t->start_ns, 0);
    }
    return tasks >= ENOUGH ? fmax(ns, 0) * 1e-9 / (double)tasks : 0;
}

/* Seconds that it has run, on a device as `duration` counts. */
static double passed_of(const struct copier *c, const od_known_task *known)
{
    const od_task *t = known->task;
    if (!t || t->state != OD_TASK_RUNNING)
        return 0;
    double passed = (double)(c->now_ns - t->start_ns) * 1e-9;
    return t->place == OD_HOST ? passed
                               : passed / od_policy_slowness(&c->e->env, known->speed_class, (unsigned)t->place);
}

/* On a device, what is left of it, as `duration` counts. */
static double seconds_of(const struct copier *c, const od_known_task *known)
{
    bool on_host = known->task && known->task->place == OD_HOST;
    return fmax(known->seconds + c->starting - (on_host ? 0 : passed_of(c, known)), least);
}

/* On a CPU worker, what is left of it; negative: it may not run there. */
static double host_seconds_of(const struct copier *c, const od_known_task *known)
{
    const od_task *t = known->task;
    double seconds = t ? t->host_seconds : od_durations_host(&c->e->known->durations, known->kind);
    bool given = t && known->taken && t->place == OD_HOST; /* whoever may run it else, it runs there */
    if (!c->e->config.cpus || (seconds < 0 && !given))
        return -1;
    seconds = fmax(seconds, 0);
    seconds = od_host_seconds(c->e, seconds, known->seconds);
    return fmax(seconds - (t && t->place == OD_HOST ? passed_of(c, known) : 0), least);
}

/* The device whose buffer it is to enter next; OD_NOWHERE: none. */
static int forced_to(const od_engine *e, const od_task *t)
{
    od_placeset_walk at = od_placeset_begin(e->forced);
    while (od_placeset_next(&at))
        od_list_each(it, &e->device[at.place].forced)
            if (od_container_of(it, od_task, link) == t)
                return (int)at.place;
    return OD_NOWHERE;
}

static int bound_of(const struct copier *c, const od_known_task *known)
{
    if (!known->task)
        return OD_NOWHERE;
    if (c->e->config.cpus && known->taken && known->task->place == OD_HOST)
        return OD_HOST;
    bool given = known->taken && known->task->place >= 0 && known->task->place < OD_SPILL;
    int forced = known->taken && !given ? forced_to(c->e, known->task) : OD_NOWHERE;
    int place = given ? known->task->place : forced != OD_NOWHERE ? forced : known->task->bound;
    return place >= 0 && od_device_is_lost(c->e, place) ? OD_NOWHERE : place;
}

static void add_after(struct copier *c, const od_known_task *known, od_play_task *task)
{
    task->first_after = c->nafter;
    for (uint32_t i = 0; i < known->nsuccessors; i++) {
        const od_known_task *after = known->successors[i];
        uint32_t number = after->gone ? 0 : c->number[after->id];
        if (!number || after->task) /* what is ready waits for nothing, whatever was predicted */
            continue;
        c->copy->after[c->nafter++] = number - 1;
        c->copy->tasks[number - 1].before++;
    }
    task->nafter = c->nafter - task->first_after;
}

/* --- data -------------------------------------------------------------------------------- */

static uint32_t add_datum(struct copier *c, size_t bytes, od_placeset valid, uint32_t tie)
{
    c->copy->data[c->ndata] = (od_play_datum){bytes ? bytes : 1, valid, tie};
    return c->ndata++;
}

/* Those that tasks use or that are on devices, in the order of their ids, by which policies may decide. */
static void add_data(struct copier *c)
{
    for (uint32_t t = 0; t < c->ntasks; t++)
        for (uint32_t i = 0; i < c->task[t]->nuses; i++) {
            const od_datum *d = c->task[t]->uses[i].item->datum;
            if (d)
                c->datum[d->id] = d;
        }
    for (unsigned k = 0; k < c->e->config.ndevices; k++)
        od_list_each(it, &c->e->device[k].resident) {
            const od_datum *d = od_container_of(it, od_replica, lru)->datum;
            c->datum[d->id] = d;
        }
    for (uint32_t id = 0; id < od_directory_id_limit(c->e->directory); id++)
        if (c->datum[id])
            c->of_datum[id] =
                add_datum(c, c->datum[id]->size, od_placeset_minus(c->datum[id]->valid, c->e->lost), c->datum[id]->tie);
}

/* Of a datum that is not there yet: as if those were made in this order. */
static uint32_t later_tie(struct copier *c)
{
    return od_directory_id_limit(c->e->directory) + c->nlater++;
}

static uint32_t number_of(struct copier *c, const od_known_item *item)
{
    if (item->datum)
        return c->of_datum[item->datum->id];
    double size = item->size ? (double)item->size : c->e->known->mean_size;
    if (!c->of_item[item->id])
        c->of_item[item->id] = add_datum(c, (size_t)size, od_placeset_of(OD_HOST), later_tie(c)) + 1;
    return c->of_item[item->id] - 1;
}

/* A task of a batch before, which is done but for its results, has a number that none of this one has. */
static uint32_t number_in_batch(const struct copier *c, const od_known_task *known)
{
    const od_known *all = c->e->known;
    return (uint32_t)(known->order - (all->submitted - all->pattern.tasks));
}

static void add_task(struct copier *c, uint32_t t)
{
    const od_known_task *known = c->task[t];
    od_play_task *task = &c->copy->tasks[t];
    task->number = number_in_batch(c, known);
    task->seconds = seconds_of(c, known);
    task->kind = known->kind;
    task->speed_class = known->speed_class;
    task->host_seconds = host_seconds_of(c, known);
    task->bound = bound_of(c, known);
    task->given = known->task && task->bound != known->task->bound;
    task->passed = passed_of(c, known);
    task->priority = known->task ? known->task->priority : known->priority;
    c->ranked |= known->ranked;
    task->first_access = c->naccesses;
    task->naccess = known->nuses;
    for (uint32_t i = 0; i < known->nuses; i++)
        c->copy->accesses[c->naccesses++] = (od_play_access){number_of(c, known->uses[i].item), known->uses[i].mode};
}

static void add_given(struct copier *c, const od_list *tasks)
{
    od_list_each(it, tasks) {
        const od_known_task *known = od_container_of(it, od_task, link)->known;
        uint32_t number = known ? c->number[known->id] : 0;
        if (number && c->copy->tasks[number - 1].bound != OD_NOWHERE) /* not of a lost device */
            c->copy->given[c->ngiven++] = number - 1;
    }
}

/* Those that run, then those that are next. */
static void add_buffers(struct copier *c)
{
    for (uint32_t t = 0; t < c->ntasks; t++) {
        const od_task *task = c->task[t]->task;
        int bound = c->copy->tasks[t].bound;
        if (task && task->state == OD_TASK_RUNNING && bound != OD_HOST && bound != OD_NOWHERE)
            c->copy->given[c->ngiven++] = t;
    }
    for (unsigned k = 0; k < c->e->config.ndevices; k++) {
        add_given(c, &c->e->device[k].committed);
        add_given(c, &c->e->device[k].buffer);
    }
}

/* What is leaving counts as gone. */
static void add_resident(struct copier *c)
{
    uint32_t count = 0;
    for (unsigned k = 0; k < c->e->config.ndevices; k++) {
        uint32_t first = count;
        od_list_each(it, &c->e->device[k].resident) {
            const od_replica *r = od_container_of(it, od_replica, lru);
            if (od_device_is_lost(c->e, (int)k))
                break;
            uint32_t d = c->of_datum[r->datum->id];
            if (r->state == OD_LEAVING)
                continue;
            c->copy->loading[count] = r->state == OD_LOADING;
            c->copy->resident[count++] = d;
        }
        c->copy->nresident[k] = count - first;
    }
}

/* --- the machine ------------------------------------------------------------------------- */

/* From links between places, as they are when all devices load at once: these share one way in and one way out. */
static od_topology *topology_of_links(const od_engine *e)
{
    unsigned n = e->config.ndevices;
    od_topology *t = od_topology_create(n);
    double in = 0, out = 0;
    for (unsigned k = 0; k < n; k++) {
        in += od_engine_link(e, OD_HOST, (int)k)->bandwidth;
        out += od_engine_link(e, (int)k, OD_HOST)->bandwidth;
    }
    bool ok = t && od_topology_add_link(t, in) == 0 && od_topology_add_link(t, out) == 1;
    for (unsigned row = 0; ok && row <= n; row++)
        for (unsigned column = 0; ok && column <= n; column++) {
            int from = row < n ? (int)row : OD_HOST, to = column < n ? (int)column : OD_HOST;
            od_link own = *od_engine_link(e, from, to);
            uint32_t link = to == OD_HOST;
            bool host = (from == OD_HOST) != (to == OD_HOST);
            own.bandwidth = host ? (double)INFINITY : own.bandwidth;
            ok = od_topology_set_way(t, from, to, own, &link, host) == OD_OK;
        }
    if (ok)
        return t;
    od_topology_destroy(t);
    return NULL;
}

/* As it is now: while it is played, more may be learnt. */
static od_topology *make_topology(const od_engine *e)
{
    return e->config.topology ? od_topology_copy(e->config.topology) : topology_of_links(e);
}

/* What they have been given they do, whatever may be given to them now. */
static unsigned cpus_of(const od_engine *e)
{
    unsigned most = e->config.cpus, given = e->host_given < most ? e->host_given : most;
    unsigned allowed = most ? od_host_allowed(e) : 0;
    return allowed > given ? allowed : given;
}

static void fill_problem(struct copier *c)
{
    od_engine_copy *copy = c->copy;
    const od_engine_config *config = &c->e->config;
    copy->problem = (od_play_problem){.tasks = copy->tasks,
                                      .accesses = copy->accesses,
                                      .after = copy->after,
                                      .data = copy->data,
                                      .ntasks = c->ntasks,
                                      .ndata = c->ndata,
                                      .naccesses = c->naccesses,
                                      .nafter = c->nafter,
                                      .ranked = c->ranked,
                                      .given = copy->given,
                                      .ngiven = c->ngiven,
                                      .resident = copy->resident,
                                      .nresident = copy->nresident,
                                      .loading = copy->loading,
                                      .topology = copy->topology,
                                      .ndevices = config->ndevices,
                                      .slots = config->slots,
                                      .cpus = cpus_of(c->e),
                                      .in_turn = config->in_turn,
                                      .singly = config->singly,
                                      .memory = config->memory,
                                      .alignment = config->alignment,
                                      .peer = config->peer,
                                      .lost = c->e->lost,
                                      .seed = config->seed};
}

/* --- all of it ---------------------------------------------------------------------------- */

static bool allocate(struct copier *c)
{
    const od_engine *e = c->e;
    od_engine_copy *copy = c->copy;
    size_t nresident = 0;
    bool ok = true;
    for (unsigned k = 0; k < e->config.ndevices; k++)
        nresident += e->device[k].resident.count;
    uint32_t limit = od_directory_id_limit(e->directory);
    copy->tasks = array(c->ntasks, sizeof *copy->tasks, &ok);
    copy->accesses = array(c->naccesses, sizeof *copy->accesses, &ok);
    copy->after = array(c->nafter, sizeof *copy->after, &ok);
    copy->data = array((size_t)limit + e->known->item_ids.bound, sizeof *copy->data, &ok);
    copy->resident = array(nresident, sizeof *copy->resident, &ok);
    copy->given = array(c->ntasks, sizeof *copy->given, &ok);
    copy->nresident = array(e->config.ndevices, sizeof *copy->nresident, &ok);
    copy->loading = array(nresident, sizeof *copy->loading, &ok);
    c->of_datum = array(limit, sizeof *c->of_datum, &ok);
    c->datum = array(limit, sizeof *c->datum, &ok);
    c->of_item = array(e->known->item_ids.bound, sizeof *c->of_item, &ok);
    copy->topology = make_topology(e);
    return ok && copy->topology;
}

static void fill(struct copier *c)
{
    c->naccesses = c->nafter = 0;
    add_data(c);
    for (uint32_t t = 0; t < c->ntasks; t++)
        add_task(c, t);
    for (uint32_t t = 0; t < c->ntasks; t++)
        add_after(c, c->task[t], &c->copy->tasks[t]);
    add_buffers(c);
    add_resident(c);
    fill_problem(c);
}

od_status od_engine_copy_make(od_engine *e, uint64_t most, od_engine_copy *copy)
{
    struct copier c = {.e = e, .copy = copy, .now_ns = od_engine_now(e), .starting = starting_seconds(e)};
    *copy = (od_engine_copy){0};
    expect_sizes(e);
    od_known_predict(e->known);
    if (od_no_device_is_left(e))
        return OD_EDEVICE;
    bool ok = find_tasks(&c, most) && allocate(&c);
    if (ok)
        fill(&c);
    else
        od_engine_copy_free(copy);
    free(c.task);
    free(c.number);
    free(c.of_datum);
    free(c.datum);
    free(c.of_item);
    return ok ? OD_OK : OD_ENOMEM;
}

void od_engine_copy_free(od_engine_copy *copy)
{
    free(copy->tasks);
    free(copy->accesses);
    free(copy->data);
    free(copy->after);
    free(copy->given);
    free(copy->resident);
    free(copy->nresident);
    free(copy->loading);
    od_topology_destroy(copy->topology);
    *copy = (od_engine_copy){0};
}
