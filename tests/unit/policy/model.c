/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The engine on virtual time; see model.h. */
#include "tests/unit/policy/model.h"

#include "tests/unit/random.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

/* --- graphs --------------------------------------------------------------- */

static model_graph make_graph(uint32_t ntasks, uint32_t ndata)
{
    model_graph graph = {.ntasks = ntasks, .ndata = ndata};
    graph.task = calloc(ntasks, sizeof *graph.task);
    graph.size = calloc(ndata, sizeof *graph.size);
    assert_true(graph.task && graph.size);
    for (uint32_t d = 0; d < ndata; d++)
        graph.size[d] = 1;
    return graph;
}

static void add_use(model_task *task, uint32_t datum, od_mode mode)
{
    task->datum[task->nuses] = datum;
    task->mode[task->nuses++] = mode;
    task->duration = 1e-3;
}

void model_free(model_graph *graph)
{
    free(graph->task);
    free(graph->size);
}

model_graph model_gemm2d(uint32_t n)
{
    model_graph graph = make_graph(n * n, 2 * n);
    for (uint32_t t = 0; t < n * n; t++) {
        add_use(&graph.task[t], t / n, OD_READ);
        add_use(&graph.task[t], n + t % n, OD_READ);
    }
    return graph;
}

model_graph model_gemm3d(uint32_t n)
{
    model_graph graph = make_graph(n * n * n, 3 * n * n);
    for (uint32_t t = 0; t < n * n * n; t++) {
        uint32_t i = t / (n * n), j = t / n % n, k = t % n;
        add_use(&graph.task[t], i * n + k, OD_READ);
        add_use(&graph.task[t], n * n + k * n + j, OD_READ);
        add_use(&graph.task[t], 2 * n * n + i * n + j, OD_READ);
    }
    return graph;
}

static uint32_t lower_tile(uint32_t i, uint32_t j)
{
    return i * (i + 1) / 2 + j;
}

static model_graph cholesky(uint32_t n, od_mode result)
{
    model_graph graph = make_graph(n * (n + 1) * (n + 2) / 6, n * (n + 1) / 2);
    model_task *task = graph.task;
    for (uint32_t k = 0; k < n; k++) {
        add_use(task++, lower_tile(k, k), result);
        for (uint32_t i = k + 1; i < n; i++) {
            add_use(task, lower_tile(k, k), OD_READ);
            add_use(task++, lower_tile(i, k), result);
        }
        for (uint32_t i = k + 1; i < n; i++) {
            for (uint32_t j = k + 1; j <= i; j++) {
                add_use(task, lower_tile(i, k), OD_READ);
                if (j < i)
                    add_use(task, lower_tile(j, k), OD_READ);
                add_use(task++, lower_tile(i, j), result);
            }
        }
    }
    assert_ptr_equal(task, graph.task + graph.ntasks);
    return graph;
}

model_graph model_cholesky_set(uint32_t n)
{
    return cholesky(n, OD_READ);
}

void model_shuffle(model_graph *graph, uint64_t seed)
{
    for (uint32_t i = graph->ntasks; i > 1; i--) {
        uint32_t j = (uint32_t)random_below(&seed, i);
        model_task kept = graph->task[i - 1];
        graph->task[i - 1] = graph->task[j];
        graph->task[j] = kept;
    }
}

model_graph model_sparse2d(uint32_t n, uint32_t percent, uint64_t seed)
{
    model_graph graph = model_gemm2d(n);
    model_shuffle(&graph, seed);
    graph.ntasks = n * n * percent / 100;
    return graph;
}

/* --- dependences ---------------------------------------------------------- */

struct edge {
    uint32_t to, next; /* the next one from the same task, plus one; 0: none */
};

struct edges {
    struct edge *edge;
    uint32_t count, capacity;
    uint32_t *first; /* by task, plus one */
    uint32_t *indegree;
};

static void add_edge(struct edges *edges, uint32_t from, uint32_t to)
{
    if (edges->count == edges->capacity) {
        edges->capacity = edges->capacity ? 2 * edges->capacity : 1024;
        edges->edge = realloc(edges->edge, edges->capacity * sizeof *edges->edge);
        assert_non_null(edges->edge);
    }
    edges->edge[edges->count] = (struct edge){.to = to, .next = edges->first[from]};
    edges->first[from] = ++edges->count;
    edges->indegree[to]++;
}

