/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The engine, event by event.
 *
 * Exhaustive: every order of events of small graphs (3 tasks, 3 data, 2 devices, memory of 2 data) is run: no
 * deadlock, no limit broken, no stale read, no lost dirty tile. Random: larger graphs,
 * unequal sizes, more devices, failing kernels, in random orders of events.
 */
#include "tests/unit/engine/engine_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* --- every order --------------------------------------------------------- */

enum { MAX_DEPTH = 256 };

typedef struct path { /* the choices of this run, and how many there were at each step */
    unsigned taken[MAX_DEPTH], of[MAX_DEPTH];
    unsigned depth, forced;
} path;

static unsigned follow(void *arg, unsigned n)
{
    path *p = arg;
    assert_true(p->depth < MAX_DEPTH);
    if (p->depth >= p->forced)
        p->taken[p->depth] = 0;
    p->of[p->depth] = n;
    return p->taken[p->depth++];
}

/* Makes `p` the next path in depth-first order. False: there is none. */
static bool next_path(path *p)
{
    while (p->depth && p->taken[p->depth - 1] + 1 == p->of[p->depth - 1])
        p->depth--;
    if (!p->depth)
        return false;
    p->taken[p->depth - 1]++;
    p->forced = p->depth;
    p->depth = 0;
    return true;
}

/* Runs every order of events, `limit` of them at most (0: all). Returns how many. */
static unsigned long explore(const w_graph *graph, const w_machine *machine, unsigned long limit)
{
    static path p;
    unsigned long runs = 0;
    memset(&p, 0, sizeof p);
    do {
        p.depth = 0;
        if (!w_run(graph, machine, follow, &p)) {
            fprintf(stderr, "order of events:");
            for (unsigned i = 0; i < p.depth; i++)
                fprintf(stderr, " %u/%u", p.taken[i], p.of[i]);
            fprintf(stderr, "\npolicy %s eviction %s memory %zu\n", machine->policy, machine->evict, machine->memory);
            fail();
        }
        runs++;
    } while (next_path(&p) && (!limit || runs < limit));
    return runs;
}

static const char *const pairs[][2] = {
    {"eager", "lru"}, {"darts", "luf"}, {"darts", "lru"}, {"dmdas", "lru"}, {"lws", "luf"}};

static unsigned long explore_policies(const w_graph *graph, w_machine machine, unsigned long limit)
{
    enum { SHARE = W_DEVICES > 4 ? 8 : 1 }; /* sets of several words: the same code, and slower */
    limit = limit > SHARE ? limit / SHARE : limit;
    unsigned long runs = 0;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        machine.policy = pairs[i][0];
        machine.evict = pairs[i][1];
        runs += explore(graph, &machine, limit);
    }
    return runs;
}

static const w_machine two_devices = {
    .ndevices = 2, .memory = 2, .buffer = 2, .slots = 1, .peer = true, .failing_task = -1};

static w_graph chain(void)
{
    return (w_graph){.ntasks = 3,
                     .ndata = 3,
                     .size = {1, 1, 1},
                     .keep = true,
                     .host_reads = -1,
                     .task = {{2, {{0, OD_READ_WRITE}, {1, OD_READ}}, 0},
                              {2, {{1, OD_READ_WRITE}, {2, OD_READ}}, 0},
                              {2, {{2, OD_READ_WRITE}, {0, OD_READ}}, 0}}};
}

static void every_order_of_a_cycle_of_tiles(void **state)
{
    (void)state;
    w_graph g = chain();
    w_add_dependences(&g);
    assert_true(explore_policies(&g, two_devices, 0) > 3);
}

static void every_order_of_independent_tasks(void **state)
{
    (void)state;
    w_graph g = {
        .ntasks = 3,
        .ndata = 3,
        .size = {1, 1, 1},
        .keep = true,
        .host_reads = -1,
        .task = {{2, {{0, OD_READ}, {1, OD_READ}}, 0}, {2, {{1, OD_READ}, {2, OD_READ}}, 0}, {1, {{0, OD_READ}}, 0}}};
    unsigned long runs = explore_policies(&g, two_devices, 60000);
    print_message("%lu orders\n", runs);
}

