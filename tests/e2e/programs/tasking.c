/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Target tasks and the clauses of tasks around them: taskloop with and without nogroup, taskgroup, priority, untied,
 * final, mergeable, if(0), undeferred tasks, detach by the program with target tasks as successors, taskyield, tasks
 * in tasks.
 *
 * memory: 48Ki
 * variants: taskloop clauses detach nested
 */
/* Said of clang's own counters of a taskloop. */
#pragma clang diagnostic ignored "-Wsign-conversion"
#pragma clang diagnostic ignored "-Wshorten-64-to-32"
#include "check.h"

#include <omp.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { COUNT = 12 };

static void add(double *x, double value)
{
#pragma omp target nowait depend(inout : x[0 : TILE]) map(tofrom : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] += value;
}

static void add_now(double *x, double value)
{
#pragma omp target map(tofrom : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] += value;
}

static void loops(double *x)
{
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskloop grainsize(2)
        for (int t = 0; t < COUNT; t++)
            add_now(x + t * TILE, t);
        for (int t = 0; t < COUNT; t++)
            CHECK(x[t * TILE] == t);
#pragma omp taskgroup
        {
#pragma omp taskloop nogroup num_tasks(5)
            for (int t = 0; t < COUNT; t++)
                add(x + t * TILE, 1);
        }
        for (int t = 0; t < COUNT; t++)
            CHECK(x[t * TILE] == t + 1);
#pragma omp taskloop nogroup untied
        for (int t = 0; t < COUNT; t++) {
            add_now(x + t * TILE, 1);
            add(x + t * TILE, 1);
        }
    }
    for (int t = 0; t < COUNT; t++)
        CHECK(x[t * TILE + 9] == t + 3);
#pragma omp parallel master taskloop grainsize(1) priority(3)
    for (int t = 0; t < COUNT; t++) {
        double *tile = x + t * TILE;
#pragma omp target data map(tofrom : tile[0 : TILE])
        {
            add_now(tile, 1);
            add(tile, 1);
#pragma omp taskwait
        }
        CHECK(tile[0] == t + 5);
    }
#pragma omp parallel
#pragma omp single
#pragma omp taskloop simd
    for (int t = 0; t < COUNT * TILE; t++)
        x[t] -= 5;
    for (int t = 0; t < COUNT; t++)
        CHECK(all_are(x + t * TILE, TILE, t));
}

static void clauses(double *x)
{
    int in_final = 0, limit = 4;
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < limit; round++)
        for (int t = 0; t < COUNT; t++) {
            double *tile = x + t * TILE;
#pragma omp task final(round == 2) mergeable untied depend(inout : tile[0]) shared(in_final)
            {
#pragma omp atomic
                in_final += omp_in_final();
                add_now(tile, 1);
#pragma omp task mergeable
                add_now(tile, 1);
#pragma omp taskwait
            }
#pragma omp task untied priority(t) depend(inout : tile[0])
            {
                add_now(tile, 1);
#pragma omp taskyield
                add_now(tile, 1);
            }
#pragma omp task if (0) depend(inout : tile[0])
            add_now(tile, 1);
#pragma omp task if (round % 2) depend(inout : tile[0])
            tile[0] += 0;
            add(tile, 1);
        }
    CHECK(in_final == COUNT);
    for (int t = 0; t < COUNT; t++)
        CHECK(all_are(x + t * TILE, TILE, 6 * limit));
}

static void *fulfil_later(void *arg)
{
    usleep(500);
    omp_fulfill_event(*(omp_event_handle_t *)arg);
    return NULL;
}

/* An event of the program's comes between two target tasks; a thread, another task or the task itself fulfils it. */
static void detached(double *x)
{
    pthread_t thread[COUNT];
    omp_event_handle_t event[COUNT];
#pragma omp parallel
#pragma omp single
    {
        for (int t = 0; t < COUNT; t++) {
            double *tile = x + t * TILE;
            omp_event_handle_t e;
            add(tile, 1);
#pragma omp task detach(e) depend(inout : tile[0 : TILE]) firstprivate(t) shared(event)
            {
                CHECK(tile[0] == 1);
                tile[0] = 5;
                event[t] = e;
                if (t % 2)
                    pthread_create(&thread[t], NULL, fulfil_later, &event[t]);
                else
                    omp_fulfill_event(e);
            }
            add(tile, 1);
#pragma omp task detach(e) depend(inout : tile[0 : TILE])
            {
                add_now(tile, 1);
#pragma omp task firstprivate(e)
                omp_fulfill_event(e);
            }
            add(tile, 1);
        }
#pragma omp taskwait
        for (int t = 0; t < COUNT; t++)
            CHECK(x[t * TILE] == 8 && x[t * TILE + 1] == 4);
    }
    for (int t = 1; t < COUNT; t += 2)
        pthread_join(thread[t], NULL);
}

static void descend(double *x, int depth)
{
    if (depth == 0) {
        add_now(x, 1);
        return;
    }
    for (int child = 0; child < 2; child++) {
        double *part = x + child * (COUNT / 3) * TILE / 4 * depth;
#pragma omp task firstprivate(part)
        descend(part, depth - 1);
    }
#pragma omp taskwait
}

static void nested(double *x)
{
    double *tree[8];
    for (int t = 0; t < 8; t++)
        tree[t] = x + t * TILE;
#pragma omp parallel
#pragma omp single
    for (int t = 0; t < 8; t++) {
        double *tile = tree[t];
#pragma omp task depend(inout : tile[0])
        {
            for (int step = 0; step < 3; step++) {
                add(tile, 1);
#pragma omp task depend(inout : tile[0 : TILE])
                tile[0] += 1;
            }
#pragma omp taskwait
            CHECK(tile[0] == 6 && tile[1] == 3);
        }
#pragma omp task depend(inout : tile[0])
#pragma omp taskgroup
        {
#pragma omp task
            {
                add(tile, 1);
#pragma omp task depend(inout : tile[0 : TILE])
                add_now(tile, 1);
            }
        }
        add(tile, 1);
    }
    for (int t = 0; t < 8; t++)
        CHECK(tree[t][0] == 9 && tree[t][1] == 6);
    for (int i = 0; i < COUNT * TILE; i++)
        x[i] = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task
        descend(x, 1);
#pragma omp taskwait
    }
    CHECK(x[0] == 1 && x[TILE] == 1 && x[2 * TILE] == 0);
}

int main(int argc, char **argv)
{
    double *x = make_tiles(COUNT, 0);
    const char *which = argc == 2 ? argv[1] : "";
    if (!strcmp(which, "taskloop"))
        loops(x);
    else if (!strcmp(which, "clauses"))
        clauses(x);
    else if (!strcmp(which, "detach"))
        detached(x);
    else
        nested(x);
    free(x);
    return check_result();
}
