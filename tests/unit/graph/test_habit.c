/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What tasks are expected to use whose order hangs on tokens. */
#include "tests/unit/random.h"

#include "sched/graph/known.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { TILES = 5, ARRAYS = 3, STEPS = 14 };

/* Tiles of a few arrays that take turns; their tasks depend on a token of the tile, which is no datum. */
struct world {
    od_known *known;
    od_datum datum[TILES][ARRAYS];
    char token[TILES];
    uint32_t period; /* steps after which a task uses the same again */
    od_task ready[STEPS][TILES];
    od_access access[STEPS][TILES][2];
    od_known_task *task[STEPS][TILES];
};

static const char kind[1];

static void make(struct world *w, uint32_t period)
{
    *w = (struct world){.known = od_known_create(2, NULL, NULL), .period = period};
    assert_non_null(w->known);
    for (uint32_t i = 0; i < TILES * ARRAYS; i++)
        w->datum[i / ARRAYS][i % ARRAYS] = (od_datum){.base = 4096 * (i + 1), .size = 64};
}

static void submit(struct world *w, uint32_t step, uint32_t tile)
{
    od_level_use use = {.address = (uintptr_t)&w->token[tile], .write = true};
    w->task[step][tile] = od_known_submit(w->known, kind, 0, 1, &use, 1);
    assert_non_null(w->task[step][tile]);
}

/* It reads the array of its step and writes the next one. */
static void make_ready(struct world *w, uint32_t step, uint32_t tile)
{
    od_access *access = w->access[step][tile];
    access[0] = (od_access){.datum = &w->datum[tile][step % w->period], .mode = OD_READ};
    access[1] = (od_access){.datum = &w->datum[tile][(step + 1) % w->period], .mode = OD_WRITE};
    w->ready[step][tile] = (od_task){.kind = kind, .duration = 1, .naccess = w->period > 1 ? 2 : 1, .access = access};
    w->task[step][tile] = od_known_ready(w->known, w->task[step][tile], &w->ready[step][tile]);
    assert_non_null(w->task[step][tile]);
    assert_true(od_known_is_valid(w->known));
}

static void finish(struct world *w, uint32_t step, uint32_t tile)
{
    od_known_take(w->known, w->task[step][tile]);
    od_known_done(w->known, w->task[step][tile]);
}

static void run(struct world *w, uint32_t step, uint32_t tile)
{
    make_ready(w, step, tile);
    finish(w, step, tile);
}

static void check_prediction(const struct world *w, uint32_t step, uint32_t tile)
{
    const od_known_task *task = w->task[step][tile];
    uint32_t now = step % w->period, next = (step + 1) % w->period;
    assert_int_equal(task->nuses, w->period > 1 ? 2 : 1);
    assert_int_equal(task->uses[0].item->base, w->datum[tile][now].base);
    assert_int_equal(task->uses[0].mode, OD_READ);
    if (w->period == 1)
        return;
    assert_int_equal(task->uses[1].item->base, w->datum[tile][next].base);
    assert_int_equal(task->uses[1].mode, OD_WRITE);
}

/* All steps are submitted first: once a round has been seen, the others are known, tile by tile. */
static void test_rounds(void **unused)
{
    (void)unused;
    for (uint32_t period = 1; period <= OD_HABIT_PERIOD; period++) {
        static struct world w;
        make(&w, period);
        for (uint32_t step = 0; step < STEPS; step++)
            for (uint32_t tile = 0; tile < TILES; tile++)
                submit(&w, step, tile);
        assert_int_equal(w.known->nvague, 0); /* nobody knows yet that tokens are no data */
        run(&w, 0, 0);
        assert_int_equal(w.known->nvague, (STEPS * TILES - 1) - (STEPS - 1));
        for (uint32_t i = 1; i < period * TILES; i++)
            run(&w, i / TILES, i % TILES);
        assert_int_equal(w.known->nvague, 0);
        for (uint32_t step = period; step < STEPS; step++)
            for (uint32_t tile = 0; tile < TILES; tile++)
                check_prediction(&w, step, tile);
        for (uint32_t i = period * TILES; i < STEPS * TILES; i++) {
            const od_known_task *submitted = w.task[i / TILES][i % TILES];
            assert_int_equal(submitted->before, 0); /* the order hangs on the tokens */
            if (i / TILES + 1 < STEPS)
                assert_int_equal(w.task[i / TILES + 1][i % TILES]->before, 1);
            make_ready(&w, i / TILES, i % TILES);
            assert_ptr_equal(w.task[i / TILES][i % TILES], submitted); /* as it was expected */
            finish(&w, i / TILES, i % TILES);
        }
        assert_int_equal(w.known->nitems, 0);
        od_known_destroy(w.known);
    }
}

/* Submitted when some are done, a few steps ahead, some of them planned for devices or withdrawn. */
static void test_steps_ahead(void **unused)
{
    enum { AHEAD = 3, ROUNDS = 200 };
    (void)unused;
    for (uint64_t seed = 0; seed < ROUNDS; seed++) {
        static struct world w;
        uint64_t random = seed;
        uint32_t period = 1 + (uint32_t)random_below(&random, OD_HABIT_PERIOD), expected = 0;
        make(&w, period);
        for (uint32_t step = 0; step < STEPS + AHEAD; step++)
            for (uint32_t tile = 0; tile < TILES; tile++) {
                if (step < STEPS)
                    submit(&w, step, tile);
                if (step < STEPS && random_below(&random, 4) == 0)
                    od_known_claim(w.known, w.task[step][tile], (unsigned)random_below(&random, 2));
                if (step < AHEAD)
                    continue;
                const od_known_task *submitted = w.task[step - AHEAD][tile];
                make_ready(&w, step - AHEAD, tile);
                expected += w.task[step - AHEAD][tile] == submitted;
                finish(&w, step - AHEAD, tile);
            }
        assert_true(expected >= TILES * (STEPS - 3 * OD_HABIT_PERIOD) / 2);
        assert_int_equal(w.known->nvague, 0);
        assert_int_equal(w.known->nitems, 0);
        od_known_destroy(w.known);
    }
}

