/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Directory: random sequences against plain arrays of ranges, and the edge cases.
 */
#include "memmgr/data/directory.h"

#include "tests/unit/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { NDEVICES = 3, SPACE = 2000, MOST = 400, STEPS = 6000 };

/* The naive directory, in no order. */
typedef struct model {
    od_datum *data[MOST];
    size_t ndata;
    od_region *regions[MOST];
    size_t nregions;
} model;

static bool overlap(uintptr_t a, size_t a_size, uintptr_t b, size_t b_size)
{
    return a < b + b_size && b < a + a_size;
}

static bool contains(uintptr_t outer, size_t outer_size, uintptr_t inner, size_t inner_size)
{
    return outer <= inner && inner + inner_size <= outer + outer_size && inner < outer + outer_size;
}

static od_datum *model_find(const model *m, uintptr_t base, size_t size)
{
    for (size_t i = 0; i < m->ndata; i++) {
        od_shape shape = od_datum_shape(m->data[i]);
        for (uint32_t j = 0; j < od_shape_count(shape); j++)
            if (contains(od_shape_piece(shape, j).begin, od_shape_piece(shape, j).size, base, size))
                return m->data[i];
    }
    return NULL;
}

static od_region *model_find_region(const model *m, uintptr_t base, size_t size)
{
    for (size_t i = 0; i < m->nregions; i++)
        if (contains(m->regions[i]->base, m->regions[i]->size, base, size))
            return m->regions[i];
    return NULL;
}

static size_t model_count(const model *m, uintptr_t base, size_t size)
{
    size_t count = 0;
    for (size_t i = 0; i < m->ndata; i++) {
        od_shape shape = od_datum_shape(m->data[i]);
        bool any = false;
        for (uint32_t j = 0; j < od_shape_count(shape); j++)
            any |= overlap(od_shape_piece(shape, j).begin, od_shape_piece(shape, j).size, base, size);
        count += any;
    }
    return count;
}

static bool model_touches_region(const model *m, uintptr_t base, size_t size)
{
    for (size_t i = 0; i < m->nregions; i++)
        if (overlap(m->regions[i]->base, m->regions[i]->size, base, size))
            return true;
    return false;
}

static void check_ids(const od_directory *dir, const model *m)
{
    bool seen[MOST] = {false};
    for (size_t i = 0; i < m->ndata; i++) {
        assert_true(m->data[i]->id < od_directory_id_limit(dir));
        assert_false(seen[m->data[i]->id]);
        seen[m->data[i]->id] = true;
        assert_ptr_equal(m->data[i]->region, model_find_region(m, m->data[i]->base, m->data[i]->size));
    }
}

static void add_one(od_directory *dir, model *m, uintptr_t base, size_t size)
{
    od_datum *datum = NULL;
    od_status status = od_directory_add(dir, base, size, &datum);
    if (model_count(m, base, size)) {
        assert_int_equal(status, OD_EINVAL);
        return;
    }
    assert_int_equal(status, OD_OK);
    const od_region *region = model_find_region(m, base, size);
    od_placeset expected = region && region->undefined ? OD_NO_PLACES : od_placeset_of(OD_HOST);
    assert_true(od_placeset_equal(datum->valid, expected));
    assert_int_equal(datum->home, OD_NOWHERE);
    for (unsigned k = 0; k < NDEVICES; k++) {
        assert_ptr_equal(datum->replica[k].datum, datum);
        assert_int_equal(datum->replica[k].state, OD_ABSENT);
    }
    m->data[m->ndata++] = datum;
}

/* All in one region, as they are made. */
static void add_pieces(od_directory *dir, model *m, uintptr_t base, uint64_t *random)
{
    enum { PIECES = 4 };
    od_span spans[PIECES];
    bool is_free = true;
    for (int i = 0; i < PIECES; i++) {
        spans[i] = (od_span){base, base + 1 + random_below(random, 8)};
        is_free &= !model_count(m, spans[i].begin, spans[i].end - spans[i].begin);
        base = spans[i].end + 1 + random_below(random, 8);
    }
    const od_region *region = model_find_region(m, spans[0].begin, spans[PIECES - 1].end - spans[0].begin);
    if (!region)
        return;
    od_pieces *pieces = od_pieces_make(spans, PIECES);
    od_datum *datum = NULL;
    od_status status = od_directory_add_pieces(dir, pieces, &datum);
    assert_int_equal(status, is_free ? OD_OK : OD_EINVAL);
    if (status) {
        free(pieces);
        return;
    }
    assert_int_equal(datum->size, pieces->size);
    assert_ptr_equal(datum->region, region);
    m->data[m->ndata++] = datum;
}

