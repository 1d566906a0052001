/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* darts: small cases with known answers. test_reference.c compares it with full scans. */
#include "tests/unit/policy/sched_world.h"

/* --- cases with known answers -------------------------------------------- */

enum { CASE_DATA = 8 };

struct small {
    const od_policy_ops *ops;
    void *state;
    world_loads *loads;
    od_datum *data[CASE_DATA];
    od_task *tasks[16];
    uint32_t ntasks;
};

/* One device; datum i has `sizes[i]` bytes, so its transfer takes that many milliseconds. */
static struct small small_create(const char *policy, unsigned ndevices, const size_t sizes[CASE_DATA])
{
    struct small small = {.loads = calloc(1, sizeof *small.loads)};
    assert_non_null(small.loads);
    small.state = world_choose(policy, world_env(ndevices, 1, small.loads), &small.ops);
    for (uint32_t i = 0; i < CASE_DATA; i++)
        small.data[i] = world_datum(i, sizes ? sizes[i] : 1, ndevices);
    return small;
}

static void small_destroy(struct small *small)
{
    small->ops->destroy(small->state);
    for (uint32_t i = 0; i < small->ntasks; i++)
        world_task_free(small->tasks[i]);
    for (uint32_t i = 0; i < CASE_DATA; i++)
        free(small->data[i]);
    free(small->loads);
}

/* A ready task; `reads` is a string of datum digits, `ms` its duration. */
static od_task *small_ready(struct small *small, const char *reads, double ms, int32_t priority)
{
    uint32_t index[CASE_DATA], count = 0;
    for (; reads[count]; count++)
        index[count] = (uint32_t)(reads[count] - '0');
    od_task *task = world_task(small->ntasks, small->data, index, count);
    task->duration = ms * 1e-3;
    task->priority = priority;
    small->tasks[small->ntasks++] = task;
    assert_int_equal(small->ops->ready(small->state, task), OD_OK);
    world_check(small->ops, small->state);
    return task;
}

static od_task *small_pop(struct small *small, unsigned k)
{
    od_task *task = small->ops->pop(small->state, k);
    small->loads->device[k].queued += task != NULL;
    world_check(small->ops, small->state);
    return task;
}

static void test_smallest_ratio(void **unused)
{
    (void)unused;
    struct small small = small_create("darts:ratio", 1, (size_t[CASE_DATA]){4, 1, 2, 1, 1, 1, 1, 1});
    small_ready(&small, "0", 7, 9); /* 4/7 */
    small_ready(&small, "1", 1, 9); /* 1/1 */
    od_task *best = small_ready(&small, "2", 2, 0);
    od_task *more = small_ready(&small, "2", 2, 1); /* 2/4 in all */
    assert_ptr_equal(small_pop(&small, 0), more);   /* priority within S0 */
    assert_ptr_equal(small_pop(&small, 0), best);
    assert_ptr_equal(small_pop(&small, 0), small.tasks[0]); /* 4/7 */
    assert_ptr_equal(small_pop(&small, 0), small.tasks[1]);
    assert_null(small_pop(&small, 0));
    small_destroy(&small);
}

static void test_ties_in_order(void **unused)
{
    (void)unused;
    struct small small = small_create("darts:ratio", 1, NULL);
    small_ready(&small, "0", 4, 5);                /* ratio 1/4, |S0| 1 */
    od_task *two = small_ready(&small, "1", 2, 0); /* ratio 1/4, |S0| 2 */
    small_ready(&small, "1", 2, 0);
    od_task *urgent = small_ready(&small, "2", 4, 7); /* ratio 1/4, |S0| 1, more urgent than datum 0 */
    assert_ptr_equal(small_pop(&small, 0), two);
    small_pop(&small, 0);
    assert_ptr_equal(small_pop(&small, 0), urgent);
    assert_ptr_equal(small_pop(&small, 0), small.tasks[0]);
    small_destroy(&small);
}

static void test_load_per_task_then_priority(void **unused)
{
    (void)unused;
    struct small small = small_create("darts", 1, (size_t[CASE_DATA]){2, 2, 3, 1, 2, 1, 1, 1});
    od_task *long_one = small_ready(&small, "0", 9, 0); /* 2 per task, a ratio of 2/9 */
    od_task *urgent = small_ready(&small, "1", 1, 5);   /* 2 per task */
    od_task *several = small_ready(&small, "2", 1, 0);  /* 3/2 per task */
    small_ready(&small, "2", 1, 0);
    od_task *small_one = small_ready(&small, "3", 1, 0); /* 1 per task */
    od_task *short_one = small_ready(&small, "4", 1, 0); /* 2 per task, a ratio of 2 */
    assert_ptr_equal(small_pop(&small, 0), small_one);
    assert_ptr_equal(small_pop(&small, 0), several);
    small_pop(&small, 0);
    assert_ptr_equal(small_pop(&small, 0), urgent);
    assert_ptr_equal(small_pop(&small, 0), long_one);
    assert_ptr_equal(small_pop(&small, 0), short_one);
    small_destroy(&small);
}

/* Loads cost what they did when it was told of a change last, whenever it asks for that. */
static void test_data_move_when_it_is_told(void **unused)
{
    (void)unused;
    struct small small = small_create("darts", 2, (size_t[CASE_DATA]){4, 4, 1, 1, 1, 1, 1, 1});
    small.data[0]->valid = od_placeset_of(1);
    od_task *near = small_ready(&small, "0", 1, 0), *far = small_ready(&small, "1", 1, 0);
    small.data[0]->valid = od_placeset_of(OD_HOST);
    small.data[1]->valid = od_placeset_of(1);
    assert_ptr_equal(small_pop(&small, 0), near);
    assert_ptr_equal(small_pop(&small, 0), far);
    small_destroy(&small);
}

