/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Policies that plan whole batches: the same choices as a plain reference on random scripts (batches, Ready, stealing,
 * devices for parts), and what they tell the rule belady about the planned order.
 */
#include "tests/unit/policy/sched_world.h"

#include "tests/unit/policy/order_reference.h"
#include "tests/unit/random.h"
#include "sched/policy/batch/static_policy.h"

enum { DEVICES = 4, DATA = 12, SCRIPTS = 3000, FLIP = OD_STATIC_OWN, FAST_START, INTERLACE, BALANCE, AGAIN };

struct script {
    uint64_t random;
    const char *name;
    uint32_t ndevices;
    uint64_t memory;
    uint64_t values[OD_POLICY_OPTIONS_MAX];
    od_datum *data[DATA];
    od_task *tasks[REF_TASKS];
    uint32_t ntasks, left; /* `left`: given to the policy and not popped */
    /* the reference: lists of task numbers */
    uint32_t arrived[REF_TASKS], narrived;
    uint32_t plan[DEVICES][REF_TASKS], count[DEVICES];
    /* popped, and counted in buffered_uses */
    uint32_t buffer[DEVICES][REF_TASKS], buffered[DEVICES];
};

/* --- the reference -------------------------------------------------------------- */

static bool uses_datum(const od_task *task, const od_datum *datum)
{
    for (uint32_t i = 0; i < task->naccess; i++) {
        if (task->access[i].datum == datum)
            return true;
    }
    return false;
}

static uint64_t reference_memory(const struct script *s, const uint32_t *tasks, uint32_t count, const uint32_t *users)
{
    uint64_t shared = 0, most_own = 0;
    for (uint32_t d = 0; d < DATA; d++)
        shared += users[d] > 1 && users[d] == count ? s->data[d]->size : 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t own = 0;
        for (uint32_t d = 0; d < DATA; d++)
            own += users[d] == 1 && uses_datum(s->tasks[tasks[i]], s->data[d]) ? s->data[d]->size : 0;
        most_own = own > most_own ? own : most_own;
    }
    uint64_t reserved = shared + 2 * most_own;
    return reserved < s->memory / 2 ? s->memory - reserved : s->memory / 2;
}

/* Position of a task's next kept datum among its accesses. */
static uint32_t next_kept(const od_task *task, uint32_t from, const uint32_t *number)
{
    while (from < task->naccess && !number[task->access[from].datum->id])
        from++;
    return from;
}

/* True where task a comes before b in the order of their kept data; `number`: 0 where not kept. */
static bool comes_before(const od_task *a, const od_task *b, const uint32_t *number)
{
    uint32_t i = next_kept(a, 0, number), j = next_kept(b, 0, number);
    while (i < a->naccess && j < b->naccess) {
        uint32_t x = number[a->access[i].datum->id], y = number[b->access[j].datum->id];
        if (x != y)
            return x < y;
        i = next_kept(a, i + 1, number);
        j = next_kept(b, j + 1, number);
    }
    return i == a->naccess && j < b->naccess;
}

static void reference_sort(const struct script *s, uint32_t *tasks, uint32_t count, const bool *kept)
{
    uint32_t number[DATA] = {0}, last = 0;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t a = 0; a < s->tasks[tasks[i]]->naccess; a++) {
            uint32_t d = s->tasks[tasks[i]]->access[a].datum->id;
            if (kept[d] && !number[d])
                number[d] = ++last;
        }
    }
    for (uint32_t i = 1; i < count; i++) {
        uint32_t task = tasks[i], at = i;
        for (; at > 0 && comes_before(s->tasks[task], s->tasks[tasks[at - 1]], number); at--)
            tasks[at] = tasks[at - 1];
        tasks[at] = task;
    }
}

