/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What holds for every registered policy and rule, what victims are allowed, and the number of
 * loads of the two-dimensional matrix product in a simple model of one device.
 */
#include "tests/unit/policy/sched_world.h"

#include <stdio.h>
#include <unistd.h>

/* --- registries ---------------------------------------------------------- */

static void assert_sorted(const char *const *names)
{
    assert_non_null(names[0]);
    for (size_t i = 1; names[i]; i++)
        assert_true(strcmp(names[i - 1], names[i]) < 0);
}

static void test_registries(void **unused)
{
    (void)unused;
    assert_sorted(od_policy_names());
    assert_sorted(od_evict_names());
    for (const char *const *name = od_policy_names(); *name; name++) {
        const od_policy_ops *ops = od_policy_find(*name);
        assert_string_equal(ops->name, *name);
        assert_non_null(od_evict_find(ops->default_evict));
    }
    assert_non_null(od_policy_find("eager"));
    assert_string_equal(od_policy_find("darts")->default_evict, "luf");
    assert_null(od_policy_find("dart"));
    assert_null(od_evict_find(""));
}

static void test_bad_tables_are_left_out(void **unused)
{
    (void)unused;
    od_policy_ops other = *od_policy_find("eager");
    od_policy_register(&other);
    assert_ptr_not_equal(od_policy_find("eager"), &other);
    other.name = "from-the-future";
    other.interface_version++;
    od_policy_register(&other);
    assert_null(od_policy_find("from-the-future"));
}

static const od_policy_option test_options[] = {
    {.name = "fast", .help = "a flag", .bare = 1},
    {.name = "limit", .help = "a number", .number = true, .bare = 7, .omitted = 3},
    {0}};

static void refuse_choice(const char *text, const char *expected)
{
    od_policy_choice choice;
    char error[256] = "";
    assert_int_equal(od_policy_choose(text, &choice, error, sizeof error), OD_EINVAL);
    if (!strstr(error, expected))
        fail_msg("'%s' gave '%s', expected '%s'", text, error, expected);
}

static void test_options_of_policies(void **unused)
{
    (void)unused;
    static od_policy_ops ops;
    od_policy_choice choice;
    char error[256];
    ops = *od_policy_find("eager");
    ops.name = "test";
    ops.options = test_options;
    od_policy_register(&ops);
    assert_int_equal(od_policy_choose("test", &choice, error, sizeof error), OD_OK);
    assert_ptr_equal(choice.ops, &ops);
    assert_true(choice.values[0] == 0 && choice.values[1] == 3);
    assert_int_equal(od_policy_choose("test:limit,fast", &choice, error, sizeof error), OD_OK);
    assert_true(choice.values[0] == 1 && choice.values[1] == 7);
    assert_int_equal(od_policy_choose("test:limit=0", &choice, error, sizeof error), OD_OK);
    assert_true(choice.values[0] == 0 && choice.values[1] == 0);
    refuse_choice("test:slow", "'slow' is no option; allowed: fast limit[=N] ahead[=N]");
    refuse_choice("test:fast=1", "'fast=1' takes no number; allowed:");
    refuse_choice("test:limit=", "'limit=' is no whole number");
    refuse_choice("test:limit=-1", "no whole number");
    refuse_choice("test:limit=99999999999999999999", "no whole number");
    refuse_choice("test:", "'' is no option");
    refuse_choice("test:lim=2", "'lim=2' is no option, did you mean 'limit'?");
    refuse_choice("darts:first", "'first' is no option, did you mean 'alg9'?; allowed: alg9 ");
    refuse_choice("test:first", "'first' is no option; allowed: ");
    refuse_choice("test:a\nb", "'a?b' is no option");
    refuse_choice("eager:fast", "allowed: ahead[=N]");
    refuse_choice("eager:ahed=3", "did you mean 'ahead'?");
    refuse_choice("tes", "unknown name; allowed: ap, ");
    refuse_choice("plugin:/no/such/file.so", "/no/such/file.so: ");
    refuse_choice("plugin:libm.so.6", "has no symbol ompdarts_policy");
}

