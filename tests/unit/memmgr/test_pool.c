/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Pool: random sequences against a map of every unit of memory, and the edge cases.
 */
#include "memmgr/data/pool.h"

#include "tests/unit/random.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { UNIT = 64, UNITS = 256, STEPS = 4000 };

/* The naive pool: who owns each unit of memory (0: nobody, else a block's serial number). */
typedef struct model {
    unsigned owner[UNITS];
} model;

typedef struct taken_block {
    size_t offset, units;
    unsigned serial;
} taken_block;

/* Length of the longest run of free units. */
static size_t model_longest(const model *m)
{
    size_t longest = 0, run = 0;
    for (size_t i = 0; i < UNITS; i++) {
        run = m->owner[i] ? 0 : run + 1;
        if (run > longest)
            longest = run;
    }
    return longest;
}

/* Length of the free run that begins at unit `i`. */
static size_t model_run(const model *m, size_t i)
{
    size_t run = 0;
    while (i + run < UNITS && !m->owner[i + run])
        run++;
    return run;
}

/* Length of the shortest maximal free run that holds `units`. */
static size_t model_best_fit(const model *m, size_t units)
{
    size_t best = UNITS + 1;
    for (size_t i = 0; i < UNITS; i++) {
        size_t run = model_run(m, i);
        if (run >= units && run < best)
            best = run;
        i += run;
    }
    return best;
}

static size_t model_used(const model *m)
{
    size_t used = 0;
    for (size_t i = 0; i < UNITS; i++)
        used += m->owner[i] != 0;
    return used;
}

static void model_take(model *m, const taken_block *b)
{
    for (size_t i = 0; i < b->units; i++) {
        assert_int_equal(m->owner[b->offset / UNIT + i], 0);
        m->owner[b->offset / UNIT + i] = b->serial;
    }
}

static void model_give_back(model *m, const taken_block *b)
{
    for (size_t i = 0; i < b->units; i++) {
        assert_int_equal(m->owner[b->offset / UNIT + i], b->serial);
        m->owner[b->offset / UNIT + i] = 0;
    }
}

static void check_against(const od_pool *pool, const model *m)
{
    assert_true(od_pool_is_valid(pool));
    assert_int_equal(od_pool_used(pool), model_used(m) * UNIT);
    assert_int_equal(od_pool_largest_free(pool), model_longest(m) * UNIT);
    assert_true(od_pool_used(pool) <= od_pool_capacity(pool));
}

/* One allocation of a random size; returns whether it succeeded, which the model knows. */
static bool alloc_one(od_pool *pool, model *m, uint64_t *random, taken_block *b)
{
    size_t size = (size_t)random_below(random, random_below(random, 8) ? 10 * UNIT : 60 * UNIT);
    b->units = od_pool_rounded(pool, size) / UNIT;
    size_t best = model_best_fit(m, b->units);
    bool fits = model_longest(m) >= b->units;

    od_status status = od_pool_alloc(pool, size, &b->offset);
    assert_int_equal(status, fits ? OD_OK : OD_EFULL);
    if (status)
        return false;
    assert_int_equal(b->offset % UNIT, 0);
    assert_true(b->offset + size <= od_pool_capacity(pool));
    assert_int_equal(model_run(m, b->offset / UNIT), best);
    model_take(m, b);
    return true;
}

enum { ALIGNED = 4 }; /* units */

/* Length of the shortest maximal free run that holds so many units at a multiple of ALIGNED, or UNITS + 1. */
static size_t model_best_aligned_fit(const model *m, size_t units)
{
    size_t best = UNITS + 1;
    for (size_t i = 0; i < UNITS; i++) {
        size_t run = model_run(m, i), end = (i + run) / ALIGNED * ALIGNED;
        if (end >= i + units && run < best)
            best = run;
        i += run;
    }
    return best;
}

static bool alloc_aligned(od_pool *pool, model *m, uint64_t *random, taken_block *b)
{
    b->units = ALIGNED * (1 + (size_t)random_below(random, 6));
    size_t best = model_best_aligned_fit(m, b->units);

    od_status status = od_pool_alloc_aligned(pool, b->units * UNIT, ALIGNED * UNIT, &b->offset);
    assert_int_equal(status, best <= UNITS ? OD_OK : OD_EFULL);
    if (status)
        return false;
    assert_int_equal(b->offset % (ALIGNED * UNIT), 0);
    size_t first = b->offset / UNIT, begin = first;
    while (begin && !m->owner[begin - 1])
        begin--;
    size_t run = model_run(m, begin);
    assert_int_equal(run, best);
    assert_int_equal(first + b->units, (begin + run) / ALIGNED * ALIGNED); /* as far behind as possible */
    model_take(m, b);
    return true;
}

