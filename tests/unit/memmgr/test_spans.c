/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Spans of overlapping ranges: random ones, against the definition. */
#include "memmgr/extent/spans.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>

#include <cmocka.h>

#include "tests/unit/random.h"

enum { MOST = 40, ROUNDS = 2000 };

/* Until nothing more overlaps it. */
static od_span expected(const od_span *ranges, size_t count, od_span range)
{
    for (bool grown = true; grown;) {
        grown = false;
        for (size_t i = 0; i < count; i++) {
            const od_span *r = &ranges[i];
            bool overlaps = r->begin < range.end && range.begin < r->end;
            if (!overlaps || (r->begin >= range.begin && r->end <= range.end))
                continue;
            range.begin = r->begin < range.begin ? r->begin : range.begin;
            range.end = r->end > range.end ? r->end : range.end;
            grown = true;
        }
    }
    return range;
}

static od_span random_range(uint64_t *seed)
{
    uintptr_t begin = 100 + random_next(seed) % 200;
    return (od_span){begin, begin + 1 + random_next(seed) % 12};
}

static void widens_to_all_that_overlaps(void **state)
{
    uint64_t seed = 3;
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        od_span ranges[MOST], spans[MOST];
        size_t count = random_next(&seed) % (MOST + 1);
        for (size_t i = 0; i < count; i++)
            spans[i] = ranges[i] = random_range(&seed);
        size_t n = od_spans_make(spans, count);
        for (size_t i = 1; i < n; i++)
            assert_true(spans[i - 1].end <= spans[i].begin);
        for (int i = 0; i < 20; i++) { /* its own and others */
            od_span range = (size_t)i < count ? ranges[i] : random_range(&seed), want = expected(ranges, count, range);
            od_spans_widen(spans, n, &range);
            assert_true(range.begin == want.begin && range.end == want.end);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(widens_to_all_that_overlaps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