/* --- never starve -------------------------------------------------------- */

enum { DATA = 20, TASKS = 300, DEVICES = 3 };

/* Lets every device ask until none is given anything; returns how many tasks were given out. */
static uint32_t drain(const od_policy_ops *ops, void *state, od_known *known, bool given[TASKS])
{
    uint32_t count = 0;
    for (bool any = true; any;) {
        any = false;
        for (unsigned k = 0; k < DEVICES; k++) {
            od_task *task = ops->pop(state, k);
            world_check(ops, state);
            if (!task)
                continue;
            od_known_follow_taken(known, task);
            assert_false(given[task->id]);
            given[task->id] = any = true;
            count++;
        }
    }
    return count;
}

/* Data come and go at random while tasks arrive in two bursts; all must be given out, once. */
static void starve_once(const od_policy_ops *ops, uint64_t seed)
{
    od_datum *data[DATA];
    od_task *tasks[TASKS];
    bool given[TASKS] = {false};
    od_known *known;
    void *state = world_create_with(ops, DEVICES, seed, &known);
    for (uint32_t d = 0; d < DATA; d++)
        data[d] = world_datum(d, 1 + world_random(&seed, 4), DEVICES);
    uint32_t count = 0;
    for (uint32_t i = 0; i < TASKS; i++) {
        uint32_t first = world_random(&seed, DATA - 4), reads[] = {first, first + 1, first + 2, first + 3};
        tasks[i] = world_task(i, data, reads, world_random(&seed, 5));
        tasks[i]->priority = (int32_t)world_random(&seed, 5);
        assert_int_equal(od_known_follow_ready(known, tasks[i]), OD_OK);
        assert_int_equal(ops->ready(state, tasks[i]), OD_OK);
        od_datum *datum = data[world_random(&seed, DATA)];
        unsigned k = world_random(&seed, DEVICES);
        bool comes = datum->replica[k].state == OD_ABSENT;
        datum->replica[k].state = comes ? OD_PRESENT : OD_ABSENT;
        (comes ? od_policy_incoming : od_policy_evicted)(ops, state, datum, k);
        world_check(ops, state);
        if (i == TASKS / 2)
            count += drain(ops, state, known, given);
    }
    count += drain(ops, state, known, given);
    assert_int_equal(count, TASKS);
    ops->destroy(state);
    od_known_destroy(known);
    for (uint32_t i = 0; i < TASKS; i++)
        world_task_free(tasks[i]);
    for (uint32_t d = 0; d < DATA; d++)
        free(data[d]);
}

static void test_never_starve(void **unused)
{
    (void)unused;
    for (const char *const *name = od_policy_names(); *name; name++) {
        for (uint64_t seed = 1; seed <= 20; seed++)
            starve_once(od_policy_find(*name), seed * 7919);
    }
}

static void test_plugin(void **unused)
{
    (void)unused;
    od_policy_choice choice;
    char error[512];
    assert_int_equal(od_policy_choose("plugin:" TEST_PLUGIN ":window=7", &choice, error, sizeof error), OD_OK);
    assert_string_equal(choice.ops->name, "nearest");
    assert_true(choice.values[0] == 7);
    for (uint64_t seed = 1; seed <= 20; seed++)
        starve_once(choice.ops, seed * 7919);
    refuse_choice("plugin:" TEST_PLUGIN ":speed=7", "'speed=7' is no option; allowed: window[=N]");
    assert_int_equal(chdir(TEST_PLUGIN_FOLDER), 0);
    assert_int_equal(od_policy_choose("plugin:" TEST_PLUGIN_NAME, &choice, error, sizeof error), OD_OK);
    char expected[128];
    snprintf(expected, sizeof expected, "built for version 1 of the policy interface, this is version %d",
             OD_POLICY_INTERFACE);
    refuse_choice("plugin:" TEST_OLD_PLUGIN, expected);
}

/* On two devices of such speeds. */
static void *choose_dmda(const od_slowness *slowness, const od_policy_ops **ops)
{
    od_policy_env env = world_env(2, 1, NULL);
    env.slowness = slowness;
    return world_choose("dmda", env, ops);
}

