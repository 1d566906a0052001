/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * darts against Algorithm 12 as printed.
 *
 * First small cases with known answers, then random sequences of events. In the latter
 * each refill is compared with a full scan of all data and tasks: which of several equal data is taken
 * is random, its key and the tasks that follow from it are not.
 */
#include "sched_world.h"

#include <float.h>

/* --- cases with known answers -------------------------------------------- */

enum { CASE_DATA = 8 };

struct small {
    const od_policy_ops *ops;
    void *state;
    od_datum *data[CASE_DATA];
    od_task *tasks[16];
    uint32_t ntasks;
};

/* One device; datum i has `sizes[i]` bytes, so its transfer takes that many milliseconds. */
static struct small small_create(unsigned ndevices, const size_t sizes[CASE_DATA])
{
    struct small small = {.ops = od_policy_find("darts")};
    small.state = world_create(small.ops, ndevices, 1);
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
    world_check(small->ops, small->state);
    return task;
}

static void test_smallest_ratio(void **unused)
{
    (void)unused;
    struct small small = small_create(1, (size_t[CASE_DATA]){4, 1, 2, 1, 1, 1, 1, 1});
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
    struct small small = small_create(1, NULL);
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

static void test_ties_by_s1_then_task_left(void **unused)
{
    (void)unused;
    struct small small = small_create(1, NULL);
    small_ready(&small, "0", 1, 0);
    od_task *with_s1 = small_ready(&small, "1", 1, 0);
    small_ready(&small, "12", 1, 0); /* S1 of 1 and 2 */
    assert_ptr_equal(small_pop(&small, 0), with_s1);
    small_destroy(&small);

    small = small_create(1, NULL);
    small_ready(&small, "0", 1, 0);
    od_task *with_left = small_ready(&small, "1", 1, 0);
    small_ready(&small, "1234", 1, 0); /* in no set, but work left for 1 */
    assert_ptr_equal(small_pop(&small, 0), with_left);
    small_destroy(&small);
}

static void test_s1_takes_the_most_urgent(void **unused)
{
    (void)unused;
    struct small small = small_create(1, NULL);
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
    struct small small = small_create(1, NULL);
    small_ready(&small, "012", 1, 1);
    od_task *urgent = small_ready(&small, "345", 1, 2);
    assert_ptr_equal(small_pop(&small, 0), urgent);
    small_destroy(&small);
}

static void test_free_task_is_pushed_to_the_emptier_device(void **unused)
{
    (void)unused;
    struct small small = small_create(2, NULL);
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
    assert_int_equal(fourth->place, 1);
    od_task *fifth = small_ready(&small, "0", 1, 0);
    assert_int_equal(fifth->place, 1); /* two queued on 0, one on 1 */
    small_destroy(&small);
}

static void test_promise_counts_as_present(void **unused)
{
    (void)unused;
    struct small small = small_create(2, NULL);
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
    struct small small = small_create(1, NULL);
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

/* --- random events against a full scan ----------------------------------- */

enum { MAX_DATA = 14, MAX_TASKS = 400, MAX_K = 3, STEPS = 300, RUNS = 300 };

/* The world as an engine would keep it. Task states say who has a task. */
struct random_world {
    const od_policy_ops *ops;
    void *state;
    uint64_t seed;
    unsigned ndevices;
    uint32_t ndata, ntasks;
    od_datum *data[MAX_DATA];
    od_task *tasks[MAX_TASKS];
};

static bool reads(const od_task *task, const od_datum *datum)
{
    for (uint32_t i = 0; i < task->naccess; i++) {
        if (task->access[i].datum == datum)
            return task->access[i].mode & OD_READ;
    }
    return false;
}

static bool is_planned(const od_task *task, unsigned k)
{
    return task->state == OD_TASK_PLANNED && task->place == (int)k;
}

static uint32_t planned_readers(const struct random_world *world, const od_datum *datum, unsigned k)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < world->ntasks; i++)
        count += is_planned(world->tasks[i], k) && reads(world->tasks[i], datum);
    return count;
}