static void fuzz(uint64_t seed)
{
    uint64_t random = seed;
    model m = {0};
    taken_block taken[UNITS];
    size_t ntaken = 0, peak = 0;
    od_pool *pool = od_pool_create(UNITS * UNIT + UNIT / 2, UNIT);
    assert_non_null(pool);

    for (unsigned step = 1; step <= STEPS; step++) {
        bool grow = random_below(&random, 100) < (step / 500 % 2 ? 40u : 65u);
        if (grow || ntaken == 0) {
            taken[ntaken].serial = step;
            bool aligned = seed % 2 && random_below(&random, 3) == 0;
            ntaken += aligned ? alloc_aligned(pool, &m, &random, &taken[ntaken])
                              : alloc_one(pool, &m, &random, &taken[ntaken]);
        } else {
            size_t i = (size_t)random_below(&random, ntaken);
            od_pool_free(pool, taken[i].offset);
            model_give_back(&m, &taken[i]);
            taken[i] = taken[--ntaken];
        }
        check_against(pool, &m);
        peak = model_used(&m) * UNIT > peak ? model_used(&m) * UNIT : peak;
        assert_int_equal(od_pool_peak(pool), peak);
    }
    while (ntaken)
        od_pool_free(pool, taken[--ntaken].offset);
    assert_true(od_pool_is_valid(pool));
    assert_int_equal(od_pool_largest_free(pool), UNITS * UNIT);
    od_pool_destroy(pool);
}

static void test_random_sequences(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++)
        fuzz(seed);
}

/* An empty pool packs any sequence whose rounded sum is at most the capacity. */
static void test_empty_pool_packs(void **state)
{
    (void)state;
    uint64_t random = 7;
    od_pool *pool = od_pool_create(1 << 20, 256);
    assert_non_null(pool);
    for (int round = 0; round < 50; round++) {
        size_t offsets[8192], n = 0, left = od_pool_capacity(pool);
        while (left) {
            size_t size = (size_t)random_below(&random, 20000);
            if (od_pool_rounded(pool, size) > left)
                size = left;
            assert_int_equal(od_pool_alloc(pool, size, &offsets[n++]), OD_OK);
            left -= od_pool_rounded(pool, size);
        }
        assert_int_equal(od_pool_used(pool), od_pool_capacity(pool));
        size_t none;
        assert_int_equal(od_pool_alloc(pool, 0, &none), OD_EFULL);
        assert_true(od_pool_is_valid(pool));
        while (n) {
            size_t i = (size_t)random_below(&random, n);
            od_pool_free(pool, offsets[i]);
            offsets[i] = offsets[--n];
        }
        assert_int_equal(od_pool_used(pool), 0);
        assert_true(od_pool_is_valid(pool));
    }
    od_pool_destroy(pool);
}

/* Aligned blocks and others fill an empty pool in whatever order they come. */
static void test_empty_pool_packs_both_kinds(void **state)
{
    enum { CAPACITY = 64 * ALIGNED * UNIT };
    (void)state;
    uint64_t random = 11;
    for (int round = 0; round < 200; round++) {
        od_pool *pool = od_pool_create(CAPACITY, UNIT);
        size_t left = CAPACITY, offset;
        while (left) {
            size_t size = UNIT * (1 + (size_t)random_below(&random, 3 * ALIGNED));
            bool aligned = random_below(&random, 2) && left >= ALIGNED * UNIT;
            if (aligned)
                size = (size + ALIGNED * UNIT - 1) / (ALIGNED * UNIT) * (ALIGNED * UNIT);
            if (size > left)
                size = aligned ? ALIGNED * UNIT : left;
            assert_int_equal(aligned ? od_pool_alloc_aligned(pool, size, ALIGNED * UNIT, &offset)
                                     : od_pool_alloc(pool, size, &offset),
                             OD_OK);
            left -= size;
        }
        assert_true(od_pool_is_valid(pool));
        assert_int_equal(od_pool_available(pool), 0);
        od_pool_destroy(pool);
    }
}

static void test_whole_capacity(void **state)
{
    (void)state;
    od_pool *pool = od_pool_create(1000, 256);
    size_t offset = 1, second;
    assert_int_equal(od_pool_capacity(pool), 768);
    assert_int_equal(od_pool_alloc(pool, 769, &offset), OD_EFULL);
    assert_int_equal(offset, 1);
    assert_int_equal(od_pool_alloc(pool, 768, &offset), OD_OK);
    assert_int_equal(offset, 0);
    assert_int_equal(od_pool_largest_free(pool), 0);
    assert_int_equal(od_pool_alloc(pool, 1, &second), OD_EFULL);
    assert_true(od_pool_is_valid(pool));
    od_pool_free(pool, offset);
    assert_int_equal(od_pool_largest_free(pool), 768);
    assert_int_equal(od_pool_peak(pool), 768);
    assert_true(od_pool_is_valid(pool));
    od_pool_destroy(pool);
}

