/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The policy `nodes` on machines of several nodes, played by the oracle: every task runs once, those that write one datum
 * on one node, all nodes have about as much to do, and little goes between them.
 */
#include "sched/oracle/play.h"
#include "tests/unit/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MOST_NODES = 5, MOST_DEVICES = 4, TILE = 1000 };

/* --- machines ------------------------------------------------------------------- */

static const double within = 100 * TILE, card = 10 * TILE; /* bytes/s */

static void set_way(od_topology *t, int from, int to, const uint32_t *links, uint32_t count)
{
    const od_link own = {within, 1e-6};
    assert_int_equal(od_topology_set_way(t, from, to, own, links, count), OD_OK);
}

/* So many devices on each node; the program is on the first. */
static od_topology *make_machine(const unsigned *devices, unsigned nnodes)
{
    uint32_t in[MOST_NODES], out[MOST_NODES];
    unsigned ndevices = 0;
    for (unsigned i = 0; i < nnodes; i++)
        ndevices += devices[i];
    od_topology *t = od_topology_create(ndevices);
    assert_non_null(t);
    t->nnodes = nnodes;
    for (unsigned i = 0, k = 0; i < nnodes; i++) {
        in[i] = od_topology_add_link(t, card);
        out[i] = od_topology_add_link(t, card);
        for (unsigned end = k + devices[i]; k < end; k++)
            t->node[k] = i;
    }
    for (unsigned from = 0; from <= ndevices; from++)
        for (unsigned to = 0; to <= ndevices; to++) {
            int source = from < ndevices ? (int)from : OD_HOST, target = to < ndevices ? (int)to : OD_HOST;
            unsigned a = from < ndevices ? t->node[from] : 0, b = to < ndevices ? t->node[to] : 0;
            if (from != to)
                set_way(t, source, target, (const uint32_t[]){out[a], in[b]}, a == b ? 0 : 2);
        }
    return t;
}

/* --- graphs ----------------------------------------------------------------------- */

typedef struct graph {
    od_play_task *tasks;
    od_play_access *accesses;
    od_play_datum *data;
    uint32_t *after;
    uint32_t *writes; /* by task: what it writes */
    uint32_t ntasks, ndata, naccesses, nafter;
} graph;

static void free_graph(graph *g)
{
    free(g->tasks);
    free(g->accesses);
    free(g->data);
    free(g->after);
    free(g->writes);
}

static graph new_graph(uint32_t ntasks, uint32_t ndata)
{
    enum { MOST_EDGES = 8 };
    graph g = {.ndata = ndata};
    g.tasks = calloc(ntasks, sizeof *g.tasks);
    g.accesses = calloc((size_t)ntasks * 3, sizeof *g.accesses);
    g.data = calloc(ndata, sizeof *g.data);
    g.after = calloc((size_t)ntasks * MOST_EDGES, sizeof *g.after);
    g.writes = calloc(ntasks, sizeof *g.writes);
    assert_true(g.tasks && g.accesses && g.data && g.after && g.writes);
    for (uint32_t d = 0; d < ndata; d++)
        g.data[d] = (od_play_datum){.bytes = TILE, .valid = od_placeset_of(OD_HOST), .tie = d};
    return g;
}

/* Reads data, and updates one. */
static void add_task(graph *g, const uint32_t *reads, uint32_t nreads, uint32_t updates, double seconds)
{
    uint32_t t = g->ntasks++;
    g->tasks[t] = (od_play_task){.seconds = seconds, .bound = OD_NOWHERE, .first_access = g->naccesses, .number = t};
    for (uint32_t i = 0; i < nreads; i++)
        if (reads[i] != updates && (i == 0 || reads[i] != reads[0]))
            g->accesses[g->naccesses++] = (od_play_access){reads[i], OD_READ};
    g->accesses[g->naccesses++] = (od_play_access){updates, OD_READ_WRITE};
    g->tasks[t].naccess = g->naccesses - g->tasks[t].first_access;
    g->writes[t] = updates;
}

static bool uses(const graph *g, uint32_t t, uint32_t datum, od_mode mode)
{
    for (uint32_t i = 0; i < g->tasks[t].naccess; i++) {
        const od_play_access *a = &g->accesses[g->tasks[t].first_access + i];
        if (a->datum == datum && (a->mode & mode))
            return true;
    }
    return false;
}

static void depend(graph *g, uint32_t before, uint32_t after)
{
    od_play_task *task = &g->tasks[before];
    for (uint32_t i = task->first_after; i < g->nafter; i++)
        if (g->after[i] == after)
            return;
    g->after[g->nafter++] = after;
    task->nafter++;
    g->tasks[after].before++;
}

