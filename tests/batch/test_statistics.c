/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sums, sessions, improvements and levels, worked out on paper. */
#include "world.h"

#include "batch/statistics.h"

#include <math.h>
#include <stdlib.h>

static od_batch_node nodes[] = {{4, 40, 1}};
static const od_batch_cluster cluster = {.nodes = nodes, .count = 1};
static const od_batch_window all = {0, 1e9};

static void near(double value, double wanted)
{
    if (!(fabs(value - wanted) < 1e-9))
        fail_msg("%.12g instead of %.12g", value, wanted);
}

/* Two jobs of one session share a file of 10 s; a third has one of 20 s. */
static od_batch_log small_log(void)
{
    od_batch_log log = {0};
    world_add(&log, 0, 100, 30, 1, 0, 10);
    world_add(&log, 5, 100, 10, 2, 0, 10);
    world_add(&log, 10, 50, 60, 1, 1, 20);
    return log;
}

static const od_batch_outcome outcomes[] = {{.start = 0, .ready = 10, .end = 40},
                                            {.start = 15, .ready = 15, .end = 25},
                                            {.start = 20, .ready = 40, .end = 70, .killed = true}};

static void test_sums(void **unused)
{
    (void)unused;
    od_batch_log log = small_log();
    od_batch_sums sums = od_batch_sum_up(&log, &cluster, &all, outcomes);
    assert_int_equal(sums.jobs, 3);
    assert_int_equal(sums.killed, 1);
    near(sums.stretch,
         (40 / 40.0 + 20 / 20.0 + 60 / 50.0) / 3); /* the third is killed after 50 s on an empty cluster, too */
    near(sums.greatest_stretch, 1.2);
    near(sums.flow, (40 + 20 + 60) / 3.0);
    near(sums.load_wait, 10 + 0 + 20);
    near(sums.queue_wait, 0 + 10 + 10);
    near(sums.core_time, 40 + 2 * 10 + 50);
    near(sums.end, 70);
    sums = od_batch_sum_up(&log, &cluster, &(od_batch_window){5, 10}, outcomes);
    assert_int_equal(sums.jobs, 1);
    near(sums.core_time, 20);
    od_batch_log_free(&log);
}

static void test_sessions(void **unused)
{
    (void)unused;
    od_batch_log log = small_log();
    od_batch_session *sessions = od_batch_sessions(&log, &cluster, &all, outcomes);
    assert_non_null(sessions);
    assert_int_equal(sessions[0].jobs, 2);
    near(sessions[0].stretch, 2);
    near(sessions[0].flow, 60);
    near(sessions[1].stretch, 1.2);
    near(sessions[1].submit, 10);
    assert_int_equal(sessions[1].user, 1);
    free(sessions);
    od_batch_log_free(&log);
}

static void test_improvement(void **unused)
{
    (void)unused;
    od_batch_improvement better;
    const od_batch_session before[] = {{1, 0, 4, 0, 0},     {1, 0, 3, 0, 0}, {1, 0, 1, 0, 0}, {0},
                                       {1, 0, 1.005, 0, 0}, {2, 0, 8, 0, 0}};
    const od_batch_session after[] = {{1, 0, 2, 0, 0}, {1, 0, 1, 0, 0},  {1, 0, 2, 0, 0}, {0},
                                      {1, 0, 1, 0, 0}, {2, 0, 8.5, 0, 0}};
    assert_int_equal(od_batch_improve(before, after, 6, &better), OD_OK);
    assert_int_equal(better.sessions, 5);
    assert_int_equal(better.changed, 4);
    near(better.mean, (0.5 + 8 / 8.5 + 2 + 3) / 4);
    near(better.quantile[OD_BATCH_MEDIAN], (8 / 8.5 + 2) / 2);
    near(better.quantile[OD_BATCH_QUARTILE_LOW], 0.5 + 0.75 * (8 / 8.5 - 0.5));
    near(better.quantile[OD_BATCH_QUARTILE_HIGH], 2.25);
    free(better.ratios);
    assert_int_equal(od_batch_improve(before, before, 6, &better), OD_OK);
    assert_int_equal(better.changed, 0);
    assert_true(isnan(better.mean) && isnan(better.quantile[OD_BATCH_MEDIAN]));
    free(better.ratios);
}

static void test_levels(void **unused)
{
    (void)unused;
    uint64_t count;
    od_batch_log log = small_log();
    od_batch_level *levels = od_batch_levels(&log, &(od_batch_window){5, 1e9}, outcomes, &count);
    assert_non_null(levels);
    static const double wanted[][6] = {/* time, used, loading, queued, used and queued that count */
                                       {0, 1, 1, 0, 0, 0},  {5, 1, 1, 2, 0, 2},  {10, 1, 0, 3, 0, 3},
                                       {15, 3, 0, 1, 2, 1}, {20, 4, 1, 0, 3, 0}, {25, 2, 1, 0, 1, 0},
                                       {40, 1, 0, 0, 1, 0}, {70, 0, 0, 0, 0, 0}};
    assert_int_equal(count, sizeof wanted / sizeof *wanted);
    for (uint64_t i = 0; i < count; i++) {
        const od_batch_level *l = &levels[i];
        const double got[] = {l->time, l->used, l->loading, l->queued, l->used_counted, l->queued_counted};
        for (int c = 0; c < 6; c++)
            near(got[c], wanted[i][c]);
    }
    free(levels);
    od_batch_log_free(&log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sums), cmocka_unit_test(test_sessions),
                                       cmocka_unit_test(test_improvement), cmocka_unit_test(test_levels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
