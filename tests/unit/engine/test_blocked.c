/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A task whose thread waits for other tasks inside (od_engine_task_block): to policies its device is one without work,
 * which gets what they have planned for others. And a lone task gets no device that is to have no work.
 */
#include "tests/unit/engine/plain_driver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { SIZE = 64, MOST = 8 };

static struct {
    od_engine *engine;
    uint64_t now;
    od_list transfers; /* od_transfer.node */
    od_task task[MOST];
    od_access access[MOST];
    unsigned ntasks, nstarted;
    od_policy_env env; /* of the policy that only looks */
    od_list queue;     /* its tasks */
} w;

/* --- a policy that only looks ------------------------------------------------------------------ */

static od_status create(const od_policy_env *env, void **state)
{
    w.env = *env;
    od_list_init(&w.queue);
    *state = &w.queue;
    return OD_OK;
}

static void destroy(void *state)
{
    (void)state;
}

static od_status ready(void *state, od_task *task)
{
    od_list_push_back(state, &task->link);
    return OD_OK;
}

static od_task *pop(void *state, unsigned k)
{
    (void)k;
    od_node *node = od_list_pop_front(state);
    return node ? od_container_of(node, od_task, link) : NULL;
}

static const od_policy_ops looks = {.interface_version = OD_POLICY_INTERFACE,
                                    .name = "looks",
                                    .create = create,
                                    .destroy = destroy,
                                    .ready = ready,
                                    .pop = pop};

/* --- the driver --------------------------------------------------------------------------------- */

static void start_transfer(void *driver, od_transfer *x)
{
    (void)driver;
    od_list_push_back(&w.transfers, &x->node);
}

static void start_task(void *driver, od_task *task, int place)
{
    (void)driver;
    (void)task;
    (void)place;
    w.nstarted++;
}

static void complete_task(void *driver, od_task *task)
{
    (void)driver;
    (void)task;
}

static uint64_t now_ns(void *driver)
{
    (void)driver;
    return ++w.now;
}

static const od_driver_ops ops = {.start_transfer = start_transfer,
                                  .start_task = start_task,
                                  .complete_task = complete_task,
                                  .complete_request = plain_complete_request,
                                  .now_ns = now_ns,
                                  .fatal = plain_fatal};

static void make_engine(const od_policy_ops *policy, const uint64_t *values, od_placeset active)
{
    od_engine_config config = {.ndevices = 2,
                               .memory = 1 << 20,
                               .alignment = 1,
                               .buffer = 1,
                               .slots = 1,
                               .devices = active,
                               .peer = true,
                               .host_link = {1e9, 1e-6},
                               .peer_link = {1e9, 1e-6},
                               .policy = policy,
                               .policy_values = values,
                               .evict = od_evict_find("lru"),
                               .seed = 1,
                               .driver_ops = &ops};
    memset(&w, 0, sizeof w);
    od_list_init(&w.transfers);
    assert_int_equal(od_engine_create(&config, &w.engine), OD_OK);
}

static void settle(void)
{
    for (od_node *x; (x = od_list_pop_front(&w.transfers));)
        od_engine_transfer_done(w.engine, od_container_of(x, od_transfer, node), OD_OK);
    assert_true(od_engine_is_valid(w.engine));
}

/* A task that reads datum i becomes ready. */
static od_task *reader(unsigned i)
{
    od_task *task = &w.task[w.ntasks];
    od_access *access = &w.access[w.ntasks++];
    od_datum *d;
    assert_int_equal(od_engine_datum(w.engine, 0x1000 * (i + 1), SIZE, &d), OD_OK);
    d->keep = true;
    *access = (od_access){.datum = d, .mode = OD_READ};
    *task = (od_task){.bound = OD_NOWHERE, .duration = 1, .naccess = 1, .access = access};
    od_engine_task_ready(w.engine, task);
    settle();
    return task;
}

static void finish(od_task *task)
{
    od_engine_task_done(w.engine, task, OD_OK);
    settle();
}

static void finish_all(void)
{
    for (unsigned t = 0; t < w.ntasks; t++)
        for (unsigned i = 0; i < w.ntasks; i++)
            if (w.task[i].state == OD_TASK_RUNNING)
                finish(&w.task[i]);
    assert_int_equal(w.nstarted, w.ntasks);
    od_engine_destroy(w.engine);
}

/* --- tests --------------------------------------------------------------------------------------- */

static od_device_load load_of(const od_task *task)
{
    return w.env.load(w.env.engine, (unsigned)task->place);
}

static void policies_do_not_see_it_running(void **state)
{
    (void)state;
    make_engine(&looks, NULL, OD_NO_PLACES);
    od_task *task = reader(0);
    assert_int_equal(load_of(task).running, 1);
    od_engine_task_block(w.engine, task, true);
    assert_int_equal(load_of(task).running, 0);
    od_engine_task_block(w.engine, task, false);
    assert_int_equal(load_of(task).running, 1);
    finish_all();
}

/* The other device has the datum of all tasks that follow, and what it runs does not end before one of them has. */
static void darts_gives_its_device_what_is_planned_for_another(void **state)
{
    od_policy_choice policy;
    char error[200];
    (void)state;
    assert_int_equal(od_policy_choose("darts", &policy, error, sizeof error), OD_OK);
    make_engine(policy.ops, policy.values, OD_NO_PLACES);
    od_task *waiting = reader(0), *endless = reader(1);
    assert_int_equal(w.nstarted, 2);
    assert_int_not_equal(waiting->place, endless->place);
    for (unsigned i = 0; i < 4; i++)
        reader(1);
    assert_int_equal(w.nstarted, 2);
    od_engine_task_block(w.engine, waiting, true);
    settle();
    assert_int_equal(w.nstarted, 3);
    od_engine_task_block(w.engine, waiting, false);
    finish_all();
}

static void a_lone_task_goes_to_no_idle_device(void **state)
{
    (void)state;
    make_engine(&looks, NULL, od_placeset_of(1));
    assert_int_equal(reader(0)->place, 1);
    finish_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(policies_do_not_see_it_running),
        cmocka_unit_test(darts_gives_its_device_what_is_planned_for_another),
        cmocka_unit_test(a_lone_task_goes_to_no_idle_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
