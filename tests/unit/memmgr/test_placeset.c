/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sets of places against arrays of bool; built for one word and for many (test_placeset_wide). */
#include "memmgr/data/placeset.h"

#include "tests/unit/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PLACES = OD_HOST + 1, ROUNDS = 20000 };

typedef struct plain {
    bool has[PLACES];
} plain;

static unsigned count_of(const plain *p)
{
    unsigned count = 0;
    for (unsigned i = 0; i < PLACES; i++)
        count += p->has[i];
    return count;
}

static void expect(od_placeset set, const plain *p)
{
    unsigned at = 0;
    od_placeset_walk walk = od_placeset_begin(set);
    for (unsigned i = 0; i < PLACES; i++)
        assert_int_equal(od_placeset_has(set, i), p->has[i]);
    assert_int_equal(od_placeset_count(set), count_of(p));
    assert_int_equal(od_placeset_is_empty(set), count_of(p) == 0);
    for (; od_placeset_next(&walk); at = walk.place + 1) {
        for (; at < walk.place; at++)
            assert_false(p->has[at]);
        assert_true(p->has[walk.place]);
    }
    for (; at < PLACES; at++)
        assert_false(p->has[at]);
    assert_false(od_placeset_next(&walk)); /* once more */
}

/* Few places, or most. */
static od_placeset draw(uint64_t *seed, plain *p)
{
    od_placeset set = OD_NO_PLACES;
    uint64_t sparse = 1 + random_below(seed, 40);
    for (unsigned i = 0; i < PLACES; i++) {
        p->has[i] = random_below(seed, sparse) == 0;
        if (p->has[i])
            od_placeset_add(&set, i);
    }
    return set;
}

static void expect_both(const od_placeset *x, const od_placeset *y, const plain *both)
{
    unsigned left = count_of(both);
    int64_t last = -1;
    for (od_placeset_walk2 at = od_placeset_begin2(x, y); od_placeset_next2(&at); last = at.place, left--)
        assert_true(both->has[at.place] && at.place > last);
    assert_int_equal(left, 0);
}

static void operations_are_those_of_sets(void **state)
{
    uint64_t seed = 1;
    (void)state;
    for (int round = 0; round < ROUNDS / PLACES; round++) {
        plain a, b, both, any, left;
        od_placeset x = draw(&seed, &a), y = draw(&seed, &b);
        bool meet = false;
        for (unsigned i = 0; i < PLACES; i++) {
            both.has[i] = a.has[i] && b.has[i];
            any.has[i] = a.has[i] || b.has[i];
            left.has[i] = a.has[i] && !b.has[i];
            meet |= both.has[i];
        }
        expect(x, &a);
        expect(od_placeset_intersection(x, y), &both);
        expect_both(&x, &y, &both);
        expect(od_placeset_union(x, y), &any);
        expect(od_placeset_minus(x, y), &left);
        assert_int_equal(od_placeset_intersect(x, y), meet);
        assert_int_equal(od_placeset_equal(x, y), memcmp(&a, &b, sizeof a) == 0);
        assert_true(od_placeset_equal(x, od_placeset_union(od_placeset_minus(x, y), od_placeset_intersection(x, y))));
    }
}

static void single_places_come_and_go(void **state)
{
    plain p = {0};
    uint64_t seed = 2;
    od_placeset set = OD_NO_PLACES;
    (void)state;
    for (unsigned i = 0; i < PLACES; i++) {
        od_placeset one = od_placeset_of(i);
        assert_true(od_placeset_is_only(one, i) && od_placeset_count(one) == 1 && od_placeset_first(one) == i);
        assert_false(od_placeset_is_only(od_placeset_with(one, (i + 1) % PLACES), i));
        assert_true(od_placeset_is_empty(od_placeset_without(one, i)));
    }
    for (int round = 0; round < ROUNDS; round++) {
        unsigned place = (unsigned)random_below(&seed, PLACES);
        bool comes = random_below(&seed, 2);
        (comes ? od_placeset_add : od_placeset_remove)(&set, place);
        p.has[place] = comes;
        assert_int_equal(od_placeset_has(set, place), comes);
        assert_int_equal(od_placeset_count(set), count_of(&p));
    }
    expect(set, &p);
}

static void devices_are_below_the_special_places(void **state)
{
    (void)state;
    assert_true(OD_MAX_DEVICES <= OD_RECIPE && OD_RECIPE + 1 == OD_SPILL && OD_SPILL + 1 == OD_HOST);
    for (unsigned n = 0; n <= OD_MAX_DEVICES; n++) {
        plain p = {0};
        memset(p.has, 1, n);
        expect(od_placeset_below(n), &p);
        od_placeset all = od_placeset_with(od_placeset_below(n), OD_HOST);
        all = od_placeset_with(od_placeset_with(all, OD_SPILL), OD_RECIPE);
        assert_int_equal(od_placeset_count(all), n + 3);
        assert_true(od_placeset_equal(od_placeset_devices(all), od_placeset_below(n)));
    }
}

static void sets_are_numbers_in_text(void **state)
{
    uint64_t seed = 3;
    char text[OD_PLACESET_TEXT];
    od_placeset again;
    (void)state;
    assert_string_equal(od_placeset_write(OD_NO_PLACES, text), "0");
    assert_string_equal(od_placeset_write(od_placeset_with(od_placeset_of(0), 5), text), "21");
    for (int round = 0; round < ROUNDS / PLACES; round++) {
        plain p;
        od_placeset set = draw(&seed, &p);
        assert_true(od_placeset_read(od_placeset_write(set, text), &again));
        expect(again, &p);
    }
    assert_false(od_placeset_read("", &again) || od_placeset_read("1g", &again) || od_placeset_read("-1", &again));
    char longer[OD_PLACESET_TEXT + 1];
    memset(longer, '1', OD_PLACESET_TEXT);
    longer[OD_PLACESET_TEXT] = '\0';
    assert_false(od_placeset_read(longer, &again));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_are_those_of_sets),
        cmocka_unit_test(single_places_come_and_go),
        cmocka_unit_test(devices_are_below_the_special_places),
        cmocka_unit_test(sets_are_numbers_in_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
