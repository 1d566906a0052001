/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The part of a time that counts for a process that did not get all that it could have used. */
#include "util/fair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { S = 1000000000 };

static void test_all(void **state)
{
    (void)state;
    assert_int_equal(od_fair_part(10ull * S, 10ull * S, 0, 2), 10ull * S);
    /* its own threads keep each other waiting */
    assert_int_equal(od_fair_part(10ull * S, 20ull * S, 180ull * S, 2), 10ull * S);
    assert_int_equal(od_fair_part(10ull * S, 21ull * S, 0, 2), 10ull * S); /* read a moment apart */
}

static void test_slept(void **state)
{
    (void)state;
    assert_int_equal(od_fair_part(10ull * S, 0, 0, 2), 10ull * S);
    assert_int_equal(od_fair_part(10ull * S, S / 100, 0, 2), 10ull * S);
    /* It wanted little, and waited for that three times as long. */
    assert_int_equal(od_fair_part(10ull * S, 1ull * S, 3ull * S, 2), 7ull * S);
}

static void test_part(void **state)
{
    (void)state;
    assert_int_equal(od_fair_part(10ull * S, 1ull * S, 9ull * S, 2), 1ull * S);
    assert_int_equal(od_fair_part(10ull * S, 0, 10ull * S, 2), 0);
    /* 2 of the 200 that two processors have */
    assert_int_equal(od_fair_part(100ull * S, 2ull * S, 398ull * S, 2), 1ull * S);
    assert_int_equal(od_fair_part(0, 0, 0, 2), 0);
}

static void test_lap(void **state)
{
    (void)state;
    od_fair fair;
    od_fair_begin(&fair, 0, false);
    uint64_t begin_ns = fair.clock_ns, own_ns = 0;
    for (volatile uint64_t i = 0; i < 20000000; i++)
        continue;
    own_ns += od_fair_lap(&fair);
    assert_true(own_ns > 0);
    own_ns += od_fair_lap(&fair);
    assert_true(own_ns <= fair.clock_ns - begin_ns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all),
        cmocka_unit_test(test_slept),
        cmocka_unit_test(test_part),
        cmocka_unit_test(test_lap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
