/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A target task's end and the return of its code on two threads, in any order: libomp hears of each task exactly once,
 * from whoever comes second, and only if it has been told that the task is detached.
 */
#include "omp_ext/libomp/returned.h"

#include "omp_ext/libomp/real.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

od_real od_real_table;

void od_real_late(const char *name)
{
    (void)name;
    abort();
}

/* libomp's, in memory that it may free as soon as the code has returned and the task is complete. */
typedef struct fake_task {
    od_kmp_task task;
    atomic_uint allowed;   /* times that an event was asked for */
    atomic_uint fulfilled; /* and fulfilled by the code's own thread */
    void *left;            /* to whoever ended it, for libomp */
} fake_task;

static void *allow(od_ident *ident, int32_t gtid, void *task)
{
    (void)ident, (void)gtid;
    atomic_fetch_add(&((fake_task *)task)->allowed, 1);
    return task;
}

static void fulfill(void *event)
{
    atomic_fetch_add(&((fake_task *)event)->fulfilled, 1);
}

static int set_up(void **state)
{
    (void)state;
    od_real_table.__kmpc_task_allow_completion_event = allow;
    od_real_table.omp_fulfill_event = fulfill;
    return 0;
}

static void ends_before_its_code_returns(void **state)
{
    (void)state;
    fake_task t = {.left = NULL};
    assert_null(od_task_ended(&t.task));
    od_task_returns(&t.task, 0);
    assert_int_equal(t.allowed, 0);
    assert_int_equal(t.fulfilled, 0);
}

static void ends_after_its_code_has_returned(void **state)
{
    (void)state;
    fake_task t = {.left = NULL};
    od_task_returns(&t.task, 0);
    assert_int_equal(t.allowed, 1);
    assert_ptr_equal(od_task_ended(&t.task), &t);
    assert_int_equal(t.fulfilled, 0);
}

enum { TASKS = 20000 };

static fake_task tasks[TASKS];
static atomic_uint turn[2];

/* Both threads come to each task at about the same time. */
static void meet(unsigned i, unsigned self)
{
    enum { SPINS = 1000 };
    atomic_store(&turn[self], i + 1);
    for (unsigned spins = 0; atomic_load(&turn[!self]) < i + 1; spins++)
        if (spins > SPINS)
            sched_yield();
}

static void *end_all(void *arg)
{
    for (unsigned i = 0; i < TASKS; i++) {
        meet(i, 1);
        tasks[i].left = od_task_ended(&tasks[i].task);
    }
    return arg;
}

static void either_comes_second(void **state)
{
    (void)state;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, end_all, NULL), 0);
    for (unsigned i = 0; i < TASKS; i++) {
        meet(i, 0);
        od_task_returns(&tasks[i].task, 0);
    }
    pthread_join(thread, NULL);
    for (unsigned i = 0; i < TASKS; i++) {
        unsigned told = tasks[i].fulfilled + (tasks[i].left != NULL);
        assert_int_equal(told, tasks[i].allowed > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_before_its_code_returns),
        cmocka_unit_test(ends_after_its_code_has_returned),
        cmocka_unit_test(either_comes_second),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
