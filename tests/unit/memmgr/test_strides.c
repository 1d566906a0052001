/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Strides inferred from touched pages: of tiles of a column-major matrix as kernels touch them, and of others. */
#include "memmgr/extent/strides.h"

#include "memmgr/extent/page.h"
#include "memmgr/extent/places.h"
#include "tests/unit/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 1 << 14, NAMES = 1500, COLUMNS = 40 };

static uintptr_t touched[MOST];
static uint32_t ntouched;
static uintptr_t names[NAMES];
static uint32_t nnames;
static od_places places; /* beside them */
static od_strides found[NAMES];

/* The first address of a page counts, as page faults tell it. */
static void touch(uintptr_t begin, uintptr_t end)
{
    for (uintptr_t at = begin; at < end; at = od_window_page_begin(at) + od_window_page()) {
        bool known = false;
        for (uint32_t i = 0; i < ntouched && !known; i++)
            known = od_window_page_begin(touched[i]) == od_window_page_begin(at);
        if (!known)
            touched[ntouched++] = at;
    }
}

typedef enum shape { FULL, LOWER, UPPER } shape;

/* Of a tile with this many bytes a column, `apart` from each other. */
static void touch_tile(uintptr_t name, size_t length, size_t apart, shape s)
{
    for (size_t c = 0; c < COLUMNS; c++) {
        size_t cut = length * c / COLUMNS / 8 * 8;
        uintptr_t column = name + c * apart;
        touch(s == LOWER ? column + cut : column, s == UPPER ? column + cut + 8 : column + length);
    }
    names[nnames++] = name;
}

static void add_place(uintptr_t address)
{
    od_places_add(&places, address);
}

static void begin(void)
{
    ntouched = nnames = 0;
    od_places_free(&places);
}

static bool infer(size_t known)
{
    static od_page_run runs[MOST];
    uint32_t n = od_page_runs_make(touched, ntouched, runs);
    for (uint32_t i = 0; i < nnames; i++)
        add_place(names[i]);
    const od_named_runs all = {runs, n, names, nnames, places.at, places.count};
    return od_strides_infer(&all, known, found);
}

static void assert_covers(uint32_t which, size_t length, size_t apart)
{
    assert_int_equal(found[which].stride, apart);
    assert_int_equal(found[which].count, COLUMNS);
    assert_true(found[which].length >= length && found[which].length < length + od_window_page());
    assert_true(found[which].before < od_window_page());
}

static uintptr_t element(size_t row, size_t column, size_t apart)
{
    return 0x10000000 + row + column * apart;
}

static void one_tile_of_each_shape(void **state)
{
    const size_t page = od_window_page(), apart = 12 * page;
    (void)state;
    for (shape s = FULL; s <= UPPER; s++)
        for (size_t pages = 1; pages <= 4; pages++) {
            begin();
            touch_tile(element(page, 0, apart), pages * page, apart, s);
            infer(0);
            assert_covers(0, pages * page, apart);
        }
}

/* C -= A B' in all places: tiles beside each other, below each other, half a column apart, and far away. */
static void three_tiles_anywhere(void **state)
{
    enum { TILES = 8 };
    const size_t page = od_window_page(), apart = TILES * page;
    (void)state;
    for (size_t i = 1; i < TILES; i++)
        for (size_t j = 1; j < i; j++)
            for (size_t k = 0; k < j; k++) {
                begin();
                touch_tile(element(i * page, k * COLUMNS, apart), page, apart, FULL);
                touch_tile(element(j * page, k * COLUMNS, apart), page, apart, FULL);
                touch_tile(element(i * page, j * COLUMNS, apart), page, apart, FULL);
                infer(0);
                for (uint32_t n = 0; n < 3; n++) {
                    assert_covers(n, page, apart);
                    assert_int_equal(found[n].length, page);
                }
            }
}