/* The tasks without data that one or all of them use; returns the memory for the others. */
static uint64_t reference_batch(const struct script *s, uint32_t *tasks, uint32_t count, ref_batch *b)
{
    uint32_t users[DATA] = {0}, uses[REF_TASKS];
    bool kept[DATA];
    for (uint32_t d = 0; d < DATA; d++) {
        for (uint32_t i = 0; i < count; i++)
            users[d] += uses_datum(s->tasks[tasks[i]], s->data[d]);
        kept[d] = users[d] > 1 && users[d] < count;
    }
    if (s->values[OD_STATIC_SORT])
        reference_sort(s, tasks, count, kept);
    for (uint32_t i = 0; i < count; i++) {
        uses[i] = 0;
        for (uint32_t d = 0; d < DATA; d++) {
            if (kept[d] && uses_datum(s->tasks[tasks[i]], s->data[d]))
                uses[i] |= 1u << d;
        }
    }
    ref_make(b, count, DATA, uses);
    for (uint32_t d = 0; d < DATA; d++)
        b->size[d] = s->data[d]->size;
    for (uint32_t i = 0; i < count; i++)
        b->duration[i] = s->tasks[tasks[i]]->duration;
    return reference_memory(s, tasks, count, users);
}

static void reference_order(const struct script *s, const ref_batch *b, uint64_t memory, uint32_t *order,
                            uint32_t *begin)
{
    uint32_t whole[2];
    bool mhfp = strcmp(s->name, "mhfp") == 0, hfp = strcmp(s->name, "hfp") == 0;
    od_hfp_options options = {memory, mhfp ? s->ndevices : 1, s->values[FLIP] != 0, s->values[FAST_START] != 0};
    if (mhfp)
        ref_hfp(&b->batch, &options, order, begin);
    else if (hfp)
        ref_hfp(&b->batch, &options, order, whole);
    else if (strcmp(s->name, "rcm") == 0)
        ref_rcm(&b->batch, order);
    else
        ref_mst(&b->batch, order);
    if (!mhfp)
        od_order_split(&b->batch, s->ndevices, order, begin);
    else if (s->values[BALANCE])
        ref_balance(&b->batch, s->ndevices, order, begin);
    if (mhfp && s->values[AGAIN])
        assert_int_equal(od_order_hfp_again(&b->batch, &options, order, begin), OD_OK);
    if ((mhfp || hfp) && s->values[INTERLACE])
        assert_int_equal(od_order_interlace(s->ndevices, order, begin), OD_OK);
}

static double plan_load(const struct script *s, uint32_t k)
{
    double seconds = 0;
    for (uint32_t i = 0; i < s->count[k]; i++)
        seconds += s->tasks[s->plan[k][i]]->duration;
    return seconds;
}

/* The free device that holds most of what the tasks use, then the one with the shortest plan. */
static uint32_t reference_device(const struct script *s, const bool *taken, const uint32_t *tasks, uint32_t count)
{
    uint32_t best = UINT32_MAX;
    uint64_t most = 0;
    for (uint32_t k = 0; k < s->ndevices; k++) {
        uint64_t bytes = 0;
        for (uint32_t i = 0; i < count; i++) {
            for (uint32_t d = 0; d < DATA; d++) {
                bool here = s->data[d]->replica[k].state != OD_ABSENT;
                bytes += here && uses_datum(s->tasks[tasks[i]], s->data[d]) ? s->data[d]->size : 0;
            }
        }
        if (!taken[k] &&
            (best == UINT32_MAX || bytes > most || (bytes == most && plan_load(s, k) < plan_load(s, best) - 1e-9))) {
            best = k;
            most = bytes;
        }
    }
    return best;
}

