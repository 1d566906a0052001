/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Sealing (sched/engine/data/seal.c): at a synchronisation point, and by a request, what only the program's memory
 * holds of a region goes to its spill area, what a device holds as well counts there alone; pushes go to where the
 * contents are.
 */
#include "tests/unit/engine/plain_driver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { SIZE = 64, BASE = 0x10000, MOST = 16, LARGE = 128 /* tiles: more than a device has memory for */ };

typedef struct world {
    od_engine *engine;
    uint64_t now;
    od_transfer *transfer[MOST];
    unsigned ntransfers, ncopied; /* under way; ended, within host memory */
    unsigned nrequests;           /* complete */
    od_task *started;
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
    (void)place;
    w.started = task;
}

static void complete_task(void *driver, od_task *task)
{
    (void)driver;
    (void)task;
}

static void complete_request(void *driver, od_request *request)
{
    (void)driver;
    w.nrequests++;
    od_request_destroy(request);
}

static uint64_t now_ns(void *driver)
{
    (void)driver;
    return ++w.now;
}

static const od_driver_ops ops = {.start_transfer = start_transfer,
                                  .start_task = start_task,
                                  .complete_task = complete_task,
                                  .complete_request = complete_request,
                                  .now_ns = now_ns,
                                  .fatal = plain_fatal};

/* All transfers end. */
static void settle(void)
{
    while (w.ntransfers) {
        od_transfer *x = w.transfer[--w.ntransfers];
        w.ncopied += x->from >= OD_SPILL && x->to >= OD_SPILL;
        od_engine_transfer_done(w.engine, x, OD_OK);
    }
    assert_true(od_engine_is_valid(w.engine));
}

static od_directory *directory(void)
{
    return od_engine_directory(w.engine);
}

static od_region *open_region(unsigned first, unsigned count, bool undefined)
{
    od_section s = {.begin = BASE + first * (uintptr_t)SIZE, .size = count * (size_t)SIZE};
    assert_int_equal(od_engine_region_open(w.engine, &s, undefined), OD_OK);
    return od_directory_find_region(directory(), s.begin, SIZE);
}

static void close_region(unsigned first, unsigned count)
{
    od_request *request;
    od_section s = {.begin = BASE + first * (uintptr_t)SIZE, .size = count * (size_t)SIZE};
    assert_int_equal(od_engine_region_close(w.engine, &s, false, false, &request), OD_OK);
    if (request)
        od_engine_request(w.engine, request);
    settle();
}

static od_datum *tile(unsigned i)
{
    return od_directory_find(directory(), BASE + i * (uintptr_t)SIZE, SIZE);
}

static od_task task;
static od_access use;

/* A task on tile i, up to its start. */
static void begin_task(unsigned i, od_mode mode)
{
    od_datum *d;
    assert_int_equal(od_engine_datum(w.engine, BASE + i * (uintptr_t)SIZE, SIZE, &d), OD_OK);
    d->keep = true;
    use = (od_access){.datum = d, .mode = mode};
    task = (od_task){.bound = OD_NOWHERE, .duration = 1, .naccess = 1, .access = &use};
    od_engine_task_ready(w.engine, &task);
}

static void end_task(void)
{
    settle();
    assert_ptr_equal(w.started, &task);
    od_engine_task_done(w.engine, &task, OD_OK);
    settle();
}

static void synchronise(void)
{
    od_request *request;
    assert_int_equal(od_engine_sync_request(w.engine, &request), OD_OK);
    if (request)
        od_engine_request(w.engine, request);
}

static void ask(unsigned i, size_t bytes, od_request_kind kind)
{
    od_request *request;
    assert_int_equal(od_engine_range_request(w.engine, BASE + i * (uintptr_t)SIZE, bytes, kind, &request), OD_OK);
    if (request)
        od_engine_request(w.engine, request);
    settle();
}

