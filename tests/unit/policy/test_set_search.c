/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The search for a set of devices, beside all sets that there are: on machines whose devices have links of their own, of
 * different speed, behind a bus. */
#include "sched/auto/set_search.h"

#include "memmgr/device/measured.h"
#include "tests/unit/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { DEVICES = 8, SIZE = 4, TASKS = SIZE * SIZE * SIZE, TILES = SIZE * SIZE, DATA = 3 * TILES, BYTES = 10 };

/* C = A B: of each tile of C one task after the other. */
struct product {
    od_play_task task[TASKS];
    od_play_access access[3 * TASKS];
    od_play_datum data[DATA];
    uint32_t after[TASKS];
};

static void make_product(struct product *p)
{
    for (uint32_t d = 0; d < DATA; d++)
        p->data[d] = (od_play_datum){BYTES, od_placeset_of(OD_HOST), d};
    for (uint32_t t = 0; t < TASKS; t++) {
        uint32_t k = t % SIZE, ij = t / SIZE;
        bool last = k == SIZE - 1;
        p->task[t] = (od_play_task){.seconds = 1,
                                    .bound = OD_NOWHERE,
                                    .first_access = 3 * t,
                                    .naccess = 3,
                                    .first_after = t - ij,
                                    .nafter = !last,
                                    .before = k > 0,
                                    .number = t};
        if (!last)
            p->after[t - ij] = t + 1;
        p->access[3 * t] = (od_play_access){ij / SIZE * SIZE + k, OD_READ};
        p->access[3 * t + 1] = (od_play_access){TILES + k * SIZE + ij % SIZE, OD_READ};
        p->access[3 * t + 2] = (od_play_access){2 * TILES + ij, OD_READ | OD_WRITE};
    }
}

/* A tile takes a fifth of a task on the bus, and from a quarter to eight on a device's own link. */
static od_topology *make_machine(uint64_t *random)
{
    od_topology *t = od_topology_create(DEVICES);
    assert_non_null(t);
    uint32_t bus = od_topology_add_link(t, 5 * BYTES);
    for (int k = 0; k < DEVICES; k++) {
        double rate = BYTES * ldexp(1 + (double)random_below(random, 100) / 100, (int)random_below(random, 5) - 3);
        uint32_t links[] = {bus, od_topology_add_link(t, rate)};
        assert_int_equal(od_topology_set_way(t, OD_HOST, k, (od_link){(double)INFINITY, 0}, links, 2), OD_OK);
        assert_int_equal(od_topology_set_way(t, k, OD_HOST, (od_link){(double)INFINITY, 0}, links, 2), OD_OK);
    }
    return t;
}

static uint64_t no_time(void *driver)
{
    (void)driver;
    return 0;
}

/* Without a clock of its processor time, so that no trial is over before its end. */
static const od_driver_ops no_driver = {.now_ns = no_time, .cost_ns = no_time};

static od_engine *make_engine(const od_topology *topology, const od_settings *s)
{
    od_engine *engine = NULL;
    od_engine_config config = {.ndevices = DEVICES,
                               .memory = DATA * BYTES,
                               .alignment = 1,
                               .buffer = s->buffer,
                               .slots = 1,
                               .topology = topology,
                               .policy = s->policy.ops,
                               .evict = s->evict,
                               .driver_ops = &no_driver};
    assert_int_equal(od_engine_create(&config, &engine), OD_OK);
    return engine;
}

struct world {
    struct product product;
    od_topology *topology;
    od_engine *engine;
    atomic_bool hurry;
    od_trial trial;
};

static struct world *make_world(uint64_t machine)
{
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    od_settings given = {.evict = od_evict_find("luf"), .buffer = 3};
    char error[256];
    assert_int_equal(od_policy_choose("darts", &given.policy, error, sizeof error), OD_OK);
    make_product(&w->product);
    w->topology = make_machine(&machine);
    w->engine = make_engine(w->topology, &given);
    od_trial *t = &w->trial;
    t->engine = w->engine;
    t->hurry = &w->hurry;
    t->end_ns = UINT64_MAX;
    t->given = given;
    t->copy.problem = (od_play_problem){.tasks = w->product.task,
                                        .accesses = w->product.access,
                                        .after = w->product.after,
                                        .data = w->product.data,
                                        .ntasks = TASKS,
                                        .ndata = DATA,
                                        .naccesses = 3 * TASKS,
                                        .nafter = TASKS - TILES,
                                        .topology = w->topology,
                                        .ndevices = DEVICES,
                                        .slots = 1,
                                        .memory = DATA / 3 * BYTES,
                                        .alignment = 1};
    t->work = (od_work){&t->given, DEVICES, TASKS, w->topology, OD_NO_PLACES, true};
    return w;
}

static void destroy_world(struct world *w)
{
    od_engine_destroy(w->engine);
    od_topology_destroy(w->topology);
    free(w);
}

/* With the policies that plan fast, and what they have by themselves. */
static void try_on(od_trial *t, od_placeset set)
{
    od_candidate candidate;
    for (unsigned c = 0; c < OD_CANDIDATES_FAST; c++)
        if (od_candidates_on_set(c, set, &t->work, &candidate))
            od_trial_try(t, &candidate);
}

static double best_of_all_sets(uint64_t machine)
{
    struct world *w = make_world(machine);
    for (uint64_t bits = (1 << DEVICES) - 1; bits > 0; bits--)
        try_on(&w->trial, (od_placeset){{bits}});
    double seconds = od_trial_least(&w->trial);
    destroy_world(w);
    return seconds;
}

/* Of 70 sets of four devices it tries few. */
static void finds_what_is_best_of_all_sets(void **state)
{
    enum { FIRST = 9, LAST = 10, ALL = ((1 << DEVICES) - 1) * OD_CANDIDATES_FAST };
    (void)state;
    for (uint64_t machine = FIRST; machine <= LAST; machine++) {
        double best = best_of_all_sets(machine);
        struct world *w = make_world(machine);
        const od_trial *t = &w->trial;
        try_on(&w->trial, od_placeset_below(DEVICES));
        assert_true(od_set_search(&w->trial));
        long plays = t->leader - t->tried + 1;
        if (t->leader->seconds > best * (1 + 1e-9) || plays > ALL / 3)
            fail_msg("machine %u: %g s after %ld plays, on the best of all sets %g s", (unsigned)machine,
                     t->leader->seconds, plays, best);
        destroy_world(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(finds_what_is_best_of_all_sets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