static void test_sizes_at_the_edges(void **state)
{
    (void)state;
    od_pool *pool = od_pool_create(4096, 256);
    size_t zero, offset;
    assert_int_equal(od_pool_rounded(pool, 0), 256);
    assert_int_equal(od_pool_rounded(pool, 256), 256);
    assert_int_equal(od_pool_rounded(pool, 257), 512);
    assert_int_equal(od_pool_alloc(pool, 0, &zero), OD_OK);
    assert_int_equal(od_pool_used(pool), 256);
    assert_int_equal(od_pool_alloc(pool, SIZE_MAX, &offset), OD_EFULL);
    assert_int_equal(od_pool_alloc(pool, SIZE_MAX - 255, &offset), OD_EFULL);
    assert_int_equal(od_pool_alloc(pool, SIZE_MAX - 254, &offset), OD_EFULL);
    assert_true(od_pool_is_valid(pool));
    od_pool_destroy(pool);
}

static void test_smallest_pools(void **state)
{
    (void)state;
    size_t offset;
    od_pool *empty = od_pool_create(255, 256);
    assert_int_equal(od_pool_capacity(empty), 0);
    assert_int_equal(od_pool_largest_free(empty), 0);
    assert_int_equal(od_pool_alloc(empty, 0, &offset), OD_EFULL);
    assert_true(od_pool_is_valid(empty));
    od_pool_destroy(empty);

    od_pool *bytes = od_pool_create(3, 1);
    assert_int_equal(od_pool_alloc(bytes, 3, &offset), OD_OK);
    od_pool_free(bytes, offset);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(od_pool_alloc(bytes, 1, &offset), OD_OK);
        assert_int_equal(offset, i);
    }
    assert_true(od_pool_is_valid(bytes));
    od_pool_destroy(bytes);
    od_pool_destroy(NULL);
}

/* Free blocks join with both neighbours, in every order of giving back. */
static void test_coalescing(void **state)
{
    (void)state;
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (int o = 0; o < 6; o++) {
        od_pool *pool = od_pool_create(300, 1);
        size_t offset[3];
        for (int i = 0; i < 3; i++)
            assert_int_equal(od_pool_alloc(pool, 100, &offset[i]), OD_OK);
        for (int i = 0; i < 3; i++) {
            od_pool_free(pool, offset[orders[o][i]]);
            assert_true(od_pool_is_valid(pool));
        }
        assert_int_equal(od_pool_largest_free(pool), 300);
        od_pool_destroy(pool);
    }
}

/* The end comes nearer, again and again: nothing new lies behind it, and what did has left no traces. */
static void test_shrinking(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        uint64_t random = seed;
        size_t offset[UNITS], size[UNITS], n = 0, capacity = (size_t)UNITS * UNIT, available = 0;
        od_pool *pool = od_pool_create(capacity, UNIT);
        assert_non_null(pool);
        for (int step = 0; step < 400; step++) {
            uint64_t kind = random_below(&random, 20);
            if (kind == 0) {
                size_t less = (size_t)random_below(&random, capacity + 1);
                capacity = less / UNIT * UNIT;
                od_pool_shrink(pool, less);
            } else if (kind < 12) {
                size[n] = (1 + (size_t)random_below(&random, 8)) * UNIT;
                if (!od_pool_alloc(pool, size[n], &offset[n])) {
                    assert_true(offset[n] + size[n] <= capacity);
                    n++;
                }
            } else if (n) {
                size_t i = (size_t)random_below(&random, n--);
                od_pool_free(pool, offset[i]);
                offset[i] = offset[n];
                size[i] = size[n];
            }
            size_t end = capacity;
            available = capacity;
            for (size_t i = 0; i < n; i++) {
                size_t last = offset[i] + size[i];
                end = last > end ? last : end;
                available -= offset[i] >= capacity ? 0 : last <= capacity ? size[i] : capacity - offset[i];
            }
            assert_true(od_pool_is_valid(pool));
            assert_int_equal(od_pool_capacity(pool), capacity);
            assert_int_equal(od_pool_end(pool), end);
            assert_int_equal(od_pool_available(pool), available);
        }
        od_pool_destroy(pool);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_sequences), cmocka_unit_test(test_empty_pool_packs),
        cmocka_unit_test(test_empty_pool_packs_both_kinds),
        cmocka_unit_test(test_whole_capacity),   cmocka_unit_test(test_sizes_at_the_edges),
        cmocka_unit_test(test_smallest_pools),   cmocka_unit_test(test_coalescing),
        cmocka_unit_test(test_shrinking),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