/* Readers follow the last writer, a writer follows it and the readers since. */
static void depend_all(graph *g)
{
    g->after = realloc(g->after, ((size_t)g->ntasks * g->ntasks + 1) * sizeof *g->after);
    assert_non_null(g->after);
    for (uint32_t t = 0; t < g->ntasks; t++) {
        g->tasks[t].first_after = g->nafter;
        for (uint32_t i = 0; i < g->tasks[t].naccess; i++) {
            const od_play_access *a = &g->accesses[g->tasks[t].first_access + i];
            bool written = false;
            for (uint32_t later = t + 1; later < g->ntasks && !written; later++) {
                written = uses(g, later, a->datum, OD_WRITE);
                if (written || (a->mode & OD_WRITE && uses(g, later, a->datum, OD_READ)))
                    depend(g, t, later);
            }
        }
    }
}

static graph random_graph(uint64_t *seed)
{
    uint32_t ndata = 4 + (uint32_t)random_below(seed, 30), ntasks = 20 + (uint32_t)random_below(seed, 150);
    graph g = new_graph(ntasks, ndata);
    for (uint32_t t = 0; t < ntasks; t++) {
        const uint32_t reads[] = {(uint32_t)random_below(seed, ndata), (uint32_t)random_below(seed, ndata)};
        add_task(&g, reads, (uint32_t)random_below(seed, 3), (uint32_t)random_below(seed, ndata),
                 0.01 + 0.1 * (double)random_below(seed, 10));
    }
    depend_all(&g);
    return g;
}

static uint32_t tile_of(uint32_t row, uint32_t column)
{
    return row * (row + 1) / 2 + column;
}

static graph cholesky(uint32_t n, double seconds)
{
    graph g = new_graph(n * (n + 1) * (n + 2) / 6, n * (n + 1) / 2);
    for (uint32_t k = 0; k < n; k++) {
        add_task(&g, NULL, 0, tile_of(k, k), seconds);
        for (uint32_t i = k + 1; i < n; i++)
            add_task(&g, (const uint32_t[]){tile_of(k, k)}, 1, tile_of(i, k), seconds);
        for (uint32_t i = k + 1; i < n; i++)
            for (uint32_t j = k + 1; j <= i; j++)
                add_task(&g, (const uint32_t[]){tile_of(i, k), tile_of(j, k)}, 2, tile_of(i, j), seconds);
    }
    depend_all(&g);
    return g;
}

/* --- runs --------------------------------------------------------------------------- */

typedef struct run {
    double seconds;
    unsigned *place;         /* by task: its device; the caller frees it */
    double work[MOST_NODES]; /* seconds of each node's tasks, for each of its devices */
    uint64_t between;        /* bytes that devices have received from other nodes, at most */
} run;

static run play(const graph *g, const od_topology *t, const char *policy)
{
    char error[256];
    unsigned devices[MOST_NODES] = {0};
    od_settings settings = {.evict = od_evict_find("lru"), .buffer = 3};
    od_play_problem problem = {.tasks = g->tasks,
                               .accesses = g->accesses,
                               .after = g->after,
                               .data = g->data,
                               .ntasks = g->ntasks,
                               .ndata = g->ndata,
                               .naccesses = g->naccesses,
                               .nafter = g->nafter,
                               .topology = t,
                               .ndevices = t->ndevices,
                               .slots = 1,
                               .memory = (size_t)g->ndata * TILE,
                               .alignment = 1,
                               .peer = true,
                               .seed = 1};
    od_device_stats stats[MOST_NODES * MOST_DEVICES];
    od_play_began *began = calloc(g->ntasks, sizeof *began);
    od_play_result result = {.device = stats, .began = began};
    run r = {.place = calloc(g->ntasks, sizeof *r.place)};
    assert_true(began && r.place);
    assert_int_equal(od_policy_choose(policy, &settings.policy, error, sizeof error), OD_OK);
    assert_int_equal(od_play(&problem, &settings, (double)INFINITY, &result), OD_OK);
    for (unsigned k = 0; k < t->ndevices; k++) {
        devices[t->node[k]]++;
        r.between += stats[k].d2d_bytes + stats[k].h2d_bytes;
    }
    for (uint32_t i = 0; i < g->ntasks; i++) {
        assert_in_range(began[i].device, 0, t->ndevices - 1);
        r.place[began[i].task] = (unsigned)began[i].device;
        r.work[t->node[began[i].device]] += g->tasks[began[i].task].seconds;
    }
    for (unsigned i = 0; i < t->nnodes; i++)
        r.work[i] /= devices[i] ? devices[i] : 1;
    r.seconds = result.seconds;
    free(began);
    return r;
}

/* --- tests -------------------------------------------------------------------------- */

static od_topology *random_machine(uint64_t *seed)
{
    unsigned devices[MOST_NODES], nnodes = 2 + (unsigned)random_below(seed, MOST_NODES - 1);
    for (unsigned i = 0; i < nnodes; i++)
        devices[i] = 1 + (unsigned)random_below(seed, MOST_DEVICES);
    return make_machine(devices, nnodes);
}

