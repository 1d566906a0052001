/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What policies ask for each task: how often for the time of a transfer and for the load of a device. It does not grow
 * with the number of devices, of which most hold nothing of what the task uses. And policies that look at some devices
 * decide as they do when no device is known to be like another, so that they look at all.
 */
#include "tests/unit/policy/sched_world.h"

enum { MANY = OD_MAX_DEVICES < 512 ? OD_MAX_DEVICES - OD_MAX_DEVICES % 8 : 512, NODE = 8, SIDE = 24, NDATA = 2 * SIDE };

/* Devices in nodes; each runs what it gets at once. */
struct world {
    const od_policy_ops *ops;
    void *state;
    unsigned ndevices;
    uint64_t asked; /* calls of the functions below */
    od_alike alike;
    od_placeset moved;
    size_t memory;
    od_datum *data[NDATA];
    od_task *tasks[SIDE * SIDE];
    double busy[OD_MAX_DEVICES]; /* seconds of work that devices have been given elsewhere */
    unsigned place[SIDE * SIDE]; /* by task */
};

static double transfer_time_from(void *engine, const od_datum *datum, od_placeset places, unsigned k)
{
    struct world *w = engine;
    (void)datum;
    w->asked++;
    double seconds = k < NODE ? 2e-3 : 4e-3;
    for (unsigned j = k - k % NODE; j < k - k % NODE + NODE; j++)
        if (j != k && od_placeset_has(places, j))
            seconds = 1e-3;
    return seconds;
}

static double transfer_time(void *engine, const od_datum *datum, unsigned k)
{
    return transfer_time_from(engine, datum, datum->valid, k);
}

static od_device_load load_of(void *engine, unsigned k)
{
    struct world *w = engine;
    w->asked++;
    return (od_device_load){.seconds = w->busy[k]};
}

static struct world *make_world(const char *policy, unsigned ndevices, bool alike)
{
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    *w = (struct world){.ndevices = ndevices, .memory = NDATA, .moved = od_placeset_below(ndevices)};
    w->alike.ngroups = ndevices / NODE;
    w->alike.nsorts = w->alike.ngroups > 1 ? 2 : 1;
    for (unsigned k = 0; k < ndevices; k++) {
        w->alike.group[k] = k / NODE;
        w->alike.sort[k / NODE] = k / NODE > 0;
        w->busy[k] = 1e-4 * (k * 37 % 11);
    }
    od_policy_choice choice;
    char error[256];
    assert_int_equal(od_policy_choose(policy, &choice, error, sizeof error), OD_OK);
    w->ops = choice.ops;
    od_policy_env env = {.ndevices = ndevices,
                         .buffer = 2,
                         .memory = &w->memory,
                         .seed = 1,
                         .values = choice.values,
                         .engine = w,
                         .transfer_time = transfer_time,
                         .transfer_time_from = transfer_time_from,
                         .load = load_of,
                         .moved = &w->moved,
                         .alike = alike ? &w->alike : NULL,
                         .inbound = 1e9};
    assert_int_equal(od_policy_create(w->ops, &env, &w->state), OD_OK);
    for (uint32_t d = 0; d < NDATA; d++)
        w->data[d] = world_datum(d, 1, ndevices);
    for (uint32_t t = 0; t < SIDE * SIDE; t++)
        w->tasks[t] = world_task(t, w->data, (uint32_t[]){t / SIDE, SIDE + t % SIDE}, 2);
    return w;
}

static void free_world(struct world *w)
{
    w->ops->destroy(w->state);
    for (uint32_t d = 0; d < NDATA; d++)
        free(w->data[d]);
    for (uint32_t t = 0; t < SIDE * SIDE; t++)
        world_task_free(w->tasks[t]);
    free(w);
}

static void bring(struct world *w, od_datum *datum, unsigned k)
{
    if (datum->replica[k].state == OD_PRESENT)
        return;
    datum->replica[k].state = OD_PRESENT;
    od_policy_incoming(w->ops, w->state, datum, k);
    od_placeset_add(&datum->valid, k);
}

static void run(struct world *w, od_task *task, unsigned k)
{
    w->place[task->id] = k;
    task->state = OD_TASK_BUFFERED;
    task->place = (int)k;
    for (uint32_t a = 0; a < task->naccess; a++)
        bring(w, task->access[a].datum, k);
    if (w->ops->started)
        w->ops->started(w->state, task, k);
    if (w->ops->done)
        w->ops->done(w->state, task, k);
}

/* Takes tasks off a few devices, or (0) off all that may have some. */
static uint32_t take_tasks(struct world *w, unsigned most)
{
    uint32_t taken = 0;
    od_placeset devices = w->ops->offers ? w->ops->offers(w->state) : od_placeset_below(w->ndevices);
    for (od_placeset_walk at = od_placeset_begin(devices); od_placeset_next(&at) && (!most || taken < most);) {
        od_task *task = w->ops->pop(w->state, at.place);
        if (!task)
            continue;
        run(w, task, at.place);
        taken++;
    }
    return taken;
}

/* Tasks arrive while others run. */
static void run_all(struct world *w)
{
    uint32_t taken = 0;
    for (uint32_t t = 0; t < SIDE * SIDE; t++) {
        w->tasks[t]->state = OD_TASK_READY;
        assert_int_equal(w->ops->ready(w->state, w->tasks[t]), OD_OK);
        if (t % 4 == 3)
            taken += take_tasks(w, 3);
    }
    while (taken < SIDE * SIDE)
        taken += take_tasks(w, 0);
    assert_true(w->ops->is_valid(w->state));
}

static double asked_per_task(const char *policy, unsigned ndevices)
{
    struct world *w = make_world(policy, ndevices, true);
    w->asked = 0;
    run_all(w);
    double asked = (double)w->asked / (SIDE * SIDE);
    free_world(w);
    return asked;
}

static void test_few_questions(void **unused)
{
    (void)unused;
    static const char *const policies[] = {"dmda", "dmdar", "dmdas", "lws", "darts"};
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        double few = asked_per_task(policies[i], NODE), many = asked_per_task(policies[i], MANY);
        print_message("%s: %.1f questions for a task with %d devices, %.1f with %d\n", policies[i], few, NODE, many,
                      MANY);
        assert_true(many <= 3 * few + 10);
    }
}

static void test_same_choices(void **unused)
{
    (void)unused;
    static const char *const policies[] = {"dmda", "dmdar", "dmdas", "dmda:bus"};
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        struct world *some = make_world(policies[i], MANY, true), *all = make_world(policies[i], MANY, false);
        run_all(some);
        run_all(all);
        assert_memory_equal(some->place, all->place, sizeof some->place);
        assert_true(some->asked < all->asked);
        free_world(some);
        free_world(all);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_few_questions), cmocka_unit_test(test_same_choices)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