static void reference_plan(struct script *s)
{
    uint32_t count = s->narrived, order[REF_TASKS], begin[DEVICES + 1];
    bool taken[DEVICES] = {false};
    ref_batch b;
    if (s->values[OD_STATIC_BATCH] && s->values[OD_STATIC_BATCH] < count)
        count = (uint32_t)s->values[OD_STATIC_BATCH];
    uint32_t tasks[REF_TASKS];
    memcpy(tasks, s->arrived, count * sizeof tasks[0]);
    uint64_t memory = reference_batch(s, tasks, count, &b);
    reference_order(s, &b, memory, order, begin);
    for (uint32_t i = 0; i < count; i++)
        order[i] = tasks[order[i]];
    for (uint32_t part = 0; part < s->ndevices; part++) {
        uint32_t k = reference_device(s, taken, order + begin[part], begin[part + 1] - begin[part]);
        taken[k] = true;
        for (uint32_t i = begin[part]; i < begin[part + 1]; i++)
            s->plan[k][s->count[k]++] = order[i];
    }
    s->narrived -= count;
    memmove(s->arrived, s->arrived + count, s->narrived * sizeof s->arrived[0]);
}

static void reference_steal(struct script *s, uint32_t k)
{
    uint32_t victim = UINT32_MAX, first;
    double stolen;
    for (uint32_t v = 0; v < s->ndevices; v++) {
        if (s->count[v] && (victim == UINT32_MAX || plan_load(s, v) > plan_load(s, victim) + 1e-9))
            victim = v;
    }
    if (victim == UINT32_MAX)
        return;
    const uint32_t *from = s->plan[victim];
    first = s->count[victim] - 1;
    stolen = s->tasks[from[first]]->duration;
    while (first > 0 && stolen + s->tasks[from[first - 1]]->duration <= plan_load(s, victim) / 2 + 1e-9)
        stolen += s->tasks[from[--first]]->duration;
    for (uint32_t i = first; i < s->count[victim]; i++)
        s->plan[k][s->count[k]++] = from[i];
    s->count[victim] = first;
}

static uint64_t reference_missing(const od_task *task, uint32_t k)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < task->naccess; i++) {
        const od_replica *replica = &task->access[i].datum->replica[k];
        bool coming = replica->buffered_uses > 0;
        if ((replica->state == OD_ABSENT || replica->state == OD_LEAVING) && !coming &&
            task->access[i].mode != OD_WRITE)
            bytes += task->access[i].datum->size;
    }
    return bytes;
}

static od_task *reference_pop(struct script *s, uint32_t k)
{
    if (!s->count[k] && s->narrived)
        reference_plan(s);
    if (!s->count[k] && s->values[OD_STATIC_STEAL])
        reference_steal(s, k);
    if (!s->count[k])
        return NULL;
    uint32_t best = 0;
    for (uint32_t i = 1; i < s->count[k] && i < s->values[OD_STATIC_READY]; i++) {
        if (reference_missing(s->tasks[s->plan[k][i]], k) < reference_missing(s->tasks[s->plan[k][best]], k))
            best = i;
    }
    od_task *task = s->tasks[s->plan[k][best]];
    s->count[k]--;
    memmove(s->plan[k] + best, s->plan[k] + best + 1, (s->count[k] - best) * sizeof s->plan[k][0]);
    return task;
}

/* --- scripts ------------------------------------------------------------------------ */

static uint32_t below(struct script *s, uint32_t limit)
{
    return (uint32_t)random_below(&s->random, limit);
}

static void random_values(struct script *s)
{
    s->values[OD_STATIC_READY] = below(s, 3) ? below(s, 8) : 1000;
    s->values[OD_STATIC_STEAL] = below(s, 4) > 0;
    s->values[OD_STATIC_BATCH] = below(s, 3) ? 0 : below(s, 10) + 1;
    s->values[OD_STATIC_SORT] = below(s, 2);
    s->values[FLIP] = below(s, 2);
    s->values[FAST_START] = below(s, 2);
    s->values[INTERLACE] = below(s, 4) == 0;
    s->values[BALANCE] = below(s, 4) > 0;
    s->values[AGAIN] = below(s, 4) == 0;
}

