/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Attached pointers: sets of slots, and contents that come home around them. */
#include "memmgr/data/attach.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static uintptr_t address(const void *p)
{
    return (uintptr_t)p;
}

static void attach(od_attachments *set, const void *slot, uintptr_t pointer)
{
    assert_int_equal(od_attachments_set(set, &(od_attachment){address(slot), pointer, pointer, 8}), OD_OK);
}

static void finds_slots_in_order(void **state)
{
    char bytes[64];
    (void)state;
    od_attachments *set = od_attachments_create();
    attach(set, bytes + 40, 3);
    attach(set, bytes + 8, 1);
    attach(set, bytes + 24, 2);
    attach(set, bytes + 24, 5); /* in place of the 2 */
    assert_int_equal(od_attachments_count(set), 3);
    const od_attachment *a = od_attachments_next(set, address(bytes), address(bytes + 64));
    assert_int_equal(a->pointer, 1);
    a = od_attachments_next(set, a->slot + 1, address(bytes + 64));
    assert_int_equal(a->pointer, 5);
    a = od_attachments_next(set, a->slot + 1, address(bytes + 40)); /* ends before the third */
    assert_null(a);
    assert_null(od_attachments_next(NULL, 0, UINTPTR_MAX));
    assert_int_equal(od_attachments_count(NULL), 0);
    od_attachments_release(set);
    od_attachments_release(NULL);
}

static void the_last_user_frees_it(void **state)
{
    char slot[8];
    (void)state;
    od_attachments *set = od_attachments_create();
    attach(set, slot, 1);
    assert_ptr_equal(od_attachments_hold(set), set);
    assert_null(od_attachments_hold(NULL));
    od_attachments_release(set);
    assert_int_equal(od_attachments_count(set), 1);
    od_attachments_release(set);
}

/* Every part of an array with two slots that are not aligned: only the bytes of the part change, and slots hold the
 * host's value. */
static void delivers_around_slots(void **state)
{
    enum { SIZE = 40, FIRST = 5, SECOND = 20 };
    const uintptr_t values[2] = {UINT64_C(0x1122334455667788), UINT64_C(0x99aabbccddeeff00)};
    char host[SIZE], from[SIZE], expected[SIZE];
    (void)state;
    od_attachments *set = od_attachments_create();
    attach(set, host + FIRST, values[0]);
    attach(set, host + SECOND, values[1]);
    memset(from, 'd', SIZE);
    for (size_t begin = 0; begin < SIZE; begin++)
        for (size_t size = 1; begin + size <= SIZE; size++) {
            memset(host, 'h', SIZE);
            memset(expected, 'h', SIZE);
            memset(expected + begin, 'd', size);
            for (size_t i = 0; i < 16; i++) {
                size_t at = (i < 8 ? FIRST : SECOND - 8) + i;
                if (at >= begin && at < begin + size)
                    expected[at] = ((const char *)values)[i];
            }
            bool touched =
                begin < SECOND + 8 && begin + size > FIRST && !(begin >= FIRST + 8 && begin + size <= SECOND);
            assert_int_equal(od_attachments_overlap(set, address(host + begin), size), touched);
            od_attachments_deliver(set, address(host + begin), size, from + begin);
            assert_memory_equal(host, expected, SIZE);
        }
    od_attachments_release(set);
}

static void delivers_all_without_slots(void **state)
{
    char host[8] = "hhhhhhh", from[8] = "device ";
    (void)state;
    assert_false(od_attachments_overlap(NULL, address(host), sizeof host));
    od_attachments_deliver(NULL, address(host), sizeof host, from);
    assert_memory_equal(host, from, sizeof host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_slots_in_order),
        cmocka_unit_test(the_last_user_frees_it),
        cmocka_unit_test(delivers_around_slots),
        cmocka_unit_test(delivers_all_without_slots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