static void every_order_under_strict_coherence(void **state)
{
    (void)state;
    w_graph g = chain();
    g.keep = false;
    w_add_dependences(&g);
    explore_policies(&g, two_devices, 30000);
}

/* Made from one tile, used beside another, in memory for two. */
static void every_order_with_contents_made_again(void **state)
{
    (void)state;
    uint64_t reruns = 0;
    w_graph g = {.ntasks = 4,
                 .ndata = 4,
                 .size = {1, 1, 1, 1},
                 .keep = true,
                 .region = true,
                 .host_reads = 2,
                 .task = {{2, {{1, OD_WRITE}, {0, OD_READ}}, 0},
                          {2, {{2, OD_WRITE}, {0, OD_READ}}, 0},
                          {2, {{3, OD_READ_WRITE}, {1, OD_READ}}, 0},
                          {2, {{3, OD_READ_WRITE}, {0, OD_READ_WRITE}}, 0}}};
    w_machine m = two_devices;
    m.recompute = OD_RECOMPUTE_ALWAYS;
    m.reruns = &reruns;
    w_add_dependences(&g);
    explore_policies(&g, m, 20000);
    m.ndevices = 1;
    explore_policies(&g, m, 20000);
    assert_true(reruns > 0);
}

static void every_order_in_a_region(void **state)
{
    (void)state;
    w_graph g = chain();
    w_machine m = two_devices;
    g.region = true;
    w_add_dependences(&g);
    explore_policies(&g, m, 30000);
    m.peer = false;
    explore_policies(&g, m, 30000);
    g.host_reads = 1;
    explore_policies(&g, m, 30000);
}

static void every_order_without_peer_copies(void **state)
{
    (void)state;
    w_graph g = chain();
    w_machine m = two_devices;
    m.peer = false;
    w_add_dependences(&g);
    explore_policies(&g, m, 30000);
}

/* What one device is loading goes on from there to the other. */
static void every_order_with_fast_peer_copies(void **state)
{
    (void)state;
    w_graph g = {.ntasks = 4,
                 .ndata = 3,
                 .size = {1, 1, 1},
                 .keep = true,
                 .host_reads = -1,
                 .task = {{2, {{0, OD_READ}, {1, OD_READ}}, 0},
                          {2, {{0, OD_READ}, {2, OD_READ}}, 0},
                          {2, {{0, OD_READ_WRITE}, {1, OD_READ}}, 0},
                          {2, {{0, OD_READ}, {2, OD_READ}}, 0}}};
    w_machine m = two_devices;
    m.fast_peers = true;
    w_add_dependences(&g);
    explore_policies(&g, m, 30000);
    for (m.losses = 1; m.losses <= 3; m.losses++)
        explore_policies(&g, m, 20000);
    m.losses = 0;
    m.memory = 3;
    g.region = true;
    g.host_reads = 0;
    explore_policies(&g, m, 20000);
}

static void every_order_with_the_host_asking(void **state)
{
    (void)state;
    w_graph g = chain();
    g.host_reads = 1;
    w_add_dependences(&g);
    explore_policies(&g, two_devices, 60000);
}

static void every_order_with_a_failing_kernel(void **state)
{
    (void)state;
    w_graph g = chain();
    w_machine m = two_devices;
    m.failing_task = 1;
    w_add_dependences(&g);
    explore_policies(&g, m, 60000);
}

/* One device, then both, at every moment. */
static void every_order_with_a_lost_device(void **state)
{
    (void)state;
    w_graph g = chain();
    w_machine m = two_devices;
    w_add_dependences(&g);
    for (m.losses = 1; m.losses <= 3; m.losses++)
        explore_policies(&g, m, 20000);
    m.losses = 1;
    g.keep = false;
    explore_policies(&g, m, 20000);
    g.region = true;
    explore_policies(&g, m, 20000);
    m.peer = false;
    explore_policies(&g, m, 20000);
}

