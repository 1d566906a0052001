/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Orders and packages of tasks: the same choices as the pseudo-code on random batches, the thesis's worked
 * examples, its theorems as properties, and the quality of the orders of a matrix product.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/policy/order_reference.h"
#include "tests/unit/random.h"

#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 4000, MAX_PARTS = 8 };

static void random_batch(uint64_t *seed, ref_batch *b)
{
    uint32_t uses[REF_TASKS], ntasks = (uint32_t)random_below(seed, REF_TASKS) + 1;
    uint32_t ndata = (uint32_t)random_below(seed, REF_DATA) + 1, most = (uint32_t)random_below(seed, 6) + 1;
    bool unequal = random_below(seed, 2);
    for (uint32_t t = 0; t < ntasks; t++) {
        uses[t] = 0;
        for (uint64_t n = random_below(seed, most + 1); n > 0; n--)
            uses[t] |= 1u << random_below(seed, ndata);
    }
    ref_make(b, ntasks, ndata, uses);
    for (uint32_t d = 0; unequal && d < ndata; d++)
        b->size[d] = random_below(seed, 4) + 1;
    for (uint32_t t = 0; unequal && t < ntasks; t++)
        b->duration[t] = (double)(random_below(seed, 8) + 1) / 4;
}

static od_hfp_options random_options(uint64_t *seed)
{
    return (od_hfp_options){.memory = random_below(seed, 20) + 1,
                            .parts = (uint32_t)random_below(seed, 3) ? 1 : (uint32_t)random_below(seed, MAX_PARTS) + 1,
                            .flip = random_below(seed, 2),
                            .fast_start = random_below(seed, 2)};
}

static void assert_permutation(const uint32_t *order, uint32_t count)
{
    bool seen[REF_TASKS] = {false};
    for (uint32_t i = 0; i < count; i++) {
        assert_true(order[i] < count && !seen[order[i]]);
        seen[order[i]] = true;
    }
}

/* --- the same choices as the pseudo-code -------------------------------------- */

static void test_simple_orders(void **unused)
{
    (void)unused;
    uint64_t seed = 1;
    for (int round = 0; round < ROUNDS; round++) {
        ref_batch b;
        uint32_t expected[REF_TASKS], order[REF_TASKS];
        random_batch(&seed, &b);
        ref_rcm(&b.batch, expected);
        assert_int_equal(od_order_rcm(&b.batch, order), OD_OK);
        assert_memory_equal(order, expected, b.batch.ntasks * sizeof *order);
        ref_mst(&b.batch, expected);
        assert_int_equal(od_order_mst(&b.batch, order), OD_OK);
        assert_memory_equal(order, expected, b.batch.ntasks * sizeof *order);
    }
}

static void test_hfp(void **unused)
{
    (void)unused;
    uint64_t seed = 2;
    for (int round = 0; round < ROUNDS; round++) {
        ref_batch b;
        uint32_t expected[REF_TASKS], order[REF_TASKS], expected_begin[MAX_PARTS + 1], begin[MAX_PARTS + 1];
        random_batch(&seed, &b);
        od_hfp_options options = random_options(&seed);
        ref_hfp(&b.batch, &options, expected, expected_begin);
        assert_int_equal(od_order_hfp(&b.batch, &options, order, begin), OD_OK);
        assert_memory_equal(begin, expected_begin, (options.parts + 1) * sizeof *begin);
        assert_memory_equal(order, expected, b.batch.ntasks * sizeof *order);
        ref_balance(&b.batch, options.parts, expected, expected_begin);
        od_order_balance(&b.batch, options.parts, order, begin);
        assert_memory_equal(begin, expected_begin, (options.parts + 1) * sizeof *begin);
        assert_memory_equal(order, expected, b.batch.ntasks * sizeof *order);
    }
}

/* mHFP^2: each part as a batch of its own. */
static void test_hfp_again(void **unused)
{
    (void)unused;
    uint64_t seed = 3;
    for (int round = 0; round < ROUNDS / 4; round++) {
        ref_batch b;
        uint32_t order[REF_TASKS], begin[MAX_PARTS + 1], expected[REF_TASKS], ignored[2];
        random_batch(&seed, &b);
        od_hfp_options options = random_options(&seed), one = options;
        one.parts = 1;
        assert_int_equal(od_order_hfp(&b.batch, &options, order, begin), OD_OK);
        for (uint32_t part = 0; part < options.parts; part++) {
            uint32_t uses[REF_TASKS], count = begin[part + 1] - begin[part];
            ref_batch sub;
            for (uint32_t i = 0; i < count; i++)
                uses[i] = ref_uses(&b.batch, order[begin[part] + i]);
            ref_make(&sub, count, b.batch.ndata, uses);
            memcpy(sub.size, b.size, sizeof b.size);
            ref_hfp(&sub.batch, &one, expected + begin[part], ignored);
            for (uint32_t i = begin[part]; i < begin[part + 1]; i++)
                expected[i] = order[begin[part] + expected[i]];
        }
        assert_int_equal(od_order_hfp_again(&b.batch, &options, order, begin), OD_OK);
        assert_memory_equal(order, expected, b.batch.ntasks * sizeof *order);
    }
}

