/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Pinned ranges, and what becomes of them while the driver is at work for the thread that pins. The driver is a
 * stand-in that answers when the test says so, and counts pages pinned twice. */
#include "memmgr/device/cuda/pins.h"

#include "tests/unit/random.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { PAGES = 12, PATIENCE = 2000 /* times the processor is given up for another thread to get on */ };

static const uintptr_t base = (uintptr_t)OD_PAGE << 20;

/* --- the driver --------------------------------------------------------------- */

static struct {
    atomic_bool answers; /* else its callers stay in it */
    atomic_uint inside, misuses;
    atomic_bool pinned[PAGES];
    uintptr_t end[PAGES]; /* of what was pinned at once, by its first page */
} driver;

static size_t page_of(uintptr_t address)
{
    return (address - base) / OD_PAGE;
}

static void await_answer(void)
{
    atomic_fetch_add(&driver.inside, 1);
    while (!atomic_load(&driver.answers))
        sched_yield();
    atomic_fetch_sub(&driver.inside, 1);
}

static void mark(uintptr_t begin, uintptr_t end, bool pinned)
{
    for (size_t page = page_of(begin); page < page_of(end); page++)
        if (atomic_exchange(&driver.pinned[page], pinned) == pinned)
            atomic_fetch_add(&driver.misuses, 1);
}

static od_cu_result host_register(void *address, size_t bytes, unsigned flags)
{
    (void)flags;
    uintptr_t begin = (uintptr_t)address;
    mark(begin, begin + bytes, true);
    driver.end[page_of(begin)] = begin + bytes;
    await_answer();
    return OD_CU_SUCCESS;
}

static od_cu_result host_unregister(void *address)
{
    await_answer();
    mark((uintptr_t)address, driver.end[page_of((uintptr_t)address)], false);
    return OD_CU_SUCCESS;
}

static od_cu_result pointer_attribute(void *data, int attribute, od_cu_address address)
{
    (void)data, (void)attribute, (void)address;
    return OD_CU_INVALID_VALUE; /* nothing was pinned by the program */
}

static const od_cu_driver functions = {
    .host_register = host_register, .host_unregister = host_unregister, .pointer_attribute = pointer_attribute};

static od_pins make_pins_of(unsigned first)
{
    od_pins pins;
    atomic_store(&driver.misuses, 0);
    atomic_store(&driver.answers, true);
    assert_int_equal(od_pins_init(&pins, &functions, (size_t)PAGES * OD_PAGE, first), OD_OK);
    return pins;
}

static od_pins make_pins(void)
{
    return make_pins_of(1);
}

static void end_pins(od_pins *pins)
{
    atomic_store(&driver.answers, true);
    od_pins_destroy(pins);
    assert_int_equal(atomic_load(&driver.misuses), 0);
    for (size_t page = 0; page < PAGES; page++)
        assert_false(atomic_load(&driver.pinned[page]));
}

/* --- when a range is pinned -------------------------------------------------------- */

/* How many transfers until the range at `begin` is due. */
static unsigned crossings(od_pins *pins, uintptr_t begin)
{
    unsigned n = 1;
    while (!od_pins_is_due(pins, begin, true))
        n++;
    return n;
}

static void pin(od_pins *pins, uintptr_t begin, uintptr_t end)
{
    assert_null(od_pins_find(pins, begin, end));
    assert_true(od_pins_want(pins, begin, end, true));
    od_pins_work(pins);
}

static void unpin(od_pins *pins, uintptr_t begin)
{
    od_pins_release_range(pins, begin, 1);
    assert_null(od_pins_find(pins, begin, begin + OD_PAGE));
    od_pins_work(pins);
}

/* A pin of the first page that serves so many copies. */
static void serve(od_pins *pins, unsigned copies)
{
    pin(pins, base, base + OD_PAGE);
    for (unsigned i = 0; i < copies; i++) {
        od_pin *found = od_pins_find(pins, base, base + OD_PAGE);
        assert_non_null(found);
        od_pins_release(pins, found);
    }
    unpin(pins, base);
    assert_null(od_pins_find(pins, base, base + OD_PAGE));
}