/* On one device or two, of which none, one or both are lost at some moment; the host asks for data meanwhile. */
static void every_order_with_cpu_workers(void **state)
{
    (void)state;
    uint64_t taken = 0;
    w_graph g = {.ntasks = 6,
                 .ndata = 4,
                 .size = {1, 1, 1, 1},
                 .keep = true,
                 .host_reads = -1,
                 .task = {{2, {{0, OD_READ_WRITE}, {3, OD_READ}}, 0},
                          {2, {{1, OD_READ_WRITE}, {3, OD_READ}}, 0},
                          {1, {{2, OD_READ_WRITE}}, 0},
                          {1, {{3, OD_READ}}, 0},
                          {2, {{0, OD_READ}, {1, OD_READ_WRITE}}, 0},
                          {1, {{2, OD_READ_WRITE}}, 0}}};
    w_machine m = two_devices;
    m.cpus = 2;
    m.taken = &taken;
    w_add_dependences(&g);
    for (m.losses = 0; m.losses <= 3; m.losses++)
        explore_policies(&g, m, 20000);
    m.ndevices = 1;
    for (m.losses = 0; m.losses <= 1; m.losses++)
        explore_policies(&g, m, 20000);
    assert_true(taken > 0);
    m.losses = 0;
    m.devices_only = true;
    taken = 0;
    explore_policies(&g, m, 20000);
    assert_int_equal(taken, 0);
    m.losses = 1; /* no device is left */
    explore_policies(&g, m, 20000);
    assert_true(taken > 0);
    m.devices_only = false;
    m.losses = 0;
    m.in_process = true;
    g.host_reads = 1;
    explore_policies(&g, m, 20000);
    assert_true(taken > 0);
    g.host_reads = -1;
    g.region = true;
    taken = 0;
    explore_policies(&g, m, 20000);
    assert_true(taken > 0);
    m.in_process = false; /* the program's memory stays as it is */
    taken = 0;
    explore_policies(&g, m, 20000);
    assert_int_equal(taken, 0);
}

/* Tasks that only read: there is always another copy, and nothing may be given up. */
/* Each is used or given up, in every order; one is too large for a device, and declined. */
static void every_order_of_reservations(void **state)
{
    (void)state;
    w_graph graph = {.ntasks = 4,
                     .ndata = 3,
                     .size = {1, 1, 4},
                     .task = {{2, {{0, OD_READ_WRITE}, {1, OD_READ}}, 0},
                              {1, {{1, OD_READ_WRITE}}, 0},
                              {2, {{0, OD_READ_WRITE}, {1, OD_READ_WRITE}}, 0},
                              {1, {{2, OD_READ_WRITE}}, 0}},
                     .region = true,
                     .host_reads = -1};
    w_add_dependences(&graph);
    w_machine machine = two_devices;
    machine.memory = 3;
    machine.reserving = 0xf;
    explore_policies(&graph, machine, 20000);
}

static void readers_survive_lost_devices(void **state)
{
    (void)state;
    w_graph g = {.ntasks = 3,
                 .ndata = 3,
                 .size = {1, 1, 1},
                 .keep = true,
                 .host_reads = -1,
                 .task = {{2, {{0, OD_READ}, {1, OD_READ}}, 0},
                          {2, {{1, OD_READ}, {2, OD_READ}}, 0},
                          {2, {{2, OD_READ}, {0, OD_READ}}, 0}}};
    w_machine m = two_devices;
    m.never_gives_up = true;
    for (m.losses = 1; m.losses <= 3; m.losses++)
        explore_policies(&g, m, 20000);
}

/* Two tasks share data without a dependence, each writing what the other reads, in both orders. */
static void every_order_of_two_tasks_that_want_each_others_data(void **state)
{
    (void)state;
    w_graph g = {.ntasks = 2,
                 .ndata = 2,
                 .size = {1, 1},
                 .keep = true,
                 .shared = true,
                 .host_reads = -1,
                 .task = {{2, {{0, OD_READ_WRITE}, {1, OD_READ}}, 0}, {2, {{1, OD_READ_WRITE}, {0, OD_READ}}, 0}}};
    explore_policies(&g, two_devices, 0);
    w_graph both = {.ntasks = 3,
                    .ndata = 2,
                    .size = {1, 1},
                    .keep = true,
                    .shared = true,
                    .host_reads = -1,
                    .task = {{2, {{0, OD_READ_WRITE}, {1, OD_READ_WRITE}}, 0},
                             {2, {{1, OD_READ_WRITE}, {0, OD_READ_WRITE}}, 0},
                             {1, {{0, OD_READ}}, 0}}};
    explore_policies(&both, two_devices, 60000);
    both.keep = false;
    explore_policies(&both, two_devices, 60000);
}

