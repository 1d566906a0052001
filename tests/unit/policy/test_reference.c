/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Every policy beside its plain version (tests/reference), on random events: both must make the same choices.
 *
 * Two worlds with the same data and tasks receive the same events: tasks arrive with up to six inputs of unequal
 * size, devices ask, data come and go, tasks start and end, data are forgotten. After each event all tasks must be at
 * the same place in both.
 */
#include "tests/unit/policy/sched_world.h"

#include "tests/reference/reference.h"

enum { MAX_DATA = 20, MAX_TASKS = 300, MAX_K = OD_PLACE_WORDS > 1 ? 72 : 8, MAX_INPUTS = 6, STEPS = 300 };

struct side {
    const od_policy_ops *ops;
    void *state;
    od_datum *data[MAX_DATA];
    od_task *tasks[MAX_TASKS];
    world_loads loads;
};

struct twins {
    uint64_t seed;
    unsigned ndevices;
    uint32_t ndata, ntasks;
    struct side side[2]; /* the fast and the plain one */
};

/* --- what both are told ---------------------------------------------------- */

static void update_loads(struct twins *twins, struct side *side)
{
    memset(&side->loads, 0, sizeof side->loads);
    for (uint32_t t = 0; t < twins->ntasks; t++) {
        const od_task *task = side->tasks[t];
        if (task->state < OD_TASK_BUFFERED || task->state > OD_TASK_RUNNING)
            continue;
        od_device_load *load = &side->loads.device[task->place];
        load->seconds += task->duration;
        (*(task->state == OD_TASK_RUNNING ? &load->running : &load->queued))++;
    }
}

static void event_ready(struct twins *twins)
{
    if (twins->ntasks == MAX_TASKS)
        return;
    uint32_t index[MAX_DATA], most = twins->ndata < MAX_INPUTS ? twins->ndata : MAX_INPUTS;
    uint32_t count = world_random(&twins->seed, most + 1);
    for (uint32_t i = 0; i < twins->ndata; i++)
        index[i] = i;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t j = i + world_random(&twins->seed, twins->ndata - i), kept = index[i];
        index[i] = index[j];
        index[j] = kept;
    }
    od_mode modes[MAX_INPUTS];
    for (uint32_t i = 0; i < count; i++)
        modes[i] = (od_mode[]){OD_READ, OD_READ, OD_READ_WRITE, OD_WRITE}[world_random(&twins->seed, 4)];
    double duration = world_random(&twins->seed, 20) * 1e-3;
    int32_t priority = (int32_t)world_random(&twins->seed, 4) - 1;
    uint32_t t = twins->ntasks++;
    for (struct side *side = twins->side; side < twins->side + 2; side++) {
        od_task *task = side->tasks[t] = world_task(t, side->data, index, count);
        task->duration = duration;
        task->priority = priority;
        for (uint32_t i = 0; i < count; i++)
            task->access[i].mode = modes[i];
        task->state = OD_TASK_READY;
        assert_int_equal(side->ops->ready(side->state, task), OD_OK);
    }
}

/* Asks both for a task for k; true where they gave one. */
static bool event_pop(struct twins *twins, unsigned k)
{
    uint64_t given[2];
    for (int s = 0; s < 2; s++) {
        struct side *side = &twins->side[s];
        od_task *task = side->ops->pop(side->state, k);
        given[s] = task ? task->id : UINT64_MAX;
        if (!task)
            continue;
        task->state = OD_TASK_BUFFERED;
        task->place = (int)k;
        for (uint32_t i = 0; i < task->naccess; i++)
            task->access[i].datum->replica[k].buffered_uses++;
    }
    if (given[0] != given[1])
        fail_msg("%s gives task %ld to device %u, its plain version %ld", twins->side[0].ops->name, (long)given[0], k,
                 (long)given[1]);
    return given[0] != UINT64_MAX;
}

static void bring(struct side *side, od_task *task, bool commits)
{
    unsigned k = (unsigned)task->place;
    for (uint32_t i = 0; i < task->naccess; i++) {
        od_datum *datum = task->access[i].datum;
        od_replica *replica = &datum->replica[k];
        if (replica->state == OD_ABSENT) {
            replica->state = OD_PRESENT;
            od_policy_incoming(side->ops, side->state, datum, k);
        }
        if (commits) {
            replica->pins++;
            replica->buffered_uses--;
        }
    }
    if (commits)
        task->state = OD_TASK_COMMITTED;
}

