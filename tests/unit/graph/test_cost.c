/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Robust means: outliers, cold starts, and code that really becomes slower. */
#include "tests/unit/random.h"

#include "sched/graph/cost.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

static double fraction(uint64_t *random)
{
    return (double)random_below(random, 1 << 20) / (1 << 20);
}

static void few_runs_give_their_median(void **state)
{
    (void)state;
    od_cost cost = {0};
    od_cost_add(&cost, 7);
    assert_true(cost.mean == 7);
    od_cost_add(&cost, 1000);
    od_cost_add(&cost, 5);
    assert_true(cost.mean == 7);
    od_cost_add(&cost, 6);
    od_cost_add(&cost, 5);
    assert_true(cost.mean == 6);
    assert_int_equal(cost.runs, 5);
}

/* Up to one run in eight takes up to a thousand times as long, or next to nothing; the first may be such a one. */
static void outliers_do_not_poison(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        uint64_t random = seed;
        od_cost cost = {0};
        double usual = pow(10, -6 + 6 * fraction(&random)), sum = 0;
        unsigned runs = 40 + (unsigned)random_below(&random, 400), count = 0;
        od_cost_add(&cost, 100 * usual);
        for (unsigned i = 1; i < runs; i++) {
            double seconds = usual * (0.9 + 0.2 * fraction(&random));
            bool outlier = i % 8 == seed % 8;
            if (outlier)
                seconds = usual * (random_below(&random, 4) ? 1000 * fraction(&random) : 1e-3);
            od_cost_add(&cost, seconds);
            sum += outlier ? 0 : seconds;
            count += !outlier;
        }
        double mean = sum / count;
        if (fabs(cost.mean - mean) > 0.15 * mean)
            fail_msg("seed %llu: %g s instead of %g s after %u runs", (unsigned long long)seed, cost.mean, mean, runs);
    }
}

static void a_lasting_change_is_followed(void **state)
{
    (void)state;
    for (int faster = 0; faster < 2; faster++) {
        od_cost cost = {0};
        double now = faster ? 0.01 : 100;
        for (int i = 0; i < 100; i++)
            od_cost_add(&cost, 1 + 0.01 * (i % 3));
        for (int i = 0; i < 30; i++)
            od_cost_add(&cost, now);
        assert_true(fabs(cost.mean - now) < 0.01 * now);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_runs_give_their_median),
        cmocka_unit_test(outliers_do_not_poison),
        cmocka_unit_test(a_lasting_change_is_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