/* A device that takes three times as long gets a quarter of what needs no load. */
static void test_slow_devices_get_less(void **unused)
{
    enum { MANY = 40 };
    static const od_slowness slowness = {.classes = 1, .times = {{1, 3}}};
    const od_policy_ops *ops;
    unsigned given[2] = {0};
    od_task *task[MANY];
    (void)unused;
    void *state = choose_dmda(&slowness, &ops);
    for (unsigned t = 0; t < MANY; t++) {
        task[t] = world_task(t, NULL, NULL, 0);
        assert_int_equal(ops->ready(state, task[t]), OD_OK);
    }
    for (unsigned k = 0; k < 2; k++)
        while (ops->pop(state, k))
            given[k]++;
    assert_int_equal(given[0], 30);
    assert_int_equal(given[1], 10);
    ops->destroy(state);
    for (unsigned t = 0; t < MANY; t++)
        world_task_free(task[t]);
}

/* Of tasks that one device takes three times as long for, and tasks that the other does, each gets those that it is
 * fast at. */
static void test_devices_get_what_they_are_fast_at(void **unused)
{
    enum { MANY = 40 };
    static const od_slowness slowness = {.classes = 3, .times = {{1, 1}, {1, 3}, {3, 1}}};
    const od_policy_ops *ops;
    od_task *task[MANY];
    (void)unused;
    void *state = choose_dmda(&slowness, &ops);
    for (unsigned t = 0; t < MANY; t++) {
        task[t] = world_task(t, NULL, NULL, 0);
        task[t]->speed_class = 1 + t % 2;
        assert_int_equal(ops->ready(state, task[t]), OD_OK);
        assert_true(ops->is_valid(state));
    }
    for (unsigned k = 0; k < 2; k++)
        for (const od_task *next; (next = ops->pop(state, k));)
            assert_int_equal(next->speed_class, 1 + k);
    assert_true(ops->is_valid(state));
    ops->destroy(state);
    for (unsigned t = 0; t < MANY; t++)
        world_task_free(task[t]);
}

/* The device that gets a task of this datum, of two; device 0 has so much to do already. */
static unsigned place_beside(const char *policy, const od_alike *alike, double seconds, od_datum *datum)
{
    world_loads loads = {.device[0] = {.running = 1, .seconds = seconds}};
    od_policy_env env = world_env(2, 1, &loads);
    const od_policy_ops *ops;
    env.alike = alike;
    void *state = world_choose(policy, env, &ops);
    od_task *task = world_task(0, &datum, (uint32_t[]){0}, 1);
    assert_int_equal(ops->ready(state, task), OD_OK);
    unsigned k = ops->pop(state, 1) != NULL;
    assert_true(k || ops->pop(state, 0) == task);
    ops->destroy(state);
    world_task_free(task);
    return k;
}

/* The other one gets it from there, it would have to get it back from the host. */
static void test_what_leaves_a_device_comes_faster_to_others(void **unused)
{
    static const od_alike alike = {.ngroups = 1, .nsorts = 1};
    (void)unused;
    od_datum *datum = world_datum(0, 2, 2); /* 1 ms from a device, 2 ms from the host */
    datum->valid = od_placeset_of(1);
    datum->replica[1].state = OD_LEAVING;
    assert_int_equal(place_beside("dmda", &alike, 0.5e-3, datum), 0);
    assert_int_equal(place_beside("dmda", &alike, 1.5e-3, datum), 1);
    free(datum);
}

/* With all loads on one link both would complete it at once. */
static void test_of_equals_the_one_that_is_free(void **unused)
{
    (void)unused;
    od_datum *datum = world_datum(0, 100, 2);
    assert_int_equal(place_beside("dmdas:bus", NULL, 1e-3, datum), 1);
    assert_int_equal(place_beside("dmdas:bus", NULL, 0, datum), 0);
    free(datum);
}