static void what_is_nowhere_else_is_copied(void **state)
{
    (void)state;
    od_engine_region_defer(w.engine, open_region(0, 4, false));
    begin_task(1, OD_READ);
    end_task();
    assert_true(od_placeset_equal(tile(1)->valid, od_placeset_with(od_placeset_of(OD_HOST), 0)));
    synchronise();
    settle();
    assert_int_equal(w.ncopied, 2); /* before and behind the tile */
    assert_true(od_placeset_is_only(tile(0)->valid, OD_SPILL));
    assert_true(od_placeset_is_only(tile(1)->valid, 0));
    assert_true(od_placeset_is_only(tile(2)->valid, OD_SPILL));
    synchronise(); /* and once only */
    assert_int_equal(w.ntransfers, 0);
    assert_int_equal(w.nrequests, 1);
    close_region(0, 4);
}

static void what_is_sealed_can_be_divided(void **state)
{
    (void)state;
    open_region(0, 4, false);
    ask(0, 4 * SIZE, OD_REQUEST_SNAPSHOT);
    assert_int_equal(w.ncopied, 1);
    begin_task(2, OD_READ_WRITE);
    assert_int_equal(w.transfer[0]->from, OD_SPILL);
    end_task();
    assert_true(od_placeset_is_only(tile(2)->valid, 0));
    close_region(0, 4);
    assert_int_equal(w.ncopied, 1);
}

static void a_load_that_is_under_way_is_waited_for(void **state)
{
    (void)state;
    od_engine_region_defer(w.engine, open_region(0, 1, false));
    begin_task(0, OD_READ);
    assert_int_equal(w.ntransfers, 1);
    synchronise();
    assert_int_equal(w.nrequests, 0);
    settle();
    assert_int_equal(w.nrequests, 1);
    assert_false(od_placeset_has(tile(0)->valid, OD_HOST));
    end_task();
    close_region(0, 1);
}

/* Two threads synchronise at once: the second waits for what the first has begun. */
static void nobody_goes_on_before_it_is_sealed(void **state)
{
    (void)state;
    od_engine_region_defer(w.engine, open_region(0, 1, false));
    synchronise();
    synchronise();
    assert_int_equal(w.nrequests, 0);
    settle();
    assert_int_equal(w.nrequests, 2);
    assert_int_equal(w.ncopied, 1);
    close_region(0, 1);
}

static void a_region_may_close_meanwhile(void **state)
{
    (void)state;
    od_engine_region_defer(w.engine, open_region(0, 1, false));
    synchronise();
    close_region(0, 1);
    assert_int_equal(w.nrequests, 2);
    open_region(0, 1, false);
    synchronise();
    assert_int_equal(w.ntransfers, 0);
    close_region(0, 1);
}

static void undefined_contents_need_no_copy(void **state)
{
    (void)state;
    od_engine_region_defer(w.engine, open_region(0, 4, true));
    synchronise();
    settle();
    assert_int_equal(w.ncopied, 0);
    ask(1, SIZE, OD_REQUEST_PUSH);
    assert_int_equal(w.ncopied, 1);
    assert_true(od_placeset_is_only(tile(1)->valid, OD_SPILL));
    close_region(0, 4);
}

static void pushes_go_where_the_contents_are(void **state)
{
    (void)state;
    open_region(0, 2, false);
    ask(0, 2 * SIZE, OD_REQUEST_SNAPSHOT);
    begin_task(0, OD_READ);
    end_task();
    assert_true(od_placeset_equal(tile(0)->valid, od_placeset_with(od_placeset_of(OD_SPILL), 0)));
    ask(0, SIZE / 2, OD_REQUEST_PUSH);
    assert_true(od_placeset_is_only(tile(0)->valid, 0));
    ask(0, SIZE, OD_REQUEST_PUSH);
    assert_true(od_placeset_is_only(tile(0)->valid, 0));
    w.ncopied = 0;
    ask(1, SIZE, OD_REQUEST_PUSH);
    assert_int_equal(w.ncopied, 1);
    assert_true(od_placeset_is_only(tile(1)->valid, OD_SPILL));
    close_region(0, 2);
}

/* A host version has run: its contents are in the program's memory. */
static void contents_that_come_home_are_sealed_again(void **state)
{
    (void)state;
    open_region(0, 1, false);
    ask(0, SIZE, OD_REQUEST_SNAPSHOT);
    ask(0, SIZE, OD_REQUEST_WRITE);
    assert_true(od_placeset_is_only(tile(0)->valid, OD_HOST));
    synchronise();
    settle();
    assert_true(od_placeset_is_only(tile(0)->valid, OD_SPILL));
    close_region(0, 1);
}