/* Tasks whose depend items are what they use cost nothing: nothing is learnt of their kind. */
static void test_named_data(void **unused)
{
    (void)unused;
    static struct world w;
    make(&w, 1);
    for (uint32_t step = 0; step < STEPS; step++) {
        od_level_use use = {.address = w.datum[0][0].base, .write = step % 2};
        w.task[step][0] = od_known_submit(w.known, kind, 0, 1, &use, 1);
        run(&w, step, 0);
    }
    assert_int_equal(w.known->habits.nkinds, 0);
    assert_int_equal(w.known->habits.count, 0);
    od_known_destroy(w.known);
}

/* What no task has used yet is as large as what tasks alike have used, argument by argument, and read where they read. */
static void test_arguments(void **unused)
{
    enum { TASKS = 3, FIRST = 4096, SECOND = 1 << 20 };
    (void)unused;
    od_known *known = od_known_create(1, NULL, NULL);
    od_datum datum[2] = {{.base = FIRST, .size = 100}, {.base = SECOND, .size = 7000}};
    od_access access[2] = {{.datum = &datum[1], .mode = OD_WRITE}, {.datum = &datum[0], .mode = OD_READ}};
    od_task ready = {.kind = kind, .duration = 1, .naccess = 2, .access = access};
    od_known_task *task[TASKS];
    assert_non_null(known);
    for (uint32_t i = 0; i < TASKS; i++) {
        od_level_use use[2] = {{.address = FIRST + i}, {.address = SECOND + i, .write = true}};
        task[i] = od_known_submit(known, i < 2 ? kind : "another", 0, 1, use, 2);
        assert_non_null(task[i]);
    }
    task[0] = od_known_ready(known, task[0], &ready); /* whose accesses are in another order */
    od_known_predict(known);
    assert_int_equal(od_known_find(known, FIRST + 1)->size, 100);
    assert_int_equal(od_known_find(known, SECOND + 1)->size, 7000);
    assert_int_equal(od_known_find(known, SECOND + 2)->size, 0); /* nothing is known of its kind */
    assert_int_equal(task[1]->uses[0].mode, OD_READ);
    assert_int_equal(task[1]->uses[1].mode, OD_WRITE);
    assert_int_equal(task[2]->uses[1].mode, OD_READ_WRITE);
    od_known_destroy(known);
}

/* Never the same data: the next prediction is wrong, and all goes on. */
static void test_irregular(void **unused)
{
    (void)unused;
    static struct world w;
    uint64_t random = 1;
    make(&w, ARRAYS);
    for (uint32_t step = 0; step < STEPS; step++)
        submit(&w, step, 0);
    for (uint32_t step = 0; step < STEPS; step++) {
        od_access *access = w.access[step][0];
        access[0] = (od_access){.datum = &w.datum[random_below(&random, TILES)][step % ARRAYS], .mode = OD_READ_WRITE};
        w.ready[step][0] = (od_task){.kind = kind, .duration = 1, .naccess = 1, .access = access};
        w.task[step][0] = od_known_ready(w.known, w.task[step][0], &w.ready[step][0]);
        assert_int_equal(w.task[step][0]->uses[0].item->base, access[0].datum->base);
        assert_true(od_known_is_valid(w.known));
        finish(&w, step, 0);
    }
    od_known_destroy(w.known);
}

/* Tokens that never come again: those that do are known at the end. */
static void test_many(void **unused)
{
    enum { MANY = 200000, OFTEN = 1000, MOST = 1 << 16 };
    (void)unused;
    od_datum datum = {.base = 16, .size = 8};
    od_known *known = od_known_create(1, NULL, NULL);
    od_access access = {.datum = &datum, .mode = OD_READ};
    assert_non_null(known);
    for (uint32_t i = 0; i < MANY; i++) {
        od_level_use use = {.address = i % OFTEN ? 4096 + i : 64, .write = true};
        od_task ready = {.kind = kind, .duration = 1, .naccess = 1, .access = &access};
        od_known_task *task = od_known_submit(known, kind, 0, 1, &use, 1);
        assert_non_null(task);
        if (i % OFTEN == 0 && i > OFTEN)
            assert_int_equal(task->uses[0].item->base, datum.base);
        task = od_known_ready(known, task, &ready);
        assert_non_null(task);
        od_known_take(known, task);
        od_known_done(known, task);
        assert_in_range(known->habits.count, 0, MOST);
    }
    od_known_destroy(known);
}

/* Tasks that wait when all ends. */
static void test_destroy(void **unused)
{
    (void)unused;
    static struct world w;
    make(&w, 2);
    for (uint32_t i = 0; i < 4 * TILES; i++)
        submit(&w, i / TILES, i % TILES);
    for (uint32_t i = 0; i < 2 * TILES; i++)
        run(&w, i / TILES, i % TILES);
    od_known_done(w.known, w.task[2][0]); /* withdrawn */
    assert_true(od_known_is_valid(w.known));
    od_known_destroy(w.known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rounds),    cmocka_unit_test(test_steps_ahead), cmocka_unit_test(test_named_data),
        cmocka_unit_test(test_arguments), cmocka_unit_test(test_irregular),   cmocka_unit_test(test_destroy),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