/* Columns that begin and end anywhere in a page. */
static void columns_without_regard_to_pages(void **state)
{
    const size_t page = od_window_page();
    uint64_t random = 5;
    (void)state;
    for (int round = 0; round < 50; round++) {
        size_t length = page + 8 * random_below(&random, page / 4), apart = 6 * length;
        begin();
        touch_tile(element(length * random_below(&random, 6), 0, apart), length, apart, FULL);
        infer(0);
        assert_covers(0, length, apart);
    }
}

static void one_range(void **state)
{
    const size_t page = od_window_page();
    (void)state;
    begin();
    touch(0x10000000, 0x10000000 + 9 * page);
    touch(0x10000000 + 20 * page, 0x10000000 + 21 * page); /* of something else */
    names[nnames++] = 0x10000000;
    names[nnames++] = 0x10000000 + 40 * page; /* not touched */
    infer(0);
    assert_int_equal(found[0].count, 1);
    assert_int_equal(found[0].length, 9 * page);
    assert_int_equal(found[1].count, 0);
}

static void what_lies_before_the_name(void **state)
{
    const size_t page = od_window_page();
    (void)state;
    begin();
    touch(0x10000000, 0x10000000 + 5 * page);
    names[nnames++] = 0x10000000 + 2 * page;
    infer(0);
    assert_int_equal(found[0].before, 2 * page);
    assert_int_equal(found[0].length, 3 * page);
}

/* A kernel that goes down the diagonals of its tiles: as good an explanation, but not a better one. */
static void what_is_known_already(void **state)
{
    const size_t page = od_window_page(), apart = 12 * page;
    (void)state;
    for (int known = 0; known < 2; known++) {
        begin();
        for (size_t c = 0; c < COLUMNS; c++)
            touch(element(0, c, apart) + 80 * c, element(0, c, apart) + 80 * c + 8);
        names[nnames++] = element(0, 0, apart);
        infer(known ? apart : 0);
        assert_int_equal(found[0].count, COLUMNS);
        assert_true(!known || found[0].stride == apart);
    }
    begin();
    touch_tile(element(0, 0, apart), page, 7 * page, FULL);
    infer(apart);
    assert_covers(0, page, 7 * page);
}

/* The last column of a tile at the bottom ends where the first one of a tile at the top begins. */
static void what_ends_where_the_first_column_begins(void **state)
{
    const size_t page = od_window_page(), apart = 6 * page;
    (void)state;
    begin();
    touch_tile(element(5 * page, 0, apart), page, apart, FULL);
    touch_tile(element(0, COLUMNS, apart), page, apart, FULL);
    touch_tile(element(5 * page, COLUMNS, apart), page, apart, FULL);
    infer(0);
    for (uint32_t n = 0; n < 3; n++) {
        assert_covers(n, page, apart);
        assert_int_equal(found[n].before, 0);
    }
}

/* Time in the third power of their number would be hours. */
static void many_names(void **state)
{
    enum { ROWS = 4, WIDTH = 8 };
    const size_t page = od_window_page(), apart = 2 * ROWS * page;
    (void)state;
    begin();
    for (nnames = 0; nnames < NAMES; nnames++) {
        names[nnames] = element(nnames % ROWS * 2 * page, nnames / ROWS * WIDTH, apart);
        for (size_t c = 0; c < WIDTH; c++)
            touched[ntouched++] = names[nnames] + c * apart;
    }
    infer(0);
    for (uint32_t n = 0; n < NAMES; n++) {
        assert_int_equal(found[n].stride, apart);
        assert_int_equal(found[n].count, WIDTH);
        assert_int_equal(found[n].length, page);
    }
}

/* Kernels of tiled factorisations in matrices of any shape, whose tiles share pages: a factor's triangle, a solve, a
 * rank-k update and a product, each with all places, those of the first column, or its own known. `missed`: what was
 * found was neither right nor said to be a guess. */
typedef struct matrix {
    size_t tiles, rows, apart;
    uintptr_t base;
} matrix;