static void test_what_pays_is_pinned(void **state)
{
    (void)state;
    od_pins pins = make_pins_of(2);
    for (int i = 0; i < 3; i++)
        assert_false(od_pins_is_due(&pins, base, false));
    assert_int_equal(crossings(&pins, base), 2);
    serve(&pins, 2); /* as in a loop with a synchronisation point */
    assert_int_equal(crossings(&pins, base), 8);
    serve(&pins, 2);
    assert_int_equal(crossings(&pins, base), 16);
    for (int i = 0; i < 4; i++) {
        serve(&pins, 1);
        assert_true(crossings(&pins, base) <= 64);
    }
    serve(&pins, 8);
    assert_int_equal(crossings(&pins, base), 2);
    for (uintptr_t i = 1; i < 100000; i++) /* more than are remembered */
        assert_false(od_pins_is_due(&pins, base + i * OD_PAGE, true));
    assert_int_equal(crossings(&pins, base + (uintptr_t)99999 * OD_PAGE), 1);
    end_pins(&pins);
}

/* --- what is not done yet --------------------------------------------------------- */

static void test_wanted_is_not_there(void **state)
{
    (void)state;
    const uintptr_t end = base + (uintptr_t)2 * OD_PAGE, budget_end = base + (uintptr_t)PAGES * OD_PAGE;
    od_pins pins = make_pins();
    assert_true(od_pins_want(&pins, base, end, false));
    assert_null(pins.wanted);
    assert_true(od_pins_want(&pins, base, end, true) && od_pins_want(&pins, base, end, true));
    assert_null(od_pins_find(&pins, base, end));
    assert_false(od_pins_want(&pins, end, budget_end + OD_PAGE, true)); /* too much, with what is only wanted */
    od_pins_release_range(&pins, base, 1);                              /* before it has been pinned: it never is */
    od_pins_work(&pins);
    od_pins_work(&pins);
    assert_false(atomic_load(&driver.pinned[0]));
    pin(&pins, base, budget_end);
    od_pin *found = od_pins_find(&pins, end, budget_end);
    assert_non_null(found);
    assert_true(od_pins_want(&pins, base, end, true)); /* there is one around it */
    od_pins_release_range(&pins, base, 1);
    od_pins_work(&pins);
    assert_true(atomic_load(&driver.pinned[0])); /* a copy uses it */
    od_pins_release(&pins, found);
    od_pins_work(&pins);
    assert_false(atomic_load(&driver.pinned[0]));
    end_pins(&pins);
}

static size_t memory;

static size_t budget_now(void)
{
    return memory;
}

/* A machine gets more memory, gives some back, and has as much as before. */
static void test_memory_grows(void **state)
{
    (void)state;
    const uintptr_t middle = base + (uintptr_t)PAGES / 2 * OD_PAGE, end = base + (uintptr_t)PAGES * OD_PAGE;
    od_pins pins = make_pins();
    pins.budget_now = budget_now;
    pins.budget = memory = (size_t)PAGES / 2 * OD_PAGE;
    assert_true(od_pins_want(&pins, base, middle, true));
    assert_false(od_pins_want(&pins, middle, end, true));
    memory = (size_t)PAGES * OD_PAGE;
    assert_true(od_pins_want(&pins, middle, end, true));
    memory /= 4;
    assert_false(od_pins_want(&pins, end, end + OD_PAGE, true));
    assert_int_equal(pins.budget, PAGES * OD_PAGE);
    end_pins(&pins);
}

/* --- a thread in the driver ------------------------------------------------------ */

typedef struct helper {
    od_pins *pins;
    pthread_t thread;
    atomic_bool ended;
} helper;

static void *work(void *arg)
{
    od_pins_work(((helper *)arg)->pins);
    return NULL;
}

static void *reclaim(void *arg)
{
    helper *h = arg;
    od_pins_reclaim(h->pins);
    atomic_store(&h->ended, true);
    return NULL;
}

static void start(helper *h, od_pins *pins, void *(*function)(void *))
{
    *h = (helper){.pins = pins};
    assert_int_equal(pthread_create(&h->thread, NULL, function, h), 0);
}