static bool is_present(const struct random_world *world, uint32_t d, unsigned k)
{
    const od_replica *replica = &world->data[d]->replica[k];
    return replica->state != OD_ABSENT || replica->buffered_uses > 0 || planned_readers(world, world->data[d], k) > 0;
}

static uint32_t count_lacking(const struct random_world *world, const od_task *task, unsigned k)
{
    uint32_t lacking = 0;
    for (uint32_t i = 0; i < task->naccess; i++)
        lacking += (task->access[i].mode & OD_READ) && !is_present(world, task->access[i].datum->id, k);
    return lacking;
}

struct scan {
    uint64_t ns, left_ns;
    uint32_t n0, n1;
    int32_t prio0, prio1;
    double ratio;
};

static uint64_t duration_ns(const od_task *task)
{
    return task->duration > 0 ? (uint64_t)(task->duration * 1e9 + 0.5) : 1;
}

static struct scan scan_datum(const struct random_world *world, uint32_t d, unsigned k)
{
    struct scan scan = {.prio0 = INT32_MIN, .prio1 = INT32_MIN};
    for (uint32_t i = 0; i < world->ntasks; i++) {
        const od_task *task = world->tasks[i];
        if (task->state != OD_TASK_READY || !reads(task, world->data[d]))
            continue;
        scan.left_ns += duration_ns(task);
        uint32_t lacking = count_lacking(world, task, k);
        if (lacking == 1) {
            scan.n0++;
            scan.ns += duration_ns(task);
            scan.prio0 = task->priority > scan.prio0 ? task->priority : scan.prio0;
        } else if (lacking == 2) {
            scan.n1++;
            scan.prio1 = task->priority > scan.prio1 ? task->priority : scan.prio1;
        }
    }
    double transfer = world_transfer_time(NULL, world->data[d], k);
    scan.ratio = scan.n0 ? transfer / ((double)scan.ns * 1e-9) : DBL_MAX;
    return scan;
}

/* Positive: a is better. Line 6 of Algorithm 12. */
static int compare_scans(const struct scan *a, const struct scan *b)
{
    int32_t prio_a = a->n0 ? a->prio0 : a->prio1, prio_b = b->n0 ? b->prio0 : b->prio1;
    if (a->ratio < b->ratio || a->ratio > b->ratio)
        return a->ratio < b->ratio ? 1 : -1;
    if (a->n0 != b->n0)
        return a->n0 > b->n0 ? 1 : -1;
    if (prio_a != prio_b)
        return prio_a > prio_b ? 1 : -1;
    if (a->n1 != b->n1)
        return a->n1 > b->n1 ? 1 : -1;
    return a->left_ns == b->left_ns ? 0 : a->left_ns > b->left_ns ? 1 : -1;
}

/* What a refill may do, found before it happens. */
struct expectation {
    uint32_t members[MAX_DATA + 1][MAX_TASKS]; /* the sets any of which may be planned */
    uint32_t count[MAX_DATA + 1];
    uint32_t nsets;
};

static bool before(const od_task *a, const od_task *b)
{
    return a->priority != b->priority ? a->priority > b->priority : a->id < b->id;
}

/* Adds the set of ready tasks that lack `lacking` data on k, among them d if d < ndata. */
static void expect_set(const struct random_world *world, struct expectation *expected, uint32_t lacking, uint32_t d,
                       unsigned k)
{
    uint32_t count = 0, *members = expected->members[expected->nsets];
    for (uint32_t i = 0; i < world->ntasks; i++) {
        const od_task *task = world->tasks[i];
        if (task->state != OD_TASK_READY || (lacking != UINT32_MAX && count_lacking(world, task, k) != lacking))
            continue;
        if (d < world->ndata && !reads(task, world->data[d]))
            continue;
        members[count++] = i;
    }
    expected->count[expected->nsets] = count;
    expected->nsets += count > 0;
}

