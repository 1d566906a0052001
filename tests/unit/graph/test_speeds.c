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
    od_slowness slowness;
    unsigned speed_class[KINDS];
    double times[KINDS][DEVICES], seconds[KINDS]; /* as they are */
    double sum[KINDS];
    uint64_t runs[KINDS];
};

static double learnt(const struct world *w, unsigned kind, unsigned k)
{
    return od_slowness_of(&w->slowness, w->speed_class[kind], k);
}

/* A task whose time is off by up to the fraction `noise`. True: something has changed. */
static bool run(struct world *w, unsigned k, unsigned kind, double noise, uint64_t *seed)
{
    double off = 1 + noise * ((double)random_below(seed, 2001) / 1000 - 1);
    double seconds = w->seconds[kind] * w->times[kind][k] * off;
    bool changed = w->runs[kind] &&
                   od_speeds_note(&w->speeds, w->speed_class[kind], k, seconds, w->sum[kind] / (double)w->runs[kind]);
    w->sum[kind] += seconds / learnt(w, kind, k);
    w->runs[kind]++;
    return changed;
}

/* Devices with these speeds at all kinds, of which so many have classes. */
static struct world *make(struct world *w, const double *times, unsigned classes)
{
    *w = (struct world){.seconds = {0.001, 0.02, 0.3}};
    od_speeds_init(&w->speeds, DEVICES, &w->slowness);
    for (unsigned kind = 0; kind < classes; kind++)
        w->speed_class[kind] = od_slowness_add(&w->slowness);
    for (unsigned kind = 0; kind < KINDS; kind++)
        for (unsigned k = 0; k < DEVICES; k++) {
            assert_true(learnt(w, kind, k) >= 1 && learnt(w, kind, k) <= 1);
            w->times[kind][k] = times[k];
        }
    return w;
}

static void run_many(struct world *w, unsigned count, double noise, uint64_t *seed)
{
    for (unsigned i = 0; i < count; i++)
        run(w, random_below(seed, 3) ? (unsigned)random_below(seed, DEVICES) : 0, (unsigned)random_below(seed, KINDS),
            noise, seed);
}

/* However the tasks are spread, and though predictions began with a mean over all devices. */
static void test_learns(void **unused)
{
    static struct world w;
    (void)unused;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        uint64_t s = seed;
        double times[DEVICES] = {1, 1, 1, 1};
        for (unsigned k = 1; k < DEVICES; k++)
            times[k] = 1.8 + (double)random_below(&s, 60) / 10;
        make(&w, times, seed % (KINDS + 1));
        run_many(&w, 3000, 0.2, &s);
        for (unsigned kind = 0; kind < KINDS; kind++)
            for (unsigned k = 0; k < DEVICES; k++)
                assert_true(fabs(learnt(&w, kind, k) / times[k] - 1) < 0.25);
    }
}

/* Each kind has its own fastest device. */
static void test_learns_kinds(void **unused)
{
    static struct world w;
    (void)unused;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        uint64_t s = seed;
        make(&w, (const double[]){1, 1, 1, 1}, KINDS);
        for (unsigned kind = 0; kind < KINDS; kind++) {
            unsigned fastest = (unsigned)random_below(&s, DEVICES);
            for (unsigned k = 0; k < DEVICES; k++) /* alike, or clearly unlike */
                w.times[kind][k] =
                    k == fastest || random_below(&s, 4) == 0 ? 1 : 1.8 + (double)random_below(&s, 60) / 10;
        }
        run_many(&w, 6000, 0.2, &s);
        for (unsigned kind = 0; kind < KINDS; kind++)
            for (unsigned k = 0; k < DEVICES; k++)
                if (fabs(learnt(&w, kind, k) / w.times[kind][k] - 1) > 0.2)
                    fail_msg("seed %d: kind %u takes %g times as long on device %u, learnt is %g", (int)seed, kind,
                             w.times[kind][k], k, learnt(&w, kind, k));
    }
}

/* A device that has not run a kind is taken to be at it, beside the others, what it is at all kinds. */
static void test_few_tasks(void **unused)
{
    static struct world w;
    uint64_t s = 1;
    (void)unused;
    make(&w, (const double[]){1, 4, 1, 1}, 2);
    for (unsigned i = 0; i < 1000; i++)
        run(&w, i % DEVICES, 2, 0.1, &s); /* without a class */
    assert_true(fabs(learnt(&w, 0, 1) / 4 - 1) < 0.15);
    for (unsigned i = 0; i < 1000; i++)
        run(&w, i % 2 ? 0 : 2, 0, 0.1, &s);
    assert_true(fabs(learnt(&w, 0, 1) / 4 - 1) < 0.15 && learnt(&w, 0, 0) <= 1 && learnt(&w, 0, 2) <= 1);
    w.times[0][1] = 1;
    for (unsigned i = 0; i < 100; i++)
        run(&w, 1, 0, 0.1, &s);
    assert_true(learnt(&w, 0, 1) <= 1);
    assert_true(fabs(learnt(&w, 1, 1) / w.slowness.times[OD_SPEED_GENERAL][1] - 1) < 1e-9); /* none has run */
}

