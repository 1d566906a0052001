/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A task that needs a device, whose data the program has been shown on different devices: it waits until one of them
 * goes, or for some seconds; then its host version runs. So does one that had a device before they were shown. What
 * waits for the program keeps nothing waiting that the program may wait for. And what the program writes through an address that it has been shown, while the datum is being
 * copied elsewhere.
 */
#include "tests/unit/engine/plain_driver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { SIZE = 64, MOST = 16 };

typedef struct world {
    od_engine *engine;
    uint64_t now;
    od_transfer *transfer[MOST];
    unsigned ntransfers;
    od_task *started[MOST];
    int place[MOST];
    unsigned nstarted, asked;
    bool alone;           /* nobody else is shown anything */
    bool completed[MOST]; /* by task->user */
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
    w.started[w.nstarted] = task;
    w.place[w.nstarted++] = place;
}

static void complete_task(void *driver, od_task *task)
{
    (void)driver;
    w.completed[(uintptr_t)task->user] = true;
}

static uint64_t now_ns(void *driver)
{
    (void)driver;
    return ++w.now;
}

static bool waits_for_program(void *driver, const od_task *t)
{
    (void)driver;
    (void)t;
    w.asked++;
    return !w.alone;
}

static const od_driver_ops ops = {.start_transfer = start_transfer,
                                  .start_task = start_task,
                                  .complete_task = complete_task,
                                  .complete_request = plain_complete_request,
                                  .now_ns = now_ns,
                                  .waits_for_program = waits_for_program,
                                  .fatal = plain_fatal};

static void settle(void)
{
    while (w.ntransfers) {
        od_transfer *x = w.transfer[--w.ntransfers];
        od_engine_transfer_done(w.engine, x, OD_OK);
    }
    assert_true(od_engine_is_valid(w.engine));
}

static od_datum *datum(unsigned i)
{
    od_datum *d;
    assert_int_equal(od_engine_datum(w.engine, 0x1000 * (i + 1), SIZE, &d), OD_OK);
    d->keep = true;
    return d;
}

/* The program is shown the address of datum i on device k. */
static void show(unsigned i, int k, od_task *task, od_access *access)
{
    *access = (od_access){.datum = datum(i), .mode = OD_READ};
    *task = (od_task){.bound = k,
                      .duration = 1,
                      .external = true,
                      .shows = true,
                      .naccess = 1,
                      .access = access,
                      .user = (void *)(uintptr_t)i};
    od_engine_task_ready(w.engine, task);
    settle();
    assert_int_equal(w.place[w.nstarted - 1], k);
    od_engine_bind(w.engine, access->datum, (unsigned)k, false);
    od_engine_task_done(w.engine, task, OD_OK);
    settle();
    assert_true(w.completed[i]);
}

enum { FIRST, SECOND, THIRD };
static od_task task[3];
static od_access access[2], uses[2];

static int set_up_engine(void **state)
{
    od_policy_choice policy;
    char error[200];
    (void)state;
    memset(&w, 0, sizeof w);
    assert_int_equal(od_policy_choose("eager", &policy, error, sizeof error), OD_OK);
    od_engine_config config = {.ndevices = 2,
                               .memory = 4 * SIZE,
                               .alignment = 1,
                               .buffer = 2,
                               .slots = 1,
                               .peer = true,
                               .host_link = {1e9, 1e-6},
                               .peer_link = {1e9, 1e-6},
                               .policy = policy.ops,
                               .policy_values = policy.values,
                               .evict = od_evict_find("lru"),
                               .seed = 1,
                               .driver_ops = &ops};
    assert_int_equal(od_engine_create(&config, &w.engine), OD_OK);
    return 0;
}

static int set_up(void **state)
{
    set_up_engine(state);
    show(FIRST, 0, &task[FIRST], &access[0]);
    show(SECOND, 1, &task[SECOND], &access[1]);
    w.nstarted = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    od_engine_destroy(w.engine);
    return 0;
}

static void make_ready(bool needs_device)
{
    for (unsigned i = 0; i < 2; i++)
        uses[i] = (od_access){.datum = datum(i), .mode = OD_READ};
    task[THIRD] = (od_task){.bound = OD_NOWHERE,
                            .duration = 1,
                            .needs_device = needs_device,
                            .naccess = 2,
                            .access = uses,
                            .user = (void *)(uintptr_t)THIRD};
    od_engine_task_ready(w.engine, &task[THIRD]);
    settle();
}

static void finish(int place)
{
    assert_int_equal(w.nstarted, 1);
    assert_int_equal(w.place[0], place);
    od_engine_task_done(w.engine, &task[THIRD], OD_OK);
    settle();
    assert_true(w.completed[THIRD]);
    assert_false(od_engine_retry(w.engine));
}

