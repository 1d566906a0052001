/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What slices on copies have changed: put together, told apart, and where it leads. */
#include "omp_ext/slices/gpus/apart.h"
#include "omp_ext/slices/gpus/merge.h"
#include "tests/unit/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 9000, SLICES = 3 };

typedef struct world {
    char before[MOST], after[SLICES][MOST], expected[MOST];
    size_t size;
    uintptr_t base;
} world;

static size_t below(size_t n)
{
    static uint64_t seed = 1;
    return random_below(&seed, n);
}

/* Runs of bytes at random places. With `apart` slices do not share words. True: two have changed one word. */
static bool change(world *w, bool apart)
{
    uint64_t owner[MOST / 8 + 2] = {0};
    bool clashes = false;
    for (size_t n = below(20); n > 0; n--) {
        unsigned s = (unsigned)below(SLICES);
        size_t begin = below(w->size), end = begin + 1 + below(below(8) ? 20 : w->size);
        for (size_t i = begin; i < end && i < w->size; i++) {
            size_t word = (w->base % 8 + i) / 8;
            if (apart && (owner[word] & ~(UINT64_C(1) << s)))
                continue;
            w->after[s][i] = w->expected[i] = (char)(w->before[i] + 1);
            owner[word] |= UINT64_C(1) << s;
            clashes |= (owner[word] & (owner[word] - 1)) != 0;
        }
    }
    return clashes;
}

static void make(world *w)
{
    w->size = 1 + below(below(2) ? 40 : MOST - 1);
    w->base = 4096 + below(8);
    for (size_t i = 0; i < w->size; i++)
        w->before[i] = (char)below(256);
    memcpy(w->expected, w->before, w->size);
    for (unsigned s = 0; s < SLICES; s++)
        memcpy(w->after[s], w->before, w->size);
}

static void changes_are_put_together(void **state)
{
    (void)state;
    static world w;
    for (unsigned n = 0; n < 4000; n++) {
        od_merge merge;
        bool alone = true;
        make(&w);
        bool clashes = change(&w, n % 2);
        assert_true(od_merge_begin(&merge, w.base, w.size, w.before));
        for (unsigned s = 0; s < SLICES; s++)
            alone &= od_merge_add(&merge, s, w.after[s]);
        assert_int_equal(alone, !clashes);
        if (alone)
            assert_memory_equal(merge.merged, w.expected, w.size);
        od_merge_free(&merge);
    }
}

/* A word that a slice has changed to an address, and one that was one before. */
static void addresses_are_found(void **state)
{
    (void)state;
    uint64_t before[600], after[600];
    od_merge merge;
    for (unsigned i = 0; i < 600; i++)
        before[i] = after[i] = i == 7 ? 5000 : 1;
    assert_true(od_merge_begin(&merge, 0x1000, sizeof before, (const char *)before));
    assert_false(od_merge_leads_to(&merge, (const char *)after, 4096, 8192));
    after[599] = 8192;
    assert_false(od_merge_leads_to(&merge, (const char *)after, 4096, 8192));
    after[599] = 8191;
    assert_true(od_merge_leads_to(&merge, (const char *)after, 4096, 8192));
    after[599] = 1, after[512] = 4096;
    assert_true(od_merge_leads_to(&merge, (const char *)after, 4096, 8192));
    od_merge_free(&merge);
}

/* Slices do not begin while a kernel runs, nor twice. */
static void slices_are_apart(void **state)
{
    (void)state;
    od_apart_enter();
    assert_false(od_apart_begin());
    od_apart_leave();
    assert_true(od_apart_begin());
    assert_false(od_apart_begin());
    od_apart_end();
    od_apart_enter();
    od_apart_leave();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_are_put_together),
        cmocka_unit_test(addresses_are_found),
        cmocka_unit_test(slices_are_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
