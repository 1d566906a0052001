/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Results go to the host while the program waits (sched/engine/data/home.c): which, when, and one at a time.
 */
#include "tests/unit/engine/plain_driver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { SIZE = 4096, MOST = 16 };

typedef struct world {
    od_engine *engine;
    uint64_t now;
    od_transfer *transfer[MOST];
    unsigned ntransfers, nhome; /* under way; of them, write-backs */
    od_task task[MOST];
    od_access access[MOST];
    unsigned ntasks;
} world;

static world w;

static void start_transfer(void *driver, od_transfer *x)
{
    (void)driver;
    w.transfer[w.ntransfers++] = x;
    w.nhome += x->kind == OD_WRITE_BACK;
}

static void note_task(void *driver, od_task *task)
{
    (void)driver, (void)task;
}

static void start_task(void *driver, od_task *task, int place)
{
    (void)driver, (void)task;
    assert_int_equal(place, 0);
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

static uintptr_t address(unsigned i)
{
    return 0x10000 * (uintptr_t)(i + 1);
}

/* A task that writes datum i has run. */
static void write_datum(unsigned i, size_t size)
{
    od_datum *d;
    assert_int_equal(od_engine_datum(w.engine, address(i), size, &d), OD_OK);
    d->keep = true;
    w.access[w.ntasks] = (od_access){.datum = d, .mode = OD_WRITE};
    od_task *t = &w.task[w.ntasks];
    *t = (od_task){.bound = OD_NOWHERE, .duration = 1, .naccess = 1, .access = &w.access[w.ntasks++]};
    od_engine_task_ready(w.engine, t);
    od_engine_task_done(w.engine, t, OD_OK);
    assert_true(od_engine_is_valid(w.engine));
}

static void end_transfer(void)
{
    od_transfer *x = w.transfer[--w.ntransfers];
    w.nhome -= x->kind == OD_WRITE_BACK;
    od_engine_transfer_done(w.engine, x, OD_OK);
    assert_true(od_engine_is_valid(w.engine));
}

static uint64_t bytes_home(void)
{
    od_device_stats stats;
    od_engine_device_stats(w.engine, 0, &stats);
    return stats.d2h_bytes;
}

static void synchronise(void)
{
    od_request *request;
    od_engine_await(w.engine, false);
    assert_int_equal(od_engine_sync_request(w.engine, &request), OD_OK);
    if (request)
        od_engine_request(w.engine, request);
    while (w.ntransfers)
        end_transfer();
}

static int begin(void **state)
{
    (void)state;
    w = (world){0};
    od_engine_config config = {.ndevices = 1,
                               .memory = 1 << 20,
                               .buffer = 2,
                               .slots = 1,
                               .early = SIZE,
                               .policy = od_policy_find("eager"),
                               .evict = od_evict_find("lru"),
                               .driver_ops = &ops};
    return od_engine_create(&config, &w.engine);
}

static int end(void **state)
{
    (void)state;
    od_engine_destroy(w.engine);
    return 0;
}

static void results_go_one_by_one_while_the_program_waits(void **state)
{
    (void)state;
    write_datum(0, SIZE);
    write_datum(1, SIZE);
    assert_int_equal(w.nhome, 0);
    assert_true(od_engine_await(w.engine, true));
    assert_false(od_engine_await(w.engine, true));
    assert_int_equal(w.nhome, 1);
    end_transfer();
    assert_int_equal(w.nhome, 1);
    write_datum(2, SIZE);
    assert_int_equal(w.nhome, 1);
    end_transfer();
    end_transfer();
    assert_int_equal(w.ntransfers, 0);
    synchronise();
    assert_int_equal(bytes_home(), 3 * SIZE); /* once each */
}

static void small_ones_wait(void **state)
{
    (void)state;
    od_engine_await(w.engine, true);
    write_datum(0, SIZE - 1);
    assert_int_equal(w.nhome, 0);
    synchronise();
    assert_int_equal(bytes_home(), SIZE - 1);
}

static void what_a_submitted_task_names_stays(void **state)
{
    (void)state;
    const od_level_use use = {.address = address(0), .write = true};
    od_submission *s = od_engine_submit(w.engine, "kind", 0, 1, &use, 1);
    od_engine_await(w.engine, true);
    write_datum(0, SIZE);
    write_datum(1, SIZE);
    assert_int_equal(w.nhome, 1);
    assert_int_equal(w.transfer[0]->datum->base, address(1));
    end_transfer();
    assert_int_equal(w.nhome, 0);
    od_engine_unsubmit(w.engine, &s);
    write_datum(0, SIZE);
    assert_int_equal(w.nhome, 1);
    synchronise();
    assert_int_equal(bytes_home(), 2 * SIZE);
}

static void more_work_ends_it(void **state)
{
    (void)state;
    const od_level_use use = {.address = address(5), .write = true};
    od_engine_await(w.engine, true);
    od_submission *s = od_engine_submit(w.engine, "kind", 0, 1, &use, 1);
    write_datum(0, SIZE);
    assert_int_equal(w.nhome, 0);
    od_engine_unsubmit(w.engine, &s);
    assert_true(od_engine_await(w.engine, true));
    assert_int_equal(w.nhome, 1);
    synchronise();
    assert_int_equal(bytes_home(), SIZE);
}

/* It is written again while it is on its way: the second contents go, too. */
static void a_late_task_costs_a_second_transfer(void **state)
{
    (void)state;
    od_engine_await(w.engine, true);
    write_datum(0, SIZE);
    end_transfer();
    write_datum(0, SIZE);
    synchronise();
    assert_int_equal(bytes_home(), 2 * SIZE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(results_go_one_by_one_while_the_program_waits, begin, end),
        cmocka_unit_test_setup_teardown(small_ones_wait, begin, end),
        cmocka_unit_test_setup_teardown(what_a_submitted_task_names_stays, begin, end),
        cmocka_unit_test_setup_teardown(more_work_ends_it, begin, end),
        cmocka_unit_test_setup_teardown(a_late_task_costs_a_second_transfer, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
