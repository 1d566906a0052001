/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The order of locks: who takes one after another that comes later is stopped, in builds with assertions. */
#include "util/lock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static od_lock first = OD_LOCK_OF(OD_LOCK_RUNTIME), second = OD_LOCK_OF(OD_LOCK_IMAGES);
static od_lock shards[2] = {OD_LOCK_OF(OD_LOCK_RECORDS), OD_LOCK_OF(OD_LOCK_RECORDS)};

static void take_both(od_lock *one, od_lock *other)
{
    od_lock_take(one);
    od_lock_take(other);
    od_lock_give(one); /* in any order */
    od_lock_give(other);
}

static void test_order(void **state)
{
    (void)state;
    take_both(&first, &second);
    take_both(&shards[0], &shards[1]);
    od_lock_take(&second); /* nothing is held any more */
    od_lock_give(&second);
    take_both(&first, &shards[1]);
}

#ifndef NDEBUG
static bool is_stopped(od_lock *one, od_lock *other)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        close(STDERR_FILENO);
        take_both(one, other);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status);
}
#endif

static void test_wrong_order(void **state)
{
    (void)state;
#ifdef NDEBUG
    skip();
#else
    assert_false(is_stopped(&first, &second));
    assert_true(is_stopped(&second, &first));
    assert_true(is_stopped(&shards[1], &shards[0]));
    assert_true(is_stopped(&first, &first));
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_wrong_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
