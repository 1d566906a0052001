/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Devices get less memory while tasks run (sched/engine/data/shrink.c). In random order: unit.engine.
 */
#include "tests/unit/engine/plain_driver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { SIZE = 4096, DATA = 4, MOST = 16 };

typedef struct world {
    od_engine *engine;
    od_transfer *transfer[MOST];
    unsigned ntransfers;
    od_task task[MOST];
    od_access access[MOST][2];
    unsigned ntasks;
    int place[MOST]; /* where a task has been started */
} world;

static world w;

static void start_transfer(void *driver, od_transfer *x)
{
    (void)driver;
    w.transfer[w.ntransfers++] = x;
}

static void start_task(void *driver, od_task *task, int place)
{
    (void)driver;
    w.place[task - w.task] = place;
}

static void note_task(void *driver, od_task *task)
{
    (void)driver, (void)task;
}

static uint64_t now_ns(void *driver)
{
    (void)driver;
    return 1;
}

static const od_driver_ops ops = {.start_transfer = start_transfer,
                                  .start_task = start_task,
                                  .complete_task = note_task,
                                  .complete_request = plain_complete_request,
                                  .now_ns = now_ns,
                                  .fatal = plain_fatal};

static od_datum *datum(unsigned i)
{
    od_datum *d;
    assert_int_equal(od_engine_datum(w.engine, 0x10000 * (uintptr_t)(i + 1), SIZE, &d), OD_OK);
    d->keep = true;
    return d;
}

/* A task that writes datum i, and j where that is another, is ready. */
static od_task *begin_task(unsigned i, unsigned j)
{
    od_access *access = w.access[w.ntasks];
    access[0] = (od_access){.datum = datum(i), .mode = OD_WRITE};
    if (j != i)
        access[1] = (od_access){.datum = datum(j), .mode = OD_WRITE};
    od_task *t = &w.task[w.ntasks];
    w.place[w.ntasks++] = OD_NOWHERE;
    *t = (od_task){.bound = OD_NOWHERE, .duration = 1, .naccess = 1 + (j != i), .access = access};
    od_engine_task_ready(w.engine, t);
    return t;
}

static void end_task(od_task *t)
{
    od_engine_task_done(w.engine, t, OD_OK);
    assert_true(od_engine_is_valid(w.engine));
}

static void end_transfer(void)
{
    od_engine_transfer_done(w.engine, w.transfer[--w.ntransfers], OD_OK);
    assert_true(od_engine_is_valid(w.engine));
}

static int begin(void **state)
{
    (void)state;
    w = (world){0};
    od_engine_config config = {.ndevices = 1,
                               .memory = DATA * SIZE,
                               .buffer = 2,
                               .slots = 1,
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

/* All of the memory has been written to. */
static void fill(void)
{
    for (unsigned i = 0; i < DATA; i++)
        end_task(begin_task(i, i));
    assert_int_equal(w.ntransfers, 0);
}

static void what_is_behind_the_end_goes_home(void **state)
{
    (void)state;
    fill();
    assert_int_equal(od_engine_shrink(w.engine, 2 * SIZE), 2 * SIZE);
    assert_int_equal(w.ntransfers, 2);
    for (unsigned i = 0; i < 2; i++) {
        assert_true(w.transfer[i]->kind == OD_EVICT && w.transfer[i]->from_offset >= (size_t)2 * SIZE);
    }
    assert_int_equal(od_engine_memory_end(w.engine, 0), DATA * SIZE);
    end_transfer();
    end_transfer();
    assert_int_equal(od_engine_memory_end(w.engine, 0), 2 * SIZE);
    od_task *task = begin_task(DATA, DATA); /* in the place of another */
    assert_int_equal(w.ntransfers, 1);
    end_transfer();
    assert_int_equal(w.place[DATA], 0);
    end_task(task);
    assert_int_equal(od_engine_memory_end(w.engine, 0), 2 * SIZE);
}

static void a_running_task_keeps_its_own(void **state)
{
    (void)state;
    for (unsigned i = 0; i < DATA - 1; i++)
        end_task(begin_task(i, i));
    od_task *last = begin_task(DATA - 1, DATA - 1);
    assert_int_equal(od_engine_shrink(w.engine, 3 * SIZE), 3 * SIZE);
    assert_true(od_engine_is_valid(w.engine));
    assert_int_equal(w.ntransfers, 0);
    end_task(last);
    assert_int_equal(w.ntransfers, 1);
    end_transfer();
    assert_int_equal(od_engine_memory_end(w.engine, 0), 3 * SIZE);
}

static void the_largest_task_still_fits(void **state)
{
    (void)state;
    end_task(begin_task(0, 1));
    assert_int_equal(od_engine_shrink(w.engine, SIZE), 2 * SIZE);
    assert_int_equal(od_engine_shrink(w.engine, 3 * SIZE), 2 * SIZE); /* it does not grow */
    od_task *task = begin_task(2, 3);
    while (w.ntransfers)
        end_transfer();
    end_task(task);
    assert_int_equal(w.place[1], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_behind_the_end_goes_home, begin, end),
        cmocka_unit_test_setup_teardown(a_running_task_keeps_its_own, begin, end),
        cmocka_unit_test_setup_teardown(the_largest_task_still_fits, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
