/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How fast devices are, learnt from what tasks take on them. */
#include "sched/graph/speeds.h"
#include "tests/unit/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>

enum { DEVICES = 4, KINDS = 3 };

/* Predictions as the runtime makes them: means of what tasks took, as on the fastest device. */
struct world {
    od_speeds speeds;
    double slowness[DEVICES], seconds[KINDS]; /* as they are */
    double sum[KINDS];
    uint64_t runs[KINDS];
};

/* A task whose time is off by up to the fraction `noise`. True: something has changed. */
static bool run(struct world *w, unsigned k, unsigned kind, double noise, uint64_t *seed)
{
    double off = 1 + noise * ((double)random_below(seed, 2001) / 1000 - 1);
    double seconds = w->seconds[kind] * w->slowness[k] * off;
    bool changed = w->runs[kind] && od_speeds_note(&w->speeds, k, seconds, w->sum[kind] / (double)w->runs[kind]);
    w->sum[kind] += seconds / w->speeds.slowness[k];
    w->runs[kind]++;
    return changed;
}

static struct world make(const double *slowness)
{
    struct world w = {.seconds = {0.001, 0.02, 0.3}};
    od_speeds_init(&w.speeds, DEVICES);
    for (unsigned k = 0; k < DEVICES; k++) {
        assert_true(w.speeds.slowness[k] >= 1 && w.speeds.slowness[k] <= 1);
        w.slowness[k] = slowness[k];
    }
    return w;
}

/* However the tasks are spread, and though predictions began with a mean over all devices. */
static void test_learns(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        uint64_t s = seed;
        double slowness[DEVICES] = {1, 1, 1, 1};
        for (unsigned k = 1; k < DEVICES; k++)
            slowness[k] = 1.8 + (double)random_below(&s, 60) / 10;
        struct world w = make(slowness);
        for (unsigned i = 0; i < 3000; i++)
            run(&w, random_below(&s, 3) ? (unsigned)random_below(&s, DEVICES) : 0, (unsigned)random_below(&s, KINDS),
                0.2, &s);
        for (unsigned k = 0; k < DEVICES; k++)
            assert_true(fabs(w.speeds.slowness[k] / slowness[k] - 1) < 0.25);
    }
}

/* Tasks of one kind that take longer now and then are no slower device. */
static void test_alike(void **unused)
{
    (void)unused;
    const double slowness[DEVICES] = {1, 1.1, 1, 1.15};
    for (uint64_t seed = 1; seed <= 20; seed++) {
        uint64_t s = seed;
        struct world w = make(slowness);
        for (unsigned i = 0; i < 3000; i++)
            assert_false(run(&w, (unsigned)random_below(&s, DEVICES), (unsigned)random_below(&s, KINDS), 0.5, &s));
    }
}

/* Somebody else uses a device for a while. */
static void test_changes(void **unused)
{
    (void)unused;
    const double slowness[DEVICES] = {1, 1, 1, 1};
    uint64_t s = 1;
    struct world w = make(slowness);
    for (unsigned phase = 0; phase < 3; phase++) {
        w.slowness[2] = phase == 1 ? 3 : 1;
        for (unsigned i = 0; i < 2000; i++)
            run(&w, i % DEVICES, i % KINDS, 0.1, &s);
        double expected = phase == 1 ? 3 : 1;
        assert_true(fabs(w.speeds.slowness[2] / expected - 1) < 0.2);
        assert_true(w.speeds.slowness[0] <= 1);
    }
}

/* Neither a few tasks nor very short ones say anything. */
static void test_silent(void **unused)
{
    (void)unused;
    od_speeds speeds;
    od_speeds_init(&speeds, 2);
    for (unsigned i = 0; i < 10; i++)
        assert_false(od_speeds_note(&speeds, i % 2, i % 2 ? 0.5 : 0.1, 0.1));
    for (unsigned i = 0; i < 1000; i++)
        assert_false(od_speeds_note(&speeds, i % 2, i % 2 ? 90e-6 : 10e-6, 10e-6));
    assert_false(od_speeds_note(&speeds, 0, 0, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_learns), cmocka_unit_test(test_alike),
                                       cmocka_unit_test(test_changes), cmocka_unit_test(test_silent)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
