/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The host reads right values after each way of waiting for target tasks, and what it writes then is seen by the next
 * ones. The argument names the way.
 *
 * memory: 24Ki
 * stats: stats.tasks == 3 * 12
 * variants: taskwait taskwait_outside_parallel taskwait_depend taskgroup taskgroup_of_nested_tasks
 * variants: barrier implicit_barrier loop_barrier join join_serialized join_of_one_thread
 */
#include "check.h"

#include <string.h>

enum { COUNT = 12, ROUNDS = 3 };

static double *tiles;

static void create(void)
{
    for (int t = 0; t < COUNT; t++) {
        double *tile = tiles + t * TILE;
#pragma omp target nowait depend(inout : tile[0 : TILE]) map(tofrom : tile[0 : TILE])
        for (int i = 0; i < TILE; i++)
            tile[i] += t;
    }
}

/* Each round the kernels add t to tile t; the host checks this and adds 100. */
static void use(int round)
{
    for (int t = 0; t < COUNT; t++) {
        double *tile = tiles + t * TILE;
        CHECK(all_are(tile, TILE, (round + 1) * t + round * 100));
        for (int i = 0; i < TILE; i++)
            tile[i] += 100;
    }
}

static void rounds_of_taskwait(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        create();
#pragma omp taskwait
        use(round);
    }
}

static void with_taskwait(void)
{
#pragma omp parallel
#pragma omp single
    rounds_of_taskwait();
}

static void with_taskwait_depend(void)
{
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < ROUNDS; round++) {
        create();
        for (int t = COUNT - 1; t >= 0; t--) {
            double *tile = tiles + t * TILE;
#pragma omp taskwait depend(inout : tile[0 : TILE])
            CHECK(all_are(tile, TILE, (round + 1) * t + round * 100));
            for (int i = 0; i < TILE; i++)
                tile[i] += 100;
        }
    }
}

static void with_taskgroup(void)
{
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp taskgroup
        create();
        use(round);
    }
}

static void with_barrier(void)
{
#pragma omp parallel num_threads(3)
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp single nowait
        create();
#pragma omp barrier
#pragma omp master
        use(round);
#pragma omp barrier
    }
}

static void with_implicit_barrier(void)
{
#pragma omp parallel num_threads(3)
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp single
        create();
#pragma omp single
        use(round);
    }
}

static void with_loop_barrier(void)
{
#pragma omp parallel num_threads(3)
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp for
        for (int part = 0; part < 3; part++)
            if (part == 1)
                create();
#pragma omp sections
        {
            use(round);
        }
    }
}

static void with_join(void)
{
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp parallel
#pragma omp single nowait
        create();
        use(round);
    }
}

static void with_serialized_join(void)
{
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp parallel if (0)
        create();
        use(round);
    }
}

static void with_join_of_one_thread(void)
{
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp parallel num_threads(1)
        create();
        use(round);
    }
}

static void with_task_tree(void)
{
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp taskgroup
        {
#pragma omp task
            create();
        }
        use(round);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } ways[] = {{"taskwait", with_taskwait},
                {"taskwait_outside_parallel", rounds_of_taskwait},
                {"taskwait_depend", with_taskwait_depend},
                {"taskgroup", with_taskgroup},
                {"taskgroup_of_nested_tasks", with_task_tree},
                {"barrier", with_barrier},
                {"implicit_barrier", with_implicit_barrier},
                {"loop_barrier", with_loop_barrier},
                {"join", with_join},
                {"join_serialized", with_serialized_join},
                {"join_of_one_thread", with_join_of_one_thread}};
    tiles = make_tiles(COUNT, 0);
    bool found = false;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (argc == 2 && strcmp(argv[1], ways[i].name) == 0) {
            ways[i].run();
            found = true;
        }
    CHECK(found);
    free(tiles);
    return check_result();
}