/* The kernel has failed on the device, its host version is writing the program's memory: to copy that now would keep
 * half of it. */
static void host_versions_are_waited_for(void **state)
{
    (void)state;
    open_region(0, 1, false);
    ask(0, SIZE, OD_REQUEST_SNAPSHOT);
    begin_task(0, OD_READ_WRITE);
    settle();
    w.started = NULL;
    od_engine_task_done(w.engine, &task, OD_EDEVICE);
    settle();
    assert_ptr_equal(w.started, &task);
    assert_int_equal(task.place, OD_HOST);
    od_engine_region_defer(w.engine, od_directory_find_region(directory(), BASE, SIZE));
    synchronise();
    assert_int_equal(w.ntransfers, 0);
    assert_int_equal(w.nrequests, 1);
    od_engine_task_done(w.engine, &task, OD_OK);
    settle();
    assert_int_equal(w.nrequests, 2);
    assert_true(od_placeset_is_only(tile(0)->valid, OD_SPILL));
    close_region(0, 1);
}

static od_task large_task(od_access *access, bool uses_spill)
{
    *access = (od_access){.mode = OD_READ_WRITE};
    assert_int_equal(od_engine_datum(w.engine, BASE, LARGE * (size_t)SIZE, &access->datum), OD_OK);
    return (od_task){.bound = OD_NOWHERE, .naccess = 1, .access = access, .uses_spill = uses_spill};
}

/* No device has room for either. What one task did in the spill area while the other one writes the program's memory
 * would be lost, and a copy that is made meanwhile would count as the contents after the end. */
static void host_versions_share_nothing(void **state)
{
    od_access one_use, other_use;
    (void)state;
    open_region(0, LARGE, false);
    ask(0, LARGE * SIZE, OD_REQUEST_SNAPSHOT);
    od_task one = large_task(&one_use, false), other = large_task(&other_use, true);
    od_engine_task_ready(w.engine, &one);
    settle();
    assert_ptr_equal(w.started, &one);
    assert_true(od_placeset_is_only(one_use.datum->valid, OD_HOST));
    w.ncopied = 0;
    od_engine_task_ready(w.engine, &other);
    ask(0, LARGE * SIZE, OD_REQUEST_SETTLE);
    assert_ptr_equal(w.started, &one);
    assert_int_equal(w.ncopied, 0);
    od_engine_task_done(w.engine, &one, OD_OK);
    settle();
    assert_ptr_equal(w.started, &other);
    assert_int_equal(w.ncopied, 1);
    od_engine_task_done(w.engine, &other, OD_OK);
    settle();
    assert_true(od_placeset_is_only(other_use.datum->valid, OD_SPILL));
    close_region(0, LARGE);
}

/* A request of the program's is under way when the task begins to wait for its data, behind the request that seals
 * them: neither waits for the other. */
static void tasks_that_have_not_begun_are_not_waited_for(void **state)
{
    od_access access;
    od_request *settles, *seals;
    (void)state;
    open_region(0, LARGE, false);
    ask(0, LARGE * SIZE, OD_REQUEST_SNAPSHOT);
    assert_int_equal(od_engine_range_request(w.engine, BASE, LARGE * SIZE, OD_REQUEST_WRITE, &settles), OD_OK);
    od_engine_request(w.engine, settles);
    assert_int_equal(w.ntransfers, 1); /* to the program's memory */
    assert_int_equal(od_engine_range_request(w.engine, BASE, LARGE * SIZE, OD_REQUEST_SNAPSHOT, &seals), OD_OK);
    od_engine_request(w.engine, seals);
    od_task one = large_task(&access, false);
    od_engine_task_ready(w.engine, &one);
    settle();
    assert_ptr_equal(w.started, &one);
    od_engine_task_done(w.engine, &one, OD_OK);
    settle();
    close_region(0, LARGE);
}

