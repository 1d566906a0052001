/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Partitioning by METIS: any batch, few data in several parts, balanced durations. Skipped where METIS is not there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/random.h"
#include "sched/policy/batch/order/partition.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SKIPPED = 77, CUTS = 4, MAX_PARTS = 8, N = 12 };

static od_partitioner partitioner;

static void assert_parts(const od_batch *batch, uint32_t parts, const uint32_t *order, const uint32_t *begin)
{
    bool *seen = calloc(batch->ntasks + 1, sizeof *seen);
    assert_int_equal(begin[0], 0);
    assert_int_equal(begin[parts], batch->ntasks);
    for (uint32_t part = 0; part < parts; part++) {
        assert_true(begin[part] <= begin[part + 1]);
        for (uint32_t i = begin[part]; i < begin[part + 1]; i++) {
            assert_true(order[i] < batch->ntasks && !seen[order[i]]);
            assert_true(i == begin[part] || order[i - 1] < order[i]); /* order of arrival */
            seen[order[i]] = true;
        }
    }
    free(seen);
}

enum { MOST_TASKS = 300, MOST_DATA = 100, MOST_USES = 5 };

static void random_batch(uint64_t *seed, od_batch *batch, uint32_t *first, uint32_t *datum, uint64_t *size,
                         double *duration)
{
    uint32_t nuses = 0;
    *batch = (od_batch){(uint32_t)random_below(seed, MOST_TASKS + 1),
                        (uint32_t)random_below(seed, MOST_DATA) + 1,
                        first,
                        datum,
                        size,
                        duration};
    for (uint32_t t = 0; t < batch->ntasks; t++) {
        uint32_t at = (uint32_t)random_below(seed, batch->ndata);
        first[t] = nuses;
        duration[t] = random_below(seed, 100) ? 1e-3 : 100; /* a few long ones outweigh all others */
        for (uint64_t n = random_below(seed, MOST_USES + 1); n > 0 && at < batch->ndata; n--) {
            datum[nuses++] = at;
            at += (uint32_t)random_below(seed, 3) + 1;
        }
    }
    first[batch->ntasks] = nuses;
    for (uint32_t d = 0; d < batch->ndata; d++)
        size[d] = random_below(seed, 2) ? 1 : (random_next(seed) >> 20) + 1;
}

/* Standard output is the program's: whatever is partitioned, METIS must not write there. */
static void test_any_batch(void **unused)
{
    (void)unused;
    static uint32_t first[MOST_TASKS + 1], datum[MOST_TASKS * MOST_USES], order[MOST_TASKS];
    static uint64_t size[MOST_DATA];
    static double duration[MOST_TASKS];
    uint64_t seed = 1;
    FILE *written = tmpfile();
    int standard = dup(STDOUT_FILENO);
    fflush(stdout);
    dup2(fileno(written), STDOUT_FILENO);
    for (int round = 0; round < 500; round++) {
        uint32_t begin[MAX_PARTS + 1], parts = (uint32_t)random_below(&seed, MAX_PARTS) + 1;
        od_batch batch;
        random_batch(&seed, &batch, first, datum, size, duration);
        assert_int_equal(od_order_partition(&batch, parts, &partitioner, CUTS, order, begin), OD_OK);
        assert_parts(&batch, parts, order, begin);
    }
    fflush(stdout);
    dup2(standard, STDOUT_FILENO);
    close(standard);
    fseek(written, 0, SEEK_END);
    assert_int_equal(ftell(written), 0);
    fclose(written);
}

/* The parts that use each datum, summed. */
static uint32_t copies(const od_batch *batch, uint32_t parts, const uint32_t *order, const uint32_t *begin)
{
    uint32_t count = 0;
    for (uint32_t d = 0; d < batch->ndata; d++) {
        for (uint32_t part = 0; part < parts; part++) {
            bool used = false;
            for (uint32_t i = begin[part]; i < begin[part + 1]; i++) {
                for (uint32_t u = batch->first[order[i]]; u < batch->first[order[i] + 1]; u++)
                    used |= batch->datum[u] == d;
            }
            count += used;
        }
    }
    return count;
}

/* N^3 tasks, each of a tile of A, of B and of C, that arrive in no order. */
static void test_three_dimensional_product(void **unused)
{
    (void)unused;
    static uint32_t first[N * N * N + 1], datum[3 * N * N * N], order[N * N * N];
    static uint64_t size[3 * N * N];
    static double duration[N * N * N];
    const od_batch batch = {N * N * N, 3 * N * N, first, datum, size, duration};
    for (uint32_t t = 0; t < N * N * N; t++) {
        uint32_t number = t * 1009 % (N * N * N), i = number / (N * N), j = number / N % N, k = number % N;
        datum[3 * t] = i * N + k;
        datum[3 * t + 1] = N * N + k * N + j;
        datum[3 * t + 2] = 2 * N * N + i * N + j;
        first[t + 1] = 3 * (t + 1);
        duration[t] = 1e-3;
    }
    for (uint32_t d = 0; d < 3 * N * N; d++)
        size[d] = 1000000;
    for (uint32_t parts = 2; parts <= MAX_PARTS; parts *= 2) {
        uint32_t begin[MAX_PARTS + 1], split[MAX_PARTS + 1], arrival[N * N * N];
        assert_int_equal(od_order_partition(&batch, parts, &partitioner, CUTS, order, begin), OD_OK);
        assert_parts(&batch, parts, order, begin);
        for (uint32_t t = 0; t < N * N * N; t++)
            arrival[t] = t;
        od_order_split(&batch, parts, arrival, split);
        uint32_t found = copies(&batch, parts, order, begin), cut = copies(&batch, parts, arrival, split);
        print_message("%u parts: %u copies of %u data, in order of arrival %u\n", parts, found, batch.ndata, cut);
        assert_true(found < cut * 0.9);
        for (uint32_t part = 0; part < parts; part++)
            assert_true((begin[part + 1] - begin[part]) * parts < N * N * N * 1.05);
    }
}

int main(void)
{
    char error[256];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_batch),
        cmocka_unit_test(test_three_dimensional_product),
    };
    if (od_partitioner_load(&partitioner, error, sizeof error)) {
        printf("skipped: METIS is not there: %s\n", error);
        return SKIPPED;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
