/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sets of devices that a topology makes different, on machines where they can be counted by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "sched/auto/sets.h"

#include <math.h>

enum { DEVICES = 4, HOST = OD_HOST };

static const od_link free_way = {.bandwidth = (double)INFINITY, .latency = 1e-6};

static void set_ways(od_topology *t, int k, const uint32_t *in, const uint32_t *out, uint32_t count)
{
    assert_int_equal(od_topology_set_way(t, HOST, k, free_way, in, count), OD_OK);
    assert_int_equal(od_topology_set_way(t, k, HOST, free_way, out, count), OD_OK);
}

/* One bus in, one out; device `slow` has a way of its own besides. */
static od_topology *bus(int slow)
{
    od_topology *t = od_topology_create(DEVICES);
    uint32_t in[] = {od_topology_add_link(t, 10), od_topology_add_link(t, 1)};
    uint32_t out[] = {od_topology_add_link(t, 10), in[1]};
    for (int k = 0; k < DEVICES; k++)
        set_ways(t, k, in, out, k == slow ? 2 : 1);
    return t;
}

/* Two switches of two devices each, below one bus. */
static od_topology *tree(void)
{
    od_topology *t = od_topology_create(DEVICES);
    uint32_t root_in = od_topology_add_link(t, 20), root_out = od_topology_add_link(t, 20);
    for (int k = 0; k < DEVICES; k += 2) {
        uint32_t in[] = {root_in, od_topology_add_link(t, 12)}, out[] = {root_out, od_topology_add_link(t, 12)};
        set_ways(t, k, in, out, 2);
        set_ways(t, k + 1, in, out, 2);
    }
    return t;
}

static void expect(od_topology *t, uint64_t bits, const unsigned *counts)
{
    od_device_sets sets;
    const od_placeset among = {{bits}};
    od_device_sets_find(t, among, &sets);
    for (unsigned size = 1; size <= DEVICES; size++) {
        assert_int_equal(sets.count[size], counts[size - 1]);
        for (unsigned i = 0; i < sets.count[size]; i++) {
            assert_int_equal(od_placeset_count(sets.set[size][i]), size);
            assert_true(od_placeset_is_empty(od_placeset_minus(sets.set[size][i], among)));
        }
    }
    od_topology_destroy(t);
}

static void one_kind_where_all_are_alike(void **state)
{
    (void)state;
    expect(bus(-1), 15, (const unsigned[]){1, 1, 1, 1});
}

static void with_the_slow_device_or_without(void **state)
{
    (void)state;
    expect(bus(2), 15, (const unsigned[]){2, 2, 2, 1});
    expect(bus(2), 11, (const unsigned[]){1, 1, 1, 0}); /* it is lost */
}

static void below_one_switch_or_two(void **state)
{
    (void)state;
    expect(tree(), 15, (const unsigned[]){1, 2, 1, 1});
}

static void with_the_device_that_computes_slowly_or_without(void **state)
{
    od_topology *t = bus(-1);
    (void)state;
    t->slowness.times[OD_SPEED_GENERAL][1] = 2;
    expect(t, 15, (const unsigned[]){2, 2, 2, 1});
    t = bus(-1); /* at some tasks alone */
    t->slowness.times[od_slowness_add(&t->slowness)][1] = 2;
    expect(t, 15, (const unsigned[]){2, 2, 2, 1});
}

static void copies_between_devices_count(void **state)
{
    od_topology *t = bus(-1); /* a ring: neighbours, or not */
    (void)state;
    for (int k = 0; k < DEVICES; k++) {
        int next = (k + 1) % DEVICES;
        assert_int_equal(od_topology_set_way(t, k, next, (od_link){25, 0}, NULL, 0), OD_OK);
        assert_int_equal(od_topology_set_way(t, next, k, (od_link){25, 0}, NULL, 0), OD_OK);
    }
    expect(t, 15, (const unsigned[]){1, 2, 1, 1});
}

