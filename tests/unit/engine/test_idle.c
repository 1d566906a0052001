/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Data outside regions that nobody uses are not known for ever (sched/engine/data/idle.c): how many are, which, and
 * what is remembered of the others.
 */
#include "tests/unit/engine/plain_driver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { SIZE = 64, MANY = 100000, MOST = 20000 };

static uint64_t now_ns(void *driver)
{
    static uint64_t now;
    (void)driver;
    return ++now;
}

static od_list transfers; /* od_transfer.node */

static void start_transfer(void *driver, od_transfer *x)
{
    (void)driver;
    od_list_push_back(&transfers, &x->node);
}

static void ignore_start(void *driver, od_task *task, int place)
{
    (void)driver;
    (void)task;
    (void)place;
}

static void ignore_end(void *driver, od_task *task)
{
    (void)driver;
    (void)task;
}

static const od_driver_ops ops = {.start_transfer = start_transfer,
                                  .start_task = ignore_start,
                                  .complete_task = ignore_end,
                                  .complete_request = plain_complete_request,
                                  .now_ns = now_ns,
                                  .fatal = plain_fatal};

static od_engine *make_engine(void)
{
    od_engine *engine;
    od_list_init(&transfers);
    od_engine_config config = {.ndevices = 2,
                               .memory = 1 << 20,
                               .buffer = 2,
                               .slots = 1,
                               .spill = true,
                               .policy = od_policy_find("eager"),
                               .evict = od_evict_find("lru"),
                               .driver_ops = &ops};
    assert_int_equal(od_engine_create(&config, &engine), OD_OK);
    return engine;
}

static uintptr_t address(unsigned i)
{
    return 0x1000 + (uintptr_t)i * 2 * SIZE;
}

static od_datum *hold(od_engine *e, unsigned i)
{
    od_datum *d;
    assert_int_equal(od_engine_datum(e, address(i), SIZE, &d), OD_OK);
    return d;
}

static void use(od_engine *e, unsigned i)
{
    od_engine_release(e, hold(e, i));
}

static bool is_known(od_engine *e, unsigned i)
{
    return od_directory_find(od_engine_directory(e), address(i), SIZE) != NULL;
}

static void few_of_many_are_known(void **state)
{
    (void)state;
    od_engine *e = make_engine();
    for (unsigned i = 0; i < MANY; i++)
        use(e, i);
    assert_true(od_directory_count(od_engine_directory(e)) < MOST);
    assert_false(is_known(e, 0));
    assert_true(is_known(e, MANY - 1));
    assert_true(od_engine_is_valid(e));
    od_engine_destroy(e);
}

static void settle(od_engine *e)
{
    for (od_node *x; (x = od_list_pop_front(&transfers));)
        od_engine_transfer_done(e, od_container_of(x, od_transfer, node), OD_OK);
}

/* A task writes to a datum, whose copy stays on its device (`keep`) or comes home with it. */
static void run_task(od_engine *e, unsigned i, bool keep)
{
    od_access access = {.datum = hold(e, i), .mode = OD_READ | OD_WRITE};
    od_task task = {.bound = OD_NOWHERE, .duration = 1, .naccess = 1, .access = &access};
    access.datum->keep = keep;
    od_engine_task_ready(e, &task);
    settle(e);
    od_engine_task_done(e, &task, OD_OK);
    settle(e);
    assert_int_equal(task.state, OD_TASK_DONE);
}

static void synchronise(od_engine *e)
{
    od_request *request;
    assert_int_equal(od_engine_sync_request(e, &request), OD_OK);
    if (request)
        od_engine_request(e, request);
    settle(e);
}

static void few_of_many_that_tasks_have_used_are_known(void **state)
{
    (void)state;
    od_engine *e = make_engine();
    for (unsigned i = 0; i < MANY; i++) {
        run_task(e, i, i % 2);
        if (i % 1000 == 0)
            synchronise(e);
    }
    assert_true(od_directory_count(od_engine_directory(e)) < MOST);
    synchronise(e);
    assert_true(od_engine_is_idle(e));
    assert_true(od_engine_is_valid(e));
    od_engine_destroy(e);
}

static void what_is_used_again_and_again_stays(void **state)
{
    (void)state;
    od_engine *e = make_engine();
    use(e, 0);
    for (unsigned i = 1; i < MANY; i++) {
        use(e, i);
        if (i % 1000 == 0)
            use(e, 0);
    }
    assert_true(is_known(e, 0));
    od_engine_destroy(e);
}