static void remove_one(od_directory *dir, model *m, uint64_t *random)
{
    if (m->ndata == 0)
        return;
    size_t i = (size_t)random_below(random, m->ndata);
    od_directory_remove(dir, m->data[i]);
    m->data[i] = m->data[--m->ndata];
}

/* Data are not in a region in part: the engine sees to that. */
static bool model_cuts_data(const model *m, uintptr_t base, size_t size)
{
    for (size_t i = 0; i < m->ndata; i++) {
        od_shape shape = od_datum_shape(m->data[i]);
        size_t bytes = od_shape_overlap(shape, base, base + size).bytes;
        if (shape.pieces && bytes && bytes < shape.size)
            return true;
    }
    return false;
}

static void open_one(od_directory *dir, model *m, uintptr_t base, size_t size, bool undefined)
{
    od_mapping mapping = {base, size, base};
    od_region *region = NULL;
    if (model_cuts_data(m, base, size))
        return;
    od_status status = od_directory_open(dir, &mapping, undefined, &region);
    if (model_touches_region(m, base, size)) {
        assert_int_equal(status, OD_EINVAL);
        return;
    }
    assert_int_equal(status, OD_OK);
    assert_int_equal(region->references, 0);
    region->references = 1;
    m->regions[m->nregions++] = region;
}

static void close_one(od_directory *dir, model *m, uint64_t *random)
{
    if (m->nregions == 0)
        return;
    size_t i = (size_t)random_below(random, m->nregions);
    if (--m->regions[i]->references > 0)
        return;
    od_directory_close(dir, m->regions[i]);
    m->regions[i] = m->regions[--m->nregions];
}

typedef struct visit_log {
    const od_datum *seen[MOST];
    size_t visited, limit;
} visit_log;

static bool note_visit(od_datum *datum, void *arg)
{
    visit_log *log = arg;
    for (size_t i = 0; i < log->visited; i++)
        assert_ptr_not_equal(log->seen[i], datum);
    log->seen[log->visited] = datum;
    return ++log->visited < log->limit;
}

static void query_one(const od_directory *dir, const model *m, uintptr_t base, size_t size)
{
    assert_ptr_equal(od_directory_find(dir, base, size), model_find(m, base, size));
    assert_ptr_equal(od_directory_find(dir, base, 0), model_find(m, base, 0));
    assert_ptr_equal(od_directory_find_region(dir, base, size), model_find_region(m, base, size));

    visit_log all = {.limit = SIZE_MAX};
    od_directory_visit(dir, base, size, note_visit, &all);
    assert_int_equal(all.visited, model_count(m, base, size));
    od_span first;
    assert_int_equal(od_directory_first(dir, base, size, &first), all.visited > 0);
    if (all.visited) {
        assert_true(overlap(first.begin, first.end - first.begin, base, size));
        assert_ptr_equal(model_find(m, first.begin, first.end - first.begin), all.seen[0]);
        assert_true(first.begin <= base || !model_count(m, base, first.begin - base));
    }
    if (all.visited > 1) {
        visit_log some = {.limit = all.visited - 1};
        od_directory_visit(dir, base, size, note_visit, &some);
        assert_int_equal(some.visited, all.visited - 1);
    }
}

static void fuzz(uint64_t seed)
{
    uint64_t random = seed;
    model *m = calloc(1, sizeof *m);
    od_directory *dir = od_directory_create(NDEVICES);
    assert_non_null(m);
    assert_non_null(dir);
    size_t most = 0;
    for (int step = 0; step < STEPS; step++) {
        uintptr_t base = 1000 + (uintptr_t)random_below(&random, SPACE);
        size_t size = 1 + (size_t)random_below(&random, random_below(&random, 4) ? 12 : 150);
        unsigned what = (unsigned)random_below(&random, 100);
        if (what < 33)
            add_one(dir, m, base, size);
        else if (what < 40)
            add_pieces(dir, m, base, &random);
        else if (what < 55)
            remove_one(dir, m, &random);
        else if (what < 62)
            open_one(dir, m, base, 5 * size, random_below(&random, 2));
        else if (what < 70)
            close_one(dir, m, &random);
        else
            query_one(dir, m, base, size);

        most = m->ndata > most ? m->ndata : most;
        assert_int_equal(od_directory_count(dir), m->ndata);
        assert_int_equal(od_directory_id_limit(dir), most);
        assert_true(od_directory_is_valid(dir));
        check_ids(dir, m);
    }
    od_directory_destroy(dir);
    free(m);
}