static void start_in_driver(helper *h, od_pins *pins)
{
    atomic_store(&driver.answers, false);
    start(h, pins, work);
    while (!atomic_load(&driver.inside))
        sched_yield();
}

static void let_driver_answer(helper *h)
{
    atomic_store(&driver.answers, true);
    pthread_join(h->thread, NULL);
}

/* Copies do not wait for the driver. What is let go meanwhile is not pinned in the end. */
static void test_range_being_pinned(void **state)
{
    (void)state;
    for (int let_go = 0; let_go <= 1; let_go++) {
        od_pins pins = make_pins();
        helper pinner;
        assert_true(od_pins_want(&pins, base, base + OD_PAGE, true));
        start_in_driver(&pinner, &pins);
        assert_null(od_pins_find(&pins, base, base + OD_PAGE));
        assert_true(od_pins_want(&pins, base, base + OD_PAGE, true));
        if (let_go)
            od_pins_release_range(&pins, base, 1);
        let_driver_answer(&pinner);
        assert_int_equal(atomic_load(&driver.pinned[0]), !let_go);
        end_pins(&pins);
    }
}

/* Whoever goes on with the memory waits for it. */
static void test_range_being_unpinned(void **state)
{
    (void)state;
    od_pins pins = make_pins();
    helper pinner, program;
    pin(&pins, base, base + OD_PAGE);
    od_pins_release_range(&pins, base, 1);
    start_in_driver(&pinner, &pins);
    assert_null(od_pins_find(&pins, base, base + OD_PAGE));
    start(&program, &pins, reclaim);
    for (int i = 0; i < PATIENCE; i++)
        sched_yield();
    assert_false(atomic_load(&program.ended));
    let_driver_answer(&pinner);
    pthread_join(program.thread, NULL);
    assert_false(atomic_load(&driver.pinned[0]));
    end_pins(&pins);
}

/* --- many threads, any ranges ------------------------------------------------------ */

enum { THREADS = 4, ROUNDS = 4000 };

typedef struct player {
    od_pins *pins;
    pthread_t thread;
    uint64_t seed;
} player;

/* What is found pinned stays so until it is released. */
static void use(od_pins *pins, uintptr_t begin, uintptr_t end)
{
    od_pin *found = od_pins_find(pins, begin, end);
    if (!found) {
        od_pins_want(pins, begin, end, true);
        return;
    }
    for (size_t page = page_of(begin); page < page_of(end); page++)
        if (!atomic_load(&driver.pinned[page]))
            atomic_fetch_add(&driver.misuses, 1);
    sched_yield();
    od_pins_release(pins, found);
}

static void *work_on(void *arg)
{
    helper *h = arg;
    while (od_pins_await_work(h->pins))
        od_pins_work(h->pins);
    return NULL;
}

static void *play(void *arg)
{
    player *p = arg;
    for (int i = 0; i < ROUNDS; i++) {
        size_t first = random_below(&p->seed, PAGES), n = 1 + random_below(&p->seed, PAGES - first);
        uintptr_t begin = base + first * OD_PAGE;
        switch (random_below(&p->seed, 4)) {
        case 0:
            od_pins_release_range(p->pins, begin, n * OD_PAGE);
            break;
        case 1:
            od_pins_reclaim(p->pins);
            break;
        default:
            use(p->pins, begin, begin + n * OD_PAGE);
        }
    }
    return NULL;
}

static void test_many_threads(void **state)
{
    (void)state;
    od_pins pins = make_pins();
    player players[THREADS];
    helper pinner;
    start(&pinner, &pins, work_on);
    for (unsigned i = 0; i < THREADS; i++) {
        players[i] = (player){.pins = &pins, .seed = i + 1};
        assert_int_equal(pthread_create(&players[i].thread, NULL, play, &players[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(players[i].thread, NULL);
    od_pins_close(&pins);
    pthread_join(pinner.thread, NULL);
    end_pins(&pins);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_pays_is_pinned), cmocka_unit_test(test_wanted_is_not_there),
        cmocka_unit_test(test_range_being_pinned),  cmocka_unit_test(test_range_being_unpinned),
        cmocka_unit_test(test_many_threads),        cmocka_unit_test(test_memory_grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