/* Every earlier user of the datum up to its last writer, where one of the two writes. */
static void add_edges_of(struct edges *edges, const model_graph *graph, uint32_t datum)
{
    uint32_t *reader = calloc(graph->ntasks, sizeof *reader), nreaders = 0, writer = UINT32_MAX;
    assert_non_null(reader);
    for (uint32_t t = 0; t < graph->ntasks; t++) {
        for (uint32_t u = 0; u < graph->task[t].nuses; u++) {
            if (graph->task[t].datum[u] != datum)
                continue;
            bool writes = graph->task[t].mode[u] & OD_WRITE;
            if (writer != UINT32_MAX && (!writes || nreaders == 0))
                add_edge(edges, writer, t);
            for (uint32_t r = 0; writes && r < nreaders; r++)
                add_edge(edges, reader[r], t);
            if (writes)
                writer = t;
            nreaders = writes ? 0 : nreaders;
            if (!writes)
                reader[nreaders++] = t;
        }
    }
    free(reader);
}

static struct edges make_edges(const model_graph *graph)
{
    struct edges edges = {.first = calloc(graph->ntasks, sizeof *edges.first),
                          .indegree = calloc(graph->ntasks, sizeof *edges.indegree)};
    assert_true(edges.first && edges.indegree);
    for (uint32_t d = 0; graph->dependences && d < graph->ndata; d++)
        add_edges_of(&edges, graph, d);
    return edges;
}

static void free_edges(struct edges *edges)
{
    free(edges->edge);
    free(edges->first);
    free(edges->indegree);
}

model_graph model_cholesky(uint32_t n)
{
    model_graph graph = cholesky(n, OD_READ_WRITE);
    graph.dependences = true;
    struct edges edges = make_edges(&graph);
    for (uint32_t t = graph.ntasks; t-- > 0;) {
        int32_t below = 0;
        for (uint32_t e = edges.first[t]; e; e = edges.edge[e - 1].next) {
            int32_t level = graph.task[edges.edge[e - 1].to].priority;
            below = level > below ? level : below;
        }
        graph.task[t].priority = below + 1;
    }
    free_edges(&edges);
    return graph;
}

/* --- the machine ---------------------------------------------------------- */

struct event {
    uint64_t end_ns, number;
    od_transfer *transfer; /* NULL: a task */
    od_task *task;
};

/* One transfer at a time. */
struct link {
    uint64_t free_ns; /* when it has done all that it was given */
    bool sends;       /* the rest is for a bus: one is under way */
    od_list demanded, prefetches;
};

enum { JOBS = 8 };

struct world {
    const model_graph *graph;
    const model_machine *machine;
    od_driver_ops ops;
    od_topology *topology; /* NULL: none */
    od_engine *engine;
    od_datum **datum;
    od_task *task;
    od_access *access;
    od_submission **submission;
    struct edges edges;
    struct event *event;
    uint32_t nevents, capacity;
    uint64_t now, number;
    uint64_t own_ns;    /* a thread's clock */
    od_background *job[JOBS]; /* under way */
    unsigned njobs;
    struct link link[2 + MODEL_DEVICES]; /* from and to the host, and to each device from others */
    uint64_t tasks[MODEL_DEVICES];
    uintptr_t *base; /* of each datum */
    uint32_t done;
    uint32_t *ready; /* by the end of the task at hand, to be submitted after it */
    uint32_t nready;
};

static void add_event(struct world *w, struct event event)
{
    if (w->nevents == w->capacity) {
        w->capacity = w->capacity ? 2 * w->capacity : 64;
        w->event = realloc(w->event, w->capacity * sizeof *w->event);
        assert_non_null(w->event);
    }
    event.number = w->number++;
    w->event[w->nevents++] = event;
}

static bool is_peer(const od_transfer *x)
{
    return x->from < OD_SPILL && x->to < OD_SPILL;
}

static struct link *link_of(struct world *w, const od_transfer *x)
{
    return &w->link[w->machine->bus ? 0 : is_peer(x) ? 2 + x->to : x->to >= OD_SPILL];
}

static void send(struct world *w, od_transfer *x)
{
    struct link *link = link_of(w, x);
    double bandwidth = is_peer(x) && !w->machine->bus ? w->machine->peer_bandwidth : w->machine->bandwidth;
    uint64_t start = link->free_ns > w->now ? link->free_ns : w->now;
    link->free_ns = start + (uint64_t)((double)x->bytes / bandwidth * 1e9);
    add_event(w, (struct event){.end_ns = link->free_ns, .transfer = x});
}

static void send_next(struct world *w, struct link *link)
{
    od_node *node = link->sends ? NULL : od_list_pop_front(&link->demanded);
    if (!node && !link->sends)
        node = od_list_pop_front(&link->prefetches);
    if (!node)
        return;
    link->sends = true;
    send(w, od_container_of(node, od_transfer, node));
}

