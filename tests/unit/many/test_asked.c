/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Many devices, of which few have tasks: the engine asks the policy about as often as there are tasks, not for each
 * device that gets none whenever something happens.
 */
#include "tests/unit/engine/plain_driver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { DEVICES = OD_MAX_DEVICES < 512 ? OD_MAX_DEVICES : 512, TASKS = 240, SIZE = 64 };

static struct {
    od_engine *engine;
    const od_policy_ops *policy;
    unsigned asked, completed;
    od_list transfers; /* od_transfer.node */
    od_list running;   /* od_task.link */
    od_task task[TASKS];
    od_access access[TASKS];
} w;

static od_task *pop(void *state, unsigned k)
{
    w.asked++;
    return w.policy->pop(state, k);
}

static void start_transfer(void *driver, od_transfer *x)
{
    (void)driver;
    od_list_push_back(&w.transfers, &x->node);
}

static void start_task(void *driver, od_task *task, int place)
{
    (void)driver;
    (void)place;
    od_list_push_back(&w.running, &task->link);
}

static void complete_task(void *driver, od_task *task)
{
    (void)driver;
    (void)task;
    w.completed++;
}

static uint64_t now_ns(void *driver)
{
    (void)driver;
    return 1000 * (uint64_t)w.completed;
}

static const od_driver_ops ops = {.start_transfer = start_transfer,
                                  .start_task = start_task,
                                  .complete_task = complete_task,
                                  .complete_request = plain_complete_request,
                                  .now_ns = now_ns,
                                  .fatal = plain_fatal};

/* All read one datum, which takes as long to bring as many tasks take: few devices get it. */
static void make_ready(unsigned t)
{
    od_datum *d;
    assert_int_equal(od_engine_datum(w.engine, 0x1000, SIZE, &d), OD_OK);
    d->keep = true;
    w.access[t] = (od_access){.datum = d, .mode = OD_READ};
    w.task[t] = (od_task){.bound = OD_NOWHERE, .duration = 1e-3, .naccess = 1, .access = &w.access[t]};
    od_engine_task_ready(w.engine, &w.task[t]);
}

static void drive(void)
{
    for (bool any = true; any;) {
        od_node *x = od_list_pop_front(&w.transfers), *task = x ? NULL : od_list_pop_front(&w.running);
        any = x || task;
        if (x)
            od_engine_transfer_done(w.engine, od_container_of(x, od_transfer, node), OD_OK);
        if (task)
            od_engine_task_done(w.engine, od_container_of(task, od_task, link), OD_OK);
    }
}

static void run(const char *policy)
{
    od_policy_ops counted = *od_policy_find(policy);
    od_policy_choice choice;
    char error[256];
    memset(&w, 0, sizeof w);
    assert_int_equal(od_policy_choose(policy, &choice, error, sizeof error), OD_OK);
    w.policy = choice.ops;
    counted.pop = pop;
    od_engine_config config = {.ndevices = DEVICES,
                               .memory = 100 * SIZE,
                               .alignment = 1,
                               .buffer = 2,
                               .ahead = choice.ahead,
                               .slots = 1,
                               .peer = true,
                               .host_link = {1e3, 1e-6},
                               .peer_link = {2e3, 1e-6},
                               .policy = &counted,
                               .policy_values = choice.values,
                               .evict = od_evict_find(choice.ops->default_evict),
                               .driver_ops = &ops};
    od_list_init(&w.transfers);
    od_list_init(&w.running);
    assert_int_equal(od_engine_create(&config, &w.engine), OD_OK);
    od_engine_await(w.engine, true);
    od_engine_hold(w.engine);
    for (unsigned t = 0; t < TASKS; t++)
        make_ready(t);
    od_engine_resume(w.engine);
    drive();
    assert_int_equal(w.completed, TASKS);
    od_engine_destroy(w.engine);
}

static void test_few_are_asked(void **state)
{
    (void)state;
    static const char *const policies[] = {"eager", "dmda", "dmdas", "lws", "darts"};
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        run(policies[i]);
        print_message("%s: %u tasks, asked %u times, %d devices\n", policies[i], w.completed, w.asked, DEVICES);
        assert_true(w.asked <= 3 * TASKS + DEVICES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_few_are_asked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
