/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Ten jobs on two nodes with two cores, 40 GB and 1 GB/s each, so that a file of 10 GB takes 10 s: worked out on paper
 * for each variant. Chosen so that no two of the ten schedules are alike. Some jobs are killed at their walltimes (the
 * first while it loads), files are shared while they are loaded, kept from job to job, and lost where another job has
 * started.
 */
#include "world.h"

#include <math.h>
#include <stdlib.h>

enum { JOBS = 10 };

static const struct {
    double submit, walltime, duration;
    uint32_t cores, file;
    double size;
} jobs[JOBS] = {
    {0, 20, 10, 1, 1, 20},  {0, 20, 20, 2, 1, 20},  {10, 30, 10, 1, 1, 20}, {20, 50, 50, 2, 0, 10},
    {30, 50, 40, 1, 0, 10}, {40, 80, 70, 1, 1, 20}, {40, 30, 30, 2, 2, 10}, {40, 20, 20, 2, 1, 20},
    {40, 50, 40, 2, 2, 10}, {50, 20, 10, 1, 1, 20},
};

/* Node, start, s waiting for the file, end. */
static const double expected[WORLD_PUBLISHED][JOBS][4] = {
    {{0, 0, 20, 20}, {1, 0, 20, 20}, {0, 10, 10, 30}, {1, 20, 10, 70}, {0, 30, 10, 80},
     {0, 40, 20, 120}, {1, 70, 10, 100}, {1, 100, 20, 120}, {0, 120, 10, 170}, {1, 120, 0, 130}}, /* fcfs */
    {{0, 0, 20, 20}, {0, 20, 0, 40}, {1, 10, 20, 40}, {0, 40, 10, 90}, {1, 30, 10, 80},
     {1, 40, 0, 110}, {0, 90, 10, 120}, {1, 110, 0, 130}, {0, 120, 0, 160}, {1, 130, 0, 140}}, /* eft */
    {{0, 0, 20, 20}, {0, 20, 0, 40}, {0, 40, 0, 50}, {1, 20, 10, 70}, {1, 70, 0, 110},
     {0, 40, 0, 110}, {1, 110, 10, 140}, {0, 110, 0, 130}, {1, 140, 0, 180}, {0, 130, 0, 140}}, /* lea */
    {{0, 0, 20, 20}, {1, 0, 20, 20}, {0, 10, 10, 30}, {1, 20, 10, 70}, {0, 30, 10, 80},
     {0, 40, 20, 120}, {1, 70, 10, 100}, {0, 120, 0, 140}, {1, 100, 0, 140}, {0, 140, 0, 150}}, /* leo */
    {{0, 0, 20, 20}, {0, 20, 0, 40}, {1, 10, 20, 40}, {0, 40, 10, 90}, {1, 40, 10, 90},
     {1, 40, 0, 110}, {0, 90, 10, 120}, {1, 110, 0, 130}, {0, 120, 0, 160}, {1, 130, 0, 140}}, /* lem */
    {{0, 0, 20, 20}, {1, 0, 20, 20}, {0, 10, 10, 30}, {1, 20, 10, 70}, {0, 30, 10, 80},
     {0, 40, 20, 120}, {1, 70, 10, 100}, {1, 100, 20, 120}, {0, 120, 10, 170}, {0, 80, 0, 90}}, /* fcfs-bf */
    {{0, 0, 20, 20}, {0, 20, 0, 40}, {1, 10, 20, 40}, {0, 40, 10, 90}, {1, 30, 10, 80},
     {1, 40, 0, 110}, {0, 90, 10, 120}, {1, 110, 0, 130}, {0, 120, 0, 160}, {1, 80, 0, 90}}, /* eft-bf */
    {{0, 0, 20, 20}, {0, 20, 0, 40}, {0, 40, 0, 50}, {1, 20, 10, 70}, {1, 70, 0, 110},
     {0, 40, 0, 110}, {1, 110, 10, 140}, {0, 110, 0, 130}, {1, 140, 0, 180}, {0, 50, 0, 60}}, /* lea-bf */
    {{0, 0, 20, 20}, {1, 0, 20, 20}, {0, 10, 10, 30}, {1, 20, 10, 70}, {0, 30, 10, 80},
     {0, 40, 20, 120}, {1, 70, 10, 100}, {0, 120, 0, 140}, {1, 100, 0, 140}, {0, 80, 0, 90}}, /* leo-bf */
    {{0, 0, 20, 20}, {0, 20, 0, 40}, {1, 10, 20, 40}, {0, 40, 10, 90}, {1, 40, 10, 90},
     {1, 40, 0, 110}, {0, 90, 10, 120}, {1, 110, 0, 130}, {0, 120, 0, 160}, {1, 90, 0, 100}}, /* lem-bf */
};

static void test_by_hand(void **unused)
{
    (void)unused;
    od_batch_node nodes[] = {{2, 40, 1}, {2, 40, 1}};
    od_batch_cluster cluster = {.nodes = nodes, .count = 2};
    od_batch_log log = {0};
    for (int i = 0; i < JOBS; i++)
        world_add(&log, jobs[i].submit, jobs[i].walltime, jobs[i].duration, jobs[i].cores, jobs[i].file, jobs[i].size);
    for (int v = 0; v < WORLD_PUBLISHED; v++) {
        od_batch_outcome *o = world_simulate(&log, &cluster, &world_variants[v], false);
        for (int i = 0; i < JOBS; i++) {
            const double *e = expected[v][i];
            double waited = fmin(o[i].ready, o[i].end) - o[i].start;
            if (fabs(o[i].node - e[0]) > 0 || fabs(o[i].start - e[1]) > 0 || fabs(waited - e[2]) > 0 ||
                fabs(o[i].end - e[3]) > 0)
                fail_msg("%s, job %d: node %u, %g to %g, %g s for the file", world_name(&world_variants[v]), i + 1,
                         o[i].node, o[i].start, o[i].end, waited);
        }
        free(o);
    }
    od_batch_log_free(&log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_by_hand)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
