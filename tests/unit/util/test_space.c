/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a limit of the address space leaves to the library. */
#include "util/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cmocka.h>

enum { MEBIBYTE = 1 << 20 };

static void test_no_limit(void **state)
{
    (void)state;
    assert_false(od_space_is_limited());
    assert_true(od_space_left() == SIZE_MAX);
    assert_true(od_space_admits((size_t)1 << 50));
}

static size_t used(void)
{
    struct rlimit limit = {(rlim_t)1 << 50, RLIM_INFINITY};
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
    return (size_t)limit.rlim_cur - od_space_left();
}

static void test_little_is_left(void **state)
{
    const size_t room = 256 * MEBIBYTE;
    struct rlimit limit = {used() + room, RLIM_INFINITY};
    (void)state;
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
    assert_true(od_space_is_limited());
    assert_in_range(od_space_left(), room - MEBIBYTE, room + MEBIBYTE);
    assert_true(od_space_admits(8 * MEBIBYTE));
    assert_false(od_space_admits(32 * MEBIBYTE));

    void *taken = mmap(NULL, room / 2, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(taken != MAP_FAILED);
    assert_in_range(od_space_left(), room / 2 - MEBIBYTE, room / 2 + MEBIBYTE);
    munmap(taken, room / 2);
    limit.rlim_cur = used();
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
    assert_true(od_space_left() < MEBIBYTE);
    limit.rlim_cur = RLIM_INFINITY;
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_limit), cmocka_unit_test(test_little_is_left)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
