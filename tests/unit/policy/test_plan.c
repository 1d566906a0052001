/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Plans: order, states, and the count of planned uses. */
#include "tests/unit/policy/sched_world.h"

#include "sched/policy/plan.h"

static void test_append_remove_pop(void **unused)
{
    (void)unused;
    od_datum *data[2] = {world_datum(0, 1, 2), world_datum(1, 1, 2)};
    od_task *tasks[3];
    for (uint32_t i = 0; i < 3; i++)
        tasks[i] = world_task(i, data, (uint32_t[]){0, 1}, i == 1 ? 2 : 1);
    od_plan plan;
    od_plan_init(&plan, &(od_policy_env){.ndevices = 2}, 1);
    assert_null(od_plan_pop(&plan));
    for (uint32_t i = 0; i < 3; i++)
        od_plan_append(&plan, tasks[i]);
    assert_true(od_plan_is_valid(&plan));
    assert_int_equal(data[0]->replica[1].planned_uses, 3);
    assert_int_equal(data[1]->replica[1].planned_uses, 1);
    assert_int_equal(data[0]->replica[0].planned_uses, 0);
    assert_int_equal(tasks[1]->state, OD_TASK_PLANNED);
    assert_int_equal(tasks[1]->place, 1);

    od_plan_remove(&plan, tasks[1]);
    assert_true(od_plan_is_valid(&plan));
    assert_int_equal(data[1]->replica[1].planned_uses, 0);
    assert_int_equal(tasks[1]->state, OD_TASK_READY);
    assert_int_equal(tasks[1]->place, OD_NOWHERE);

    assert_ptr_equal(od_plan_pop(&plan), tasks[0]);
    assert_ptr_equal(od_plan_pop(&plan), tasks[2]);
    assert_null(od_plan_pop(&plan));
    assert_int_equal(data[0]->replica[1].planned_uses, 0);

    od_plan_append(&plan, tasks[0]);
    data[0]->replica[1].planned_uses++;
    assert_false(od_plan_is_valid(&plan));

    for (uint32_t i = 0; i < 3; i++)
        world_task_free(tasks[i]);
    free(data[0]);
    free(data[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_append_remove_pop)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
