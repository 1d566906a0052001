/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How long who waits for a device's work naps before it asks. */
#include "util/thread.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { LEAST = 5000, MOST = 100000 };

static void naps_become_shorter_towards_the_end(void **state)
{
    (void)state;
    assert_int_equal(od_nap_until_asked(1e6, LEAST), MOST);
    assert_int_equal(od_nap_until_asked(100e3, LEAST), 50000);
    assert_int_equal(od_nap_until_asked(12e3, LEAST), 6000);
    assert_int_equal(od_nap_until_asked(4e3, LEAST), LEAST);
    assert_int_equal(od_nap_until_asked(0, LEAST), LEAST);
}

static void what_is_late_is_asked_more_seldom(void **state)
{
    (void)state;
    assert_int_equal(od_nap_until_asked(-20e3, LEAST), LEAST);
    assert_int_equal(od_nap_until_asked(-160e3, LEAST), 10000);
    assert_int_equal(od_nap_until_asked(-1e12, LEAST), MOST);
}

/* A kernel that takes as long as predicted is asked a few times, whatever it takes, and noticed at once. */
static void few_questions_are_enough(void **state)
{
    (void)state;
    for (double ns = 20e3; ns < 1e6; ns *= 2) {
        double left = ns;
        int questions = 0;
        for (; left > 0; questions++)
            left -= (double)od_nap_until_asked(left, LEAST);
        assert_in_range(questions, 1, 20);
        assert_true(left > -(double)LEAST);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(naps_become_shorter_towards_the_end),
        cmocka_unit_test(what_is_late_is_asked_more_seldom),
        cmocka_unit_test(few_questions_are_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
