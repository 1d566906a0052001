/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The index of data in a long array: against a search, and how far it looks. */
#include "util/container/index.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/random.h"

enum { MANY = 20000, IDS = 60000 };

static void finds_what_was_added(void **state)
{
    static uint32_t position_of[IDS];
    od_index index = {0};
    uint64_t seed = 7;
    uint32_t n = 0;
    (void)state;
    for (uint32_t id = 0; id < IDS; id++)
        position_of[id] = OD_NO_POSITION;
    assert_int_equal(od_index_find(&index, 5), OD_NO_POSITION);
    while (n < MANY) {
        uint32_t id = (uint32_t)(random_next(&seed) % IDS);
        assert_int_equal(od_index_find(&index, id), position_of[id]);
        if (position_of[id] != OD_NO_POSITION)
            continue;
        assert_int_equal(od_index_add(&index, id, n), OD_OK);
        position_of[id] = n++;
    }
    for (uint32_t id = 0; id < IDS; id++)
        assert_int_equal(od_index_find(&index, id), position_of[id]);
    assert_int_equal(index.count, MANY);
    od_index_free(&index);
    assert_int_equal(od_index_find(&index, 5), OD_NO_POSITION);
}

/* Entries from the one where the search for it begins to its own; ids of one list mostly follow each other. */
static void neighbours_do_not_collide(void **state)
{
    od_index index = {0};
    uint32_t longest = 0, run = 0;
    (void)state;
    for (uint32_t id = 1000; id < 1000 + MANY; id++)
        assert_int_equal(od_index_add(&index, id, id), OD_OK);
    assert_true(index.room <= 4 * MANY);
    for (uint32_t i = 0; i < index.room; i++) {
        run = index.entries[i].position == OD_NO_POSITION ? 0 : run + 1;
        longest = run > longest ? run : longest;
    }
    assert_true(longest <= 8);
    od_index_free(&index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_was_added),
        cmocka_unit_test(neighbours_do_not_collide),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