static void test_ties_by_s1_then_task_left(void **unused)
{
    (void)unused;
    struct small small = small_create("darts", 1, NULL);
    small_ready(&small, "0", 1, 0);
    od_task *with_s1 = small_ready(&small, "1", 1, 0);
    small_ready(&small, "12", 1, 0); /* S1 of 1 and 2 */
    assert_ptr_equal(small_pop(&small, 0), with_s1);
    small_destroy(&small);

    small = small_create("darts", 1, NULL);
    small_ready(&small, "0", 1, 0);
    od_task *with_left = small_ready(&small, "1", 1, 0);
    small_ready(&small, "1234", 1, 0); /* in no set, but work left for 1 */
    assert_ptr_equal(small_pop(&small, 0), with_left);
    small_destroy(&small);
}

static void test_s1_takes_the_most_urgent(void **unused)
{
    (void)unused;
    struct small small = small_create("darts", 1, NULL);
    small_ready(&small, "01", 1, 1);
    small_ready(&small, "02", 1, 1);
    od_task *urgent = small_ready(&small, "34", 1, 2);
    small_ready(&small, "567", 1, 3); /* lacks three: no S1 knows it */
    assert_ptr_equal(small_pop(&small, 0), urgent);
    assert_ptr_equal(small_pop(&small, 0), small.tasks[0]); /* datum 0: |S1| 2; the older task */
    assert_ptr_equal(small_pop(&small, 0), small.tasks[1]); /* now in S0 of 2 */
    assert_ptr_equal(small_pop(&small, 0), small.tasks[3]); /* the last resort */
    assert_null(small_pop(&small, 0));
    small_destroy(&small);
}

static void test_last_resort_is_the_most_urgent(void **unused)
{
    (void)unused;
    struct small small = small_create("darts", 1, NULL);
    small_ready(&small, "012", 1, 1);
    od_task *urgent = small_ready(&small, "345", 1, 2);
    assert_ptr_equal(small_pop(&small, 0), urgent);
    small_destroy(&small);
}

static void test_free_task_is_pushed_to_the_emptier_device(void **unused)
{
    (void)unused;
    struct small small = small_create("darts", 2, NULL);
    for (unsigned k = 0; k < 2; k++) {
        small.data[0]->replica[k].state = OD_PRESENT;
        small.ops->incoming(small.state, small.data[0], k);
    }
    od_task *first = small_ready(&small, "0", 1, 0);
    od_task *second = small_ready(&small, "0", 1, 0);
    assert_int_equal(first->place, 0);
    assert_int_equal(second->place, 1);
    assert_ptr_equal(small_pop(&small, 0), first);
    assert_ptr_equal(small_pop(&small, 1), second);
    od_task *third = small_ready(&small, "", 1, 0);
    od_task *fourth = small_ready(&small, "0", 1, 0);
    assert_int_equal(third->place, 0); /* one in each buffer */
    small.ops->started(small.state, second, 1);
    small.loads->device[1] = (od_device_load){.running = 1};
    assert_int_equal(fourth->place, 1);
    od_task *fifth = small_ready(&small, "0", 1, 0);
    assert_int_equal(fifth->place, 1); /* two queued on 0, one on 1 */
    small_destroy(&small);
}

static void test_promise_counts_as_present(void **unused)
{
    (void)unused;
    struct small small = small_create("darts", 2, NULL);
    od_task *task = small_ready(&small, "01", 1, 0);
    assert_int_equal(task->state, OD_TASK_READY);
    assert_ptr_equal(small_pop(&small, 1), task);
    od_task *follower = small_ready(&small, "01", 1, 0);
    assert_int_equal(follower->place, 1);
    small_destroy(&small);
}

static void test_eviction_takes_planned_tasks_back(void **unused)
{
    (void)unused;
    struct small small = small_create("darts", 1, NULL);
    for (uint32_t i = 0; i < 2; i++) {
        small.data[i]->replica[0].state = OD_PRESENT;
        small.ops->incoming(small.state, small.data[i], 0);
    }
    od_task *with = small_ready(&small, "01", 1, 0);
    od_task *without = small_ready(&small, "0", 1, 0);
    assert_int_equal(small.ops->future_uses(small.state, small.data[0]), 2);
    small.data[1]->replica[0].state = OD_ABSENT;
    small.ops->evicted(small.state, small.data[1], 0);
    world_check(small.ops, small.state);
    assert_int_equal(with->state, OD_TASK_READY);
    assert_int_equal(without->state, OD_TASK_PLANNED);
    assert_int_equal(small.ops->future_uses(small.state, small.data[1]), 1);
    assert_ptr_equal(small_pop(&small, 0), without);
    assert_ptr_equal(small_pop(&small, 0), with);
    assert_int_equal(small.ops->future_uses(small.state, small.data[0]), 0);
    small_destroy(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_smallest_ratio),
        cmocka_unit_test(test_load_per_task_then_priority),
        cmocka_unit_test(test_ties_in_order),
        cmocka_unit_test(test_data_move_when_it_is_told),
        cmocka_unit_test(test_ties_by_s1_then_task_left),
        cmocka_unit_test(test_s1_takes_the_most_urgent),
        cmocka_unit_test(test_last_resort_is_the_most_urgent),
        cmocka_unit_test(test_free_task_is_pushed_to_the_emptier_device),
        cmocka_unit_test(test_promise_counts_as_present),
        cmocka_unit_test(test_eviction_takes_planned_tasks_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