static void start(struct side *side, od_task *task)
{
    task->state = OD_TASK_RUNNING;
    for (uint32_t i = 0; i < task->naccess; i++)
        od_placeset_add(&task->access[i].datum->valid, task->place);
    if (side->ops->started)
        side->ops->started(side->state, task, (unsigned)task->place);
}

static void finish(struct side *side, od_task *task)
{
    task->state = OD_TASK_DONE;
    for (uint32_t i = 0; i < task->naccess; i++) {
        task->access[i].datum->replica[task->place].pins--;
        if (task->access[i].mode & OD_WRITE)
            task->access[i].datum->valid = od_placeset_of(task->place);
    }
    if (side->ops->done)
        side->ops->done(side->state, task, (unsigned)task->place);
}

static void evict(struct side *side, uint32_t d, unsigned k)
{
    od_datum *datum = side->data[d];
    if (datum->replica[k].state != OD_PRESENT || datum->replica[k].pins > 0)
        return;
    datum->replica[k].state = OD_ABSENT;
    od_placeset_remove(&datum->valid, k);
    if (od_placeset_is_empty(datum->valid))
        datum->valid = od_placeset_of(OD_HOST);
    od_policy_evicted(side->ops, side->state, datum, k);
}

static bool is_in_use(const struct twins *twins, uint32_t d)
{
    const struct side *side = &twins->side[0];
    for (uint32_t t = 0; t < twins->ntasks; t++) {
        for (uint32_t a = 0; a < side->tasks[t]->naccess; a++) {
            if (side->tasks[t]->state != OD_TASK_DONE && side->tasks[t]->access[a].datum == side->data[d])
                return true;
        }
    }
    return false;
}

/* A task that has ended is still looked at; the datum goes. */
static void drop_access(od_task *task, const od_datum *datum)
{
    for (uint32_t i = 0; i < task->naccess; i++) {
        if (task->access[i].datum == datum)
            task->access[i--] = task->access[--task->naccess];
    }
}

/* Replaces a datum that nobody uses by another one with the same id. */
static void event_forget(struct twins *twins, uint32_t d)
{
    if (is_in_use(twins, d))
        return;
    size_t size = 1 + world_random(&twins->seed, 3);
    for (struct side *side = twins->side; side < twins->side + 2; side++) {
        for (unsigned k = 0; k < twins->ndevices; k++)
            evict(side, d, k);
        if (side->ops->forget)
            side->ops->forget(side->state, side->data[d]);
        for (uint32_t t = 0; t < twins->ntasks; t++)
            drop_access(side->tasks[t], side->data[d]);
        free(side->data[d]);
        side->data[d] = world_datum(d, size, twins->ndevices);
    }
}

/* --- events ---------------------------------------------------------------- */

static uint32_t random_task(struct twins *twins, od_task_state state)
{
    uint32_t first = twins->ntasks ? world_random(&twins->seed, twins->ntasks) : 0;
    for (uint32_t i = 0; i < twins->ntasks; i++) {
        uint32_t t = (first + i) % twins->ntasks;
        if (twins->side[0].tasks[t]->state == state)
            return t;
    }
    return UINT32_MAX;
}

static void event_of_task(struct twins *twins, od_task_state state)
{
    uint32_t t = random_task(twins, state);
    bool commits = world_random(&twins->seed, 2);
    for (struct side *side = twins->side; t != UINT32_MAX && side < twins->side + 2; side++) {
        if (state == OD_TASK_BUFFERED)
            bring(side, side->tasks[t], commits);
        else if (state == OD_TASK_COMMITTED)
            start(side, side->tasks[t]);
        else
            finish(side, side->tasks[t]);
    }
}

static void random_event(struct twins *twins)
{
    unsigned k = world_random(&twins->seed, twins->ndevices);
    uint32_t d = world_random(&twins->seed, twins->ndata);
    uint32_t kind = world_random(&twins->seed, 12);
    if (kind == 0)
        event_forget(twins, d);
    else if (kind <= 2)
        event_pop(twins, k);
    else if (kind <= 4)
        event_of_task(twins, OD_TASK_BUFFERED);
    else if (kind <= 6)
        event_of_task(twins, kind == 5 ? OD_TASK_COMMITTED : OD_TASK_RUNNING);
    else if (kind > 8)
        event_ready(twins);
    for (struct side *side = twins->side; kind >= 7 && kind <= 8 && side < twins->side + 2; side++)
        evict(side, d, k);
}

