/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What scheduling costs: od_engine_stats.sched_ns counts all calls of the policy and the eviction rule, and nothing
 * else. A clock that only these calls move says how much that is. Hooks that a policy leaves out are not called.
 */
#include "sched/engine/engine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { SIZE = 64, TASKS = 6, DATA = 3 };

enum { READY, POP, INCOMING, EVICTED, STARTED, DONE, FORGET, VICTIM, HOOKS };

static struct {
    od_engine *engine;
    uint64_t cost; /* the clock of scheduling */
    unsigned calls[HOOKS];
    od_list queue;
    od_list transfers; /* od_transfer.node */
    od_list running;   /* od_task.link */
} w;

static void called(int hook)
{
    w.calls[hook]++;
    w.cost += UINT64_C(1) << (8 * hook);
}

/* --- a policy with all hooks -------------------------------------------------------------- */

static od_status create(const od_policy_env *env, void **state)
{
    (void)env;
    od_list_init(&w.queue);
    *state = &w;
    return OD_OK;
}

static void destroy(void *state)
{
    (void)state;
}

static od_status ready(void *state, od_task *task)
{
    (void)state;
    called(READY);
    od_list_push_back(&w.queue, &task->link);
    return OD_OK;
}

static od_task *pop(void *state, unsigned k)
{
    (void)state;
    (void)k;
    called(POP);
    od_node *node = od_list_pop_front(&w.queue);
    return node ? od_container_of(node, od_task, link) : NULL;
}

static void incoming(void *state, od_datum *datum, unsigned k)
{
    (void)state;
    (void)datum;
    (void)k;
    called(INCOMING);
}

static void evicted(void *state, od_datum *datum, unsigned k)
{
    (void)state;
    (void)datum;
    (void)k;
    called(EVICTED);
}

static void started(void *state, od_task *task, unsigned k)
{
    (void)state;
    (void)task;
    (void)k;
    called(STARTED);
}

static void done(void *state, od_task *task, unsigned k)
{
    (void)state;
    (void)task;
    (void)k;
    called(DONE);
}

static void forget(void *state, od_datum *datum)
{
    (void)state;
    (void)datum;
    called(FORGET);
}

static od_replica *victim(const od_evict_query *query)
{
    called(VICTIM);
    return od_evict_find("lru")->victim(query);
}

static const od_policy_ops all = {.interface_version = OD_POLICY_INTERFACE,
                                  .name = "all",
                                  .create = create,
                                  .destroy = destroy,
                                  .ready = ready,
                                  .pop = pop,
                                  .incoming = incoming,
                                  .evicted = evicted,
                                  .started = started,
                                  .done = done,
                                  .forget = forget};
static const od_policy_ops least = {.interface_version = OD_POLICY_INTERFACE,
                                    .name = "least",
                                    .create = create,
                                    .destroy = destroy,
                                    .ready = ready,
                                    .pop = pop};
static const od_evict_ops rule = {.interface_version = OD_EVICT_INTERFACE, .name = "rule", .victim = victim};

/* --- the driver ----------------------------------------------------------------------------- */

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
}

static void complete_request(void *driver, od_request *request)
{
    (void)driver;
    od_request_destroy(request);
}

static uint64_t now_ns(void *driver)
{
    (void)driver;
    return 0;
}

static uint64_t cost_ns(void *driver)
{
    (void)driver;
    return w.cost;
}

static void fatal(void *driver, const char *message)
{
    (void)driver;
    fail_msg("%s", message);
}

static const od_driver_ops ops = {.start_transfer = start_transfer,
                                  .start_task = start_task,
                                  .complete_task = complete_task,
                                  .complete_request = complete_request,
                                  .now_ns = now_ns,
                                  .cost_ns = cost_ns,
                                  .fatal = fatal};

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

/* Tasks that read one datum each, in turn, on a device with room for two; then another way to divide the data. */
static uint64_t run(const od_policy_ops *policy)
{
    static od_task task[TASKS];
    static od_access access[TASKS];
    od_engine_config config = {.ndevices = 1,
                               .memory = 2 * SIZE,
                               .alignment = 1,
                               .buffer = 1,
                               .slots = 1,
                               .host_link = {1e9, 1e-6},
                               .policy = policy,
                               .evict = &rule,
                               .driver_ops = &ops};
    od_engine_stats stats;
    od_datum *d;
    memset(&w, 0, sizeof w);
    od_list_init(&w.transfers);
    od_list_init(&w.running);
    assert_int_equal(od_engine_create(&config, &w.engine), OD_OK);
    od_engine_hold(w.engine);
    for (unsigned t = 0; t < TASKS; t++) {
        assert_int_equal(od_engine_datum(w.engine, 0x1000 + SIZE * (t % DATA), SIZE, &d), OD_OK);
        d->keep = true;
        access[t] = (od_access){.datum = d, .mode = OD_READ};
        task[t] = (od_task){.bound = OD_NOWHERE, .duration = 1, .naccess = 1, .access = &access[t]};
        od_engine_task_ready(w.engine, &task[t]);
    }
    od_engine_resume(w.engine);
    drive();
    assert_int_equal(od_engine_datum(w.engine, 0x1000, DATA * SIZE, &d), OD_OK);
    od_engine_release(w.engine, d);
    od_engine_stats_get(w.engine, &stats);
    assert_int_equal(stats.tasks, TASKS);
    od_engine_destroy(w.engine);
    return stats.sched_ns;
}

static void test_every_hook_is_counted(void **state)
{
    (void)state;
    assert_true(run(&all) == w.cost);
    for (int hook = 0; hook < HOOKS; hook++)
        assert_in_range(w.calls[hook], 1, 255); /* a byte of the clock each */
    assert_int_equal(w.calls[READY], TASKS);
    assert_int_equal(w.calls[STARTED], TASKS);
    assert_int_equal(w.calls[DONE], TASKS);
    assert_int_equal(w.calls[INCOMING], w.calls[EVICTED]);
    assert_int_equal(w.calls[FORGET], DATA);
}

static void test_hooks_may_be_left_out(void **state)
{
    (void)state;
    assert_true(run(&least) == w.cost);
    assert_int_equal(w.calls[READY], TASKS);
    assert_int_equal(w.calls[INCOMING] + w.calls[EVICTED] + w.calls[STARTED] + w.calls[DONE] + w.calls[FORGET], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_hook_is_counted),
        cmocka_unit_test(test_hooks_may_be_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
