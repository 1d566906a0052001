/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Contents that are dropped and made again (sched/engine/data/recompute.h): when, and what comes before. A device has room
 * for two data; each datum is one number, of which a kernel makes another. Random graphs: test_generic.c, test_engine.c.
 */
#include "tests/unit/engine/plain_driver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SIZE = 4096, MOST = 16 };
enum { DEVICE, SPILL, HOST, PLACES };
enum { A, X, B, C, NDATA };

typedef struct work {
    od_task task; /* the first member */
    od_access access[2];
    int adds; /* to the sum of what it reads */
} work;

typedef struct world {
    od_engine *engine;
    uint64_t now, kernel_ns;
    od_transfer *transfer[MOST];
    od_task *started[MOST];
    unsigned ntransfers, nstarted, nrequests, stored[NDATA]; /* of each datum, copies from the device */
    work work[MOST];
    unsigned nworks;
    int value[NDATA][PLACES];
} world;

static world w;

static uintptr_t address(unsigned i)
{
    return 0x10000 * (uintptr_t)(i + 1);
}

static unsigned number_of(const od_datum *d)
{
    return (unsigned)(d->base / 0x10000 - 1);
}

static int *value_at(const od_datum *d, int place)
{
    return &w.value[number_of(d)][place == OD_HOST ? HOST : place == OD_SPILL ? SPILL : DEVICE];
}

static void start_transfer(void *driver, od_transfer *x)
{
    (void)driver;
    w.transfer[w.ntransfers++] = x;
    w.stored[number_of(x->datum)] += x->from == 0;
}

static void start_task(void *driver, od_task *task, int place)
{
    (void)driver;
    assert_int_equal(place, 0);
    w.started[w.nstarted++] = task;
}

static void complete_task(void *driver, od_task *task)
{
    (void)driver, (void)task;
}

static void complete_request(void *driver, od_request *request)
{
    w.nrequests++;
    plain_complete_request(driver, request);
}

static uint64_t now_ns(void *driver)
{
    (void)driver;
    return ++w.now;
}

static od_task *again(void *driver, const od_task *task)
{
    (void)driver;
    work *copy = malloc(sizeof *copy);
    *copy = *(const work *)(const void *)task;
    copy->task = (od_task){.bound = OD_NOWHERE, .naccess = task->naccess, .access = copy->access};
    return &copy->task;
}

static void free_again(void *driver, od_task *task)
{
    (void)driver;
    free(task);
}

static const od_driver_ops ops = {.start_transfer = start_transfer,
                                  .start_task = start_task,
                                  .complete_task = complete_task,
                                  .complete_request = complete_request,
                                  .now_ns = now_ns,
                                  .again = again,
                                  .free_again = free_again,
                                  .fatal = plain_fatal};

/* The first access is the one that is written. */
static void end_task(od_task *t)
{
    const work *k = (const work *)(const void *)t;
    int sum = k->adds;
    for (uint32_t i = 0; i < t->naccess; i++)
        if (t->access[i].mode & OD_READ && !od_placeset_is_empty(t->access[i].datum->valid))
            sum += *value_at(t->access[i].datum, 0);
    *value_at(t->access[0].datum, 0) = sum;
    w.now += w.kernel_ns;
    od_engine_task_done(w.engine, t, OD_OK);
}

static void end_transfer(od_transfer *x)
{
    *value_at(x->datum, x->to) = *value_at(x->datum, x->from);
    od_engine_transfer_done(w.engine, x, OD_OK);
}

static void settle(void)
{
    while (w.ntransfers || w.nstarted) {
        if (w.ntransfers)
            end_transfer(w.transfer[--w.ntransfers]);
        else
            end_task(w.started[--w.nstarted]);
        assert_true(od_engine_is_valid(w.engine));
    }
}

static od_section section(unsigned i)
{
    return (od_section){.begin = address(i), .size = SIZE, .origin = address(i)};
}

static od_datum *datum(unsigned i)
{
    od_datum *d;
    assert_int_equal(od_engine_datum(w.engine, address(i), SIZE, &d), OD_OK);
    d->keep = true;
    return d;
}

static od_task *give(unsigned written, int read, int adds)
{
    work *k = &w.work[w.nworks++];
    *k = (work){.adds = adds};
    k->access[0] = (od_access){.datum = datum(written), .mode = OD_READ_WRITE};
    if (read >= 0)
        k->access[1] = (od_access){.datum = datum((unsigned)read), .mode = OD_READ};
    k->task = (od_task){.bound = OD_NOWHERE, .pure = true, .naccess = read < 0 ? 1 : 2, .access = k->access};
    return &k->task;
}

/* written = written (where it had contents) + read + adds */
static void run(unsigned written, int read, int adds)
{
    od_engine_task_ready(w.engine, give(written, read, adds));
    settle();
}

static bool close_region(unsigned i, bool copy_out)
{
    od_request *request;
    od_section s = section(i);
    unsigned before = w.nrequests;
    assert_int_equal(od_engine_region_close(w.engine, &s, copy_out, false, &request), OD_OK);
    od_engine_request(w.engine, request);
    bool at_once = w.nrequests > before;
    settle();
    assert_int_equal(w.nrequests, before + 1);
    return at_once;
}

static od_device_stats stats(void)
{
    od_device_stats s;
    od_engine_device_stats(w.engine, 0, &s);
    return s;
}