static void start_transfer(void *driver, od_transfer *x)
{
    struct world *w = driver;
    struct link *link = link_of(w, x);
    if (!w->machine->bus) {
        send(w, x);
        return;
    }
    od_list_push_back(x->demanded ? &link->demanded : &link->prefetches, &x->node);
    send_next(w, link);
}

static void end_transfer(struct world *w, od_transfer *x, od_status status)
{
    struct link *link = link_of(w, x);
    od_engine_transfer_done(w->engine, x, status);
    link->sends = false;
    if (w->machine->bus)
        send_next(w, link);
}

static void start_task(void *driver, od_task *task, int place)
{
    struct world *w = driver;
    assert_in_range(place, 0, w->machine->ndevices - 1);
    w->tasks[place]++;
    task->start_ns = w->now + (uint64_t)(w->machine->starting * 1e9);
    task->end_ns = task->start_ns + (uint64_t)(task->duration * 1e9);
    add_event(w, (struct event){.end_ns = task->end_ns, .task = task});
}

static void complete_task(void *driver, od_task *task)
{
    struct world *w = driver;
    uint32_t t = (uint32_t)(task - w->task);
    w->done++;
    for (uint32_t e = w->edges.first[t]; e; e = w->edges.edge[e - 1].next) {
        if (--w->edges.indegree[w->edges.edge[e - 1].to] == 0)
            w->ready[w->nready++] = w->edges.edge[e - 1].to;
    }
}

static void complete_request(void *driver, od_request *request)
{
    (void)driver;
    od_request_destroy(request);
}

static uint64_t now_ns(void *driver)
{
    return ((struct world *)driver)->now;
}

static uint64_t processor_ns(void *driver, bool own)
{
    struct world *w = driver;
    return own ? w->own_ns += w->machine->tick : w->now + 1;
}

static bool start_background(void *driver, od_background *job, size_t tasks)
{
    struct world *w = driver;
    if (w->njobs == JOBS || !w->machine->tick || tasks < OD_BACKGROUND_FEW)
        return false;
    w->job[w->njobs++] = job;
    return true;
}

static void fatal(void *driver, const char *message)
{
    (void)driver;
    fail_msg("%s", message);
}

static void recall(void *driver, const od_recalled_graph *graph, od_recall_found *found, void *arg)
{
    const struct world *w = driver;
    const model_kept *kept = w->machine->kept;
    for (unsigned i = 0; i < kept->count; i++)
        if (kept->row[i].graph.beginning == graph->beginning && kept->row[i].graph.first == graph->first)
            found(arg, &kept->row[i].row);
}

static void free_row(od_recalled_row *row)
{
    free((char *)(uintptr_t)row->settings);
    free((char *)(uintptr_t)row->schedule);
}

static void keep(void *driver, const od_recalled_graph *graph, const od_recalled_row *row)
{
    const struct world *w = driver;
    model_kept *kept = w->machine->kept;
    unsigned i = 0;
    while (i < kept->count && (kept->row[i].graph.beginning != graph->beginning ||
                               kept->row[i].graph.first != graph->first || kept->row[i].row.tasks != row->tasks ||
                               strcmp(kept->row[i].row.settings, row->settings) != 0))
        i++;
    assert_true(i < MODEL_KEPT);
    if (i == kept->count)
        kept->count++;
    else
        free_row(&kept->row[i].row);
    kept->row[i].graph = *graph;
    kept->row[i].row = *row;
    kept->row[i].row.settings = strdup(row->settings);
    kept->row[i].row.schedule = row->schedule ? strdup(row->schedule) : NULL;
}

void model_forget(model_kept *kept)
{
    while (kept->count)
        free_row(&kept->row[--kept->count].row);
}

static const od_driver_ops driver_ops = {.start_transfer = start_transfer,
                                         .start_task = start_task,
                                         .complete_task = complete_task,
                                         .complete_request = complete_request,
                                         .now_ns = now_ns,
                                         .start_background = start_background,
                                         .fatal = fatal};

static uint32_t level_uses(const struct world *w, uint32_t t, od_level_use *uses)
{
    const model_task *task = &w->graph->task[t];
    for (uint32_t u = 0; u < task->nuses; u++)
        uses[u] = (od_level_use){w->base[task->datum[u]], (task->mode[u] & OD_WRITE) != 0, task->mode[u] == OD_WRITE};
    return task->nuses;
}

/* Tasks that use equally many data do the same. */
static const void *kind_of(const struct world *w, uint32_t t)
{
    return (const char *)w->graph + w->graph->task[t].nuses;
}