/* --- parts ------------------------------------------------------------------------ */

static void test_split(void **unused)
{
    (void)unused;
    uint64_t seed = 4;
    for (int round = 0; round < ROUNDS / 4; round++) {
        ref_batch b;
        uint32_t order[REF_TASKS], begin[MAX_PARTS + 1], parts = (uint32_t)random_below(&seed, MAX_PARTS) + 1;
        random_batch(&seed, &b);
        double total = 0, longest = 0;
        for (uint32_t t = 0; t < b.batch.ntasks; t++) {
            order[t] = t;
            total += b.duration[t];
            longest = b.duration[t] > longest ? b.duration[t] : longest;
        }
        od_order_split(&b.batch, parts, order, begin);
        assert_int_equal(begin[0], 0);
        assert_int_equal(begin[parts], b.batch.ntasks);
        for (uint32_t part = 0; part < parts; part++) {
            double load = 0;
            assert_true(begin[part] <= begin[part + 1]);
            for (uint32_t i = begin[part]; i < begin[part + 1]; i++)
                load += b.duration[order[i]];
            assert_true(load <= total / parts + longest + 1e-9 && load >= total / parts - longest - 1e-9);
        }
    }
}

/* Thesis, Figure 4.3a: from tile 7 the order is 8, 6, 9, 5, 10, 4, 11, 3, 12 and so on. */
static void test_interlacing_figure(void **unused)
{
    (void)unused;
    uint32_t order[16], begin[2] = {0, 16};
    const uint32_t expected[16] = {7, 8, 6, 9, 5, 10, 4, 11, 3, 12, 2, 13, 1, 14, 0, 15};
    for (uint32_t i = 0; i < 16; i++)
        order[i] = i;
    assert_int_equal(od_order_interlace(1, order, begin), OD_OK);
    assert_memory_equal(order, expected, sizeof expected);

    uint32_t odd[7] = {0, 1, 2, 10, 11, 12, 13}, odd_begin[4] = {0, 3, 3, 7};
    const uint32_t odd_expected[7] = {1, 2, 0, 11, 12, 10, 13};
    assert_int_equal(od_order_interlace(3, odd, odd_begin), OD_OK);
    assert_memory_equal(odd, odd_expected, sizeof odd_expected);
}

static void test_empty_batch(void **unused)
{
    (void)unused;
    ref_batch b;
    uint32_t order[1], begin[3];
    ref_make(&b, 0, 0, NULL);
    assert_int_equal(od_order_rcm(&b.batch, order), OD_OK);
    assert_int_equal(od_order_mst(&b.batch, order), OD_OK);
    od_hfp_options options = {.memory = 1, .parts = 2, .flip = true, .fast_start = true};
    assert_int_equal(od_order_hfp(&b.batch, &options, order, begin), OD_OK);
    od_order_balance(&b.batch, 2, order, begin);
    assert_int_equal(begin[2], 0);
    od_order_split(&b.batch, 2, order, begin);
    assert_int_equal(begin[2], 0);
}

/* Durations that differ by nine orders of magnitude: sums are rounded, and the balance ends all the same. */
static void test_balance_ends(void **unused)
{
    (void)unused;
    uint64_t seed = 25;
    for (int round = 0; round < ROUNDS; round++) {
        ref_batch b;
        uint32_t order[REF_TASKS], begin[MAX_PARTS + 1];
        random_batch(&seed, &b);
        for (uint32_t t = 0; t < b.batch.ntasks; t++)
            b.duration[t] = random_below(&seed, 2) ? 1e-9 * (double)(1 + random_below(&seed, 3)) : 1;
        od_hfp_options options = random_options(&seed);
        options.parts = 2 + (uint32_t)random_below(&seed, 2);
        assert_int_equal(od_order_hfp(&b.batch, &options, order, begin), OD_OK);
        od_order_balance(&b.batch, options.parts, order, begin);
        assert_permutation(order, b.batch.ntasks);
        assert_int_equal(begin[options.parts], b.batch.ntasks);
    }
}

/* --- worked examples ------------------------------------------------------------------ */

/* Figure 2.2: five tasks, six data, three in memory, natural order: D1 leaves before T3, D2 before T4, D3 and D4 before
 * T5; 7 loads. (The figure's graph is a picture; these tasks force the evictions that are printed.) */