static void script_create(struct script *s, uint64_t seed)
{
    static const char *const names[] = {"rcm", "mst", "hfp", "mhfp"};
    *s = (struct script){.random = seed};
    s->name = names[below(s, 4)];
    s->ndevices = below(s, DEVICES) + 1;
    s->memory = below(s, 40) + 1;
    random_values(s);
    bool unequal = below(s, 2);
    for (uint32_t d = 0; d < DATA; d++)
        s->data[d] = world_datum(d, unequal ? below(s, 4) + 1 : 1, DEVICES);
    for (uint32_t t = 0; t < REF_TASKS; t++) {
        uint32_t reads[4], first = below(s, DATA), step = below(s, 3) + 1;
        for (uint32_t i = 0; i < 4; i++)
            reads[i] = (first + i * step) % DATA;
        s->tasks[t] = world_task(t, s->data, reads, below(s, 5));
        s->tasks[t]->duration = unequal ? (below(s, 8) + 1) / 4.0 : 1;
        for (uint32_t i = 0; i < s->tasks[t]->naccess; i++)
            s->tasks[t]->access[i].mode = (od_mode)(below(s, 5) ? OD_READ : below(s, 2) + OD_WRITE);
    }
}

static void script_free(struct script *s)
{
    for (uint32_t t = 0; t < REF_TASKS; t++)
        world_task_free(s->tasks[t]);
    for (uint32_t d = 0; d < DATA; d++)
        free(s->data[d]);
}

static void arrive(struct script *s, const od_policy_ops *ops, void *state)
{
    for (uint32_t n = below(s, 12); n > 0 && s->ntasks < REF_TASKS; n--) {
        s->arrived[s->narrived++] = s->ntasks;
        assert_int_equal(ops->ready(state, s->tasks[s->ntasks++]), OD_OK);
        s->left++;
    }
}

static void buffer_changes(uint32_t k, const od_task *task, int change)
{
    for (uint32_t i = 0; i < task->naccess; i++)
        task->access[i].datum->replica[k].buffered_uses += (uint32_t)change;
}

static void request(struct script *s, const od_policy_ops *ops, void *state)
{
    uint32_t k = below(s, s->ndevices);
    od_task *expected = reference_pop(s, k), *task = ops->pop(state, k);
    assert_ptr_equal(task, expected);
    if (!task)
        return;
    s->left--;
    s->buffer[k][s->buffered[k]++] = (uint32_t)task->id;
    buffer_changes(k, task, 1);
}

static void start(struct script *s)
{
    uint32_t k = below(s, s->ndevices);
    if (s->buffered[k])
        buffer_changes(k, s->tasks[s->buffer[k][--s->buffered[k]]], -1);
}

static void data_change(struct script *s, const od_policy_ops *ops, void *state)
{
    od_datum *datum = s->data[below(s, DATA)];
    uint32_t k = below(s, s->ndevices);
    od_replica_state before = datum->replica[k].state;
    datum->replica[k].state = (od_replica_state)below(s, OD_LEAVING + 1);
    if (before == OD_ABSENT && datum->replica[k].state != OD_ABSENT)
        od_policy_incoming(ops, state, datum, k);
    if (before != OD_ABSENT && datum->replica[k].state == OD_ABSENT)
        od_policy_evicted(ops, state, datum, k);
}

/* Index in the plan of the first task that uses the datum. */
static uint32_t plan_place(const struct script *s, uint32_t k, uint32_t d)
{
    for (uint32_t i = 0; i < s->count[k]; i++) {
        if (uses_datum(s->tasks[s->plan[k][i]], s->data[d]))
            return i;
    }
    return UINT32_MAX;
}

/* What the policy says of next uses is in the order of the reference's plan. */
static void check_next_uses(const struct script *s, const od_policy_ops *ops, void *state)
{
    for (uint32_t k = 0; k < s->ndevices; k++) {
        for (uint32_t d = 1; d < DATA; d++) {
            uint64_t a = ops->next_use(state, s->data[d - 1], k), b = ops->next_use(state, s->data[d], k);
            uint32_t place_a = plan_place(s, k, d - 1), place_b = plan_place(s, k, d);
            assert_int_equal(a == OD_NEVER, place_a == UINT32_MAX);
            assert_int_equal((a > b) - (a < b), (place_a > place_b) - (place_a < place_b));
        }
    }
}