/* A task that is submitted and not ready is known to the engine by its data. */
static void announce(struct world *w, uint32_t t)
{
    od_level_use uses[MODEL_USES];
    uint32_t nuses = level_uses(w, t, uses);
    w->submission[t] = od_engine_submit(w->engine, kind_of(w, t), 0, w->graph->task[t].duration, uses, nuses);
}

static void submit(struct world *w, uint32_t t)
{
    const model_task *spec = &w->graph->task[t];
    od_engine_unsubmit(w->engine, &w->submission[t]);
    od_task *task = &w->task[t];
    *task = (od_task){.bound = OD_NOWHERE,
                      .priority = spec->priority,
                      .duration = spec->duration,
                      .kind = kind_of(w, t),
                      .submission = w->submission[t],
                      .naccess = spec->nuses,
                      .access = &w->access[(size_t)t * MODEL_USES]};
    for (uint32_t u = 0; u < spec->nuses; u++) {
        od_datum *datum = w->datum[spec->datum[u]];
        datum->pending++;
        datum->keep = true;
        task->access[u] = (od_access){.datum = datum, .mode = spec->mode[u]};
    }
    od_engine_task_ready(w->engine, task);
}

/* One bus, for one transfer at a time. */
static od_topology *make_topology(const model_machine *m)
{
    od_topology *t = od_topology_create(m->ndevices);
    assert_non_null(t);
    t->turns = true;
    uint32_t bus = od_topology_add_link(t, m->bandwidth);
    for (unsigned i = 0; i <= m->ndevices; i++)
        for (unsigned j = 0; j <= m->ndevices; j++) {
            bool peer = i < m->ndevices && j < m->ndevices;
            int from = i < m->ndevices ? (int)i : OD_HOST, to = j < m->ndevices ? (int)j : OD_HOST;
            if (i != j && (!peer || m->peer_bandwidth > 0))
                assert_int_equal(od_topology_set_way(t, from, to, (od_link){(double)INFINITY, 0}, &bus, 1), OD_OK);
        }
    return t;
}

static void build(struct world *w)
{
    const model_machine *m = w->machine;
    const model_graph *graph = w->graph;
    od_policy_choice policy;
    char error[256];
    if (od_policy_choose(m->policy, &policy, error, sizeof error))
        fail_msg("%s", error);
    od_engine_config config = {.ndevices = m->ndevices,
                               .memory = m->memory,
                               .alignment = 1,
                               .buffer = m->buffer,
                               .ahead = m->ahead,
                               .active = m->active,
                               .slots = 1,
                               .processors = m->processors,
                               .peer = m->peer_bandwidth > 0,
                               .host_link = {m->bandwidth / m->ndevices, 0}, /* when all load at once */
                               .peer_link = {m->peer_bandwidth, 0},
                               .topology = w->topology,
                               .policy = policy.ops,
                               .policy_values = policy.values,
                               .evict = od_evict_find(m->evict ? m->evict : policy.ops->default_evict),
                               .seed = m->seed,
                               .driver_ops = &w->ops,
                               .driver = w};
    w->ops = driver_ops;
    w->ops.processor_ns = m->tick ? processor_ns : NULL;
    w->ops.recall = m->kept ? recall : NULL;
    w->ops.keep = m->kept ? keep : NULL;
    assert_int_equal(od_engine_create(&config, &w->engine), OD_OK);
    const uintptr_t first = 4096;
    uintptr_t end = first;
    for (uint32_t d = 0; d < graph->ndata; d++) {
        w->base[d] = end;
        end += graph->size[d];
    }
    assert_int_equal(od_engine_region_open(w->engine, &(od_section){.begin = first, .size = end - first}, false),
                     OD_OK);
    for (uint32_t d = 0; d < graph->ndata; d++) {
        assert_int_equal(od_engine_datum(w->engine, w->base[d], graph->size[d], &w->datum[d]), OD_OK);
        od_engine_release(w->engine, w->datum[d]);
    }
}

/* It answers no more: nothing ends well there. */
static bool is_lost(const struct world *w, int place)
{
    const model_machine *m = w->machine;
    return m->lost && place == (int)m->lost && w->done >= m->lost_after;
}

static od_status status_of(const struct world *w, const struct event *event)
{
    const od_transfer *x = event->transfer;
    bool lost = x ? is_lost(w, x->from) || is_lost(w, x->to) : is_lost(w, event->task->place);
    return lost ? OD_EDEVICE : OD_OK;
}

