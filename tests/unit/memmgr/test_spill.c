/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Spill areas: what they remember, against a map of single bytes, in random sequences. */
#include "memmgr/data/spill.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SIZE = 48, STEPS = 200, SEQUENCES = 300 };
static const uintptr_t base = 0x5000;

static unsigned below(uint64_t *state, unsigned n)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)((*state >> 33) % n);
}

static void check(const od_spill *spill, const bool *kept, unsigned from, unsigned size)
{
    unsigned count = 0, first = SIZE, run = 0;
    for (unsigned i = from; i < from + size; i++) {
        count += kept[i];
        if (kept[i] && first == SIZE)
            first = i;
    }
    while (first + run < from + size && kept[first + run])
        run++;
    assert_int_equal(od_spill_cover(spill, base + from, size), count == 0      ? OD_COVER_NONE
                                                               : count == size ? OD_COVER_WHOLE
                                                                               : OD_COVER_PART);
    uintptr_t part = 0;
    size_t bytes = 0;
    assert_int_equal(od_spill_first(spill, base + from, size, &part, &bytes), count > 0);
    if (count) {
        assert_int_equal(part, base + first);
        assert_int_equal(bytes, run);
    }
}

static void remembers_what_was_kept_and_not_taken(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEQUENCES; seed++) {
        bool kept[SIZE] = {false};
        uint64_t random = seed;
        od_spill *spill = od_spill_create(base, SIZE, NULL);
        assert_non_null(spill);
        for (int step = 0; step < STEPS; step++) {
            unsigned from = below(&random, SIZE), size = 1 + below(&random, SIZE - from < 9 ? SIZE - from : 9);
            bool keep = below(&random, 2);
            assert_int_equal(keep ? od_spill_keep(spill, base + from, size) : od_spill_take(spill, base + from, size),
                             OD_OK);
            memset(kept + from, keep, size);
            from = below(&random, SIZE);
            check(spill, kept, from, 1 + below(&random, SIZE - from));
        }
        od_spill_release(spill);
    }
}

static void contents_stay_until_the_last_user_has_gone(void **state)
{
    (void)state;
    size_t total = 5;
    od_spill *spill = od_spill_create(base, 1 << 20, &total);
    assert_non_null(spill);
    assert_int_equal(total, 5 + (1 << 20));
    od_spill_hold(spill);
    char *last = od_spill_address(spill, base + (1 << 20) - 1), *first = od_spill_address(spill, base);
    assert_int_equal(last - first, (1 << 20) - 1);
    *first = 1;
    *last = 2;
    od_spill_release(spill);
    assert_int_equal(*first, 1);
    assert_int_equal(*last, 2);
    od_spill_release(spill);
    od_spill_release(NULL);
}

static void too_large_an_area_is_refused(void **state)
{
    (void)state;
    assert_null(od_spill_create(base, SIZE_MAX / 2, NULL));
}

static void nothing_is_remembered_without_an_area(void **state)
{
    (void)state;
    uintptr_t part;
    size_t bytes;
    assert_int_equal(od_spill_cover(NULL, base, SIZE), OD_COVER_NONE);
    assert_false(od_spill_first(NULL, base, SIZE, &part, &bytes));
}

static int given; /* how often memory was given back, and by whom */
static void *giver, *given_memory;

static void give(void *state, void *memory)
{
    given++;
    giver = state;
    given_memory = memory;
}

/* What it remembers is there; the rest is anything. */
static void contents_move(void **state)
{
    (void)state;
    for (size_t size = SIZE; size < (size_t)4 << 20; size *= 64) { /* small ones are another kind */
        char *memory = calloc(1, size);
        int owner;
        given = 0;
        od_spill *spill = od_spill_create(base, size, NULL);
        memset(od_spill_address(spill, base), 3, SIZE);
        assert_int_equal(od_spill_keep(spill, base + 2, 5), OD_OK);
        od_spill_move(spill, memory, give, &owner);
        assert_ptr_equal(od_spill_address(spill, base + 2), memory + 2);
        for (size_t i = 0; i < SIZE; i++)
            assert_int_equal(memory[i], i >= 2 && i < 7 ? 3 : 0);
        assert_int_equal(od_spill_cover(spill, base + 2, 5), OD_COVER_WHOLE);
        od_spill_hold(spill);
        od_spill_release(spill);
        assert_int_equal(given, 0);
        od_spill_release(spill);
        assert_int_equal(given, 1);
        assert_ptr_equal(giver, &owner);
        assert_ptr_equal(given_memory, memory);
        free(memory);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remembers_what_was_kept_and_not_taken),
        cmocka_unit_test(contents_stay_until_the_last_user_has_gone),
        cmocka_unit_test(too_large_an_area_is_refused),
        cmocka_unit_test(nothing_is_remembered_without_an_area),
        cmocka_unit_test(contents_move),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