static void memory_one_tile_too_small_runs_on_the_host(void **state)
{
    (void)state;
    w_graph g = chain();
    w_machine m = two_devices;
    m.memory = 1;
    w_add_dependences(&g);
    explore_policies(&g, m, 30000);
}

/* --- random orders ------------------------------------------------------- */

typedef struct generator {
    uint64_t state;
} generator;

static unsigned below(generator *g, unsigned n)
{
    g->state = g->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)((g->state >> 33) % n);
}

static unsigned pick(void *arg, unsigned n)
{
    return below(arg, n);
}

static w_graph random_graph(generator *g)
{
    w_graph graph = {.ntasks = 1 + (int)below(g, W_TASKS), .ndata = 2 + (int)below(g, W_DATA - 1), .host_reads = -1};
    graph.keep = below(g, 4) != 0;
    graph.region = below(g, 2) != 0;
    if (below(g, 3) == 0)
        graph.host_reads = (int)below(g, (unsigned)graph.ndata);
    for (int d = 0; d < graph.ndata; d++)
        graph.size[d] = 1 + below(g, 3);
    for (int t = 0; t < graph.ntasks; t++) {
        w_task *task = &graph.task[t];
        int wanted = (int)below(g, 4);
        for (int u = 0; u < wanted; u++) {
            int d = (int)below(g, (unsigned)graph.ndata);
            bool there = false;
            for (int v = 0; v < task->nuses; v++)
                there |= task->use[v].datum == d;
            if (!there)
                task->use[task->nuses++] = (w_use){d, (od_mode)(1 + below(g, 3))};
        }
    }
    return graph;
}

/* Without dependences, a task that only writes would be told to leave a serial result that never was. */
static void make_shared(w_graph *graph)
{
    graph->shared = true;
    for (int t = 0; t < graph->ntasks; t++)
        for (int u = 0; u < graph->task[t].nuses; u++)
            graph->task[t].use[u].mode |= OD_READ;
}

/* Any registered policy, or darts with an option; half of the time with the rule that suits it. */
static void random_policy(generator *g, w_machine *machine)
{
    static const char *const variants[] = {"darts:alg9", "darts:alg11", "darts:opti", "darts:threshold=2"};
    unsigned nvariants = sizeof variants / sizeof *variants, npolicies = 0, nrules = 0;
    while (od_policy_names()[npolicies])
        npolicies++;
    while (od_evict_names()[nrules])
        nrules++;
    unsigned i = below(g, npolicies + nvariants);
    machine->policy = i < npolicies ? od_policy_names()[i] : variants[i - npolicies];
    machine->evict = below(g, 2) ? od_evict_names()[below(g, nrules)] : NULL;
}