static void keep_most_urgent(const struct random_world *world, struct expectation *expected)
{
    for (uint32_t s = 0; s < expected->nsets; s++) {
        uint32_t best = expected->members[s][0];
        for (uint32_t i = 1; i < expected->count[s]; i++) {
            if (before(world->tasks[expected->members[s][i]], world->tasks[best]))
                best = expected->members[s][i];
        }
        expected->members[s][0] = best;
        expected->count[s] = 1;
    }
}

static void expect_refill(const struct random_world *world, struct expectation *expected, unsigned k)
{
    expected->nsets = 0;
    expect_set(world, expected, 0, UINT32_MAX, k);
    if (expected->nsets)
        return;
    struct scan best = {.ratio = DBL_MAX, .prio1 = INT32_MIN}, scans[MAX_DATA] = {{0}};
    for (uint32_t d = 0; d < world->ndata; d++) {
        if (is_present(world, d, k))
            continue;
        scans[d] = scan_datum(world, d, k);
        if (scans[d].n0 + scans[d].n1 && compare_scans(&scans[d], &best) > 0)
            best = scans[d];
    }
    for (uint32_t d = 0; d < world->ndata; d++) {
        if (!is_present(world, d, k) && scans[d].n0 + scans[d].n1 && compare_scans(&scans[d], &best) == 0)
            expect_set(world, expected, best.n0 ? 1 : 2, d, k);
    }
    if (expected->nsets == 0)
        expect_set(world, expected, UINT32_MAX, UINT32_MAX, k);
    if (best.n0 == 0)
        keep_most_urgent(world, expected);
}

/* The set is what was planned for k, and `task` its first. */
static bool set_was_planned(const struct random_world *world, const struct expectation *expected, uint32_t s,
                            const od_task *task, unsigned k)
{
    uint32_t planned = 0;
    for (uint32_t i = 0; i < world->ntasks; i++)
        planned += is_planned(world->tasks[i], k);
    if (planned + 1 != expected->count[s])
        return false;
    bool found = false;
    for (uint32_t i = 0; i < expected->count[s]; i++) {
        const od_task *member = world->tasks[expected->members[s][i]];
        if (member == task)
            found = true;
        else if (!is_planned(member, k) || before(member, task))
            return false;
    }
    return found;
}

static bool plan_is_empty(const struct random_world *world, unsigned k)
{
    for (uint32_t i = 0; i < world->ntasks; i++) {
        if (is_planned(world->tasks[i], k))
            return false;
    }
    return true;
}

static void event_pop(struct random_world *world, unsigned k)
{
    static struct expectation expected;
    bool refills = plan_is_empty(world, k);
    if (refills)
        expect_refill(world, &expected, k);
    od_task *task = world->ops->pop(world->state, k);
    if (refills) {
        bool matches = !task && expected.nsets == 0;
        for (uint32_t s = 0; task && s < expected.nsets; s++)
            matches = matches || set_was_planned(world, &expected, s, task, k);
        assert_true(matches);
    } else {
        assert_non_null(task);
    }
    if (!task)
        return;
    task->state = OD_TASK_BUFFERED;
    task->place = (int)k;
    for (uint32_t i = 0; i < task->naccess; i++)
        task->access[i].datum->replica[k].buffered_uses++;
}

static uint32_t count_in_states(const struct random_world *world, od_task_state low, od_task_state high)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < world->ntasks; i++)
        count += world->tasks[i]->state >= low && world->tasks[i]->state <= high;
    return count;
}

/* Where a new task must go at once; OD_NOWHERE: into the ready set. */
static int expect_arrival(const struct random_world *world, const od_task *task)
{
    int best = OD_NOWHERE;
    uint32_t shortest = 0;
    for (unsigned k = 0; k < world->ndevices; k++) {
        uint32_t queue = 0;
        for (uint32_t i = 0; i < world->ntasks; i++) {
            const od_task *other = world->tasks[i];
            queue += other->place == (int)k && other->state > OD_TASK_READY && other->state < OD_TASK_RUNNING;
        }
        if (count_lacking(world, task, k) > 0 || (best != OD_NOWHERE && queue >= shortest))
            continue;
        best = (int)k;
        shortest = queue;
    }
    return best;
}