static void runs_where_the_one_is_that_stays(void **state)
{
    (void)state;
    make_ready(true);
    assert_int_equal(w.nstarted, 0);
    assert_true(w.asked > 0);
    w.now += UINT64_C(1000000000);
    assert_true(od_engine_retry(w.engine));
    settle();
    assert_int_equal(w.nstarted, 0);
    od_engine_unbind(w.engine, access[1].datum, false);
    settle();
    finish(0);
    od_engine_unbind(w.engine, access[0].datum, false);
}

static void runs_on_the_host_in_the_end(void **state)
{
    (void)state;
    make_ready(true);
    w.now += UINT64_C(4900000000);
    assert_true(od_engine_retry(w.engine));
    settle();
    assert_int_equal(w.nstarted, 0);
    w.now += UINT64_C(200000000);
    od_engine_retry(w.engine);
    settle();
    finish(OD_HOST);
}

static void others_do_not_wait(void **state)
{
    (void)state;
    make_ready(false);
    assert_int_equal(w.asked, 0);
    finish(OD_HOST);
}

static void does_not_wait_for_nobody(void **state)
{
    (void)state;
    w.alone = true;
    make_ready(true);
    assert_true(w.asked > 0);
    finish(OD_HOST);
}

static void what_changes_while_it_is_copied_is_copied_again(void **state)
{
    od_datum *d = access[0].datum;
    od_request *request = od_request_create(1);
    (void)state;
    od_engine_bind(w.engine, d, 0, true);
    request->items[0] = (od_request_item){.datum = d, .kind = OD_REQUEST_READ};
    od_engine_request(w.engine, request);
    assert_int_equal(w.ntransfers, 1);
    od_transfer *copy = w.transfer[--w.ntransfers];
    od_engine_unbind(w.engine, d, true);
    od_engine_transfer_done(w.engine, copy, OD_OK);
    assert_true(od_placeset_is_only(d->valid, 0));
    assert_int_equal(w.ntransfers, 1);
    settle();
    assert_true(od_placeset_equal(d->valid, od_placeset_with(od_placeset_of(0), OD_HOST)));
}

static od_task *begin(od_task *t, int bound, uint32_t naccess, od_access *accesses, bool shows)
{
    *t = (od_task){.bound = bound, .duration = 1, .external = shows, .naccess = naccess, .access = accesses};
    t->user = (void *)(uintptr_t)MOST - 1;
    t->shows = shows;
    t->needs_device = true;
    od_engine_task_ready(w.engine, t);
    settle();
    return t;
}

static void ends(od_task *t, int place)
{
    assert_int_equal(w.nstarted, 1);
    assert_ptr_equal(w.started[0], t);
    assert_int_equal(w.place[0], place);
    w.nstarted = 0;
    od_engine_task_done(w.engine, t, OD_OK);
    settle();
}

/* Two want a datum on different devices; one is shown it, and goes on using it. */
static void what_waits_for_the_program_lets_others_pass(void **state)
{
    enum { LARGE = 5 };
    od_access all[LARGE], own[4];
    od_task large, shown, waits, also, other, empty;
    (void)state;
    for (unsigned i = 0; i < LARGE; i++)
        all[i] = (od_access){.datum = datum(THIRD + i), .mode = OD_READ_WRITE};
    for (unsigned i = 0; i < 3; i++)
        own[i] = (od_access){.datum = datum(THIRD), .mode = OD_READ_WRITE};
    own[3] = (od_access){.datum = datum(THIRD + 1), .mode = OD_READ_WRITE};
    begin(&large, OD_NOWHERE, LARGE, all, false); /* too much for a device */
    begin(&shown, 0, 1, &own[0], true);
    begin(&waits, 1, 1, &own[1], false);
    ends(&large, OD_HOST);
    assert_int_equal(w.nstarted, 1);
    od_engine_bind(w.engine, own[0].datum, 0, true);
    ends(&shown, 0);
    ends(begin(&also, 0, 1, &own[2], false), 0);
    ends(begin(&empty, 1, 0, NULL, false), 1);
    ends(begin(&other, 1, 1, &own[3], false), 1);
    od_engine_unbind(w.engine, own[0].datum, true);
    settle();
    ends(&waits, 1);
}