/* A link is shared with the devices of the set, not with others. */
static void idle_devices_leave_links_to_others(void **state)
{
    od_topology *t = tree();
    (void)state;
    assert_true(od_topology_link(t, HOST, 1, DEVICES).bandwidth == 5 && od_topology_link(t, HOST, 1, 1).bandwidth == 12);
    assert_true(od_topology_link_among(t, HOST, 1, (od_placeset){{15}}).bandwidth == 5);
    assert_true(od_topology_link_among(t, HOST, 1, (od_placeset){{3}}).bandwidth == 6);
    assert_true(od_topology_link_among(t, HOST, 1, (od_placeset){{10}}).bandwidth == 10);
    od_topology_destroy(t);
}

static void all_links_are_those_of_each_way(void **state)
{
    od_topology *t = tree();
    od_link links[(DEVICES + 1) * (DEVICES + 1)];
    (void)state;
    for (uint64_t bits = 1; bits < UINT64_C(1) << DEVICES; bits++) {
        od_topology_links_among(t, DEVICES, (od_placeset){{bits}}, links);
        for (unsigned at = 0; at < (DEVICES + 1) * (DEVICES + 1); at++) {
            unsigned from = at / (DEVICES + 1), to = at % (DEVICES + 1);
            od_link link = od_topology_link_among(t, from < DEVICES ? (int)from : HOST, to < DEVICES ? (int)to : HOST,
                                                  (od_placeset){{bits}});
            assert_true(links[at].bandwidth == link.bandwidth && links[at].latency == link.latency);
        }
    }
    od_topology_destroy(t);
}

static void expect_near(od_topology *t, uint64_t bits, unsigned smaller, unsigned larger)
{
    od_placeset near[OD_SETS_DEVICES];
    const od_placeset among = od_placeset_below(DEVICES), set = {{bits}};
    unsigned size = od_placeset_count(set), counts[] = {0, 0};
    unsigned count = od_device_sets_near(t, among, set, near);
    for (unsigned i = 0; i < count; i++) {
        bool less = od_placeset_count(near[i]) < size;
        assert_int_equal(od_placeset_count(near[i]), less ? size - 1 : size + 1);
        assert_true(od_placeset_is_empty(less ? od_placeset_minus(near[i], set) : od_placeset_minus(set, near[i])));
        counts[less ? 0 : 1]++;
    }
    assert_int_equal(counts[0], smaller);
    assert_int_equal(counts[1], larger);
    od_topology_destroy(t);
}

/* Where each is of a kind of its own there are more kinds of sets than are listed. */
static void the_fastest_of_many_kinds(void **state)
{
    enum { MANY = 10 };
    static const double rate[MANY] = {2, 1, 9, 7, 6, 10, 8, 3, 5, 4};
    od_topology *t = od_topology_create(MANY);
    od_device_sets sets;
    (void)state;
    for (int k = 0; k < MANY; k++) {
        uint32_t link = od_topology_add_link(t, rate[k]);
        set_ways(t, k, &link, &link, 1);
        t->slowness.times[OD_SPEED_GENERAL][k] = rate[k]; /* what loads faster computes more slowly */
    }
    od_device_sets_find(t, od_placeset_below(MANY), &sets);
    const od_placeset loading = {{1 << 2 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 6}};
    bool loads = false, computes = false;
    for (unsigned i = 0; i < sets.count[MANY / 2]; i++) {
        loads |= od_placeset_equal(sets.set[MANY / 2][i], loading);
        computes |= od_placeset_equal(sets.set[MANY / 2][i], od_placeset_minus(od_placeset_below(MANY), loading));
    }
    assert_true(loads && computes);
    od_topology_destroy(t);
}