static void what_is_held_or_named_by_submitted_tasks_stays(void **state)
{
    (void)state;
    od_engine *e = make_engine();
    od_level_use named = {address(1), true, false};
    od_datum *held = hold(e, 0);
    use(e, 1);
    od_submission *s = od_engine_submit(e, "kind", 0, 1, &named, 1);
    for (unsigned i = 2; i < MANY; i++)
        use(e, i);
    assert_true(is_known(e, 0));
    assert_true(is_known(e, 1));
    od_engine_release(e, held);
    od_engine_unsubmit(e, &s);
    od_engine_withdraw(e, s);
    assert_true(od_engine_is_valid(e));
    od_engine_destroy(e);
}

static void data_of_a_region_stay(void **state)
{
    (void)state;
    od_engine *e = make_engine();
    od_request *request;
    assert_int_equal(od_engine_region_open(e, &(od_section){.begin = address(0), .size = SIZE}, false), OD_OK);
    use(e, 0);
    for (unsigned i = 1; i < MANY; i++)
        use(e, i);
    assert_true(is_known(e, 0));
    assert_int_equal(
        od_engine_region_close(e, &(od_section){.begin = address(0), .size = SIZE}, false, false, &request), OD_OK);
    od_engine_destroy(e);
}

/* Few others are taken for it. */
static void distrust_outlives_a_datum(void **state)
{
    (void)state;
    od_engine *e = make_engine();
    unsigned doubted = 0;
    for (unsigned i = 0; i < 1000; i++) {
        od_datum *d = hold(e, i);
        d->untrusted = true;
        od_engine_release(e, d);
    }
    for (unsigned i = 1000; i < MANY; i++)
        use(e, i);
    for (unsigned i = 0; i < 1000; i++) {
        assert_false(is_known(e, i));
        od_datum *d = hold(e, i);
        assert_true(d->untrusted);
        od_engine_release(e, d);
    }
    for (unsigned i = 1000; i < 11000; i++) {
        od_datum *d = hold(e, i);
        doubted += d->untrusted;
        od_engine_release(e, d);
    }
    assert_true(doubted < 100);
    od_engine_destroy(e);
}

/* --- windows --------------------------------------------------------------- */

static int nreserved; /* views that are reserved */

static od_status reserve(void *state, unsigned k, size_t bytes, od_window_view *view)
{
    static char memory[1];
    (void)state, (void)k, (void)bytes;
    nreserved++;
    *view = (od_window_view){.kernel = memory, .copies = memory};
    return OD_OK;
}

static void give_back(void *state, unsigned k, size_t bytes, const od_window_view *view)
{
    (void)state, (void)k, (void)bytes, (void)view;
    nreserved--;
}

/* A region in parts, one of which is all of it, opens and closes. */
static void use_in_a_window(od_engine *e, uintptr_t base, size_t size)
{
    static const od_window_ops windows = {.reserve = reserve, .give_back = give_back};
    const od_section section = {.begin = base, .size = size, .origin = base};
    od_window *window;
    od_datum *d;
    od_request *request;
    assert_int_equal(od_engine_region_open(e, &section, false), OD_OK);
    od_region *region = od_directory_find_region(od_engine_directory(e), base, size);
    assert_int_equal(od_window_create(&windows, NULL, 2, base, size, &window), OD_OK);
    assert_int_equal(od_engine_divide(e, region, window, true), OD_OK);
    assert_int_equal(od_engine_datum(e, base, size, &d), OD_OK);
    assert_ptr_equal(d->window, window);
    od_engine_release(e, d);
    assert_int_equal(od_engine_region_close(e, &section, false, false, &request), OD_OK);
    od_engine_request(e, request);
}

/* The system has a limit of mappings. */
static void few_windows_outlive_their_regions(void **state)
{
    enum { ARRAYS = 2000, FEW = 100 };
    (void)state;
    od_engine *e = make_engine();
    size_t size = 2 * od_window_page();
    for (unsigned i = 1; i <= ARRAYS; i++) {
        use_in_a_window(e, 2 * i * size, size);
        assert_true(nreserved <= FEW * 2);
    }
    assert_true(od_engine_is_valid(e));
    od_engine_destroy(e);
    assert_int_equal(nreserved, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_of_many_are_known),
        cmocka_unit_test(few_of_many_that_tasks_have_used_are_known),
        cmocka_unit_test(what_is_used_again_and_again_stays),
        cmocka_unit_test(what_is_held_or_named_by_submitted_tasks_stays),
        cmocka_unit_test(data_of_a_region_stay),
        cmocka_unit_test(distrust_outlives_a_datum),
        cmocka_unit_test(few_windows_outlive_their_regions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