/* The third task is given a device while tasks write its data on two. Then the program has the data there. */
static void bind_while_it_waits(bool needs_device)
{
    od_access own[2];
    od_task writes[2];
    for (unsigned i = 0; i < 2; i++) {
        own[i] = (od_access){.datum = datum(i), .mode = OD_READ_WRITE};
        begin(&writes[i], (int)i, 1, &own[i], false);
    }
    assert_int_equal(w.nstarted, 2);
    make_ready(needs_device);
    for (unsigned i = 0; i < 2; i++) {
        access[i] = own[i];
        od_engine_keep_shown(w.engine, own[i].datum, i, OD_READ_WRITE);
        od_engine_task_done(w.engine, &writes[i], OD_OK);
        settle();
    }
    memmove(w.started, w.started + 2, sizeof w.started - 2 * sizeof *w.started);
    memmove(w.place, w.place + 2, sizeof w.place - 2 * sizeof *w.place);
    w.nstarted -= 2;
}

static void placed_before_it_waits_all_the_same(void **state)
{
    (void)state;
    bind_while_it_waits(true);
    assert_int_equal(w.nstarted, 0);
    assert_int_equal(task[THIRD].state, OD_TASK_READY);
    od_engine_let_go_shown(w.engine, access[1].datum, 1, OD_READ_WRITE);
    settle();
    finish(0);
    od_engine_let_go_shown(w.engine, access[0].datum, 0, OD_READ_WRITE);
}

static void placed_before_it_runs_on_the_host(void **state)
{
    (void)state;
    bind_while_it_waits(false);
    assert_int_equal(w.asked, 0);
    finish(OD_HOST);
}

/* Two running tasks wait for others inside, which wait for the program: these fill the task buffer. */
static void what_must_run_on_the_device_passes_a_full_buffer(void **state)
{
    enum { NESTED = 2 };
    od_access own[NESTED];
    od_task outer[NESTED], inner[NESTED], other;
    (void)state;
    for (unsigned i = 0; i < NESTED; i++)
        begin(&outer[i], 1, 0, NULL, true);
    assert_int_equal(w.nstarted, NESTED);
    w.nstarted = 0;
    for (unsigned i = 0; i < NESTED; i++) {
        own[i] = (od_access){.datum = datum(FIRST), .mode = OD_READ_WRITE};
        inner[i] = (od_task){.bound = OD_NOWHERE, .duration = 1, .outer = &outer[i], .naccess = 1, .access = &own[i]};
        inner[i].user = (void *)(uintptr_t)MOST - 1;
        od_engine_task_ready(w.engine, &inner[i]);
        settle();
    }
    assert_int_equal(w.nstarted, 0);
    ends(begin(&other, 1, 0, NULL, false), 1);
    od_engine_unbind(w.engine, access[0].datum, false);
    settle();
    for (unsigned i = NESTED; i > 0; i--) {
        ends(&inner[i - 1], 1);
        od_engine_task_done(w.engine, &outer[i - 1], OD_OK);
        settle();
    }
}

/* Whoever writes it elsewhere leaves the copy that the program reads by its address in its memory. */
static void what_is_read_by_its_address_keeps_its_memory(void **state)
{
    od_datum *d = datum(THIRD);
    od_access own = {.datum = d, .mode = OD_READ}, other = {.datum = d, .mode = OD_READ_WRITE};
    od_task reads, writes, again;
    (void)state;
    begin(&reads, 0, 1, &own, false);
    assert_false(od_engine_range_is_bound(w.engine, d->base + SIZE / 2, SIZE));
    od_engine_keep_shown(w.engine, d, 0, OD_READ);
    d->pending++;
    ends(&reads, 0);
    assert_true(od_engine_range_is_bound(w.engine, d->base + SIZE / 2, SIZE));
    size_t offset = d->replica[0].offset;
    ends(begin(&writes, 1, 1, &other, false), 1);
    assert_int_equal(d->replica[0].state, OD_PRESENT);
    assert_int_equal(d->replica[0].offset, offset);
    assert_false(od_placeset_has(d->valid, 0));
    od_engine_let_go_shown(w.engine, d, 0, OD_READ);
    assert_false(od_engine_range_is_bound(w.engine, d->base, SIZE));
    od_engine_release(w.engine, d);
    assert_int_equal(d->replica[0].state, OD_ABSENT);
    assert_true(od_engine_is_valid(w.engine));
    ends(begin(&again, 0, 1, &own, false), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(runs_where_the_one_is_that_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(runs_on_the_host_in_the_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(others_do_not_wait, set_up, tear_down),
        cmocka_unit_test_setup_teardown(does_not_wait_for_nobody, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_waits_for_the_program_lets_others_pass, set_up, tear_down),
        cmocka_unit_test_setup_teardown(placed_before_it_waits_all_the_same, set_up_engine, tear_down),
        cmocka_unit_test_setup_teardown(placed_before_it_runs_on_the_host, set_up_engine, tear_down),
        cmocka_unit_test_setup_teardown(what_must_run_on_the_device_passes_a_full_buffer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_read_by_its_address_keeps_its_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_changes_while_it_is_copied_is_copied_again, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
