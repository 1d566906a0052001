/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What is learnt about code: a kernel may have a million footprints. */
#include "omp_ext/libomp/thread.h"
#include "omp_ext/tasks/entry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

_Thread_local od_thread od_self;

static const char code[4];

static void count(const od_entry *entry, void *arg)
{
    (void)entry;
    ++*(size_t *)arg;
}

static size_t entries(void)
{
    size_t n = 0;
    od_entry_visit(count, &n);
    return n;
}

static void each_footprint_has_its_own(void **state)
{
    (void)state;
    for (size_t bytes = 1; bytes <= 1000; bytes++) {
        od_entry *entry = od_entry_get(code, bytes);
        assert_int_equal(entry->footprint, bytes);
        assert_ptr_equal(od_entry_get(code, bytes), entry);
        assert_ptr_equal(od_entry_numbered(entry->number), entry);
        assert_ptr_not_equal(od_entry_get(code + 1, bytes), entry);
    }
    assert_int_equal(entries(), 2000);
}

static void a_million_of_them_share_some(void **state)
{
    od_entry *first = od_entry_get(code, 7);
    (void)state;
    for (size_t bytes = 1; bytes <= 1000 * 1000; bytes++) {
        od_entry *entry = od_entry_get(code, bytes * 24);
        assert_true(entry->footprint >= bytes * 24 && entry->footprint - bytes * 24 < bytes * 24 / 8 + 1);
        assert_ptr_equal(entry->code, code);
        assert_true(entry->number > 0);
    }
    assert_true(entries() < OD_ENTRY_EXACT + 64 * 8);
    assert_ptr_equal(od_entry_get(code, 7), first);
    assert_int_equal(od_entry_get(code + 2, SIZE_MAX)->footprint, SIZE_MAX);
    assert_int_equal(od_entry_get(code + 2, 0)->footprint, 0);
    assert_ptr_not_equal(od_entry_get(code + 2, 4096), od_entry_get(code + 3, 4096));
}

static void what_has_been_learnt_is_used_for_what_is_alike(void **state)
{
    od_entry *entry = od_entry_get(code + 3, (1 << 30) + 1);
    (void)state;
    for (int i = 0; i < 8; i++)
        od_entry_record(entry, 0.25);
    assert_true(od_entry_duration(od_entry_get(code + 3, (1 << 30) + 12345)) == 0.25);
    assert_ptr_not_equal(od_entry_get(code + 3, (1 << 30) + (1 << 29)), entry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_footprint_has_its_own),
        cmocka_unit_test(a_million_of_them_share_some),
        cmocka_unit_test(what_has_been_learnt_is_used_for_what_is_alike),
    };
    return cmocka_run_group_tests_name("entry", tests, NULL, NULL);
}