static void end_job(struct world *w)
{
    od_background *job = w->job[--w->njobs];
    job->run(job);
    od_engine_background_done(w->engine, job);
}

static void next_event(struct world *w)
{
    while (w->njobs)
        end_job(w);
    uint32_t first = 0;
    for (uint32_t i = 1; i < w->nevents; i++) {
        const struct event *a = &w->event[i], *b = &w->event[first];
        if (a->end_ns < b->end_ns || (a->end_ns == b->end_ns && a->number < b->number))
            first = i;
    }
    struct event event = w->event[first];
    w->event[first] = w->event[--w->nevents];
    w->now = event.end_ns;
    w->nready = 0;
    od_status status = status_of(w, &event);
    if (event.transfer)
        end_transfer(w, event.transfer, status);
    else
        od_engine_task_done(w->engine, event.task, status);
    if (is_lost(w, (int)w->machine->lost) && od_placeset_is_empty(od_engine_lost(w->engine)))
        od_engine_device_lost(w->engine, w->machine->lost);
    for (uint32_t i = 0; i < w->nready; i++)
        submit(w, w->ready[i]);
}

static void *zeroed(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    assert_non_null(memory);
    return memory;
}

static model_result result_of(struct world *w)
{
    model_result result = {.makespan = (double)w->now * 1e-9};
    for (unsigned k = 0; k < w->machine->ndevices; k++) {
        od_device_stats stats;
        od_engine_device_stats(w->engine, k, &stats);
        result.loads += stats.loads;
        result.reloads += stats.reloads;
        result.bytes += stats.h2d_bytes + stats.d2h_bytes + stats.d2d_bytes;
        result.tasks[k] = w->tasks[k];
    }
    return result;
}

/* The program creates one after the other, and waits. */
static void run_tasks(struct world *w, const uint32_t *waits_for, uint32_t from, uint32_t to)
{
    od_engine_await(w->engine, false);
    for (uint32_t t = from; t < to; t++) {
        if (w->graph->dependences)
            announce(w, t);
        if (waits_for[t] == 0)
            submit(w, t);
    }
    od_engine_await(w->engine, true);
    while (w->nevents > 0)
        next_event(w);
}

/* All tasks of the graph, each waiting for so many. */
static void run_round(struct world *w, const uint32_t *waits_for)
{
    uint32_t n = w->graph->ntasks;
    memcpy(w->edges.indegree, waits_for, n * sizeof *waits_for);
    if (w->machine->first)
        run_tasks(w, waits_for, 0, w->machine->first);
    run_tasks(w, waits_for, w->machine->first, n);
}

static void run_rounds(struct world *w)
{
    const model_machine *m = w->machine;
    uint32_t *waits_for = zeroed(w->graph->ntasks, sizeof *waits_for);
    memcpy(waits_for, w->edges.indegree, w->graph->ntasks * sizeof *waits_for);
    for (unsigned round = 0; round < (m->rounds ? m->rounds : 1); round++) {
        uint64_t begun = w->now;
        run_round(w, waits_for);
        if (m->round_s)
            m->round_s[round] = (double)(w->now - begun) * 1e-9;
    }
    assert_int_equal(w->done, w->graph->ntasks * (m->rounds ? m->rounds : 1));
    free(waits_for);
}

model_result model_run(const model_graph *graph, const model_machine *machine)
{
    struct world w = {.graph = graph, .machine = machine, .edges = make_edges(graph)};
    w.datum = zeroed(graph->ndata, sizeof *w.datum);
    w.task = zeroed(graph->ntasks, sizeof *w.task);
    w.access = zeroed((size_t)graph->ntasks * MODEL_USES, sizeof *w.access);
    w.submission = zeroed(graph->ntasks, sizeof *w.submission);
    w.base = zeroed(graph->ndata, sizeof *w.base);
    w.ready = zeroed(graph->ntasks, sizeof *w.ready);
    for (unsigned i = 0; i < 2 + MODEL_DEVICES; i++) {
        od_list_init(&w.link[i].demanded);
        od_list_init(&w.link[i].prefetches);
    }
    w.topology = machine->bus ? make_topology(machine) : NULL;
    build(&w);
    run_rounds(&w);
    model_result result = result_of(&w);
    if (machine->choices)
        *machine->choices = *od_engine_choices(w.engine);
    od_engine_keep(w.engine);
    od_engine_destroy(w.engine);
    od_topology_destroy(w.topology);
    free(w.datum);
    free(w.task);
    free(w.access);
    free(w.submission);
    free(w.base);
    free(w.ready);
    free(w.event);
    free_edges(&w.edges);
    return result;
}
