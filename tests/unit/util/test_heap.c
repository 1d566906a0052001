/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The indexed heap against a linear search, under random pushes, removals and key changes. */
#include "tests/unit/policy/sched_world.h"

#include "util/container/heap.h"

enum { ITEMS = 50 };

struct keys {
    uint32_t key[ITEMS];
};

static bool key_before(const void *owner, uint32_t a, uint32_t b)
{
    const struct keys *keys = owner;
    return keys->key[a] < keys->key[b];
}

static uint32_t least_key(const struct keys *keys, const od_heap *heap)
{
    uint32_t least = UINT32_MAX;
    for (uint32_t i = 0; i < ITEMS; i++) {
        if (od_heap_contains(heap, i) && keys->key[i] < least)
            least = keys->key[i];
    }
    return least;
}

static void change(struct keys *keys, od_heap *heap, uint32_t item, uint32_t key)
{
    bool raised = key < keys->key[item];
    keys->key[item] = key;
    if (raised)
        od_heap_raised(heap, item);
    else
        od_heap_lowered(heap, item);
}

static void test_random_operations(void **unused)
{
    (void)unused;
    uint64_t seed = 7;
    struct keys keys = {{0}};
    od_heap heap;
    od_heap_init(&heap, key_before, &keys);
    assert_int_equal(od_heap_reserve(&heap, ITEMS / 2), OD_OK);
    assert_int_equal(od_heap_reserve(&heap, ITEMS), OD_OK);
    for (int step = 0; step < 20000; step++) {
        uint32_t item = world_random(&seed, ITEMS), key = world_random(&seed, 30);
        if (!od_heap_contains(&heap, item)) {
            keys.key[item] = key;
            od_heap_push(&heap, item);
        } else if (world_random(&seed, 2)) {
            od_heap_remove(&heap, item);
        } else {
            change(&keys, &heap, item, key);
        }
        assert_true(od_heap_is_valid(&heap));
        uint32_t first = od_heap_first(&heap);
        assert_int_equal(first == OD_HEAP_NONE ? UINT32_MAX : keys.key[first], least_key(&keys, &heap));
    }
    od_heap_free(&heap);
}

static bool has_even_key(const void *owner, uint32_t item)
{
    return ((const struct keys *)owner)->key[item] % 2 == 0;
}

static void test_some_are_kept(void **unused)
{
    (void)unused;
    uint64_t seed = 3;
    struct keys keys = {{0}};
    od_heap heap;
    od_heap_init(&heap, key_before, &keys);
    assert_int_equal(od_heap_reserve(&heap, ITEMS), OD_OK);
    for (int round = 0; round < 200; round++) {
        bool was_there[ITEMS];
        for (uint32_t item = 0; item < ITEMS; item++) {
            keys.key[item] = world_random(&seed, 30);
            was_there[item] = world_random(&seed, 3);
            if (was_there[item])
                od_heap_push(&heap, item);
        }
        od_heap_keep(&heap, has_even_key);
        assert_true(od_heap_is_valid(&heap));
        for (uint32_t item = 0; item < ITEMS; item++)
            assert_int_equal(od_heap_contains(&heap, item), was_there[item] && keys.key[item] % 2 == 0);
        od_heap_clear(&heap);
    }
    od_heap_free(&heap);
}

static void test_empty(void **unused)
{
    (void)unused;
    od_heap heap;
    od_heap_init(&heap, key_before, NULL);
    assert_int_equal(od_heap_first(&heap), OD_HEAP_NONE);
    assert_false(od_heap_contains(&heap, 0));
    assert_true(od_heap_is_valid(&heap));
    od_heap_free(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_random_operations),
        cmocka_unit_test(test_some_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