/* Tasks of one kind that take longer now and then are no slower device. */
static void test_alike(void **unused)
{
    static struct world w;
    (void)unused;
    for (uint64_t i = 0; i < 40; i++) {
        uint64_t s = i / 2;
        make(&w, (const double[]){1, 1.1, 1, 1.15}, i % 2 ? KINDS : 0);
        for (unsigned t = 0; t < 3000; t++)
            assert_false(run(&w, (unsigned)random_below(&s, DEVICES), (unsigned)random_below(&s, KINDS), 0.5, &s));
        for (unsigned kind = 0; kind < KINDS; kind++)
            for (unsigned k = 0; k < DEVICES; k++)
                assert_true(learnt(&w, kind, k) >= 1 && learnt(&w, kind, k) <= 1);
    }
}

/* It loads code. */
static void test_first_of_a_kind(void **unused)
{
    static struct world w;
    (void)unused;
    make(&w, (const double[]){1, 1, 1, 1}, 1);
    assert_false(od_speeds_note(&w.speeds, w.speed_class[0], 0, 1000, 1));
    for (unsigned i = 0; i < 400; i++)
        od_speeds_note(&w.speeds, w.speed_class[0], i % DEVICES, 1, 1);
    for (unsigned k = 0; k < DEVICES; k++)
        assert_true(learnt(&w, 0, k) <= 1);
}

/* Somebody else uses a device for a while. */
static void test_changes(void **unused)
{
    static struct world w;
    uint64_t s = 1;
    (void)unused;
    make(&w, (const double[]){1, 1, 1, 1}, 2);
    for (unsigned phase = 0; phase < 3; phase++) {
        double expected = phase == 1 ? 3 : 1;
        for (unsigned kind = 0; kind < KINDS; kind++)
            w.times[kind][2] = expected;
        for (unsigned i = 0; i < 2000; i++)
            run(&w, i % DEVICES, i % KINDS, 0.1, &s);
        for (unsigned kind = 0; kind < KINDS; kind++) {
            assert_true(fabs(learnt(&w, kind, 2) / expected - 1) < 0.2);
            assert_true(learnt(&w, kind, 0) <= 1);
        }
    }
}

/* Neither a few tasks nor very short ones say anything. */
static void test_silent(void **unused)
{
    static struct world w;
    (void)unused;
    make(&w, (const double[]){1, 1, 1, 1}, 1);
    for (unsigned c = 0; c < 2; c++) {
        for (unsigned i = 0; i < 10; i++)
            assert_false(od_speeds_note(&w.speeds, c, i % 2, i % 2 ? 0.5 : 0.1, 0.1));
        for (unsigned i = 0; i < 1000; i++)
            assert_false(od_speeds_note(&w.speeds, c, i % 2, i % 2 ? 90e-6 : 10e-6, 10e-6));
        assert_false(od_speeds_note(&w.speeds, c, 0, 0, 0));
    }
}

/* What is found is what another run begins with. */
static void test_recalls(void **unused)
{
    static struct world w, next;
    uint64_t s = 1;
    (void)unused;
    make(&w, (const double[]){1, 3, 1, 5}, KINDS);
    w.times[1][1] = 1;
    for (unsigned i = 0; i < 3000; i++)
        run(&w, i % DEVICES, (unsigned)random_below(&s, 2), 0.1, &s);
    make(&next, (const double[]){1, 3, 1, 5}, KINDS);
    for (unsigned c = 0; c < 3; c++)
        for (unsigned k = 0; k < DEVICES; k++)
            if (od_speeds_found(&w.speeds, c, k) > 0)
                od_speeds_recall(&next.speeds, c, k, od_speeds_found(&w.speeds, c, k));
    for (unsigned kind = 0; kind < KINDS; kind++)
        for (unsigned k = 0; k < DEVICES; k++)
            assert_true(fabs(learnt(&next, kind, k) / learnt(&w, kind, k) - 1) < 1e-9);
    assert_true(od_speeds_found(&w.speeds, w.speed_class[2], 0) <= 0); /* none has run */
}

/* Kinds beyond the last class are as all together. */
static void test_classes_end(void **unused)
{
    static struct world w;
    (void)unused;
    make(&w, (const double[]){1, 1, 1, 1}, 0);
    for (unsigned c = 1; c < OD_SPEED_CLASSES; c++)
        assert_int_equal(od_slowness_add(&w.slowness), c);
    assert_int_equal(od_slowness_add(&w.slowness), OD_SPEED_GENERAL);
    for (unsigned i = 0; i < 4000; i++)
        od_speeds_note(&w.speeds, i % 2 ? OD_SPEED_CLASSES - 1 : OD_SPEED_GENERAL, i / 2 % 2, i / 2 % 2 ? 4 : 1, 1);
    assert_true(fabs(od_slowness_of(&w.slowness, OD_SPEED_CLASSES - 1, 1) / 4 - 1) < 0.1);
    assert_true(fabs(od_slowness_of(&w.slowness, OD_SPEED_GENERAL, 1) / 4 - 1) < 0.1);
    assert_true(fabs(od_slowness_of(&w.slowness, 1, 1) / 4 - 1) < 0.1); /* of which none has run */
    assert_true(fabs(od_slowness_of(&w.slowness, OD_SPEED_CLASSES, 1) / 4 - 1) < 0.1);
    assert_true(od_slowness_least(&w.slowness, 1) > 3.5 && od_slowness_least(&w.slowness, 0) <= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_learns), cmocka_unit_test(test_learns_kinds),    cmocka_unit_test(test_few_tasks),
        cmocka_unit_test(test_alike),  cmocka_unit_test(test_first_of_a_kind), cmocka_unit_test(test_changes),
        cmocka_unit_test(test_silent), cmocka_unit_test(test_recalls),         cmocka_unit_test(test_classes_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
