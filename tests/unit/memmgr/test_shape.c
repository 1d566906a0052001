/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Shapes of one range and of many: random ones, against a map that has an entry for each byte. */
#include "memmgr/extent/shape.h"

#include "memmgr/extent/page.h"
#include "tests/unit/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SPACE = 600, BASE = 1000, MOST = 20, ROUNDS = 400 };

typedef struct sample {
    bool has[SPACE]; /* byte BASE + i is in it */
    od_shape shape;
    od_pieces *pieces;
} sample;

static uint32_t random_spans(uint64_t *random, od_span *spans)
{
    uint32_t n = 0, most = 1 + (uint32_t)random_below(random, MOST);
    uintptr_t at = BASE + random_below(random, 20);
    while (n < most) {
        uintptr_t end = at + 1 + random_below(random, 15);
        if (end >= BASE + SPACE)
            break;
        spans[n++] = (od_span){at, end};
        at = end + 1 + random_below(random, 15);
    }
    return n;
}

static sample random_sample(uint64_t *random)
{
    sample s = {0};
    od_span spans[MOST];
    uint32_t n = random_spans(random, spans);
    for (uint32_t i = 0; i < n; i++)
        memset(s.has + (spans[i].begin - BASE), true, spans[i].end - spans[i].begin);
    s.shape = (od_shape){spans[0].begin, spans[0].end - spans[0].begin, NULL};
    if (n > 1) {
        s.pieces = od_pieces_make(spans, n);
        assert_non_null(s.pieces);
        s.shape = (od_shape){spans[0].begin, s.pieces->size, s.pieces};
    }
    return s;
}

static size_t count(const sample *s, size_t from, size_t to)
{
    size_t n = 0;
    for (size_t i = from; i < to; i++)
        n += s->has[i];
    return n;
}

static void check_queries(const sample *s, uint64_t *random)
{
    size_t from = random_below(random, SPACE), to = from + random_below(random, SPACE - from);
    od_stretch stretch = od_shape_overlap(s->shape, BASE + from, BASE + to);
    od_span first;
    assert_int_equal(stretch.bytes, count(s, from, to));
    if (stretch.bytes)
        assert_int_equal(stretch.offset, count(s, 0, from));
    assert_int_equal(od_shape_contains(s->shape, BASE + from), s->has[from]);
    bool any = od_shape_first(s->shape, BASE + from, BASE + to, &first);
    assert_int_equal(any, stretch.bytes > 0);
    if (any) {
        assert_true(first.begin < BASE + to && first.end > BASE + from);
        assert_int_equal(count(s, from, first.begin > BASE + from ? first.begin - BASE : from), 0);
    }
}

/* What is cut to a stretch is all of its bytes, and nothing else is copied. */
static void check_copy(const sample *s, uint64_t *random)
{
    char from[SPACE], to[SPACE] = {0};
    od_stretch stretch = {random_below(random, s->shape.size), 0};
    stretch.bytes = random_below(random, s->shape.size - stretch.offset + 1);
    memset(from, 1, sizeof from);
    size_t first = s->shape.base - BASE, seen = 0;
    od_shape_copy(s->shape, to + first, from + first, stretch);
    for (size_t i = 0; i < SPACE; i++) {
        bool wanted = s->has[i] && seen >= stretch.offset && seen < stretch.offset + stretch.bytes;
        assert_int_equal(to[i], wanted);
        seen += s->has[i];
    }
}

static void extents_are_sets_of_bytes(void **state)
{
    uint64_t random = 7;
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        sample s = random_sample(&random);
        assert_int_equal(s.shape.size, count(&s, 0, SPACE));
        size_t end = od_shape_end(s.shape) - BASE;
        assert_true(s.has[end - 1] && !count(&s, end, SPACE));
        for (int i = 0; i < 50; i++)
            check_queries(&s, &random);
        for (int i = 0; i < 20; i++)
            check_copy(&s, &random);
        free(s.pieces);
    }
}

static void pages_are_counted_once(void **state)
{
    const size_t page = od_window_page();
    const od_span spans[] = {{page + 8, page + 16}, {page + 24, 2 * page + 8}, {4 * page, 6 * page}};
    (void)state;
    od_pieces *pieces = od_pieces_make(spans, 3);
    assert_int_equal(pieces->span, 4 * page);
    assert_int_equal(pieces->size, 8 + page - 16 + 2 * page);
    free(pieces);
}

static void pieces_are_compared(void **state)
{
    const od_span spans[] = {{10, 20}, {30, 40}, {50, 61}};
    (void)state;
    od_pieces *two = od_pieces_make(spans, 2), *also = od_pieces_make(spans, 2), *three = od_pieces_make(spans, 3),
              *other = od_pieces_make(spans + 1, 2);
    assert_true(od_pieces_are_equal(two, also) && od_pieces_are_equal(NULL, NULL));
    assert_false(od_pieces_are_equal(two, three) || od_pieces_are_equal(two, other) || od_pieces_are_equal(two, NULL));
    free(two);
    free(also);
    free(three);
    free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(extents_are_sets_of_bytes),
        cmocka_unit_test(pages_are_counted_once),
        cmocka_unit_test(pieces_are_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
