/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The mappings of one list: neighbours of every address, against a search through all. */
#include "memmgr/data/mappings.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "tests/unit/random.h"

enum { MOST = 30, CELLS = 120, ROUNDS = 300 };

static const od_mapping *nearest(const od_mapping *all, uint32_t count, uintptr_t address, bool before)
{
    const od_mapping *best = NULL;
    for (uint32_t i = 0; i < count; i++)
        if ((all[i].begin <= address) == before &&
            (!best || (before ? all[i].begin > best->begin : all[i].begin < best->begin)))
            best = &all[i];
    return best;
}

static void check_near(const od_mapping *found, const od_mapping *want)
{
    assert_int_equal(found != NULL, want != NULL);
    if (want)
        assert_true(found->begin == want->begin && found->size == want->size && found->origin == want->origin);
}

static void check_all(const od_mappings *made, const od_mapping *all, uint32_t count)
{
    for (uintptr_t address = 0; address < CELLS + 2; address++) {
        od_neighbours near = od_mappings_near(made, address);
        check_near(near.before, nearest(all, count, address, true));
        check_near(near.after, nearest(all, count, address, false));
    }
    assert_null(od_mappings_near(made, UINTPTR_MAX).after);
}

static void finds_neighbours(void **state)
{
    uint64_t seed = 11;
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        od_mapping all[MOST];
        od_mappings made;
        uint32_t count = 0;
        assert_int_equal(od_mappings_init(&made, MOST), OD_OK);
        check_all(&made, all, 0);
        for (int i = 0; i < MOST; i++) {
            od_mapping m = {random_next(&seed) % CELLS, 1 + random_next(&seed) % 6, random_next(&seed) % CELLS};
            const od_mapping *found;
            if (od_presence_find(od_mappings_near(&made, m.begin), m.begin, m.size, &found) != OD_APART)
                continue;
            od_mappings_add(&made, m);
            all[count++] = m;
        }
        check_all(&made, all, count);
        od_mappings_free(&made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(finds_neighbours)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
