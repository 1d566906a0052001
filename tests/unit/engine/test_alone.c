/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A task that is ready alone goes to the device where it ends first, by links, speeds and where its data are. */
#include "tests/unit/engine/plain_driver.h"
#include "tests/unit/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { DEVICES = 4, DATA = 3, SIZE = 4096, TASKS = 6, CASES = 200 };

typedef struct world {
    od_engine *engine;
    uint64_t now;
    od_topology *topology;
    unsigned ndevices;
    double bandwidth[DEVICES]; /* from the host, bytes/s */
    od_datum *datum[DATA];
    od_transfer *transfer[DATA * DEVICES];
    unsigned ntransfers;
    int place; /* of the task that was started last */
} world;

static world w;

static void start_transfer(void *driver, od_transfer *x)
{
    (void)driver;
    w.transfer[w.ntransfers++] = x;
}

static void start_task(void *driver, od_task *task, int place)
{
    (void)driver, (void)task;
    w.place = place;
}

static void note_task(void *driver, od_task *task)
{
    (void)driver, (void)task;
}

static uint64_t now_ns(void *driver)
{
    (void)driver;
    return ++w.now;
}

static const od_driver_ops ops = {.start_transfer = start_transfer,
                                  .start_task = start_task,
                                  .complete_task = note_task,
                                  .complete_request = plain_complete_request,
                                  .now_ns = now_ns,
                                  .fatal = plain_fatal};

static void make_machine(uint64_t *seed)
{
    w.ndevices = 2 + (unsigned)random_below(seed, DEVICES - 1);
    w.topology = od_topology_create(w.ndevices);
    assert_non_null(w.topology);
    for (unsigned k = 0; k < w.ndevices; k++) {
        od_link link = {.bandwidth = (1 + (double)random_below(seed, 4)) * SIZE};
        w.bandwidth[k] = link.bandwidth;
        assert_int_equal(od_topology_set_way(w.topology, OD_HOST, (int)k, link, NULL, 0), OD_OK);
        assert_int_equal(od_topology_set_way(w.topology, (int)k, OD_HOST, link, NULL, 0), OD_OK);
        w.topology->slowness.times[OD_SPEED_GENERAL][k] = 1 + (double)random_below(seed, 4);
    }
}

static void begin(uint64_t *seed)
{
    w = (world){0};
    make_machine(seed);
    od_engine_config config = {.ndevices = w.ndevices,
                               .memory = 1 << 20,
                               .buffer = 2,
                               .slots = 1,
                               .topology = w.topology,
                               .policy = od_policy_find("eager"),
                               .evict = od_evict_find("lru"),
                               .driver_ops = &ops};
    assert_int_equal(od_engine_create(&config, &w.engine), OD_OK);
    for (unsigned i = 0; i < DATA; i++) {
        assert_int_equal(od_engine_datum(w.engine, 0x10000 * (uintptr_t)(i + 1), SIZE, &w.datum[i]), OD_OK);
        w.datum[i]->keep = true;
    }
}

static double seconds_on(const od_task *t, unsigned k)
{
    double seconds = t->duration * w.topology->slowness.times[OD_SPEED_GENERAL][k];
    for (uint32_t i = 0; i < t->naccess; i++)
        if (t->access[i].mode != OD_WRITE && !od_datum_is_readable(t->access[i].datum, k))
            seconds += SIZE / w.bandwidth[k];
    return seconds;
}

/* The first of the devices where it ends first. */
static unsigned best_for(const od_task *t)
{
    unsigned best = 0;
    for (unsigned k = 1; k < w.ndevices; k++)
        if (seconds_on(t, k) < seconds_on(t, best) - 1e-9)
            best = k;
    return best;
}

static void run_one(od_task *t)
{
    unsigned best = best_for(t);
    od_engine_task_ready(w.engine, t);
    while (w.ntransfers)
        od_engine_transfer_done(w.engine, w.transfer[--w.ntransfers], OD_OK);
    assert_int_equal(w.place, best);
    od_engine_task_done(w.engine, t, OD_OK);
    assert_true(od_engine_is_valid(w.engine));
}

static void a_task_alone_goes_where_it_ends_first(void **state)
{
    static const od_mode modes[] = {OD_READ, OD_WRITE, OD_READ | OD_WRITE};
    uint64_t seed = 1;
    (void)state;
    for (unsigned i = 0; i < CASES; i++) {
        begin(&seed);
        for (unsigned n = 0; n < TASKS; n++) {
            od_access access[2];
            unsigned first = (unsigned)random_below(&seed, DATA), count = 1 + (unsigned)random_below(&seed, 2);
            for (unsigned a = 0; a < count; a++)
                access[a] = (od_access){.datum = w.datum[(first + a) % DATA], .mode = modes[random_below(&seed, 3)]};
            od_task task = {.bound = OD_NOWHERE,
                            .duration = (double)(1 + random_below(&seed, 8)) / 8,
                            .naccess = count,
                            .access = access};
            run_one(&task);
        }
        od_engine_destroy(w.engine);
        od_topology_destroy(w.topology);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_task_alone_goes_where_it_ends_first)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