static void test_figure_2_2(void **unused)
{
    (void)unused;
    ref_batch b;
    const uint32_t uses[5] = {1 | 2, 2 | 4, 2 | 4 | 8, 4 | 8 | 16, 1 | 16 | 32}, order[5] = {0, 1, 2, 3, 4};
    ref_make(&b, 5, 6, uses);
    assert_int_equal(ref_loads(&b.batch, order, 5, 3, REF_BELADY), 7);
    assert_int_equal(ref_fewest_loads(&b.batch, order, 5, 3), 7);
}

/* n x n tasks, each of one row and one column. */
static void make_product(ref_batch *b, uint32_t n)
{
    uint32_t uses[REF_TASKS];
    for (uint32_t t = 0; t < n * n; t++)
        uses[t] = 1u << (t / n) | 1u << (n + t % n);
    ref_make(b, n * n, 2 * n, uses);
}

/* Figure 2.3: a 3 x 3 grid on two devices with two data each, 11 loads in all. */
static void test_figure_2_3(void **unused)
{
    (void)unused;
    ref_batch b;
    const uint32_t first[4] = {0, 1, 4, 3}, second[5] = {2, 5, 8, 7, 6};
    make_product(&b, 3);
    assert_int_equal(ref_loads(&b.batch, first, 4, 2, REF_BELADY), 5);
    assert_int_equal(ref_loads(&b.batch, second, 5, 2, REF_BELADY), 6);
}

/* Figure 3.4: 4 x 4 product, four data in memory: 12 loads without package flipping, 10 with. */
static void test_figure_3_4(void **unused)
{
    (void)unused;
    ref_batch b;
    uint32_t order[16], begin[2];
    make_product(&b, 4);
    od_hfp_options options = {.memory = 4, .parts = 1};
    assert_int_equal(od_order_hfp(&b.batch, &options, order, begin), OD_OK);
    assert_int_equal(ref_loads(&b.batch, order, 16, 4, REF_BELADY), 12);
    options.flip = true;
    assert_int_equal(od_order_hfp(&b.batch, &options, order, begin), OD_OK);
    assert_int_equal(ref_loads(&b.batch, order, 16, 4, REF_BELADY), 10);
}

/* --- theorems ------------------------------------------------------------------------------ */

static uint32_t largest_task(const od_batch *b)
{
    uint32_t most = 1;
    for (uint32_t t = 0; t < b->ntasks; t++)
        most = b->first[t + 1] - b->first[t] > most ? b->first[t + 1] - b->first[t] : most;
    return most;
}

static void random_order(uint64_t *seed, uint32_t *order, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = (uint32_t)random_below(seed, i + 1);
        order[i] = order[at];
        order[at] = i;
    }
}

/* Theorem 1: no way to evict loads less than Belady's. Theorem 3: an order and its reverse load the same. */
static void test_theorems(void **unused)
{
    (void)unused;
    uint64_t seed = 5;
    for (int round = 0; round < ROUNDS / 4; round++) {
        ref_batch b;
        uint32_t uses[10], order[10], reversed[10], ntasks = (uint32_t)random_below(&seed, 10) + 1;
        uint32_t ndata = (uint32_t)random_below(&seed, 8) + 1;
        for (uint32_t t = 0; t < ntasks; t++)
            uses[t] = (uint32_t)(random_next(&seed) & random_next(&seed)) & ((1u << ndata) - 1);
        ref_make(&b, ntasks, ndata, uses);
        random_order(&seed, order, ntasks);
        for (uint32_t i = 0; i < ntasks; i++)
            reversed[i] = order[ntasks - 1 - i];
        uint32_t memory = largest_task(&b.batch) + (uint32_t)random_below(&seed, 3);
        uint64_t loads = ref_loads(&b.batch, order, ntasks, memory, REF_BELADY);
        assert_int_equal(loads, ref_fewest_loads(&b.batch, order, ntasks, memory));
        assert_int_equal(loads, ref_loads(&b.batch, reversed, ntasks, memory, REF_BELADY));
        assert_true(loads <= ref_loads(&b.batch, order, ntasks, memory, REF_LRU));
    }
}

/* --- larger batches ---------------------------------------------------------------------------- */

typedef struct product {
    od_batch batch;
    uint32_t *first, *datum;
    uint64_t *size;
    double *duration;
} product;

