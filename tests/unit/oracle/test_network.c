/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Transfers that share links: times that can be told by hand, and what max-min fairness means, on random topologies. */
#include "tests/unit/random.h"

#include "sched/oracle/network.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { HOST = OD_HOST, MOST_FLOWS = 24, LINKS = 6 };

static void near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-9 * fmax(fabs(expected), 1)))
        fail_msg("%.12g instead of %.12g", value, expected);
}

/* The bus of 10 bytes/s into two devices, of which the second has a way of its own that is slower. */
static od_topology *two_devices(void)
{
    od_topology *t = od_topology_create(2);
    uint32_t bus = od_topology_add_link(t, 10);
    assert_int_equal(od_topology_set_way(t, HOST, 0, (od_link){(double)INFINITY, 1}, &bus, 1), OD_OK);
    assert_int_equal(od_topology_set_way(t, HOST, 1, (od_link){3, 1}, &bus, 1), OD_OK);
    return t;
}

static double time_to_end(od_network *n, uint32_t *ended, uint32_t *count)
{
    double seconds = 0;
    for (*count = 0; !*count;) {
        double next = od_network_next(n);
        assert_true(isfinite(next));
        *count = od_network_pass(n, next, ended);
        seconds += next;
    }
    return seconds;
}

static void test_by_hand(void **unused)
{
    (void)unused;
    uint32_t ended[MOST_FLOWS], count;
    od_network n;
    od_topology *t = two_devices();
    near(od_topology_link(t, HOST, 0, 2).bandwidth, 5);
    near(od_topology_link(t, HOST, 1, 2).bandwidth, 3);
    near(od_topology_link(t, HOST, 0, 1).bandwidth, 10);
    assert_true(od_topology_link(t, 0, 1, 2).bandwidth == 0);
    near(od_topology_inbound(t, 2), 10);
    assert_int_equal(od_network_init(&n, t, MOST_FLOWS), OD_OK);
    assert_true(isinf(od_network_next(&n)));
    od_network_start(&n, HOST, 0, 70, 5);
    od_network_start(&n, HOST, 1, 30, 6);
    near(time_to_end(&n, ended, &count), 1 + 10); /* 7 and 3 bytes/s */
    assert_int_equal(count, 2);
    assert_int_equal(ended[0], 5);
    od_network_start(&n, HOST, 0, 20, 7);
    od_network_start(&n, HOST, 0, 20, 8);
    near(od_network_next(&n), 1);
    assert_int_equal(od_network_pass(&n, 1, ended), 0);
    od_network_start(&n, HOST, 0, 1, 9);           /* its latency takes nothing from the others */
    near(time_to_end(&n, ended, &count), 1 + 0.3); /* then all three share the bus */
    assert_int_equal(count, 1);
    assert_int_equal(ended[0], 9);
    od_network_free(&n);
    od_topology_destroy(t);
}

static od_topology *random_topology(uint64_t *seed)
{
    unsigned devices = 1 + (unsigned)random_below(seed, 6);
    od_topology *t = od_topology_create(devices);
    t->by_latency = random_below(seed, 2);
    for (int l = 0; l < LINKS; l++)
        assert_int_equal(od_topology_add_link(t, 1 + (double)random_below(seed, 50)), l);
    for (int from = -1; from < (int)devices; from++)
        for (int to = -1; to < (int)devices; to++) {
            uint32_t links[LINKS], count = 0;
            for (uint32_t l = 0; l < LINKS; l++)
                if (random_below(seed, 3) == 0)
                    links[count++] = l;
            double own = count && random_below(seed, 2) ? (double)INFINITY : 1 + (double)random_below(seed, 30);
            od_link link = {own, (double)random_below(seed, 3)};
            assert_int_equal(od_topology_set_way(t, from < 0 ? HOST : from, to < 0 ? HOST : to, link, links, count),
                             OD_OK);
        }
    return t;
}

/* What it has for each part that it wants. */
static double part_of(const od_topology *t, const od_flow *f)
{
    return f->rate * (t->by_latency && f->way->latency > 0 ? f->way->latency : 1);
}

/* No link gives more than it has, and each flow has a bottleneck: its own way, or a link that is used up and gives no
 * other flow a larger part. */
static void check_fairness(const od_network *n)
{
    const od_topology *t = n->topology;
    double used[LINKS] = {0}, largest[LINKS] = {0};
    for (uint32_t i = 0; i < n->nflows; i++)
        for (uint32_t j = 0; j < n->flow[i].way->nlinks; j++) {
            uint32_t l = t->on_way[n->flow[i].way->first + j];
            used[l] += n->flow[i].rate;
            largest[l] = fmax(largest[l], part_of(t, &n->flow[i]));
        }
    for (int l = 0; l < LINKS; l++)
        assert_true(used[l] <= t->capacity[l] * (1 + 1e-9));
    for (uint32_t i = 0; i < n->nflows; i++) {
        const od_flow *f = &n->flow[i];
        bool limited = f->latency > 0 || f->rate >= f->way->bandwidth * (1 - 1e-9);
        for (uint32_t j = 0; j < f->way->nlinks; j++) {
            uint32_t l = t->on_way[f->way->first + j];
            limited |= used[l] >= t->capacity[l] * (1 - 1e-9) && part_of(t, f) >= largest[l] * (1 - 1e-9);
        }
        assert_true(limited);
    }
}

/* All that begins ends, once, and no byte is lost: rates times durations are the bytes. */
static void test_random(void **unused)
{
    (void)unused;
    for (uint64_t round = 0; round < 300; round++) {
        uint64_t seed = round;
        uint32_t ended[MOST_FLOWS], begun = 0, done = 0;
        double bytes[100] = {0}, moved[100] = {0};
        od_network n;
        od_topology *t = random_topology(&seed);
        assert_int_equal(od_network_init(&n, t, MOST_FLOWS), OD_OK);
        while (done < 100) {
            while (begun < 100 && n.nflows < MOST_FLOWS && random_below(&seed, 4)) {
                int from = (int)random_below(&seed, t->ndevices + 1) - 1, to = (int)random_below(&seed, t->ndevices);
                bytes[begun] = 1 + (double)random_below(&seed, 100);
                od_network_start(&n, from < 0 ? HOST : from, to, bytes[begun], begun);
                begun++;
            }
            double next = od_network_next(&n);
            check_fairness(&n);
            if (isinf(next))
                continue;
            for (uint32_t i = 0; i < n.nflows; i++)
                moved[n.flow[i].owner] += n.flow[i].rate * next;
            done += od_network_pass(&n, next, ended);
        }
        for (int i = 0; i < 100; i++)
            assert_true(fabs(moved[i] - bytes[i]) < 1e-5);
        od_network_free(&n);
        od_topology_destroy(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
