/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Topologies from measurements: random machines (groups of devices behind one link, half and full duplex, one link above
 * them, copies between devices through the host or not) are measured as the network model has it, with some noise; what
 * is made of that behaves like the machine under any transfers at once.
 */
#include "tests/unit/random.h"

#include "memmgr/device/measured.h"
#include "sched/oracle/network.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { DEVICES = 6, MOST_FLOWS = 64 };

typedef struct way {
    int from, to;
} way;

/* --- machines ------------------------------------------------------------------------------ */

typedef struct machine {
    unsigned n, groups;
    bool half, staged, tight; /* one link for both directions; copies pass the host; one link above the groups */
    od_topology *topology;
    uint32_t in[DEVICES], out[DEVICES], above[2];
} machine;

static void set(machine *m, int from, int to, double own, const uint32_t *links, uint32_t count)
{
    assert_int_equal(od_topology_set_way(m->topology, from, to, (od_link){own, 0}, links, count), OD_OK);
}

static void set_ways(machine *m, unsigned k)
{
    uint32_t in[] = {m->in[k], m->above[0]}, out[] = {m->out[k], m->above[1]};
    set(m, OD_HOST, (int)k, 11, in, m->tight ? 2 : 1);
    set(m, (int)k, OD_HOST, 11, out, m->tight ? 2 : 1);
    for (unsigned to = 0; to < m->n; to++) {
        uint32_t both[] = {m->in[to], m->out[k]};
        if (to != k)
            set(m, (int)k, (int)to, m->staged ? 11 : 20, both, !m->staged ? 0 : m->in[to] == m->out[k] ? 1 : 2);
    }
}

static machine random_machine(uint64_t *seed)
{
    machine m = {.n = 1 + (unsigned)random_below(seed, DEVICES),
                 .half = random_below(seed, 3) == 0,
                 .staged = random_below(seed, 2)};
    uint32_t links[2][DEVICES];
    m.groups = 1 + (unsigned)random_below(seed, m.n);
    m.tight = m.groups > 2 && !m.half && !m.staged && random_below(seed, 2);
    m.topology = od_topology_create(m.n);
    for (unsigned g = 0; g < m.groups; g++) {
        links[0][g] = od_topology_add_link(m.topology, 12);
        links[1][g] = m.half ? links[0][g] : od_topology_add_link(m.topology, 12);
    }
    m.above[0] = od_topology_add_link(m.topology, 0.8 * 22); /* two alone hardly notice it */
    m.above[1] = od_topology_add_link(m.topology, 0.8 * 22);
    for (unsigned k = 0; k < m.n; k++) {
        unsigned g = k < m.groups ? k : (unsigned)random_below(seed, m.groups);
        m.in[k] = links[0][g];
        m.out[k] = links[1][g];
    }
    for (unsigned k = 0; k < m.n; k++)
        set_ways(&m, k);
    return m;
}

/* --- measuring ------------------------------------------------------------------------------- */

static double together(const od_topology *t, const way *ways, uint32_t count, double *rates)
{
    od_network n;
    double sum = 0;
    assert_int_equal(od_network_init(&n, t, MOST_FLOWS), OD_OK);
    for (uint32_t i = 0; i < count; i++)
        od_network_start(&n, ways[i].from, ways[i].to, 1e6, i);
    od_network_next(&n);
    for (uint32_t i = 0; i < count; i++) {
        sum += n.flow[i].rate;
        if (rates)
            rates[i] = n.flow[i].rate;
    }
    od_network_free(&n);
    return sum;
}

static double noisy(uint64_t *seed, double value)
{
    return value * (0.97 + 0.06 * (double)random_below(seed, 1000) / 1000);
}

static double pair(const machine *m, uint64_t *seed, way a, way b)
{
    return noisy(seed, together(m->topology, (way[]){a, b}, 2, NULL));
}

static void measure_device(const machine *m, uint64_t *seed, od_rates *r, unsigned a)
{
    int k = (int)a;
    r->alone[m->n][a] = (od_link){noisy(seed, together(m->topology, &(way){OD_HOST, k}, 1, NULL)), 0};
    r->alone[a][m->n] = (od_link){noisy(seed, together(m->topology, &(way){k, OD_HOST}, 1, NULL)), 0};
    r->in[a][a] = pair(m, seed, (way){OD_HOST, k}, (way){k, OD_HOST});
    for (unsigned b = 0; b < m->n; b++) {
        int other = (int)b;
        if (a == b)
            continue;
        r->alone[a][b] = (od_link){noisy(seed, together(m->topology, &(way){k, other}, 1, NULL)), 0};
        r->peer[a][b] = pair(m, seed, (way){OD_HOST, other}, (way){k, other});
        r->in[a][b] = pair(m, seed, (way){OD_HOST, k}, (way){OD_HOST, other});
        r->out[a][b] = pair(m, seed, (way){k, OD_HOST}, (way){other, OD_HOST});
    }
}