static void event_ready(struct random_world *world)
{
    if (world->ntasks == MAX_TASKS)
        return;
    uint32_t index[MAX_DATA], count = world_random(&world->seed, 5);
    for (uint32_t i = 0; i < world->ndata; i++)
        index[i] = i;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t j = i + world_random(&world->seed, world->ndata - i), kept = index[i];
        index[i] = index[j];
        index[j] = kept;
    }
    od_task *task = world_task(world->ntasks, world->data, index, count);
    for (uint32_t i = 0; i < count; i++)
        task->access[i].mode = (od_mode[]){OD_READ, OD_READ, OD_READ_WRITE, OD_WRITE}[world_random(&world->seed, 4)];
    task->duration = world_random(&world->seed, 4) * 1e-3;
    task->priority = (int32_t)world_random(&world->seed, 4) - 1;
    int place = expect_arrival(world, task);
    assert_int_equal(world->ops->ready(world->state, task), OD_OK);
    world->tasks[world->ntasks++] = task;
    assert_int_equal(task->place, place);
    assert_int_equal(task->state, place == OD_NOWHERE ? OD_TASK_READY : OD_TASK_PLANNED);
}

static od_task *random_task(struct random_world *world, od_task_state state)
{
    uint32_t first = world->ntasks ? world_random(&world->seed, world->ntasks) : 0;
    for (uint32_t i = 0; i < world->ntasks; i++) {
        od_task *task = world->tasks[(first + i) % world->ntasks];
        if (task->state == state)
            return task;
    }
    return NULL;
}

/* Memory for the task's data; sometimes for those of a task that is still in the buffer (a prefetch). */
static void event_incoming(struct random_world *world, od_task *task)
{
    unsigned k = (unsigned)task->place;
    bool commit = world_random(&world->seed, 2);
    for (uint32_t i = 0; i < task->naccess; i++) {
        od_datum *datum = task->access[i].datum;
        od_replica *replica = &datum->replica[k];
        if (replica->state == OD_ABSENT) {
            replica->state = OD_PRESENT;
            world->ops->incoming(world->state, datum, k);
        }
        if (commit) {
            replica->pins++;
            replica->buffered_uses--;
        }
    }
    if (commit)
        task->state = OD_TASK_COMMITTED;
}

static void event_start(struct random_world *world, od_task *task)
{
    task->state = OD_TASK_RUNNING;
    for (uint32_t i = 0; i < task->naccess; i++)
        task->access[i].datum->valid |= OD_BIT(task->place);
    world->ops->started(world->state, task, (unsigned)task->place);
}

static void event_done(struct random_world *world, od_task *task)
{
    task->state = OD_TASK_DONE;
    for (uint32_t i = 0; i < task->naccess; i++) {
        task->access[i].datum->replica[task->place].pins--;
        if (task->access[i].mode & OD_WRITE)
            task->access[i].datum->valid = OD_BIT(task->place);
    }
    world->ops->done(world->state, task, (unsigned)task->place);
}

static void event_evict(struct random_world *world, od_datum *datum, unsigned k)
{
    od_replica *replica = &datum->replica[k];
    if (replica->state != OD_PRESENT || replica->pins > 0)
        return;
    replica->state = OD_ABSENT;
    datum->valid &= ~OD_BIT(k);
    if (!datum->valid)
        datum->valid = OD_BIT(OD_HOST);
    world->ops->evicted(world->state, datum, k);
    assert_int_equal(planned_readers(world, datum, k), 0);
}