static void make_engine(od_recompute recompute)
{
    w = (world){.kernel_ns = 10};
    od_engine_config config = {.ndevices = 1,
                               .memory = 2 * SIZE,
                               .buffer = 2,
                               .slots = 1,
                               .spill = true,
                               .recompute = recompute,
                               .host_link = {1e9, 1e-6},
                               .policy = od_policy_find("eager"),
                               .evict = od_evict_find("lru"),
                               .driver_ops = &ops};
    assert_int_equal(od_engine_create(&config, &w.engine), OD_OK);
    for (unsigned i = 0; i < NDATA; i++) {
        od_section s = section(i);
        w.value[i][HOST] = -1000;
        assert_int_equal(od_engine_region_open(w.engine, &s, i != A), OD_OK);
    }
    w.value[A][HOST] = 7;
}

/* X = A + 1, and then the device has room for neither. */
static void make_and_evict(void)
{
    run(X, A, 1);
    run(B, -1, 1);
    run(C, B, 1);
}

static int begin(void **state)
{
    (void)state;
    make_engine(OD_RECOMPUTE_AUTO);
    return 0;
}

static int end(void **state)
{
    (void)state;
    od_engine_destroy(w.engine);
    return 0;
}

static void dropped_contents_are_made_again(void **state)
{
    (void)state;
    make_and_evict();
    assert_int_equal(w.stored[X], 0);
    assert_int_equal(stats().dropped_bytes, SIZE);
    assert_int_equal(stats().reruns, 0);
    run(X, -1, 5);
    assert_int_equal(stats().reruns, 1);
    assert_int_equal(w.stored[X], 0);
    close_region(X, true);
    assert_int_equal(w.value[X][HOST], 8 + 5);
}

static void it_is_off_by_default(void **state)
{
    od_engine_destroy(w.engine);
    make_engine(OD_RECOMPUTE_OFF);
    make_and_evict();
    assert_int_equal(w.stored[X], 1);
    assert_int_equal(stats().dropped_bytes, 0);
    (void)state;
}

static void what_takes_long_is_written_back(void **state)
{
    (void)state;
    w.kernel_ns = 1000000;
    make_and_evict();
    assert_int_equal(w.stored[X], 1);
}

/* What it had before cannot be had again. */
static void what_was_added_to_is_written_back(void **state)
{
    (void)state;
    run(X, A, 1);
    run(X, -1, 5);
    run(B, -1, 1);
    run(C, B, 1);
    assert_int_equal(w.stored[X], 1);
    close_region(X, true);
    assert_int_equal(w.value[X][HOST], 13);
}

static void it_is_made_again_before_an_input_changes(void **state)
{
    (void)state;
    make_and_evict();
    run(A, -1, 100);
    assert_int_equal(stats().reruns, 1);
    close_region(X, true);
    close_region(A, true);
    assert_int_equal(w.value[X][HOST], 8);
    assert_int_equal(w.value[A][HOST], 107);
    assert_int_equal(stats().reruns, 1);
}

/* The program may write to its own memory from then on. */
static void it_is_made_again_before_the_region_of_an_input_closes(void **state)
{
    (void)state;
    make_and_evict();
    assert_false(close_region(A, false));
    assert_int_equal(stats().reruns, 1);
    w.value[A][HOST] = -1;
    run(C, X, 0);
    close_region(X, true);
    assert_int_equal(w.value[X][HOST], 8);
}

static void it_is_made_again_for_the_host(void **state)
{
    (void)state;
    make_and_evict();
    close_region(X, true);
    assert_int_equal(w.value[X][HOST], 8);
    assert_int_equal(stats().reruns, 1);
}

/* One request for both: nothing is made again that is discarded. */
static void what_is_discarded_is_not_made_again(void **state)
{
    (void)state;
    make_and_evict();
    od_request *both = od_request_create(2);
    both->items[0] = (od_request_item){.kind = OD_REQUEST_DISCARD, .datum = datum(A), .bytes = SIZE};
    both->items[1] = (od_request_item){.kind = OD_REQUEST_DISCARD, .datum = datum(X), .bytes = SIZE};
    od_engine_request(w.engine, both);
    assert_int_equal(w.nrequests, 1);
    assert_int_equal(stats().reruns, 0);
}

/* An input of dropped contents is written back: nothing has to be made for a rerun. */
static void no_chains_are_dropped(void **state)
{
    (void)state;
    run(X, A, 1);
    run(B, X, 1);
    run(C, -1, 1);
    run(A, C, 0);
    assert_true(w.stored[X] == 1 || w.stored[B] == 1);
    close_region(B, true);
    assert_int_equal(w.value[B][HOST], 9);
}

/* What the program holds on devices could leave no room for it. */
static void nothing_is_dropped_beside_what_the_program_holds(void **state)
{
    (void)state;
    make_and_evict();
    od_task *held = give(C, -1, 0);
    held->advisory = true;
    od_engine_task_ready(w.engine, held);
    settle();
    assert_int_equal(stats().reruns, 1);
    make_and_evict();
    assert_int_equal(stats().dropped_bytes, SIZE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(dropped_contents_are_made_again, begin, end),
        cmocka_unit_test_setup_teardown(it_is_off_by_default, begin, end),
        cmocka_unit_test_setup_teardown(what_takes_long_is_written_back, begin, end),
        cmocka_unit_test_setup_teardown(what_was_added_to_is_written_back, begin, end),
        cmocka_unit_test_setup_teardown(it_is_made_again_before_an_input_changes, begin, end),
        cmocka_unit_test_setup_teardown(it_is_made_again_before_the_region_of_an_input_closes, begin, end),
        cmocka_unit_test_setup_teardown(it_is_made_again_for_the_host, begin, end),
        cmocka_unit_test_setup_teardown(what_is_discarded_is_not_made_again, begin, end),
        cmocka_unit_test_setup_teardown(no_chains_are_dropped, begin, end),
        cmocka_unit_test_setup_teardown(nothing_is_dropped_beside_what_the_program_holds, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