static void one_device_more_or_less(void **state)
{
    (void)state;
    expect_near(bus(-1), 3, 1, 1);
    expect_near(bus(2), 1, 0, 2);
    expect_near(bus(2), 5, 2, 1);
    expect_near(tree(), 3, 1, 1);
    expect_near(tree(), 1, 0, 2);
    expect_near(tree(), 15, 1, 0);
}

static void expect_exchanged(od_topology *t, uint64_t bits, unsigned expected)
{
    od_placeset near[OD_SETS_DEVICES];
    const od_placeset among = od_placeset_without(od_placeset_below(DEVICES), 0), set = {{bits}};
    assert_int_equal(od_device_sets_exchanged(t, among, set, near), expected);
    for (unsigned i = 0; i < expected; i++) {
        assert_int_equal(od_placeset_count(near[i]), od_placeset_count(set));
        assert_int_equal(od_placeset_count(od_placeset_intersection(near[i], set)), od_placeset_count(set) - 1);
        assert_true(od_placeset_is_empty(od_placeset_minus(near[i], among)));
    }
    od_topology_destroy(t);
}

/* Of devices 1, 2 and 3. What is alike comes once. */
static void one_device_for_another(void **state)
{
    (void)state;
    expect_exchanged(bus(-1), 1 << 1, 1);
    expect_exchanged(bus(2), 1 << 1, 2);
    expect_exchanged(bus(2), 1 << 1 | 1 << 2, 2);
    expect_exchanged(tree(), 1 << 2 | 1 << 3, 1);
    expect_exchanged(tree(), 1 << 1 | 1 << 2 | 1 << 3, 0);
}

/* Of devices 1, 2, 5 and 7 the last instead of the first. */
static void mirrored(void **state)
{
    static const unsigned devices[] = {1, 2, 5, 7};
    od_placeset among = OD_NO_PLACES, all, set = od_placeset_with(od_placeset_of(1), 5);
    (void)state;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        od_placeset_add(&among, devices[i]);
    all = od_device_sets_mirror(among, among);
    assert_true(od_placeset_equal(all, among));
    set = od_device_sets_mirror(among, set);
    assert_true(od_placeset_equal(set, od_placeset_with(od_placeset_of(7), 2)));
}

static void expect_moved(od_placeset among, od_placeset set, unsigned first, od_placeset expected)
{
    assert_true(od_placeset_equal(od_device_sets_moved(among, set, first), expected));
}

/* Devices 2 and 7 of 1, 2, 5, 7 and 8 become 1 and 5, then 2 and 7, then 5 and 8; there is none after 8. */
static void moved(void **state)
{
    static const unsigned devices[] = {1, 2, 5, 7, 8};
    od_placeset among = OD_NO_PLACES, set = od_placeset_with(od_placeset_of(2), 7);
    (void)state;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        od_placeset_add(&among, devices[i]);
    expect_moved(among, set, 0, od_placeset_with(od_placeset_of(1), 5));
    expect_moved(among, set, 1, set);
    expect_moved(among, set, 2, od_placeset_with(od_placeset_of(5), 8));
    expect_moved(among, set, 3, OD_NO_PLACES);
    expect_moved(among, OD_NO_PLACES, 0, OD_NO_PLACES);
    expect_moved(among, among, 0, among);
    expect_moved(among, among, 1, OD_NO_PLACES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mirrored),
        cmocka_unit_test(moved),
        cmocka_unit_test(one_kind_where_all_are_alike),
        cmocka_unit_test(with_the_slow_device_or_without),
        cmocka_unit_test(below_one_switch_or_two),
        cmocka_unit_test(the_fastest_of_many_kinds),
        cmocka_unit_test(one_device_more_or_less),
        cmocka_unit_test(one_device_for_another),
        cmocka_unit_test(with_the_device_that_computes_slowly_or_without),
        cmocka_unit_test(copies_between_devices_count),
        cmocka_unit_test(idle_devices_leave_links_to_others),
        cmocka_unit_test(all_links_are_those_of_each_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