/* It has brought what it needs and done nothing: the contents are where they were. */
static void what_is_undone_changes_nothing(void **state)
{
    (void)state;
    open_region(0, 1, false);
    ask(0, SIZE, OD_REQUEST_SNAPSHOT);
    begin_task(0, OD_READ_WRITE);
    settle();
    od_engine_task_done(w.engine, &task, OD_EDEVICE);
    settle();
    od_placeset valid = task.access[0].datum->valid;
    task.undone = true;
    od_engine_task_done(w.engine, &task, OD_OK);
    assert_true(od_placeset_equal(tile(0)->valid, valid));
    od_engine_stats stats;
    od_engine_stats_get(w.engine, &stats);
    assert_int_equal(stats.tasks + stats.host_tasks, 0);
    settle();
    close_region(0, 1);
}

/* It waits for another task before it can run on the host; requests that have waited for its replicas do not. */
static void requests_go_on_when_a_launch_fails(void **state)
{
    od_access uses[2] = {{.mode = OD_READ}, {.mode = OD_READ_WRITE}};
    od_request *writes;
    (void)state;
    open_region(0, 2, false);
    ask(0, 2 * SIZE, OD_REQUEST_SNAPSHOT);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(od_engine_datum(w.engine, BASE + i * (uintptr_t)SIZE, SIZE, &uses[i].datum), OD_OK);
    od_task fails = {.bound = OD_NOWHERE, .duration = 1, .naccess = 2, .access = uses};
    od_engine_task_ready(w.engine, &fails);
    settle();
    assert_ptr_equal(w.started, &fails);
    begin_task(1, OD_READ_WRITE); /* beside it, on the same replica */
    assert_int_equal(od_engine_range_request(w.engine, BASE, SIZE, OD_REQUEST_WRITE, &writes), OD_OK);
    od_engine_request(w.engine, writes);
    settle();
    unsigned before = w.nrequests;
    od_engine_task_done(w.engine, &fails, OD_EDEVICE);
    settle();
    assert_ptr_equal(w.started, &task);
    assert_int_equal(w.nrequests, before + 1);
    end_task();
    assert_ptr_equal(w.started, &fails);
    od_engine_task_done(w.engine, &fails, OD_OK);
    close_region(0, 2);
}

/* Sealing makes one datum of all that no task has used yet. */
static void tasks_get_their_tiles_when_all_is_sealed(void **state)
{
    od_datum *d;
    (void)state;
    od_engine_region_defer(w.engine, open_region(0, 8, false));
    synchronise();
    assert_int_equal(w.ntransfers, 1);
    assert_int_equal(tile(3)->size, 8 * SIZE);
    assert_int_equal(od_engine_datum(w.engine, BASE + 3 * SIZE, SIZE, &d), OD_EFULL);
    ask(3, SIZE, OD_REQUEST_SETTLE); /* behind that */
    assert_int_equal(w.nrequests, 2);
    assert_int_equal(od_engine_datum(w.engine, BASE + 3 * SIZE, SIZE, &d), OD_OK);
    assert_int_equal(d->size, SIZE);
    assert_true(od_placeset_is_only(d->valid, OD_SPILL));
    od_engine_release(w.engine, d);
    close_region(0, 8);
}

static int make_engine(void **state)
{
    (void)state;
    w = (world){0};
    od_engine_config config = {.ndevices = 1,
                               .memory = 1 << 12,
                               .alignment = SIZE,
                               .buffer = 2,
                               .slots = 1,
                               .spill = true,
                               .policy = od_policy_find("eager"),
                               .evict = od_evict_find("lru"),
                               .driver_ops = &ops};
    return od_engine_create(&config, &w.engine);
}

static int destroy_engine(void **state)
{
    (void)state;
    od_engine_destroy(w.engine);
    return 0;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, make_engine, destroy_engine)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_nowhere_else_is_copied),         TEST(what_is_sealed_can_be_divided),
        TEST(a_load_that_is_under_way_is_waited_for), TEST(nobody_goes_on_before_it_is_sealed),
        TEST(a_region_may_close_meanwhile),           TEST(undefined_contents_need_no_copy),
        TEST(pushes_go_where_the_contents_are),       TEST(contents_that_come_home_are_sealed_again),
        TEST(host_versions_are_waited_for),           TEST(host_versions_share_nothing),
        TEST(what_is_undone_changes_nothing),         TEST(tasks_that_have_not_begun_are_not_waited_for),
        TEST(requests_go_on_when_a_launch_fails),     TEST(tasks_get_their_tiles_when_all_is_sealed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