static void test_destroy_with_tasks_left(void **unused)
{
    (void)unused;
    od_datum *data[1] = {world_datum(0, 1, 1)};
    for (const char *const *name = od_policy_names(); *name; name++) {
        const od_policy_ops *ops = od_policy_find(*name);
        od_known *known;
        void *state = world_create_with(ops, 1, 1, &known);
        od_task *task = world_task(0, data, (uint32_t[]){0}, 1);
        assert_int_equal(od_known_follow_ready(known, task), OD_OK);
        assert_int_equal(ops->ready(state, task), OD_OK);
        ops->destroy(state);
        od_known_destroy(known);
        world_task_free(task);
        data[0]->replica[0].planned_uses = 0;
    }
    free(data[0]);
}

/* --- victims ------------------------------------------------------------- */

struct full_device {
    od_datum *data[4];
    od_list resident, buffer;
    od_evict_query query;
};

static void full_device_init(struct full_device *device)
{
    od_list_init(&device->resident);
    od_list_init(&device->buffer);
    for (uint32_t d = 0; d < 4; d++) {
        device->data[d] = world_datum(d, 1, 1);
        device->data[d]->replica[0].state = OD_PRESENT;
        od_list_push_back(&device->resident, &device->data[d]->replica[0].lru);
    }
    device->query = (od_evict_query){.resident = &device->resident, .buffer = &device->buffer};
}

static void full_device_free(struct full_device *device)
{
    for (uint32_t d = 0; d < 4; d++)
        free(device->data[d]);
}

static od_replica *victim(const struct full_device *device, const char *rule)
{
    return od_evict_find(rule)->victim(&device->query);
}

static void buffer_task(struct full_device *device, od_task *task)
{
    for (uint32_t i = 0; i < task->naccess; i++)
        task->access[i].datum->replica[0].buffered_uses++;
    od_list_push_back(&device->buffer, &task->link);
}

static void test_allowed_victims(void **unused)
{
    (void)unused;
    struct full_device device;
    full_device_init(&device);
    od_replica *replica = &device.data[0]->replica[0];
    assert_true(od_victim_allowed(&device.query, replica));
    replica->state = OD_LOADING;
    assert_false(od_victim_allowed(&device.query, replica));
    replica->state = OD_LEAVING;
    assert_false(od_victim_allowed(&device.query, replica));
    replica->state = OD_PRESENT;
    replica->pins = 1;
    assert_false(od_victim_allowed(&device.query, replica));
    replica->pins = 0;
    device.data[0]->bound = 1;
    device.data[0]->home = 0;
    assert_false(od_victim_allowed(&device.query, replica));
    device.data[0]->bound = 0;

    od_task *head = world_task(0, device.data, (uint32_t[]){0}, 1);
    od_task *next = world_task(1, device.data, (uint32_t[]){1}, 1);
    buffer_task(&device, head);
    buffer_task(&device, next);
    assert_false(od_victim_allowed(&device.query, replica));
    assert_false(od_victim_allowed(&device.query, &device.data[1]->replica[0]));
    device.query.head = head;
    assert_false(od_victim_allowed(&device.query, replica));
    assert_true(od_victim_allowed(&device.query, &device.data[1]->replica[0]));
    full_device_free(&device);
    world_task_free(head);
    world_task_free(next);
}

static void test_lru(void **unused)
{
    (void)unused;
    struct full_device device;
    full_device_init(&device);
    device.data[0]->replica[0].pins = 1;
    assert_ptr_equal(victim(&device, "lru"), &device.data[1]->replica[0]);
    for (uint32_t d = 1; d < 4; d++)
        device.data[d]->replica[0].pins = 1;
    assert_null(victim(&device, "lru"));
    assert_null(victim(&device, "luf"));
    full_device_free(&device);
}

static uint32_t uses_of_size(void *state, const od_datum *datum)
{
    (void)state;
    return (uint32_t)datum->size;
}

