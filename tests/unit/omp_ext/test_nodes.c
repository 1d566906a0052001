/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The topology of several nodes: which transfers at once slow each other, on random jobs. */
#include "tests/unit/random.h"

#include "omp_ext/services/machine/nodes.h"
#include "sched/oracle/network.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { NODES = 8, DEVICES = 32, ROUNDS = 500 };

typedef struct way {
    int from, to;
} way;

static double random_rate(uint64_t *seed)
{
    return 1 + (double)random_below(seed, 1000) / 100;
}

static od_nodes random_nodes(uint64_t *seed)
{
    od_nodes n = {.nnodes = 1 + (unsigned)random_below(seed, NODES), .between = {random_rate(seed), 0}};
    unsigned home = (unsigned)random_below(seed, n.nnodes + 1);
    double others = 0;
    n.ndevices = n.nnodes + (unsigned)random_below(seed, DEVICES - n.nnodes);
    for (unsigned i = 0; i < n.nnodes; i++) {
        double in = random_rate(seed), out = random_rate(seed);
        n.of[i] = (od_node_rates){.is_home = i == home,
                                  .in = {in, 0},
                                  .out = {out, 0},
                                  .all_in = random_below(seed, 2) ? in * 1.5 : 0,
                                  .within = {random_rate(seed), 0}};
        others += i == home ? 0 : in;
    }
    n.others_in = others * 0.4;
    for (unsigned k = 0; k < n.ndevices; k++)
        n.node[k] = k < n.nnodes ? k : (unsigned)random_below(seed, n.nnodes);
    return n;
}

/* What transfers reach at once. */
static double together(const od_topology *t, const way *ways, uint32_t count)
{
    od_network n;
    double sum = 0;
    assert_int_equal(od_network_init(&n, t, count), OD_OK);
    for (uint32_t i = 0; i < count; i++)
        od_network_start(&n, ways[i].from, ways[i].to, 1e6, i);
    od_network_next(&n);
    for (uint32_t i = 0; i < count; i++)
        sum += n.flow[i].rate;
    od_network_free(&n);
    return sum;
}

static void is_about(double value, double wanted)
{
    if (fabs(value - wanted) > 1e-6 * wanted)
        fail_msg("%g, not %g", value, wanted);
}

/* Devices 0, 1, … are on nodes 0, 1, … */
static void check_loads(const od_nodes *n, const od_topology *t)
{
    way ways[NODES + 1];
    uint32_t count = 0;
    double most = 0;
    for (unsigned i = 0; i < n->nnodes; i++) {
        is_about(together(t, &(way){OD_HOST, (int)i}, 1), n->of[i].in.bandwidth);
        is_about(together(t, &(way){(int)i, OD_HOST}, 1), n->of[i].out.bandwidth);
        if (n->of[i].is_home)
            continue;
        ways[count++] = (way){OD_HOST, (int)i};
        most = fmax(most, n->of[i].in.bandwidth);
    }
    if (!count)
        return;
    double all = together(t, ways, count);
    assert_true(all < 1.000001 * fmax(n->others_in, most));
    for (unsigned i = 0; i < n->nnodes; i++) /* the home node's come by no network */
        if (n->of[i].is_home) {
            ways[count] = (way){OD_HOST, (int)i};
            is_about(together(t, ways, count + 1), all + n->of[i].in.bandwidth);
        }
}

/* What the link of a node to others carries. */
static double capacity(const od_nodes *n, unsigned node, bool out)
{
    const od_node_rates *r = &n->of[node];
    double most = out ? n->others_in : n->others_out;
    for (unsigned i = 0; i < n->nnodes; i++)
        if (!n->of[i].is_home)
            most = fmax(most, out ? n->of[i].in.bandwidth : n->of[i].out.bandwidth);
    return r->is_home ? most : out ? fmax(r->out.bandwidth, r->all_out) : fmax(r->in.bandwidth, r->all_in);
}

static void check_shared(const od_nodes *n, const od_topology *t)
{
    for (unsigned a = 0; a < n->ndevices; a++)
        for (unsigned b = a + 1; b < n->ndevices; b++) {
            const od_node_rates *r = &n->of[n->node[a]];
            bool same = n->node[a] == n->node[b];
            double over =
                fmin(n->between.bandwidth, fmin(capacity(n, n->node[a], true), capacity(n, n->node[b], false)));
            is_about(together(t, &(way){(int)a, (int)b}, 1), same ? r->within.bandwidth : over);
            if (same && !r->is_home)
                assert_true(together(t, (way[]){{OD_HOST, (int)a}, {OD_HOST, (int)b}}, 2) <
                            1.000001 * fmax(r->in.bandwidth, r->all_in));
        }
}

/* Copies between two pairs of nodes do not meet, but two out of one node do. */
static void check_copies(const od_nodes *n, const od_topology *t)
{
    if (n->nnodes < 4)
        return;
    double first = together(t, &(way){0, 1}, 1), second = together(t, &(way){2, 3}, 1);
    is_about(together(t, (way[]){{0, 1}, {2, 3}}, 2), first + second);
    double limit = n->of[0].is_home ? INFINITY : n->of[0].out.bandwidth;
    assert_true(together(t, (way[]){{0, 1}, {0, 2}}, 2) < 1.000001 * fmax(limit, n->of[0].all_out));
}

static void test_random_jobs(void **unused)
{
    (void)unused;
    uint64_t seed = 11;
    for (int round = 0; round < ROUNDS; round++) {
        od_nodes n = random_nodes(&seed);
        od_topology *t = od_topology_nodes(&n);
        assert_non_null(t);
        assert_int_equal(t->nnodes, n.nnodes);
        assert_memory_equal(t->node, n.node, n.ndevices * sizeof *t->node);
        check_loads(&n, t);
        check_shared(&n, t);
        check_copies(&n, t);
        od_topology_destroy(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_jobs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