static void random_graphs_in_random_orders(void **state)
{
    enum { RUNS = W_DEVICES > 4 ? 100 : 8000 };
    (void)state;
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        generator g = {seed * UINT64_C(0x9e3779b97f4a7c15)};
        w_graph graph = random_graph(&g);
        if (below(&g, 4) == 0)
            make_shared(&graph);
        else
            w_add_dependences(&graph);
        w_machine m = {.ndevices = W_DEVICES - below(&g, 4),
                       .memory = 3 + below(&g, 8),
                       .buffer = 1 + below(&g, 4),
                       .ahead = below(&g, 3),
                       .early = below(&g, 2),
                       .active = (int)below(&g, 6) - 1,
                       .background = below(&g, 2),
                       .slots = 1 + below(&g, 2),
                       .peer = below(&g, 2),
                       .fast_peers = below(&g, 2),
                       .recompute = (od_recompute)below(&g, 3),
                       .failing_task = below(&g, 4) ? -1 : 0};
        m.losses = below(&g, 3) ? 0 : below(&g, W_DEVICES > 4 ? 16 : 1u << m.ndevices);
        m.reserving = below(&g, 3) ? 0 : below(&g, 1u << W_TASKS);
        m.shrinks = below(&g, 3) ? 0 : below(&g, 4);
        m.keeping = m.losses || m.recompute || m.shrinks || m.reserving || below(&g, 2) ? 0 : below(&g, 1u << W_TASKS);
        random_policy(&g, &m);
        for (int order = 0; order < 4; order++)
            if (!w_run(&graph, &m, pick, &g))
                fail_msg("seed %llu, order %d, policy %s", (unsigned long long)seed, order, m.policy);
    }
}

/* Each policy tells the kinds of choices that it takes, and no others. That they make sense emitted.c checks. */
static void policies_emit_their_choices(void **state)
{
    enum {
        LOAD = 1 << OD_DECISION_LOAD,
        PLACE = 1 << OD_DECISION_PLACE,
        PLAN = 1 << OD_DECISION_PLAN,
        TAKE = 1 << OD_DECISION_TAKE,
        STEAL = 1 << OD_DECISION_STEAL
    };
    static const struct {
        const char *policy;
        unsigned kinds;
    } choices[] = {{"eager", 0},
                   {"ap", 0},
                   {"darts", LOAD | PLACE | STEAL},
                   {"darts:alg12", LOAD | PLACE},
                   {"dmda", PLACE},
                   {"dmda:bus", PLACE},
                   {"dmdar", PLACE | TAKE},
                   {"dmdas", PLACE | TAKE},
                   {"lws", PLACE | STEAL},
                   {"rcm", PLAN | TAKE | STEAL},
                   {"mst", PLAN | TAKE | STEAL},
                   {"hfp", PLAN | TAKE | STEAL},
                   {"mhfp", PLAN | TAKE | STEAL},
                   {"mhfp:ready=0,steal=0", PLAN},
                   {"hypergraph:sort=0", PLAN | TAKE | STEAL}};
    (void)state;
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        uint64_t decisions[OD_DECISION_KINDS] = {0};
        generator g = {1};
        w_machine m = two_devices;
        m.memory = 6;
        m.buffer = 1;
        m.policy = choices[i].policy;
        m.decisions = decisions;
        for (int run = 0; run < 500; run++) {
            w_graph graph = random_graph(&g);
            make_shared(&graph);
            assert_true(w_run(&graph, &m, pick, &g));
        }
        for (unsigned kind = 0; kind < OD_DECISION_KINDS; kind++)
            if ((decisions[kind] > 0) != ((choices[i].kinds & 1u << kind) != 0))
                fail_msg("%s tells %llu times '%s'", m.policy, (unsigned long long)decisions[kind],
                         od_decision_name((od_decision_kind)kind));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_order_of_a_cycle_of_tiles),
        cmocka_unit_test(every_order_of_independent_tasks),
        cmocka_unit_test(every_order_under_strict_coherence),
        cmocka_unit_test(every_order_with_contents_made_again),
        cmocka_unit_test(every_order_in_a_region),
        cmocka_unit_test(every_order_without_peer_copies),
        cmocka_unit_test(every_order_with_fast_peer_copies),
        cmocka_unit_test(every_order_with_the_host_asking),
        cmocka_unit_test(every_order_with_a_failing_kernel),
        cmocka_unit_test(every_order_with_a_lost_device),
        cmocka_unit_test(every_order_of_reservations),
        cmocka_unit_test(every_order_with_cpu_workers),
        cmocka_unit_test(readers_survive_lost_devices),
        cmocka_unit_test(every_order_of_two_tasks_that_want_each_others_data),
        cmocka_unit_test(memory_one_tile_too_small_runs_on_the_host),
        cmocka_unit_test(random_graphs_in_random_orders),
        cmocka_unit_test(policies_emit_their_choices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