static void test_luf_least_planned(void **unused)
{
    (void)unused;
    struct full_device device;
    full_device_init(&device);
    const uint32_t planned[4] = {3, 2, 1, 1};
    for (uint32_t d = 0; d < 4; d++)
        device.data[d]->replica[0].planned_uses = planned[d];
    assert_ptr_equal(victim(&device, "luf"), &device.data[2]->replica[0]);

    od_policy_ops policy = {.future_uses = uses_of_size};
    device.query.policy = &policy;
    device.data[3]->size = 5; /* what ready tasks use most goes: what few use is soon done with */
    assert_ptr_equal(victim(&device, "luf"), &device.data[3]->replica[0]);
    device.data[2]->size = 0; /* no ready task */
    assert_ptr_equal(victim(&device, "luf"), &device.data[2]->replica[0]);
    device.data[3]->size = 0;
    device.data[2]->forecast = 1;
    assert_ptr_equal(victim(&device, "luf"), &device.data[3]->replica[0]);
    device.data[3]->forecast = 2;
    assert_ptr_equal(victim(&device, "luf"), &device.data[2]->replica[0]);
    device.data[2]->replica[0].buffered_uses = 1;
    assert_ptr_equal(victim(&device, "luf"), &device.data[3]->replica[0]);
    full_device_free(&device);
}

static void test_luf_belady_in_buffer(void **unused)
{
    (void)unused;
    struct full_device device;
    full_device_init(&device);
    const uint32_t order[5] = {0, 2, 3, 1, 2};
    od_task *tasks[5];
    for (uint32_t i = 0; i < 5; i++) {
        tasks[i] = world_task(i, device.data, &order[i], 1);
        buffer_task(&device, tasks[i]);
    }
    assert_null(victim(&device, "luf"));
    device.query.head = tasks[0];
    assert_ptr_equal(victim(&device, "luf"), &device.data[1]->replica[0]);
    full_device_free(&device);
    for (uint32_t i = 0; i < 5; i++)
        world_task_free(tasks[i]);
}

/* --- one device, two-dimensional product --------------------------------- */

enum { PRODUCT_N = 40, PRODUCT_M = 34, PRODUCT_BUFFER = 5 };

/* N^2 tasks, each reading one block row and one block column; room for M of these; a task buffer. Each
 * step fills the buffer, loads what its head lacks, prefetches for the others and runs the head. */
struct product {
    const od_policy_ops *policy;
    const od_evict_ops *rule;
    void *state;
    od_datum *data[2 * PRODUCT_N];
    od_task *tasks[PRODUCT_N * PRODUCT_N];
    od_list resident, buffer;
    uint32_t used, loads;
};

static void product_touch(struct product *product, od_replica *replica)
{
    od_list_remove(&product->resident, &replica->lru);
    od_list_push_back(&product->resident, &replica->lru);
}

static bool product_evict(struct product *product, const od_task *head)
{
    od_evict_query query = {.resident = &product->resident,
                            .buffer = &product->buffer,
                            .head = head,
                            .policy = product->policy,
                            .policy_state = product->state};
    od_replica *replica = product->rule->victim(&query);
    if (!replica)
        return false;
    assert_true(od_victim_allowed(&query, replica));
    od_list_remove(&product->resident, &replica->lru);
    replica->state = OD_ABSENT;
    product->used--;
    od_policy_evicted(product->policy, product->state, replica->datum, 0);
    return true;
}

/* Brings the task's data; head: NULL for a prefetch, which may find no room. */
static bool product_load(struct product *product, const od_task *task, const od_task *head)
{
    for (uint32_t i = 0; i < task->naccess; i++) {
        od_replica *replica = &task->access[i].datum->replica[0];
        if (replica->state == OD_PRESENT) {
            product_touch(product, replica);
            continue;
        }
        if (product->used == PRODUCT_M && !product_evict(product, head))
            return false;
        replica->state = OD_PRESENT;
        od_list_push_back(&product->resident, &replica->lru);
        product->used++;
        product->loads++;
        od_policy_incoming(product->policy, product->state, replica->datum, 0);
    }
    return true;
}

static void product_fill_buffer(struct product *product)
{
    od_task *task;
    while (product->buffer.count < PRODUCT_BUFFER && (task = product->policy->pop(product->state, 0))) {
        task->state = OD_TASK_BUFFERED;
        task->place = 0;
        for (uint32_t i = 0; i < task->naccess; i++)
            task->access[i].datum->replica[0].buffered_uses++;
        od_list_push_back(&product->buffer, &task->link);
    }
}