static product large_product(uint32_t n)
{
    product p = {.first = calloc((size_t)n * n + 1, sizeof *p.first),
                 .datum = calloc((size_t)n * n * 2, sizeof *p.datum),
                 .size = calloc((size_t)n * 2, sizeof *p.size),
                 .duration = calloc((size_t)n * n, sizeof *p.duration)};
    assert_true(p.first && p.datum && p.size && p.duration);
    for (uint32_t t = 0; t < n * n; t++) {
        p.datum[2 * t] = t / n;
        p.datum[2 * t + 1] = n + t % n;
        p.first[t + 1] = 2 * (t + 1);
        p.duration[t] = 1;
    }
    for (uint32_t d = 0; d < 2 * n; d++)
        p.size[d] = 1;
    p.batch = (od_batch){n * n, 2 * n, p.first, p.datum, p.size, p.duration};
    return p;
}

static void product_free(product *p)
{
    free(p->first);
    free(p->datum);
    free(p->size);
    free(p->duration);
}

/* The bound of the thesis, section 3.5.1. */
static uint64_t least_loads(uint32_t n, uint32_t memory)
{
    return (uint64_t)(n * n / (memory * memory)) * memory + (memory < 2 * n ? memory : 2 * n);
}

static void test_product_loads(void **unused)
{
    (void)unused;
    enum { N = 60, M = 34 };
    product p = large_product(N);
    uint32_t *order = calloc(N * N, sizeof *order), begin[2];
    double bound = (double)least_loads(N, M);
    od_hfp_options options = {.memory = M, .parts = 1, .flip = true};
    assert_int_equal(od_order_hfp(&p.batch, &options, order, begin), OD_OK);
    double hfp = (double)ref_loads(&p.batch, order, N * N, M, REF_BELADY) / bound;
    options.fast_start = true;
    assert_int_equal(od_order_hfp(&p.batch, &options, order, begin), OD_OK);
    double fast = (double)ref_loads(&p.batch, order, N * N, M, REF_BELADY) / bound;
    assert_int_equal(od_order_rcm(&p.batch, order), OD_OK);
    double rcm = (double)ref_loads(&p.batch, order, N * N, M, REF_BELADY) / bound;
    assert_int_equal(od_order_mst(&p.batch, order), OD_OK);
    double mst = (double)ref_loads(&p.batch, order, N * N, M, REF_BELADY) / bound;
    print_message("loads over the bound: hfp %.2f, fast start %.2f, rcm %.2f, mst %.2f\n", hfp, fast, rcm, mst);
    assert_true(hfp <= 2.0 && fast <= 2.0);
    assert_true(rcm > hfp && mst > hfp);
    free(order);
    product_free(&p);
}

/* Shared data of unequal sizes: nearly every iteration merges one pair only. */
static void test_unequal_sizes_do_not_degenerate(void **unused)
{
    (void)unused;
    enum { N = 120, PARTS = 4 };
    product p = large_product(N);
    uint32_t *order = calloc(N * N, sizeof *order), begin[PARTS + 1];
    uint64_t seed = 6;
    for (uint32_t d = 0; d < 2 * N; d++)
        p.size[d] = random_below(&seed, 1000) + 1;
    od_hfp_options options = {.memory = 17000, .parts = PARTS, .flip = true};
    assert_int_equal(od_order_hfp(&p.batch, &options, order, begin), OD_OK);
    bool *seen = calloc(N * N, sizeof *seen);
    for (uint32_t i = 0; i < N * N; i++) {
        assert_false(seen[order[i]]);
        seen[order[i]] = true;
    }
    free(seen);
    free(order);
    product_free(&p);
}

static void test_results_are_permutations(void **unused)
{
    (void)unused;
    uint64_t seed = 7;
    for (int round = 0; round < ROUNDS / 4; round++) {
        ref_batch b;
        uint32_t order[REF_TASKS], begin[MAX_PARTS + 1];
        random_batch(&seed, &b);
        od_hfp_options options = random_options(&seed);
        assert_int_equal(od_order_hfp(&b.batch, &options, order, begin), OD_OK);
        od_order_balance(&b.batch, options.parts, order, begin);
        assert_int_equal(od_order_hfp_again(&b.batch, &options, order, begin), OD_OK);
        assert_int_equal(od_order_interlace(options.parts, order, begin), OD_OK);
        assert_permutation(order, b.batch.ntasks);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_balance_ends),
        cmocka_unit_test(test_simple_orders),
        cmocka_unit_test(test_hfp),
        cmocka_unit_test(test_hfp_again),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_interlacing_figure),
        cmocka_unit_test(test_empty_batch),
        cmocka_unit_test(test_figure_2_2),
        cmocka_unit_test(test_figure_2_3),
        cmocka_unit_test(test_figure_3_4),
        cmocka_unit_test(test_theorems),
        cmocka_unit_test(test_product_loads),
        cmocka_unit_test(test_unequal_sizes_do_not_degenerate),
        cmocka_unit_test(test_results_are_permutations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