static void compare(const struct twins *twins)
{
    const struct side *fast = &twins->side[0], *plain = &twins->side[1];
    for (uint32_t t = 0; t < twins->ntasks; t++) {
        assert_int_equal(fast->tasks[t]->state, plain->tasks[t]->state);
        assert_int_equal(fast->tasks[t]->place, plain->tasks[t]->place);
    }
    for (uint32_t d = 0; fast->ops->future_uses && d < twins->ndata; d++)
        assert_int_equal(fast->ops->future_uses(fast->state, fast->data[d]),
                         plain->ops->future_uses(plain->state, plain->data[d]));
}

static void after_event(struct twins *twins)
{
    for (struct side *side = twins->side; side < twins->side + 2; side++) {
        update_loads(twins, side);
        world_check(side->ops, side->state);
    }
    compare(twins);
}

/* --- a run ----------------------------------------------------------------- */

static void create(struct twins *twins, const char *policy, uint64_t seed)
{
    twins->seed = seed;
    twins->ndevices = MAX_K - world_random(&twins->seed, 8);
    twins->ndata = 4 + world_random(&twins->seed, MAX_DATA - 3);
    od_policy_choice choice;
    char error[256];
    assert_int_equal(od_policy_choose(policy, &choice, error, sizeof error), OD_OK);
    twins->side[0].ops = choice.ops;
    twins->side[1].ops = od_reference_find(choice.ops->name);
    assert_non_null(twins->side[1].ops);
    for (struct side *side = twins->side; side < twins->side + 2; side++) {
        od_policy_env env = world_env(twins->ndevices, seed, &side->loads);
        env.values = choice.values;
        assert_int_equal(od_policy_create(side->ops, &env, &side->state), OD_OK);
    }
    for (uint32_t d = 0; d < twins->ndata; d++) {
        size_t size = (size_t[]){1, 2, 3, 30}[world_random(&twins->seed, 4)];
        for (struct side *side = twins->side; side < twins->side + 2; side++)
            side->data[d] = world_datum(d, size, twins->ndevices);
    }
}

static void destroy(struct twins *twins)
{
    for (struct side *side = twins->side; side < twins->side + 2; side++) {
        side->ops->destroy(side->state);
        for (uint32_t t = 0; t < twins->ntasks; t++)
            world_task_free(side->tasks[t]);
        for (uint32_t d = 0; d < twins->ndata; d++)
            free(side->data[d]);
    }
}

static bool all_are_given(const struct twins *twins)
{
    for (uint32_t t = 0; t < twins->ntasks; t++) {
        if (twins->side[0].tasks[t]->state <= OD_TASK_PLANNED)
            return false;
    }
    return true;
}

static void run(const char *policy, uint64_t seed)
{
    static struct twins twins;
    memset(&twins, 0, sizeof twins);
    create(&twins, policy, seed);
    for (int step = 0; step < STEPS; step++) {
        random_event(&twins);
        after_event(&twins);
    }
    while (!all_are_given(&twins)) {
        bool any = false;
        for (unsigned k = 0; k < twins.ndevices; k++) {
            any |= event_pop(&twins, k);
            after_event(&twins);
        }
        assert_true(any);
    }
    destroy(&twins);
}

static void run_many(const char *policy, uint64_t runs)
{
    for (uint64_t i = 1; i <= (MAX_K > 8 ? runs / 20 : runs); i++) {
        uint64_t seed = i * UINT64_C(0x9e3779b97f4a7c15);
        run(policy, seed);
    }
}

static void test_darts(void **unused)
{
    (void)unused;
    run_many("darts", 200);
    run_many("darts:alg12", 100);
    run_many("darts:ratio", 100);
    run_many("darts:opti", 100);
    run_many("darts:opti,ratio", 50);
    run_many("darts:threshold=3", 100);
    run_many("darts:affinity=2,steal", 100);
}

static void test_darts_first(void **unused)
{
    (void)unused;
    run_many("darts:alg9", 100);
    run_many("darts:alg11", 100);
    run_many("darts:alg9,opti", 100);
    run_many("darts:alg11,opti", 50);
    run_many("darts:alg9,threshold=2,opti", 50);
    run_many("darts:alg11,threshold=4", 100);
}

static void test_others(void **unused)
{
    (void)unused;
    const char *const policies[] = {"eager",      "ap",          "dmda",      "dmdar", "dmdas",
                                    "dmda:bus=1", "dmdar:bus=3", "dmdas:bus", "lws"};
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++)
        run_many(policies[i], 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_darts),
        cmocka_unit_test(test_darts_first),
        cmocka_unit_test(test_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