static void test_random_sequences(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++)
        fuzz(seed);
}

static od_directory *directory_with(const uintptr_t *bases, size_t n, size_t size)
{
    od_directory *dir = od_directory_create(NDEVICES);
    assert_non_null(dir);
    for (size_t i = 0; i < n; i++) {
        od_datum *datum;
        assert_int_equal(od_directory_add(dir, bases[i], size, &datum), OD_OK);
    }
    return dir;
}

static void test_neighbours_do_not_overlap(void **state)
{
    (void)state;
    od_directory *dir = directory_with((const uintptr_t[]){100, 300, 200}, 3, 100);
    od_datum *datum = NULL;
    assert_int_equal(od_directory_add(dir, 99, 1, &datum), OD_OK);
    assert_int_equal(od_directory_add(dir, 400, 1, &datum), OD_OK);
    assert_int_equal(od_directory_add(dir, 98, 2, &datum), OD_EINVAL);
    assert_int_equal(od_directory_add(dir, 50, 1000, &datum), OD_EINVAL);
    assert_int_equal(od_directory_add(dir, 250, 1, &datum), OD_EINVAL);
    assert_null(od_directory_find(dir, 150, 100));
    assert_int_equal(od_directory_find(dir, 150, 50)->base, 100);
    assert_int_equal(od_directory_find(dir, 199, 0)->base, 100);
    assert_int_equal(od_directory_find(dir, 200, 0)->base, 200);
    assert_null(od_directory_find(dir, 401, 0));
    assert_true(od_directory_is_valid(dir));
    od_directory_destroy(dir);
}

static void test_ends_of_the_address_space(void **state)
{
    (void)state;
    od_directory *dir = directory_with((const uintptr_t[]){0, UINTPTR_MAX - 9}, 2, 10);
    od_datum *datum = NULL;
    assert_int_equal(od_directory_find(dir, UINTPTR_MAX, 1)->size, 10);
    assert_null(od_directory_find(dir, UINTPTR_MAX, 2));
    assert_int_equal(od_directory_add(dir, UINTPTR_MAX - 20, 100, &datum), OD_EINVAL);
    assert_int_equal(od_directory_add(dir, 50, SIZE_MAX, &datum), OD_EINVAL);
    assert_int_equal(od_directory_add(dir, 50, 0, &datum), OD_EINVAL);
    visit_log all = {.limit = SIZE_MAX};
    od_directory_visit(dir, 0, SIZE_MAX, note_visit, &all);
    assert_int_equal(all.visited, 2);
    assert_true(od_directory_is_valid(dir));
    od_directory_destroy(dir);
}

static void test_empty_range_visits_nothing(void **state)
{
    (void)state;
    od_directory *dir = directory_with((const uintptr_t[]){100}, 1, 100);
    visit_log all = {.limit = SIZE_MAX};
    od_directory_visit(dir, 150, 0, note_visit, &all);
    assert_int_equal(all.visited, 0);
    od_directory_destroy(dir);
}

static void test_ids_are_dense_and_reused(void **state)
{
    (void)state;
    enum { N = 1000 };
    od_directory *dir = od_directory_create(NDEVICES);
    od_datum *data[N];
    for (uint32_t i = 0; i < N; i++) {
        assert_int_equal(od_directory_add(dir, 10 * (i + 1), 10, &data[i]), OD_OK);
        assert_int_equal(data[i]->id, i);
    }
    for (uint32_t i = 0; i < N; i += 2)
        od_directory_remove(dir, data[i]);
    assert_int_equal(od_directory_count(dir), N / 2);
    assert_int_equal(od_directory_id_limit(dir), N);
    assert_true(od_directory_is_valid(dir));
    for (uint32_t i = 0; i < N; i += 2) {
        assert_int_equal(od_directory_add(dir, 10 * (i + 1), 10, &data[i]), OD_OK);
        assert_int_equal(data[i]->id % 2, 0);
    }
    assert_int_equal(od_directory_id_limit(dir), N);
    assert_true(od_directory_is_valid(dir));
    od_directory_destroy(dir);
}