/* That each task runs once the oracle says: it has as many as there are, and each has a beginning. */
static void the_owner_computes(void **state)
{
    enum { RUNS = 60 };
    (void)state;
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        uint64_t random = seed;
        od_topology *t = random_machine(&random);
        graph g = random_graph(&random);
        run r = play(&g, t, "nodes"), other = play(&g, t, "nodes:steal=2");
        unsigned *node = calloc(g.ndata, sizeof *node);
        assert_non_null(node);
        for (uint32_t i = 0; i < g.ntasks; i++) {
            unsigned *of = &node[g.writes[i]], here = t->node[r.place[i]] + 1;
            if (*of && *of != here)
                fail_msg("seed %u: task %u runs on node %u, those before on %u", (unsigned)seed, i, here - 1, *of - 1);
            *of = here;
        }
        free(node);
        free(r.place);
        free(other.place);
        free_graph(&g);
        od_topology_destroy(t);
    }
}

static void nodes_are_balanced(void **state)
{
    static const unsigned devices[][MOST_NODES] = {{2, 2}, {2, 2, 2}, {1, 1, 1, 1}, {4, 2, 2}};
    static const unsigned nnodes[] = {2, 3, 4, 3};
    (void)state;
    for (size_t m = 0; m < sizeof nnodes / sizeof *nnodes; m++) {
        od_topology *t = make_machine(devices[m], nnodes[m]);
        graph g = cholesky(16, 0.1);
        run r = play(&g, t, "nodes"), queue = play(&g, t, "eager");
        double total = 0;
        for (uint32_t i = 0; i < g.ntasks; i++)
            total += g.tasks[i].seconds;
        for (unsigned i = 0; i < nnodes[m]; i++)
            if (fabs(r.work[i] - total / t->ndevices) > 0.15 * total / t->ndevices)
                fail_msg("machine %zu: node %u has %g s for each device, the mean is %g", m, i, r.work[i],
                         total / t->ndevices);
        print_message("machine %zu: %.3f s, %g bytes; eager %.3f s, %g bytes\n", m, r.seconds, (double)r.between,
                      queue.seconds, (double)queue.between);
        assert_true(r.between < queue.between);
        assert_true(r.seconds < 1.05 * queue.seconds);
        free(r.place);
        free(queue.place);
        free_graph(&g);
        od_topology_destroy(t);
    }
}

/* Of what all devices read each node gets one copy; its devices pass it on, and nodes send it on to others. */
static void a_tile_crosses_each_card_once(void **state)
{
    enum { NODES = 4, EACH = 2, ALL = NODES * EACH };
    static const unsigned devices[NODES] = {EACH, EACH, EACH, EACH};
    (void)state;
    od_topology *t = make_machine(devices, NODES);
    assert_int_equal(od_topology_card_loads(t, ALL - 1, od_placeset_below(ALL)), 2);
    graph g = new_graph(ALL + 1, ALL + 1);
    uint64_t sent[OD_MAX_DEVICES] = {0}, received[OD_MAX_DEVICES] = {0};
    od_settings settings = {.evict = od_evict_find("lru"), .buffer = 3};
    od_play_result result = {.sent = sent, .received = received};
    char error[256];
    add_task(&g, NULL, 0, 0, 0.1);
    for (uint32_t k = 0; k < ALL; k++)
        add_task(&g, (const uint32_t[]){0}, 1, k + 1, 0.1);
    for (uint32_t i = 0; i < g.naccesses; i++) /* nothing comes from the program */
        g.accesses[i].mode = g.accesses[i].mode == OD_READ ? OD_READ : OD_WRITE;
    for (uint32_t k = 0; k <= ALL; k++)
        g.tasks[k].bound = k ? (int)k - 1 : 0;
    depend_all(&g);
    od_play_problem problem = {.tasks = g.tasks,
                               .accesses = g.accesses,
                               .after = g.after,
                               .data = g.data,
                               .ntasks = g.ntasks,
                               .ndata = g.ndata,
                               .naccesses = g.naccesses,
                               .nafter = g.nafter,
                               .topology = t,
                               .ndevices = t->ndevices,
                               .slots = 1,
                               .memory = (size_t)g.ndata * TILE,
                               .alignment = 1,
                               .peer = true};
    assert_int_equal(od_policy_choose("nodes", &settings.policy, error, sizeof error), OD_OK);
    assert_int_equal(od_play(&problem, &settings, (double)INFINITY, &result), OD_OK);
    assert_int_equal(received[0], 0);
    for (unsigned node = 1; node < NODES; node++)
        assert_int_equal(received[node], TILE);
    assert_in_range(sent[0], TILE, 2 * TILE);
    free_graph(&g);
    od_topology_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_owner_computes), cmocka_unit_test(nodes_are_balanced),
                                       cmocka_unit_test(a_tile_crosses_each_card_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
