/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The successors of target tasks begin although the thread that has created them does not wait for these tasks by name:
 * it waits for something else of its task, or for a flag, and other threads of the team wait for it.
 *
 * variants: yield flag group items task_reduction serialized
 */
#include "check.h"

#include <string.h>

enum { THREADS = 3, ROUNDS = 20 };

static double *x;
static int done;

/* A target task, and a task after it that says so. */
static void start(void)
{
    __atomic_store_n(&done, 0, __ATOMIC_SEQ_CST);
#pragma omp target nowait depend(inout : x[0]) map(tofrom : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] += 1;
#pragma omp task depend(inout : x[0])
    __atomic_store_n(&done, 1, __ATOMIC_SEQ_CST);
}

static bool is_done(void)
{
    return __atomic_load_n(&done, __ATOMIC_SEQ_CST);
}

static void yield_until_done(void)
{
    start();
    while (!is_done()) {
#pragma omp taskyield
    }
}

/* The other threads run the task, from the barrier that they wait in. */
static void watch_flag(void)
{
    start();
    while (!is_done())
        continue;
}

static void end_group(void)
{
    int later = 0;
#pragma omp target nowait depend(inout : x[1]) map(tofrom : x[0 : TILE]) /* not of the group */
    if (x[0] < 0) /* never; it may run beside the others, so it must not write */
        x[0] = 0;
#pragma omp taskgroup
    {
#pragma omp task
        {
            start();
#pragma omp taskwait
            CHECK(is_done());
        }
    }
#pragma omp taskgroup
    start();
    CHECK(is_done());
#pragma omp task shared(later) depend(in : x[1])
    later = 1;
#pragma omp taskwait
    CHECK(later);
}

static void wait_for_items(void)
{
    double *y = x + TILE;
    start();
#pragma omp target nowait depend(inout : y[0]) map(tofrom : y[0 : TILE])
    for (int i = 0; i < TILE; i++)
        y[i] += 1;
#pragma omp taskwait depend(in : x[0])
    CHECK(is_done());
#pragma omp task depend(in : y[0]) if (0)
    CHECK(y[0] > 0);
    start();
#pragma omp target depend(inout : x[0]) map(tofrom : x[0 : TILE])
    x[0] += 0;
    CHECK(is_done());
}

static void reduce_tasks(void)
{
    int sum = 0;
#pragma omp parallel num_threads(THREADS) reduction(task, + : sum)
    {
#pragma omp single nowait
        {
            start();
            for (int i = 0; i < 10; i++) {
#pragma omp task in_reduction(+ : sum)
                sum += i;
            }
        }
    }
    CHECK(sum == 45 && is_done());
}

static void serialize(void)
{
#pragma omp parallel if (0)
    start();
    CHECK(is_done());
#pragma omp parallel num_threads(1)
    {
        start();
#pragma omp barrier
        CHECK(is_done());
        start();
    }
    CHECK(is_done());
}

static const struct {
    const char *name;
    void (*act)(void);
    bool in_team;
    double added; /* to each element of the first tile */
} acts[] = {
    {"yield", yield_until_done, true, 1},      {"flag", watch_flag, true, 1},
    {"group", end_group, true, 2},             {"items", wait_for_items, true, 2},
    {"task_reduction", reduce_tasks, false, 1}, {"serialized", serialize, true, 3},
};

int main(int argc, char **argv)
{
    size_t a = 0;
    while (argc > 1 && strcmp(argv[1], acts[a].name) != 0)
        if (++a == sizeof acts / sizeof *acts)
            return 1;
    x = make_tiles(2, 0);
    for (int round = 1; round <= ROUNDS; round++) {
        if (acts[a].in_team) {
#pragma omp parallel num_threads(THREADS)
#pragma omp single
            acts[a].act();
        } else {
            acts[a].act();
        }
        CHECK(all_are(x, TILE, acts[a].added * round));
    }
    free(x);
    return check_result();
}