static void measure(const machine *m, uint64_t *seed, od_rates *r)
{
    way in[DEVICES], out[DEVICES];
    *r = (od_rates){.ndevices = m->n};
    for (unsigned k = 0; k < m->n; k++) {
        measure_device(m, seed, r, k);
        in[k] = (way){OD_HOST, (int)k};
        out[k] = (way){(int)k, OD_HOST};
    }
    r->all_in = noisy(seed, together(m->topology, in, m->n, NULL));
    r->all_out = noisy(seed, together(m->topology, out, m->n, NULL));
}

/* --- tests ----------------------------------------------------------------------------------- */

static way random_way(uint64_t *seed, unsigned n)
{
    way w = {(int)random_below(seed, n + 1), (int)random_below(seed, n + 1)};
    if (w.from == w.to)
        w.to = w.to ? 0 : (int)n;
    return (way){w.from == (int)n ? OD_HOST : w.from, w.to == (int)n ? OD_HOST : w.to};
}

static void compare(const machine *m, const od_topology *made, uint64_t *seed)
{
    way ways[8];
    double is[8], should[8];
    uint32_t count = 1 + (uint32_t)random_below(seed, 8);
    for (uint32_t i = 0; i < count; i++)
        ways[i] = random_way(seed, m->n);
    double all = together(m->topology, ways, count, should), made_all = together(made, ways, count, is);
    if (!(made_all > 0.85 * all && made_all < 1.18 * all))
        fail_msg("%u ways: %g together, not %g", count, made_all, all);
    for (uint32_t i = 0; i < count; i++)
        if (!(is[i] > 0.6 * should[i] && is[i] < 1.67 * should[i]))
            fail_msg("way %d of %u (from %d to %d): %g, not %g; %u devices in %u groups, half %d, staged %d, tight %d",
                     i, count, ways[i].from, ways[i].to, is[i], should[i], m->n, m->groups, m->half, m->staged,
                     m->tight);
}

static void test_random(void **unused)
{
    (void)unused;
    od_rates *rates = malloc(sizeof *rates);
    for (uint64_t round = 0; round < 2000; round++) {
        uint64_t seed = round;
        machine m = random_machine(&seed);
        measure(&m, &seed, rates);
        od_topology *made = od_topology_measured(rates);
        assert_non_null(made);
        for (int i = 0; i < 20; i++)
            compare(&m, made, &seed);
        od_topology_destroy(made);
        od_topology_destroy(m.topology);
    }
    free(rates);
}

static void test_bus(void **unused)
{
    (void)unused;
    double rates[3];
    od_topology *bus = od_topology_bus(3, 12);
    assert_true(bus->turns);
    assert_true(fabs(together(bus, (way[]){{OD_HOST, 0}, {1, OD_HOST}, {1, 2}}, 3, rates)) < 1e-9); /* latency */
    assert_true(fabs(od_topology_link(bus, OD_HOST, 1, 3).bandwidth - 4) < 1e-9);
    assert_true(fabs(od_topology_link(bus, 0, 1, 3).bandwidth - 4) < 1e-9);
    od_topology_destroy(bus);
}

/* What reaches less together than one does alone has been disturbed: no link comes of it. */
static void test_disturbed(void **unused)
{
    (void)unused;
    od_rates *r = calloc(1, sizeof *r);
    *r = (od_rates){.ndevices = 2, .in = {{1, 2}, {2, 1}}, .out = {{0, 3}, {3, 0}}, .all_in = 4, .all_out = 4};
    for (unsigned from = 0; from <= 2; from++)
        for (unsigned to = 0; to <= 2; to++)
            r->alone[from][to].bandwidth = from == to ? 0 : 12;
    od_topology *made = od_topology_measured(r);
    const way all[] = {{OD_HOST, 0}, {OD_HOST, 1}, {0, OD_HOST}, {1, OD_HOST}, {0, 1}};
    assert_true(fabs(together(made, all, 5, NULL) - 60) < 1e-9);
    od_topology_destroy(made);
    free(r);
}

static void test_odd(void **unused)
{
    (void)unused;
    od_rates *r = calloc(1, sizeof *r);
    r->ndevices = 2;
    for (unsigned from = 0; from <= 2; from++)
        for (unsigned to = 0; to <= 2; to++)
            r->alone[from][to] = (od_link){from == to ? 0 : 12, 0};
    r->alone[2][1].bandwidth = 1;
    r->alone[0][1].bandwidth = 2;
    for (unsigned from = 0; from <= 2; from++)
        for (unsigned to = 0; to <= 2; to++)
            assert_true(od_rates_are_odd(r, from, to) == (from == 2 && to == 1));
    free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random), cmocka_unit_test(test_bus),
                                       cmocka_unit_test(test_disturbed), cmocka_unit_test(test_odd)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
