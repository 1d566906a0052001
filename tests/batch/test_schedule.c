/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Random logs on small clusters: the planner, which remembers what it can and stops where it may, schedules as a plain
 * simulator does; and what must hold of every schedule holds.
 */
#include "world.h"

#include "tests/unit/random.h"

#include <math.h>
#include <stdlib.h>

enum { LOGS = 150, JOBS = 40 };

static void same(const od_batch_outcome *a, const od_batch_outcome *b, uint32_t count, const world_variant *variant,
                 int log)
{
    for (uint32_t i = 0; i < count; i++)
        if (a[i].node != b[i].node || fabs(a[i].start - b[i].start) > 1e-6 || fabs(a[i].end - b[i].end) > 1e-6 ||
            fabs(a[i].ready - b[i].ready) > 1e-6)
            fail_msg("%s, log %d, job %u: node %u, %g to %g, file at %g; and node %u, %g to %g, file at %g",
                     world_name(variant), log, i + 1, a[i].node, a[i].start, a[i].end, a[i].ready, b[i].node,
                     b[i].start, b[i].end, b[i].ready);
}

static void each_log(void (*check)(const od_batch_log *, const od_batch_cluster *, const world_variant *, int))
{
    uint64_t seed = 1;
    for (int n = 0; n < LOGS; n++) {
        od_batch_cluster cluster = {0};
        od_batch_log log = {0};
        world_random(&seed, JOBS, &cluster, &log);
        for (int v = 0; v < WORLD_VARIANTS; v++)
            check(&log, &cluster, &world_variants[v], n);
        od_batch_log_free(&log);
        od_batch_cluster_free(&cluster);
    }
}

static void compare(const od_batch_log *log, const od_batch_cluster *cluster, const world_variant *variant, int n)
{
    od_batch_outcome *expected = plain_simulate(log, cluster, variant);
    od_batch_outcome *lazy = world_simulate(log, cluster, variant, false),
                     *whole = world_simulate(log, cluster, variant, true);
    same(whole, lazy, log->count, variant, n);
    same(expected, whole, log->count, variant, n);
    free(expected);
    free(lazy);
    free(whole);
}

static void test_plain(void **unused)
{
    (void)unused;
    each_log(compare);
}

/* --- properties ------------------------------------------------------------------------- */

static void no_core_twice(const od_batch_log *log, const od_batch_cluster *cluster, const od_batch_outcome *o,
                          uint32_t i)
{
    uint32_t cores = 0;
    for (uint32_t j = 0; j < log->count; j++)
        if (o[j].node == o[i].node && o[j].start <= o[i].start && o[j].end > o[i].start)
            cores += log->jobs[j].cores;
    assert_in_range(cores, log->jobs[i].cores, cluster->nodes[o[i].node].cores);
}

/* Who finds the file there shares it with a job that overlaps, or that was the last to start. */
static void file_came_from_somewhere(const od_batch_log *log, const od_batch_cluster *cluster,
                                     const od_batch_outcome *o, uint32_t i)
{
    double load = log->jobs[i].size / cluster->nodes[o[i].node].bandwidth;
    bool found = o[i].ready >= o[i].start + load - 1e-9;
    for (uint32_t j = 0; j < log->count && !found; j++) {
        bool before =
            j != i && o[j].node == o[i].node && log->jobs[j].file == log->jobs[i].file && o[j].start <= o[i].start;
        for (uint32_t other = 0; other < log->count && before; other++)
            before = o[other].node != o[i].node || o[other].start < o[j].end || o[other].start >= o[i].start;
        found = before;
    }
    assert_true(found);
}

static void check_properties(const od_batch_log *log, const od_batch_cluster *cluster, const world_variant *variant,
                             int n)
{
    (void)n;
    od_batch_outcome *o = world_simulate(log, cluster, variant, false);
    for (uint32_t i = 0; i < log->count; i++) {
        const od_batch_job *job = &log->jobs[i];
        assert_true(o[i].start >= job->submit && o[i].end > o[i].start);
        assert_true(o[i].end <= o[i].start + job->walltime);
        assert_true(o[i].killed == (o[i].ready + job->duration > o[i].start + job->walltime));
        assert_true(o[i].ready >= o[i].start);
        assert_true(job->size <= cluster->nodes[o[i].node].memory);
        no_core_twice(log, cluster, o, i);
        file_came_from_somewhere(log, cluster, o, i);
    }
    free(o);
}

static void test_properties(void **unused)
{
    (void)unused;
    each_log(check_properties);
}

/* A plan gives each job what it would have without those behind it. (`price` weighs loads by the queue.) */
static void check_reservations(const od_batch_log *log, const od_batch_cluster *cluster, const world_variant *variant,
                               int n)
{
    uint32_t count, before = 0;
    if (variant - world_variants >= WORLD_PUBLISHED)
        return;
    od_batch_settings settings = world_settings(variant);
    od_batch_planner *planner = od_batch_planner_create(cluster, log->files, &settings);
    od_batch_reservation *earlier = calloc(log->count, sizeof *earlier);
    assert_true(planner && earlier);
    for (uint32_t i = 0; i < log->count; i++) {
        assert_int_equal(od_batch_planner_submit(planner, &log->jobs[i]), OD_OK);
        assert_int_equal(od_batch_planner_plan(planner, 0, HUGE_VAL), OD_OK);
        assert_true(od_batch_planner_is_valid(planner));
        const od_batch_reservation *r = od_batch_planner_reservations(planner, &count);
        assert_int_equal(count, before + 1);
        for (uint32_t j = 0; j < before; j++)
            if (r[j].job != earlier[j].job || r[j].node != earlier[j].node || fabs(r[j].start - earlier[j].start) > 0)
                fail_msg("%s, log %d: job %u is moved by job %u", world_name(variant), n, j + 1, i + 1);
        earlier[before++] = r[count - 1];
    }
    free(earlier);
    od_batch_planner_destroy(planner);
}

static void test_reservations(void **unused)
{
    (void)unused;
    each_log(check_reservations);
}

static void test_registered(void **unused)
{
    (void)unused;
    uint64_t seed = 7;
    od_batch_cluster cluster = {0};
    od_batch_log log = {0};
    world_random(&seed, JOBS, &cluster, &log);
    for (const char *const *name = od_batch_policy_names(); *name; name++)
        for (int backfill = 0; backfill <= 1; backfill++)
            check_properties(&log, &cluster, &(world_variant){*name, backfill != 0}, 0);
    od_batch_log_free(&log);
    od_batch_cluster_free(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_plain), cmocka_unit_test(test_properties),
                                       cmocka_unit_test(test_reservations), cmocka_unit_test(test_registered)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