static void product_step(struct product *product)
{
    od_task *head = od_container_of(od_list_first(&product->buffer), od_task, link);
    assert_true(product_load(product, head, head));
    od_list_each(it, &product->buffer) {
        if (!product_load(product, od_container_of(it, od_task, link), NULL))
            break;
    }
    od_list_remove(&product->buffer, &head->link);
    for (uint32_t i = 0; i < head->naccess; i++)
        head->access[i].datum->replica[0].buffered_uses--;
    head->state = OD_TASK_RUNNING;
    if (product->policy->started)
        product->policy->started(product->state, head, 0);
    head->state = OD_TASK_DONE;
    if (product->policy->done)
        product->policy->done(product->state, head, 0);
}

static void product_create(struct product *product, const char *policy, const char *rule, uint64_t seed)
{
    *product = (struct product){.policy = od_policy_find(policy), .rule = od_evict_find(rule)};
    product->state = world_create(product->policy, 1, seed);
    od_list_init(&product->resident);
    od_list_init(&product->buffer);
    for (uint32_t d = 0; d < 2 * PRODUCT_N; d++)
        product->data[d] = world_datum(d, 1, 1);
    for (uint32_t i = 0; i < PRODUCT_N * PRODUCT_N; i++) {
        uint32_t reads[] = {i / PRODUCT_N, PRODUCT_N + i % PRODUCT_N};
        product->tasks[i] = world_task(i, product->data, reads, 2);
        assert_int_equal(product->policy->ready(product->state, product->tasks[i]), OD_OK);
    }
}

static double product_ratio(const char *policy, const char *rule, uint64_t seed)
{
    static struct product product;
    product_create(&product, policy, rule, seed);
    uint32_t done = 0;
    for (product_fill_buffer(&product); product.buffer.count > 0; product_fill_buffer(&product)) {
        product_step(&product);
        if (done++ % 100 == 0)
            world_check(product.policy, product.state);
    }
    assert_int_equal(done, PRODUCT_N * PRODUCT_N);
    product.policy->destroy(product.state);
    for (uint32_t i = 0; i < PRODUCT_N * PRODUCT_N; i++)
        world_task_free(product.tasks[i]);
    for (uint32_t d = 0; d < 2 * PRODUCT_N; d++)
        free(product.data[d]);
    uint32_t room = PRODUCT_M, phases = PRODUCT_N * PRODUCT_N / (PRODUCT_M * PRODUCT_M);
    uint32_t bound = phases * room + (room < 2 * PRODUCT_N ? room : 2 * PRODUCT_N);
    return (double)product.loads / bound;
}

static void test_product_loads(void **unused)
{
    (void)unused;
    double eager = product_ratio("eager", "lru", 1);
    print_message("eager+lru loads %.2f times the lower bound\n", eager);
    assert_true(eager > 15);
    double worst = 0, sum = 0;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        double darts = product_ratio("darts", "luf", seed);
        worst = darts > worst ? darts : worst;
        sum += darts / 10;
    }
    print_message("darts+luf %.2f (mean of 10 seeds), at most %.2f\n", sum, worst);
    assert_true(worst <= 2.3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_registries),
        cmocka_unit_test(test_bad_tables_are_left_out),
        cmocka_unit_test(test_options_of_policies),
        cmocka_unit_test(test_never_starve),
        cmocka_unit_test(test_slow_devices_get_less),
        cmocka_unit_test(test_devices_get_what_they_are_fast_at),
        cmocka_unit_test(test_what_leaves_a_device_comes_faster_to_others),
        cmocka_unit_test(test_of_equals_the_one_that_is_free),
        cmocka_unit_test(test_destroy_with_tasks_left),
        cmocka_unit_test(test_plugin),
        cmocka_unit_test(test_allowed_victims),
        cmocka_unit_test(test_lru),
        cmocka_unit_test(test_luf_least_planned),
        cmocka_unit_test(test_luf_belady_in_buffer),
        cmocka_unit_test(test_product_loads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