static void run_script(uint64_t seed)
{
    struct script s;
    script_create(&s, seed);
    const od_policy_ops *ops = od_policy_find(s.name);
    od_policy_env env = {.ndevices = s.ndevices, .buffer = 5, .memory = &s.memory, .seed = 1, .values = s.values};
    void *state;
    assert_int_equal(od_policy_create(ops, &env, &state), OD_OK);
    for (uint32_t step = 0; step < 4000 && (s.ntasks < REF_TASKS || s.left); step++) {
        uint32_t event = below(&s, 10);
        if (event == 0)
            arrive(&s, ops, state);
        else if (event < 5)
            request(&s, ops, state);
        else if (event < 7)
            start(&s);
        else
            data_change(&s, ops, state);
        assert_true(ops->is_valid(state));
        check_next_uses(&s, ops, state);
    }
    assert_int_equal(s.left, 0);
    ops->destroy(state);
    script_free(&s);
}

static void test_same_choices_as_reference(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= SCRIPTS; seed++)
        run_script(seed * 7919);
}

/* --- single points --------------------------------------------------------------------- */

static void test_future_uses_and_forget(void **unused)
{
    (void)unused;
    od_datum *data[3] = {world_datum(0, 1, 2), world_datum(1, 1, 2), world_datum(100, 1, 2)};
    const od_policy_ops *ops = od_policy_find("hfp");
    void *state = world_create(ops, 2, 1);
    od_task *task = world_task(0, data, (uint32_t[]){0, 1}, 2);
    task->access[1].mode = OD_WRITE;
    assert_int_equal(ops->future_uses(state, data[0]), 0);
    assert_int_equal(ops->ready(state, task), OD_OK);
    assert_int_equal(ops->future_uses(state, data[0]), 1);
    assert_int_equal(ops->future_uses(state, data[1]), 0);
    assert_true(ops->next_use(state, data[0], 0) == OD_NEVER);
    assert_ptr_equal(ops->pop(state, 1), task);
    assert_int_equal(ops->future_uses(state, data[0]), 0);
    for (uint32_t d = 0; d < 3; d++) {
        ops->forget(state, data[d]);
        assert_int_equal(ops->future_uses(state, data[d]), 0);
        free(data[d]);
    }
    assert_true(ops->is_valid(state));
    ops->destroy(state);
    world_task_free(task);
}

/* A datum that all tasks use must not cost all pairs of them. */
static void test_many_tasks_with_common_data(void **unused)
{
    (void)unused;
    enum { N = 60000 };
    static od_task *tasks[N];
    od_datum *data[3] = {world_datum(0, 1, 2), world_datum(1, 1, 2), world_datum(2, 1, 2)};
    for (const char *const *name = (const char *const[]){"rcm", "mst", "hfp", "mhfp", NULL}; *name; name++) {
        const od_policy_ops *ops = od_policy_find(*name);
        void *state = world_create(ops, 2, 1);
        uint32_t popped = 0;
        for (uint32_t t = 0; t < N; t++) {
            tasks[t] = world_task(t, data, (uint32_t[]){0, 1 + t % 2}, 2);
            assert_int_equal(ops->ready(state, tasks[t]), OD_OK);
        }
        while (ops->pop(state, popped % 2))
            popped++;
        assert_int_equal(popped, N);
        ops->destroy(state);
        for (uint32_t t = 0; t < N; t++)
            world_task_free(tasks[t]);
    }
    for (uint32_t d = 0; d < 3; d++)
        free(data[d]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_choices_as_reference),
        cmocka_unit_test(test_future_uses_and_forget),
        cmocka_unit_test(test_many_tasks_with_common_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
