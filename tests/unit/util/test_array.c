/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Growing arrays: what is kept, what is new, and what does not fit. */
#include "util/container/array.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MANY = 1000 };

static void keeps_its_items_and_clears_new_ones(void **state)
{
    uint64_t *items = NULL;
    uint32_t room = 0;
    (void)state;
    for (uint32_t i = 0; i < MANY; i++) {
        uint32_t before = room;
        assert_true(od_array_reserve(&items, &room, i + 1, sizeof *items));
        assert_true(room == before || room >= 2 * before);
        for (uint32_t fresh = before; fresh < room; fresh++)
            assert_true(items[fresh] == 0);
        items[i] = i + 1;
    }
    for (uint32_t i = 0; i < MANY; i++)
        assert_true(items[i] == i + 1);
    free(items);
}

static void makes_room_for_as_many_as_are_wanted(void **state)
{
    char *items = NULL;
    uint32_t room = 0;
    (void)state;
    assert_true(od_array_reserve(&items, &room, MANY, 1));
    assert_true(room == MANY);
    assert_true(od_array_reserve(&items, &room, MANY / 2, 1));
    assert_true(room == MANY);
    free(items);
}

static void refuses_more_than_can_be_counted(void **state)
{
    char one = 'x', *items = &one;
    uint32_t room = 1;
    (void)state;
    assert_false(od_array_reserve(&items, &room, UINT64_C(1) << 32, 1));
    assert_true(items == &one && room == 1);
    assert_true(od_array_room(UINT32_MAX, UINT32_MAX) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_its_items_and_clears_new_ones),
        cmocka_unit_test(makes_room_for_as_many_as_are_wanted),
        cmocka_unit_test(refuses_more_than_can_be_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
