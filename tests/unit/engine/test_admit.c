/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The guard in the engine: chains of a task that makes a datum and one that uses it, of which all first ones are ready
 * at once. Events come in random orders; what has been made and not freed stays within the bound, and all ends.
 */
#include "tests/unit/engine/plain_driver.h"
#include "tests/unit/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { SIZE = 64, CHAINS = 12, TASKS = 2 * CHAINS, MOST = 64 };

/* When the constructs that open and close regions are announced. */
typedef enum announced { AT_ONCE, WHEN_DONE, AFTER_ALL } announced;

typedef struct chain {
    od_task task[2];
    od_access access[2];
    od_submission *submission[2];
    od_banker_step enter, leave;
    unsigned done; /* enter, tasks, leave: 0 to 4 */
    bool arrived;  /* the next task is the engine's */
} chain;

typedef struct world {
    od_engine *engine;
    uint64_t now;
    od_transfer *transfer[MOST];
    od_task *started[MOST];
    unsigned ntransfers, nstarted, running_most;
    chain chain[CHAINS];
    unsigned made, made_most; /* data */
    unsigned let_go;
    size_t spill_most; /* bytes */
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
    assert_int_not_equal(place, OD_HOST);
    if (task == &((chain *)task->user)->task[0])
        w.made++;
    w.made_most = w.made > w.made_most ? w.made : w.made_most;
    w.started[w.nstarted++] = task;
    w.running_most = w.nstarted > w.running_most ? w.nstarted : w.running_most;
}