static void test_region_points_its_data(void **state)
{
    (void)state;
    od_directory *dir = directory_with((const uintptr_t[]){100, 200, 300}, 3, 100);
    od_region *region, *again;
    od_datum *fresh;
    /* The first and last datum stick out. */
    assert_int_equal(od_directory_open(dir, &(od_mapping){150, 200, 50}, true, &region), OD_OK);
    assert_null(od_directory_find(dir, 100, 1)->region);
    assert_ptr_equal(od_directory_find(dir, 200, 1)->region, region);
    assert_null(od_directory_find(dir, 300, 1)->region);
    assert_true(od_placeset_is_only(od_directory_find(dir, 200, 1)->valid, OD_HOST));

    assert_int_equal(od_directory_open(dir, &(od_mapping){160, 10, 160}, false, &again), OD_EINVAL);
    assert_int_equal(od_directory_open(dir, &(od_mapping){140, 20, 140}, false, &again), OD_EINVAL);
    assert_int_equal(od_directory_open(dir, &(od_mapping){100, 1000, 100}, false, &again), OD_EINVAL);
    assert_int_equal(od_directory_open(dir, &(od_mapping){500, 0, 500}, false, &again), OD_EINVAL);
    assert_true(od_directory_is_valid(dir));

    od_directory_remove(dir, od_directory_find(dir, 200, 1));
    assert_int_equal(od_directory_add(dir, 210, 10, &fresh), OD_OK);
    assert_ptr_equal(fresh->region, region);
    assert_true(od_placeset_is_empty(fresh->valid));
    od_directory_close(dir, region);
    assert_null(fresh->region);
    assert_null(od_directory_find_region(dir, 210, 10));
    assert_true(od_directory_is_valid(dir));
    od_directory_destroy(dir);
    od_directory_destroy(NULL);
}

/* Two regions, with origins outside: [100, 120) from 80, [150, 160) from 170. */
static void test_sections_refer_to_regions(void **state)
{
    (void)state;
    od_directory *dir = od_directory_create(NDEVICES);
    od_region *first, *second, *found;
    assert_int_equal(od_directory_refer(dir, 100, 1, &found), OD_APART);
    assert_int_equal(od_directory_open(dir, &(od_mapping){150, 10, 170}, false, &second), OD_OK);
    assert_int_equal(od_directory_open(dir, &(od_mapping){100, 20, 80}, false, &first), OD_OK);
    const struct {
        uintptr_t begin;
        size_t size;
        od_relation relation;
        const od_region *region;
    } cases[] = {
        {100, 20, OD_INSIDE, first},  {119, 1, OD_INSIDE, first},  {119, 2, OD_ACROSS, first},
        {99, 2, OD_ACROSS, first},    {99, 1, OD_APART, NULL},     {120, 30, OD_APART, NULL},
        {120, 31, OD_ACROSS, second}, {90, 90, OD_ACROSS, first},  {79, 0, OD_APART, NULL},
        {80, 0, OD_INSIDE, first},    {119, 0, OD_INSIDE, first},  {120, 0, OD_APART, NULL},
        {149, 0, OD_APART, NULL},     {160, 0, OD_INSIDE, second}, {169, 0, OD_INSIDE, second},
        {170, 0, OD_APART, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(od_directory_refer(dir, cases[i].begin, cases[i].size, &found), cases[i].relation);
        assert_ptr_equal(found, cases[i].region);
    }
    od_section across = {.begin = 99, .size = 2}, implicit = {.begin = 99, .size = 2, .implicit = true};
    assert_int_equal(od_directory_judge(dir, OD_NAMING_ENTER, &across, &found), OD_VERDICT_REFUSE);
    assert_null(found);
    assert_int_equal(od_directory_judge(dir, OD_NAMING_ENTER, &implicit, &found), OD_VERDICT_USE);
    assert_ptr_equal(found, first);
    od_directory_destroy(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_sequences),          cmocka_unit_test(test_neighbours_do_not_overlap),
        cmocka_unit_test(test_ends_of_the_address_space), cmocka_unit_test(test_empty_range_visits_nothing),
        cmocka_unit_test(test_ids_are_dense_and_reused),  cmocka_unit_test(test_region_points_its_data),
        cmocka_unit_test(test_sections_refer_to_regions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