static uintptr_t tile_at(const matrix *m, size_t row, size_t column)
{
    return m->base + column * m->rows * m->apart + row * m->rows * 8;
}

static void touch_square(const matrix *m, size_t row, size_t column, bool lower)
{
    uintptr_t name = tile_at(m, row, column);
    for (size_t c = 0; c < m->rows; c++)
        touch(name + c * m->apart + (lower ? c * 8 : 0), name + c * m->apart + m->rows * 8);
    names[nnames++] = name;
}

static void touch_kernel(const matrix *m, unsigned kernel, uint64_t *seed)
{
    size_t i = 1 + random_below(seed, m->tiles - 1), k = random_below(seed, i), j = k + random_below(seed, i - k);
    if (kernel == 0 || kernel == 1)
        touch_square(m, k, k, true);
    if (kernel > 0)
        touch_square(m, i, k, false);
    if (kernel == 2 || (kernel == 3 && j == k))
        touch_square(m, i, i, true);
    else if (kernel == 3) {
        touch_square(m, j, k, false);
        touch_square(m, i, j, false);
    }
}

static bool is_right(const matrix *m)
{
    bool all = true;
    for (uint32_t n = 0; n < nnames; n++)
        all &= found[n].stride == m->apart && found[n].count == m->rows && found[n].length >= m->rows * 8;
    return all;
}

static void tiles_that_share_pages(void **state)
{
    enum { MATRICES = 240 };
    unsigned right = 0, missed = 0;
    uint64_t seed = 1;
    (void)state;
    for (unsigned n = 0; n < MATRICES; n++) {
        matrix m = {.tiles = 8 + random_below(&seed, 5), .rows = 160 + random_below(&seed, 352), .base = 0x10000000};
        m.apart = 8 * (m.tiles * m.rows + (random_below(&seed, 3) ? 0 : random_below(&seed, 100)));
        m.base += random_below(&seed, 4) ? 0 : random_below(&seed, 512) * 8;
        begin();
        touch_kernel(&m, n % 4, &seed);
        for (size_t row = 0; n % 3 && row < m.tiles; row++)
            for (size_t column = 0; column <= (n % 3 == 1 ? 0 : row); column++)
                add_place(tile_at(&m, row, column));
        bool sure = infer(0);
        right += is_right(&m);
        missed += sure && !is_right(&m);
    }
    print_message("%u of %u right, %u not known to be wrong\n", right, MATRICES, missed);
    assert_in_range(right, MATRICES * 9 / 10, MATRICES);
    assert_in_range(missed, 0, MATRICES / 20);
}

static void strides_are_united(void **state)
{
    const od_strides a = {.length = 8, .stride = 100, .count = 5}, b = {.before = 4, .length = 6, .stride = 100, .count = 9},
                     other = {.length = 1, .stride = 50, .count = 2}, nothing = {0};
    (void)state;
    od_strides both = od_strides_unite(&a, &b), first = od_strides_unite(&nothing, &a), last = od_strides_unite(&a, &other);
    assert_true(both.before == 4 && both.length == 8 && both.stride == 100 && both.count == 9);
    od_strides common = od_strides_intersect(&a, &b), replaced = od_strides_intersect(&a, &other);
    assert_true(common.before == 0 && common.length == 6 && common.stride == 100 && common.count == 5);
    assert_true(od_strides_are_equal(&replaced, &other));
    assert_true(od_strides_are_equal(&first, &a) && od_strides_are_equal(&last, &other));
    assert_false(od_strides_are_equal(&a, &b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_tile_of_each_shape),          cmocka_unit_test(three_tiles_anywhere),
        cmocka_unit_test(columns_without_regard_to_pages), cmocka_unit_test(one_range),
        cmocka_unit_test(what_lies_before_the_name),       cmocka_unit_test(strides_are_united),
        cmocka_unit_test(what_is_known_already),           cmocka_unit_test(many_names),
        cmocka_unit_test(tiles_that_share_pages),
        cmocka_unit_test(what_ends_where_the_first_column_begins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