static void complete_task(void *driver, od_task *task)
{
    (void)driver;
    chain *c = task->user;
    c->done++;
    c->arrived = false;
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

static uintptr_t base_of(unsigned i)
{
    return 0x1000 * (uintptr_t)(i + 1);
}

static od_section section_of(unsigned i)
{
    return (od_section){.begin = base_of(i), .size = SIZE, .origin = base_of(i)};
}

static od_engine_config config_of(int64_t guard, const char *policy)
{
    return (od_engine_config){.ndevices = 2,
                              .memory = (size_t)SIZE * CHAINS,
                              .alignment = SIZE,
                              .buffer = 2,
                              .slots = 2,
                              .peer = true,
                              .spill = true,
                              .guard = guard,
                              .host_link = {1e9, 0},
                              .peer_link = {1e9, 0},
                              .policy = od_policy_find(policy),
                              .evict = od_evict_find("lru"),
                              .seed = 1,
                              .driver_ops = &ops};
}

static void begin_with(const od_engine_config *config)
{
    w = (world){0};
    assert_int_equal(od_engine_create(config, &w.engine), OD_OK);
}

static void begin(int64_t guard, const char *policy)
{
    od_engine_config config = config_of(guard, policy);
    begin_with(&config);
}

/* --- the program --------------------------------------------------------------------------------------- */

static void submit_task(unsigned i, unsigned t)
{
    od_level_use use = {.address = base_of(i), .write = t == 0, .overwrites = t == 0};
    w.chain[i].submission[t] = od_engine_submit(w.engine, &w, 0, 1, &use, 1);
}

static void submit(announced when)
{
    for (unsigned i = 0; i < CHAINS; i++) {
        chain *c = &w.chain[i];
        c->enter = od_engine_construct(w.engine);
        if (when == AT_ONCE)
            od_engine_construct_opens(w.engine, base_of(i), SIZE);
        submit_task(i, 0);
        submit_task(i, 1);
        c->leave = od_engine_construct(w.engine);
        if (when == AT_ONCE)
            od_engine_construct_closes(w.engine, c->leave, base_of(i));
    }
    for (unsigned i = 0; i < CHAINS && when == AFTER_ALL; i++) {
        od_engine_construct_opens(w.engine, base_of(i), SIZE);
        od_engine_construct_closes(w.engine, w.chain[i].leave, base_of(i));
    }
}

static void enter(unsigned i)
{
    od_section section = section_of(i);
    assert_int_equal(od_engine_region_open(w.engine, &section, true), OD_OK);
    od_engine_construct_done(w.engine, w.chain[i].enter);
    w.chain[i].done++;
}

static void leave(unsigned i)
{
    od_section section = section_of(i);
    od_request *request;
    w.made--;
    assert_int_equal(od_engine_region_close(w.engine, &section, false, false, &request), OD_OK);
    if (request)
        od_engine_request(w.engine, request);
    od_engine_construct_done(w.engine, w.chain[i].leave);
    w.chain[i].done++;
}

static void arrive(unsigned i)
{
    chain *c = &w.chain[i];
    unsigned t = c->done - 1;
    od_datum *d;
    assert_int_equal(od_engine_datum(w.engine, base_of(i), SIZE, &d), OD_OK);
    d->keep = true;
    c->access[t] = (od_access){.datum = d, .mode = t == 0 ? OD_WRITE : OD_READ};
    c->task[t] = (od_task){.bound = OD_NOWHERE, .duration = 1, .naccess = 1, .access = &c->access[t], .user = c};
    od_engine_unsubmit(w.engine, &c->submission[t]);
    c->task[t].submission = c->submission[t];
    c->arrived = true;
    od_engine_task_ready(w.engine, &c->task[t]);
}

/* --- events -------------------------------------------------------------------------------------------- */

static bool end_one(uint64_t *seed)
{
    unsigned n = w.ntransfers + w.nstarted;
    if (!n)
        return false;
    unsigned i = (unsigned)random_below(seed, n);
    if (i < w.ntransfers) {
        od_transfer *x = w.transfer[i];
        w.transfer[i] = w.transfer[--w.ntransfers];
        od_engine_transfer_done(w.engine, x, OD_OK);
    } else {
        i -= w.ntransfers;
        od_task *t = w.started[i];
        w.started[i] = w.started[--w.nstarted];
        od_engine_task_done(w.engine, t, OD_OK);
    }
    return true;
}

/* The program goes on somewhere. */
static bool go_on(uint64_t *seed)
{
    unsigned first = (unsigned)random_below(seed, CHAINS);
    for (unsigned k = 0; k < CHAINS; k++) {
        unsigned i = (first + k) % CHAINS;
        chain *c = &w.chain[i];
        if (c->done == 4 || c->arrived)
            continue;
        if (c->done == 0)
            enter(i);
        else if (c->done == 3)
            leave(i);
        else
            arrive(i);
        return true;
    }
    return false;
}

/* As the driver does where each thread of the program sleeps. */
static bool let_go(void)
{
    if (!od_engine_holds_all(w.engine))
        return false;
    w.let_go++;
    od_engine_let_go(w.engine);
    return true;
}

static void note_spilled(void)
{
    od_engine_stats stats;
    od_engine_stats_get(w.engine, &stats);
    w.spill_most = stats.spill_peak_bytes;
    assert_true(stats.spill_bytes <= w.spill_most);
}

static void run(uint64_t *seed)
{
    for (bool more = true; more;) {
        bool ends = random_below(seed, 2);
        more = ends ? end_one(seed) || go_on(seed) : go_on(seed) || end_one(seed);
        more = more || let_go();
        assert_true(od_engine_is_valid(w.engine));
        note_spilled();
    }
    for (unsigned i = 0; i < CHAINS; i++)
        assert_int_equal(w.chain[i].done, 4);
    assert_true(od_engine_is_idle(w.engine));
    od_engine_destroy(w.engine);
}

/* One, two or four. */
static unsigned some_devices(uint64_t *seed)
{
    return 1u << random_below(seed, 3);
}

static void test_bound(void **unused)
{
    (void)unused;
    uint64_t seed = 1;
    static const char *const policies[] = {"darts", "eager", "stationary"};
    for (unsigned i = 0; i < 1200; i++) {
        unsigned bound = 1 + (unsigned)random_below(&seed, 4);
        announced when = (announced)random_below(&seed, 3);
        od_engine_config config = config_of((int64_t)bound * SIZE, policies[i % 3]);
        config.ndevices = some_devices(&seed);
        begin_with(&config);
        submit(when);
        run(&seed);
        if (when != WHEN_DONE) /* else sizes are known too late */
            assert_in_range(w.made_most, 1, bound);
    }
}

/* Devices with little memory: what is spilled stays within its limit. */
static void test_spill_limit(void **unused)
{
    (void)unused;
    uint64_t seed = 5;
    static const char *const policies[] = {"darts", "eager", "stationary"};
    unsigned spilled = 0;
    for (unsigned i = 0; i < 1200; i++) {
        unsigned limit = 1 + (unsigned)random_below(&seed, 4);
        od_engine_config config = config_of(0, policies[i % 3]);
        config.ndevices = some_devices(&seed);
        config.memory = (size_t)SIZE * (1 + random_below(&seed, 3));
        config.spill_limit = (size_t)limit * SIZE;
        begin_with(&config);
        submit(random_below(&seed, 2) ? AT_ONCE : AFTER_ALL);
        run(&seed);
        assert_int_equal(w.let_go, 0);
        assert_in_range(w.spill_most, 0, config.spill_limit);
        spilled += w.spill_most > 0;
    }
    assert_true(spilled > 100);
}

/* Nothing may be spilled, and the program keeps more than fits: what must, is. */
static void test_spill_limit_too_small(void **unused)
{
    (void)unused;
    uint64_t seed = 6;
    od_engine_config config = config_of(0, "eager");
    config.ndevices = 1;
    config.memory = SIZE;
    config.spill_limit = 1;
    begin_with(&config);
    submit(WHEN_DONE);
    for (unsigned i = 0; i < CHAINS; i++) {
        enter(i);
        arrive(i);
        while (w.chain[i].arrived)
            assert_true(end_one(&seed) || let_go());
    }
    assert_true(w.let_go > 0);
    run(&seed);
    assert_true(w.spill_most > config.spill_limit);
}

/* The bound is all that the devices have. */
static void test_auto(void **unused)
{
    (void)unused;
    uint64_t seed = 2;
    begin(OD_GUARD_AUTO, "darts");
    submit(AT_ONCE);
    run(&seed);
    assert_true(w.running_most > 2);
}

/* What comes before a task waits for it, though nobody said so. */
static void test_stuck(void **unused)
{
    (void)unused;
    uint64_t seed = 3;
    begin(SIZE, "eager");
    submit(AT_ONCE);
    enter(1);
    arrive(1);
    assert_int_equal(w.nstarted, 0);
    assert_true(od_engine_holds_all(w.engine));
    for (unsigned i = 0; i < 8; i++)
        assert_true(od_engine_retry(w.engine));
    assert_int_equal(w.nstarted, 0);
    od_engine_let_go(w.engine);
    assert_int_equal(w.nstarted, 1);
    assert_false(od_engine_holds_all(w.engine));
    run(&seed);
}

/* Tasks that never come are not waited for. */
static void test_withdrawn(void **unused)
{
    (void)unused;
    uint64_t seed = 4;
    begin(SIZE, "eager");
    submit(AT_ONCE);
    for (unsigned t = 0; t < 2; t++) {
        od_engine_unsubmit(w.engine, &w.chain[0].submission[t]);
        od_engine_withdraw(w.engine, w.chain[0].submission[t]);
    }
    enter(0);
    w.made++;
    w.chain[0].done = 3;
    leave(0);
    run(&seed);
    assert_int_equal(w.made_most, 1);
}

/* --- tasks that need several data ----------------------------------------------------------------------- */

enum { PRODUCTS = 24, SUMS = 4, PARTS = 3 };

/* Two temporaries are made, and added to a sum that is in no region. */
typedef struct product {
    od_task task[PARTS];
    od_access access[PARTS][3];
    od_submission *submission[PARTS];
    od_banker_step enter[2], leave[2];
    unsigned entered, left, made; /* bit t: temporary t */
    unsigned arrived;             /* bit t: task t is the engine's, or has been */
    bool done;
} product;

static product products[PRODUCTS];

static uintptr_t sum_of(unsigned i)
{
    return 0x1000000 + 0x1000 * (uintptr_t)(i % SUMS);
}

static void complete_product(void *driver, od_task *task)
{
    (void)driver;
    product *p = task->user;
    unsigned t = (unsigned)(task - p->task);
    p->made |= t < 2 ? 1u << t : 0;
    p->done |= t == 2;
}

static void start_product(void *driver, od_task *task, int place)
{
    (void)driver;
    assert_int_not_equal(place, OD_HOST);
    w.started[w.nstarted++] = task;
}

static void submit_products(void)
{
    for (unsigned i = 0; i < PRODUCTS; i++) {
        product *p = &products[i];
        *p = (product){0};
        for (unsigned t = 0; t < 2; t++) {
            od_level_use use = {.address = base_of(2 * i + t), .write = true, .overwrites = true};
            p->enter[t] = od_engine_construct(w.engine);
            od_engine_construct_opens(w.engine, use.address, SIZE);
            p->submission[t] = od_engine_submit(w.engine, &w, 0, 1, &use, 1);
        }
        od_level_use uses[3] = {{.address = base_of(2 * i)}, {.address = base_of(2 * i + 1)}, {sum_of(i), true, false}};
        p->submission[2] = od_engine_submit(w.engine, &products, 0, 1, uses, 3);
        for (unsigned t = 0; t < 2; t++) {
            p->leave[t] = od_engine_construct(w.engine);
            od_engine_construct_closes(w.engine, p->leave[t], base_of(2 * i + t));
        }
    }
}

static void add_access(product *p, unsigned t, uintptr_t base, od_mode mode)
{
    od_datum *d;
    assert_int_equal(od_engine_datum(w.engine, base, SIZE, &d), OD_OK);
    d->keep = true;
    p->access[t][p->task[t].naccess++] = (od_access){.datum = d, .mode = mode};
}

static void arrive_product(unsigned i, unsigned t)
{
    product *p = &products[i];
    p->arrived |= 1u << t;
    p->task[t] = (od_task){.bound = OD_NOWHERE, .duration = 1, .access = p->access[t], .user = p};
    for (unsigned j = 0; j < 2; j++)
        if (t == 2 || t == j)
            add_access(p, t, base_of(2 * i + j), t == 2 ? OD_READ : OD_WRITE);
    if (t == 2)
        add_access(p, t, sum_of(i), OD_READ_WRITE);
    od_engine_unsubmit(w.engine, &p->submission[t]);
    p->task[t].submission = p->submission[t];
    od_engine_task_ready(w.engine, &p->task[t]);
}

static void leave_product(unsigned i, unsigned t)
{
    od_section section = section_of(2 * i + t);
    od_request *request;
    products[i].left |= 1u << t;
    assert_int_equal(od_engine_region_close(w.engine, &section, false, false, &request), OD_OK);
    if (request)
        od_engine_request(w.engine, request);
    od_engine_construct_done(w.engine, products[i].leave[t]);
}

/* The sum is free: the products before this one have been added. */
static bool may_add(unsigned i)
{
    return products[i].made == 3 && (i < SUMS || products[i - SUMS].done);
}

static bool go_on_with(unsigned i)
{
    product *p = &products[i];
    for (unsigned t = 0; t < 2; t++) {
        if (!(p->entered & 1u << t)) {
            od_section section = section_of(2 * i + t);
            p->entered |= 1u << t;
            assert_int_equal(od_engine_region_open(w.engine, &section, true), OD_OK);
            od_engine_construct_done(w.engine, p->enter[t]);
        } else if (!(p->arrived & 1u << t)) {
            arrive_product(i, t);
        } else if (p->done && !(p->left & 1u << t)) {
            leave_product(i, t);
        } else {
            continue;
        }
        return true;
    }
    if (may_add(i) && !(p->arrived & 4u)) {
        arrive_product(i, 2);
        return true;
    }
    return false;
}

static bool go_on_anywhere(uint64_t *seed)
{
    unsigned first = (unsigned)random_below(seed, PRODUCTS);
    for (unsigned k = 0; k < PRODUCTS; k++)
        if (go_on_with((first + k) % PRODUCTS))
            return true;
    return false;
}

/* The first temporaries are made when none of the larger tasks that use them is ready. */
static void test_spill_limit_of_products(void **unused)
{
    (void)unused;
    uint64_t seed = 7;
    unsigned spilled = 0;
    static const char *const policies[] = {"darts", "eager", "stationary"};
    od_driver_ops product_ops = ops;
    product_ops.complete_task = complete_product;
    product_ops.start_task = start_product;
    for (unsigned i = 0; i < 1200; i++) {
        od_engine_config config = config_of(0, policies[i % 3]);
        config.ndevices = some_devices(&seed);
        config.buffer = 1 + (unsigned)random_below(&seed, 3);
        config.slots = 1;
        config.memory = (size_t)SIZE * (3 + random_below(&seed, 3));
        config.spill_limit = (size_t)SIZE * (2 + random_below(&seed, 3));
        config.driver_ops = &product_ops;
        begin_with(&config);
        submit_products();
        for (bool more = true; more;) {
            bool ends = random_below(&seed, 2);
            more = ends ? end_one(&seed) || go_on_anywhere(&seed) : go_on_anywhere(&seed) || end_one(&seed);
            more = more || let_go();
            note_spilled();
        }
        assert_true(od_engine_is_idle(w.engine));
        assert_int_equal(w.let_go, 0);
        assert_in_range(w.spill_most, 0, config.spill_limit);
        spilled += w.spill_most > 0;
        od_engine_destroy(w.engine);
    }
    assert_true(spilled > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bound), cmocka_unit_test(test_auto),
                                       cmocka_unit_test(test_stuck), cmocka_unit_test(test_withdrawn),
                                       cmocka_unit_test(test_spill_limit),
                                       cmocka_unit_test(test_spill_limit_of_products),
                                       cmocka_unit_test(test_spill_limit_too_small)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
