/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Pinned ranges while the driver is at work for one thread: the others wait for its answer, and copy nothing through
 * buffers. The driver is a stand-in that answers when the test says so, and counts pages pinned twice. */
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

/* A pin of the first page that serves so many copies. */
static void serve(od_pins *pins, unsigned copies)
{
    assert_null(od_pins_find(pins, base, base + OD_PAGE));
    od_pin *pin = od_pins_acquire(pins, base, base + OD_PAGE);
    assert_non_null(pin);
    od_pins_release(pins, pin);
    for (unsigned i = 1; i < copies; i++) {
        assert_ptr_equal(od_pins_find(pins, base, base + OD_PAGE), pin);
        od_pins_release(pins, pin);
    }
    od_pins_release_range(pins, base, 1);
    od_pins_reclaim(pins);
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

/* --- two threads, one range ------------------------------------------------------ */

typedef struct copier {
    od_pins *pins;
    pthread_t thread;
    atomic_bool begun;
    od_pin *pin;
} copier;

static void *acquire(void *arg)
{
    copier *c = arg;
    atomic_store(&c->begun, true);
    c->pin = od_pins_acquire(c->pins, base, base + (uintptr_t)2 * OD_PAGE);
    return NULL;
}

static void *reclaim(void *arg)
{
    od_pins_reclaim(((copier *)arg)->pins);
    return NULL;
}

static void start(copier *c, od_pins *pins, void *(*work)(void *))
{
    *c = (copier){.pins = pins};
    assert_int_equal(pthread_create(&c->thread, NULL, work, c), 0);
}

static void let_driver_answer(copier *first, copier *second)
{
    while (!atomic_load(&second->begun))
        sched_yield();
    for (int i = 0; i < PATIENCE; i++)
        sched_yield();
    atomic_store(&driver.answers, true);
    pthread_join(first->thread, NULL);
    pthread_join(second->thread, NULL);
}

static void await_inside(void)
{
    while (!atomic_load(&driver.inside))
        sched_yield();
}

static void test_range_being_pinned(void **state)
{
    (void)state;
    od_pins pins = make_pins();
    copier first, second;
    atomic_store(&driver.answers, false);
    start(&first, &pins, acquire);
    await_inside();
    start(&second, &pins, acquire);
    let_driver_answer(&first, &second);
    assert_non_null(first.pin);
    assert_ptr_equal(first.pin, second.pin);
    od_pins_release(&pins, first.pin);
    od_pins_release(&pins, second.pin);
    end_pins(&pins);
}

static void test_range_being_unpinned(void **state)
{
    (void)state;
    od_pins pins = make_pins();
    copier first, second;
    od_pins_release(&pins, od_pins_acquire(&pins, base, base + (uintptr_t)2 * OD_PAGE));
    od_pins_release_range(&pins, base, 1);
    atomic_store(&driver.answers, false);
    start(&first, &pins, reclaim);
    await_inside();
    start(&second, &pins, acquire);
    let_driver_answer(&first, &second);
    assert_non_null(second.pin);
    assert_false(second.pin->stale);
    od_pins_release(&pins, second.pin);
    end_pins(&pins);
}

/* --- many threads, any ranges ------------------------------------------------------ */

enum { THREADS = 4, ROUNDS = 4000 };

typedef struct player {
    od_pins *pins;
    pthread_t thread;
    uint64_t seed;
} player;

/* What is pinned for it stays pinned until it is released. */
static void use(od_pins *pins, uintptr_t begin, uintptr_t end)
{
    od_pin *pin = od_pins_acquire(pins, begin, end);
    if (!pin)
        return;
    for (size_t page = page_of(begin); page < page_of(end); page++)
        if (!atomic_load(&driver.pinned[page]))
            atomic_fetch_add(&driver.misuses, 1);
    sched_yield();
    od_pins_release(pins, pin);
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
    for (unsigned i = 0; i < THREADS; i++) {
        players[i] = (player){.pins = &pins, .seed = i + 1};
        assert_int_equal(pthread_create(&players[i].thread, NULL, play, &players[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(players[i].thread, NULL);
    end_pins(&pins);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_pays_is_pinned),
        cmocka_unit_test(test_range_being_pinned),
        cmocka_unit_test(test_range_being_unpinned),
        cmocka_unit_test(test_many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
