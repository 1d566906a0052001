/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The eviction rule `belady`: the task buffer first, then the planned order, then known uses, then the least recent. */
#include "tests/unit/policy/sched_world.h"

enum { DATA = 5 };

struct full_device {
    od_datum *data[DATA];
    od_task *tasks[DATA];
    uint32_t ntasks;
    od_list resident, buffer;
    od_evict_query query;
    uint64_t next[DATA];   /* what the policy answers */
    uint32_t others[DATA]; /* known uses */
};

static uint64_t next_use(void *state, const od_datum *datum, unsigned k)
{
    assert_int_equal(k, 0);
    return ((struct full_device *)state)->next[datum->id];
}

static uint32_t future_uses(void *state, const od_datum *datum)
{
    return ((struct full_device *)state)->others[datum->id];
}

static const od_policy_ops planner = {.next_use = next_use, .future_uses = future_uses};

static int set_up(void **state)
{
    struct full_device *device = calloc(1, sizeof *device);
    assert_non_null(device);
    od_list_init(&device->resident);
    od_list_init(&device->buffer);
    for (uint32_t d = 0; d < DATA; d++) {
        device->data[d] = world_datum(d, 1, 1);
        device->data[d]->replica[0].state = OD_PRESENT;
        device->next[d] = OD_NEVER;
        od_list_push_back(&device->resident, &device->data[d]->replica[0].lru);
    }
    device->query = (od_evict_query){
        .resident = &device->resident, .buffer = &device->buffer, .policy = &planner, .policy_state = device};
    *state = device;
    return 0;
}

static int tear_down(void **state)
{
    struct full_device *device = *state;
    for (uint32_t t = 0; t < device->ntasks; t++)
        world_task_free(device->tasks[t]);
    for (uint32_t d = 0; d < DATA; d++)
        free(device->data[d]);
    free(device);
    return 0;
}

static od_task *buffer_task(struct full_device *device, uint32_t reads)
{
    od_task *task = world_task(device->ntasks, device->data, &reads, 1);
    device->data[reads]->replica[0].buffered_uses++;
    od_list_push_back(&device->buffer, &task->link);
    device->tasks[device->ntasks++] = task;
    return task;
}

static void assert_victim(const struct full_device *device, uint32_t d)
{
    assert_ptr_equal(od_evict_find("belady")->victim(&device->query), &device->data[d]->replica[0]);
}

static void test_furthest_planned_use(void **state)
{
    struct full_device *device = *state;
    const uint64_t next[DATA] = {4, 9, 2, 7, 9};
    memcpy(device->next, next, sizeof next);
    assert_victim(device, 1); /* the less recently used of two */
    device->data[1]->replica[0].pins = 1;
    assert_victim(device, 4);
    device->next[4] = 1; /* the order has changed */
    assert_victim(device, 3);
}

static void test_never_used_again(void **state)
{
    struct full_device *device = *state;
    device->next[0] = 1000;
    for (uint32_t d = 1; d < DATA; d++)
        device->others[d] = 2;
    assert_victim(device, 1);
    device->data[1]->forecast = 1; /* a task that is not ready will use it */
    assert_victim(device, 2);
    device->others[3] = 0;
    assert_victim(device, 3);
}

static void test_buffer_comes_first(void **state)
{
    struct full_device *device = *state;
    const uint64_t next[DATA] = {3, OD_NEVER, OD_NEVER, 0, OD_NEVER};
    memcpy(device->next, next, sizeof next);
    const uint32_t order[4] = {4, 2, 1, 2};
    od_task *head = buffer_task(device, order[0]);
    for (uint32_t i = 1; i < 4; i++)
        buffer_task(device, order[i]);
    assert_victim(device, 0); /* planned uses come after buffered ones */
    device->query.head = head;
    assert_victim(device, 0);
    device->data[0]->replica[0].pins = device->data[3]->replica[0].pins = 1;
    assert_victim(device, 1); /* of those in the buffer the last; never the head's own */
    device->data[1]->replica[0].pins = device->data[2]->replica[0].pins = 1;
    assert_null(od_evict_find("belady")->victim(&device->query));
    device->query.head = NULL;
    assert_null(od_evict_find("belady")->victim(&device->query));
}

static void test_policy_without_a_plan(void **state)
{
    struct full_device *device = *state;
    device->query.policy = od_policy_find("eager");
    assert_victim(device, 0);
    device->query.policy = NULL;
    device->data[0]->forecast = 1;
    assert_victim(device, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_furthest_planned_use, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_never_used_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_buffer_comes_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_policy_without_a_plan, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
