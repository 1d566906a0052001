/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What kernels get ahead that run by page faults alone. */
#include "omp_ext/runtime/parts/ahead.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { PAGE = 4096 };

static const char a, b;

/* So many faults has whoever goes through pages begin to end once, and writes to each after it has read it. */
static unsigned faults_of(od_ahead *ahead, const void *of, unsigned first, unsigned last, bool writes, unsigned most)
{
    unsigned faults = 0, readable = first, writable = first;
    for (unsigned page = first; page < last; page++) {
        bool write = false;
        if (page >= readable) {
            unsigned n = od_ahead_note(ahead, of, (uintptr_t)page * PAGE, PAGE, most, &write);
            assert_in_range(n, 1, most);
            readable = page + n;
            writable = write ? readable : writable;
            faults++;
        }
        if (!writes || page < writable)
            continue;
        write = true;
        unsigned n = od_ahead_note(ahead, of, (uintptr_t)page * PAGE, PAGE, most, &write);
        assert_true(write);
        assert_in_range(page + n, page + 1, readable);
        writable = page + n;
        faults++;
    }
    return faults;
}

static void sequences_get_more_and_more(void **state)
{
    (void)state;
    od_ahead ahead = {0};
    /* 1, 2, … 32 pages, then 64 each time */
    assert_int_equal(faults_of(&ahead, &a, 10, 1010, false, 64), 6 + 15);
    assert_true(faults_of(&ahead, &b, 10, 1010, true, 64) < 25);
    assert_int_equal(faults_of(&ahead, &a, 2000, 2100, false, 1), 100);
}

/* Whoever goes here and there gets what it asks for. */
static void others_get_one(void **state)
{
    (void)state;
    od_ahead ahead = {0};
    for (unsigned i = 0; i < 1000; i++) {
        bool write = false;
        unsigned page = (i * 7919 + 3) % 10007;
        assert_int_equal(od_ahead_note(&ahead, &a, (uintptr_t)page * 3 * PAGE, PAGE, 64, &write), 1);
        assert_false(write);
    }
}

/* Threads, and arrays, have streams of their own. */
static void streams_go_side_by_side(void **state)
{
    (void)state;
    od_ahead ahead = {0};
    unsigned at[OD_AHEAD_STREAMS] = {0}, faults = 0;
    for (unsigned round = 0; round < 200; round++)
        for (unsigned s = 0; s < OD_AHEAD_STREAMS; s++) {
            bool write = s % 3 == 0;
            if (round < at[s])
                continue;
            const void *of = s % 2 ? &a : &b;
            at[s] = round + od_ahead_note(&ahead, of, (uintptr_t)(1000 * s + round) * PAGE, PAGE, 32, &write);
            assert_true(write == (s % 3 == 0));
            faults++;
        }
    assert_true(faults <= OD_AHEAD_STREAMS * (6 + 200 / 32));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sequences_get_more_and_more),
                                       cmocka_unit_test(others_get_one), cmocka_unit_test(streams_go_side_by_side)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
