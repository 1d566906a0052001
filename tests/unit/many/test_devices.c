/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which device has the fewest tasks, who sends fastest, and which devices are alike: as a look at each would say. */
#include "sched/alike.h"
#include "sched/engine/devices/hungry.h"
#include "sched/engine/devices/sources.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { DEVICES = OD_MAX_DEVICES < 512 ? OD_MAX_DEVICES : 512, NODE = 8, STEPS = 4000 };

static uint64_t seed = 1;

static unsigned below(unsigned n)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (unsigned)(seed >> 33) % n;
}

static od_placeset some_devices(unsigned one_of)
{
    od_placeset set = OD_NO_PLACES;
    for (unsigned k = 0; k < DEVICES; k++)
        if (below(one_of) == 0)
            od_placeset_add(&set, k);
    return set;
}

/* --- the fewest tasks -------------------------------------------------------------------- */

static int fewest(const int *tasks, od_placeset among)
{
    int best = OD_NOWHERE;
    for (int k = 0; k < DEVICES; k++)
        if (tasks[k] != OD_NOT_HUNGRY && od_placeset_has(among, k) && (best == OD_NOWHERE || tasks[k] < tasks[best]))
            best = k;
    return best;
}

static void test_fewest_tasks(void **unused)
{
    (void)unused;
    static od_hungry hungry;
    int tasks[DEVICES];
    for (unsigned k = 0; k < DEVICES; k++)
        tasks[k] = OD_NOT_HUNGRY;
    assert_int_equal(od_hungry_least(&hungry, od_placeset_below(DEVICES)), OD_NOWHERE);
    for (int step = 0; step < STEPS; step++) {
        unsigned k = below(DEVICES), most = below(4) ? 8 : 3 * OD_HUNGRY_LEVELS;
        tasks[k] = below(5) ? (int)below(most) : OD_NOT_HUNGRY;
        od_hungry_set(&hungry, k, tasks[k]);
        od_placeset among = some_devices(1 + below(DEVICES));
        assert_int_equal(od_hungry_least(&hungry, among), fewest(tasks, among));
    }
    for (unsigned k = 0; k < DEVICES; k++)
        assert_int_equal(od_hungry_tasks(&hungry, k), tasks[k]);
    assert_true(od_hungry_is_valid(&hungry));
    hungry.levels ^= 1;
    assert_false(od_hungry_is_valid(&hungry));
}

/* --- links -------------------------------------------------------------------------------- */

/* Nodes of eight devices; the host is of the first one. */
static od_link *links_of_nodes(void)
{
    od_link *links = calloc((DEVICES + 1) * (DEVICES + 1), sizeof *links);
    assert_non_null(links);
    for (unsigned from = 0; from <= DEVICES; from++)
        for (unsigned to = 0; to <= DEVICES; to++) {
            unsigned a = from < DEVICES ? from / NODE : 0, b = to < DEVICES ? to / NODE : 0;
            bool host = from == DEVICES || to == DEVICES;
            links[from * (DEVICES + 1) + to] = (od_link){.bandwidth = a != b ? 1e9
                                                                      : host ? 4e9
                                                                             : 20e9,
                                                         .latency = 1e-6};
        }
    return links;
}

static int fastest(const od_link *links, od_placeset places, unsigned to)
{
    int best = OD_NOWHERE;
    for (unsigned k = 0; k < DEVICES; k++) {
        const od_link *link = &links[k * (DEVICES + 1) + to];
        if (k != to && od_placeset_has(places, k) &&
            (best == OD_NOWHERE || link->bandwidth > links[(unsigned)best * (DEVICES + 1) + to].bandwidth))
            best = (int)k;
    }
    return best;
}

static void test_fastest_sender(void **unused)
{
    (void)unused;
    od_sources sources;
    od_link *links = links_of_nodes();
    assert_int_equal(od_sources_init(&sources, DEVICES), OD_OK);
    for (int round = 0; round < 2; round++) {
        od_sources_find(&sources, links);
        for (int step = 0; step < STEPS; step++) {
            od_placeset places = some_devices(1 + below(DEVICES));
            unsigned to = below(DEVICES);
            assert_int_equal(od_sources_fastest(&sources, places, to), fastest(links, places, to));
        }
        for (unsigned i = 0; i < (DEVICES + 1) * (DEVICES + 1); i++) /* as measured ones, all different */
            links[i].bandwidth *= 1 + 1e-6 * below(1000);
    }
    od_sources_free(&sources);
    free(links);
}

static void test_nodes_are_alike(void **unused)
{
    (void)unused;
    static od_alike alike;
    od_link *links = links_of_nodes();
    od_alike_find(&alike, links, DEVICES);
    assert_int_equal(alike.ngroups, (DEVICES + NODE - 1) / NODE);
    assert_int_equal(alike.nsorts, 2); /* the one with the host, and all others */
    for (unsigned k = 0; k < DEVICES; k++) {
        assert_int_equal(alike.group[k], k / NODE);
        assert_int_equal(alike.sort[alike.group[k]], k / NODE > 0);
    }
    links[DEVICES * (DEVICES + 1) + 9].latency = 2e-6; /* of one device, from the host */
    od_alike_find(&alike, links, DEVICES);
    assert_int_equal(alike.ngroups, (DEVICES + NODE - 1) / NODE + 1);
    assert_int_not_equal(alike.group[9], alike.group[8]);
    assert_int_equal(alike.group[10], alike.group[8]);
    free(links);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fewest_tasks), cmocka_unit_test(test_fastest_sender),
                                       cmocka_unit_test(test_nodes_are_alike)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
