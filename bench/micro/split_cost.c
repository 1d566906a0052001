/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What a decision on splitting costs (sched/split), in processor time, without a program: usage: split_cost [DECISIONS]
 *
 * Four kinds of tasks on three levels, two devices and 62 CPU workers, times as of tiles of 3840, 1920 and 480 on an
 * A100 and a core. Each rule is asked about tasks of all kinds and of both levels that may be split, while time goes
 * on; `auto` as in a program, with bags. Then the linear program alone. The fastest of five runs counts.
 */
#include "sched/split/program.h"
#include "util/clock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { KINDS = 4, LEVELS = 3, RUNS = 5, PROGRAMS = 1000 };

/* How many tasks of each kind one becomes, on the next level. */
static const uint32_t made_of[KINDS][KINDS] = {{2, 1, 1, 0}, {0, 4, 0, 2}, {0, 0, 4, 2}, {0, 0, 0, 8}};
enum { MOST_CHILDREN = 8 };

/* What a task becomes: each task waits for the one before it of the same kind. */
typedef struct children {
    uint8_t kind[MOST_CHILDREN];
    uint32_t first_before[MOST_CHILDREN + 1], before[MOST_CHILDREN];
    od_split_graph graph;
} children;

static const od_split_graph *graph_of(void *driver, unsigned kind, unsigned level, unsigned to)
{
    children *c = driver;
    uint32_t n = 0;
    for (unsigned k = 0; to == level + 1 && k < KINDS; k++)
        for (uint32_t i = 0; i < made_of[kind][k]; i++, n++) {
            c->kind[n] = (uint8_t)k;
            c->first_before[n + 1] = c->first_before[n] + (i > 0);
            if (i > 0)
                c->before[c->first_before[n]] = n - 1;
        }
    c->graph = (od_split_graph){n, c->kind, c->first_before, c->before};
    return n > 0 ? &c->graph : NULL;
}

static void make_view(od_split_view *view, children *driver)
{
    static const double tile[LEVELS] = {3840, 1920, 480}, flop[KINDS] = {1. / 3, 1, 1, 2};
    *view = (od_split_view){.ndevices = 2,
                            .cpus = 62,
                            .idle_cpus = 62,
                            .nkinds = KINDS,
                            .nlevels = LEVELS,
                            .wants_work = true,
                            .graph = graph_of,
                            .driver = driver};
    for (unsigned k = 0; k < KINDS; k++)
        for (unsigned l = 0; l < LEVELS; l++) {
            double flops = flop[k] * pow(tile[l], 3);
            od_split_kind *kind = &view->kind[k];
            kind->device_s[l] = 2e-5 + flops / (k == 0 ? 1e12 : 15e12);
            kind->host_s[l] = flops / 3.5e10;
            kind->waiting[l] = l == 0 ? 500 : 0;
            kind->spread_s[l] = l + 1 < LEVELS ? kind->device_s[l] * 0.9 : 0;
            kind->spread_to[l] = (uint8_t)(l + 1);
            for (unsigned c = 0; c < KINDS && l + 1 < LEVELS; c++)
                kind->children[l][c] = made_of[k][c];
            view->work_s += kind->waiting[l] * kind->device_s[l];
        }
    view->queued_s = view->work_s / 10;
}

/* Microseconds per decision. Tasks of 100 us are decided on. */
static double time_of(const od_split_choice *choice, unsigned decisions)
{
    static children driver;
    char error[256];
    od_split_view view;
    void *rule;
    make_view(&view, &driver);
    if (choice->ops->create(&view, choice->level, &rule, error, sizeof error)) {
        fprintf(stderr, "split_cost: %s: %s\n", choice->ops->name, error);
        return NAN;
    }
    uint64_t start = od_clock_thread_ns();
    for (unsigned i = 0; i < decisions; i++) {
        od_split_task task = {.kind = i % KINDS, .level = i / KINDS % 2, .bottom_s = 0.1, .ahead_s = view.queued_s};
        view.now += 1e-4;
        view.idle_cpus = i % 63;
        if (choice->ops->holds)
            choice->ops->holds(rule);
        choice->ops->decide(rule, &task);
    }
    double us = (double)(od_clock_thread_ns() - start) * 1e-3 / decisions;
    choice->ops->destroy(rule);
    return us;
}

static double time_of_program(void)
{
    static children driver;
    char error[256];
    od_split_view view;
    od_split_solver *solver;
    od_split_ratios ratios;
    make_view(&view, &driver);
    if (od_split_solver_create(&solver, error, sizeof error))
        return NAN;
    uint64_t start = od_clock_thread_ns();
    for (unsigned i = 0; i < PROGRAMS; i++) {
        view.kind[i % KINDS].waiting[0]--;
        od_split_solve(solver, &view, 1, &ratios);
    }
    double us = (double)(od_clock_thread_ns() - start) * 1e-3 / PROGRAMS;
    od_split_solver_destroy(solver);
    return us;
}

int main(int argc, char **argv)
{
    unsigned decisions = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 100000;
    if (argc > 2 || decisions == 0) {
        fprintf(stderr, "usage: split_cost [DECISIONS]\n");
        return 2;
    }
    for (const char *const *name = od_split_names(); *name; name++) {
        od_split_choice choice = {od_split_find(*name), 1};
        double least = (double)INFINITY;
        for (int run = 0; run < RUNS; run++)
            least = fmin(least, time_of(&choice, decisions));
        printf("%-8s %8.3f us a decision\n", *name, least);
    }
    double least = (double)INFINITY;
    for (int run = 0; run < RUNS; run++)
        least = fmin(least, time_of_program());
    printf("program  %8.1f us: %d kinds, %d levels, 2 kinds of units\n", least, KINDS, LEVELS);
    return 0;
}