/* Replaces a datum that nobody uses by another one with the same id. */
static void event_forget(struct random_world *world, uint32_t d)
{
    for (uint32_t i = 0; i < world->ntasks; i++) {
        for (uint32_t a = 0; a < world->tasks[i]->naccess; a++) {
            if (world->tasks[i]->state != OD_TASK_DONE && world->tasks[i]->access[a].datum == world->data[d])
                return;
        }
    }
    for (unsigned k = 0; k < world->ndevices; k++)
        event_evict(world, world->data[d], k);
    world->ops->forget(world->state, world->data[d]);
    for (uint32_t i = 0; i < world->ntasks; i++) {
        if (world->tasks[i]->state == OD_TASK_DONE)
            world->tasks[i]->naccess = 0;
    }
    free(world->data[d]);
    world->data[d] = world_datum(d, 1 + world_random(&world->seed, 3), world->ndevices);
}

static void random_event(struct random_world *world)
{
    unsigned k = world_random(&world->seed, world->ndevices);
    uint32_t d = world_random(&world->seed, world->ndata);
    od_task *task;
    switch (world_random(&world->seed, 11)) {
    case 0:
        event_evict(world, world->data[d], k);
        break;
    case 1:
        event_forget(world, d);
        break;
    case 2:
    case 3:
        event_pop(world, k);
        break;
    case 4:
    case 5:
        if ((task = random_task(world, OD_TASK_BUFFERED)))
            event_incoming(world, task);
        break;
    case 6:
        if ((task = random_task(world, OD_TASK_COMMITTED)))
            event_start(world, task);
        break;
    case 7:
        if ((task = random_task(world, OD_TASK_RUNNING)))
            event_done(world, task);
        break;
    default:
        event_ready(world);
        break;
    }
}

static void check_future_uses(const struct random_world *world)
{
    for (uint32_t d = 0; d < world->ndata; d++) {
        uint32_t uses = 0;
        for (uint32_t i = 0; i < world->ntasks; i++) {
            od_task_state state = world->tasks[i]->state;
            uses += (state == OD_TASK_READY || state == OD_TASK_PLANNED) && reads(world->tasks[i], world->data[d]);
        }
        assert_int_equal(world->ops->future_uses(world->state, world->data[d]), uses);
    }
}

static void run_random_world(uint64_t seed)
{
    struct random_world world = {.ops = od_policy_find("darts"), .seed = seed};
    world.ndevices = 1 + world_random(&world.seed, MAX_K);
    world.ndata = 4 + world_random(&world.seed, MAX_DATA - 3);
    world.state = world_create(world.ops, world.ndevices, seed);
    for (uint32_t d = 0; d < world.ndata; d++)
        world.data[d] = world_datum(d, 1 + world_random(&world.seed, 3), world.ndevices);
    for (int step = 0; step < STEPS; step++) {
        random_event(&world);
        world_check(world.ops, world.state);
        check_future_uses(&world);
    }
    while (count_in_states(&world, OD_TASK_READY, OD_TASK_PLANNED) > 0) {
        for (unsigned k = 0; k < world.ndevices; k++) {
            event_pop(&world, k);
        }
    }
    world.ops->destroy(world.state);
    for (uint32_t i = 0; i < world.ntasks; i++)
        world_task_free(world.tasks[i]);
    for (uint32_t d = 0; d < world.ndata; d++)
        free(world.data[d]);
}

static void test_random_events(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= RUNS; seed++)
        run_random_world(seed * UINT64_C(0x9e3779b97f4a7c15));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_smallest_ratio),
        cmocka_unit_test(test_ties_in_order),
        cmocka_unit_test(test_ties_by_s1_then_task_left),
        cmocka_unit_test(test_s1_takes_the_most_urgent),
        cmocka_unit_test(test_last_resort_is_the_most_urgent),
        cmocka_unit_test(test_free_task_is_pushed_to_the_emptier_device),
        cmocka_unit_test(test_promise_counts_as_present),
        cmocka_unit_test(test_eviction_takes_planned_tasks_back),
        cmocka_unit_test(test_random_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
