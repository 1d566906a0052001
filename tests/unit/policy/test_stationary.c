/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * stationary: how much it loads in the papers' model, that its plans are plans, and what it does with many devices.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <inttypes.h>
#include <limits.h>
#include <math.h>

#include "sched/graph/known.h"
#include "sched/phase/active.h"
#include "sched/phase/list.h"
#include "sched/phase/phase.h"
#include "tests/unit/policy/model.h"
#include "tests/unit/policy/problem.h"
#include "tests/unit/random.h"

/* --- loads ------------------------------------------------------------------- */

static model_machine unit_machine(const char *policy, unsigned ndevices, size_t memory)
{
    return (model_machine){
        .ndevices = ndevices, .memory = memory, .buffer = 5, .bandwidth = 1e5, .policy = policy, .seed = 1};
}

/* Mean over a few random orders of ties. */
static double loads_of_darts(const model_graph *graph, model_machine machine)
{
    enum { SEEDS = 4 };
    double loads = 0;
    machine.policy = "darts";
    for (machine.seed = 1; machine.seed <= SEEDS; machine.seed++)
        loads += (double)model_run(graph, &machine).loads / SEEDS;
    return loads;
}

static void check_loads(const char *name, model_graph graph, unsigned ndevices, size_t memory, double limit)
{
    model_machine machine = unit_machine("stationary", ndevices, memory);
    model_result result = model_run(&graph, &machine);
    double darts = loads_of_darts(&graph, machine);
    print_message("%-36s %5.0f loads (limit %4.0f), darts %6.1f\n", name, (double)result.loads, limit, darts);
    assert_true((double)result.loads <= limit);
    assert_true((double)result.loads <= 1.02 * darts);
    model_free(&graph);
}

static model_graph shuffled(model_graph graph)
{
    model_shuffle(&graph, 7);
    return graph;
}

static void test_loads_on_one_device(void **unused)
{
    (void)unused;
    check_loads("2D, N = 60, M = 34", model_gemm2d(60), 1, 34, 185);
    check_loads("2D, N = 60, M = 34, random order", shuffled(model_gemm2d(60)), 1, 34, 185);
    check_loads("3D, N = 16, M = 100", model_gemm3d(16), 1, 100, 1320);
    check_loads("Cholesky set, N = 20, M = 60", model_cholesky_set(20), 1, 60, 400);
    check_loads("Cholesky set, N = 28, M = 100", model_cholesky_set(28), 1, 100, 930);
    check_loads("sparse 2D (10 %), N = 60, M = 34", model_sparse2d(60, 10, 3), 1, 34, 165);
}

/* Memories that hold a handful of data, or nearly all. */
static void test_other_sizes(void **unused)
{
    (void)unused;
    check_loads("2D, N = 30, M = 10", model_gemm2d(30), 1, 10, 160);
    check_loads("2D, N = 12, M = 40", model_gemm2d(12), 1, 40, 24);
    check_loads("3D, N = 8, M = 30, random order", shuffled(model_gemm3d(8)), 1, 30, 420);
    check_loads("3D, N = 12, M = 200", model_gemm3d(12), 1, 200, 432);
    check_loads("Cholesky set, N = 24, M = 200", model_cholesky_set(24), 1, 200, 400);
}

static void test_loads_on_several_devices(void **unused)
{
    (void)unused;
    check_loads("2D, N = 60, M = 34, 2 devices", model_gemm2d(60), 2, 34, 260);
    check_loads("2D, N = 60, M = 34, 4 devices, random", shuffled(model_gemm2d(60)), 4, 34, 330);
    check_loads("3D, N = 12, M = 60, 4 devices", model_gemm3d(12), 4, 60, 900);
    check_loads("Cholesky set, N = 24, M = 60, 4 dev.", model_cholesky_set(24), 4, 60, 900);
}

/* What is submitted is planned with what is ready: less is moved, both ways, than by darts. */
static void test_looks_ahead(void **unused)
{
    (void)unused;
    model_graph graph = model_cholesky(20);
    model_machine machine = unit_machine("stationary", 1, 60);
    model_result ours = model_run(&graph, &machine);
    machine.policy = "darts";
    model_result theirs = model_run(&graph, &machine);
    print_message("Cholesky, N = 20, M = 60: %.0f bytes moved, by darts %.0f\n", (double)ours.bytes,
                  (double)theirs.bytes);
    assert_true((double)ours.bytes <= 0.9 * (double)theirs.bytes);
    model_free(&graph);
}

/* Where devices own what they write, a tile of a factorisation crosses to few others. */
static void test_owners_send_each_other_little(void **unused)
{
    (void)unused;
    enum { SIDE = 20, DEVICES = 3, BY_COLUMNS = SIDE * (SIDE + 1) / 2 + (DEVICES - 1) * SIDE * (SIDE - 1) / 2 };
    model_graph graph = model_cholesky(SIDE);
    model_machine machine = unit_machine("stationary:owners", DEVICES, 142);
    machine.active = DEVICES;
    machine.bandwidth = 1000; /* a load takes as long as a task */
    model_result owners = model_run(&graph, &machine);
    machine.policy = "stationary";
    model_result phases = model_run(&graph, &machine);
    print_message("Cholesky, N = 20, M = 142, 3 devices: %.0f loads with owners, %.0f without; columns in turn: %d\n",
                  (double)owners.loads, (double)phases.loads, BY_COLUMNS);
    print_message("%.3f s, %.3f s without\n", owners.makespan, phases.makespan);
    assert_true((double)owners.loads <= 0.8 * BY_COLUMNS && owners.loads < phases.loads);
    for (unsigned k = 0; k < DEVICES; k++)
        assert_true(owners.tasks[k] >= 0.8 * graph.ntasks / DEVICES);
    model_free(&graph);
}

/* --- idle devices --------------------------------------------------------------- */

static unsigned devices_at_work(const model_result *result)
{
    unsigned count = 0;
    for (unsigned k = 0; k < MODEL_DEVICES; k++)
        count += result->tasks[k] > 0;
    return count;
}

/* What is idle gets nothing, whatever the policy; and each of those that are to be active gets something, unless the
 * policy finds that fewer are enough. */
static void test_devices_idle_under_every_policy(void **unused)
{
    (void)unused;
    model_graph graph = model_cholesky(10);
    for (const char *const *name = od_policy_names(); *name; name++) {
        model_machine machine = unit_machine(*name, 4, 40);
        machine.active = OD_ACTIVE_CHOSEN;
        machine.bandwidth = 500;
        model_result chosen = model_run(&graph, &machine);
        assert_in_range(devices_at_work(&chosen), 1, 3);
        for (int n = 1; n <= 4; n++) {
            machine.active = n;
            model_result result = model_run(&graph, &machine);
            bool may_leave = od_policy_find(*name)->chooses_active || od_policy_find(*name)->chooser;
            for (int k = 0; k < 4; k++)
                if (k < n ? result.tasks[k] == 0 && (k == 0 || !may_leave) : result.tasks[k] > 0)
                    fail_msg("%s, %d devices: %" PRIu64 " tasks on device %d", *name, n, (uint64_t)result.tasks[k], k);
        }
    }
    model_free(&graph);
}

/* On one narrow bus eight devices would mostly wait for each other's copies. */
static void test_devices_rest(void **unused)
{
    (void)unused;
    model_graph graph = model_cholesky(16);
    model_machine machine = unit_machine("stationary", 8, 100);
    machine.bandwidth = 500; /* two tasks' time for a load */
    model_result chosen = model_run(&graph, &machine);
    machine.active = 8;
    model_result all = model_run(&graph, &machine);
    machine.active = 2;
    machine.policy = "stationary:steal=0";
    model_result two = model_run(&graph, &machine);
    machine.active = 1;
    model_result one = model_run(&graph, &machine);
    print_message("%u devices: %.0f ms; 8: %.0f ms; 1: %.0f ms\n", devices_at_work(&chosen), 1e3 * chosen.makespan,
                  1e3 * all.makespan, 1e3 * one.makespan);
    assert_in_range(devices_at_work(&chosen), 1, 7);
    assert_int_equal(devices_at_work(&two), 2);
    assert_int_equal(devices_at_work(&one), 1);
    assert_true(chosen.makespan < all.makespan);
    assert_true(chosen.makespan <= one.makespan);
    model_free(&graph);
}

/* Where loads cost next to nothing all devices are active. */
static void test_devices_work(void **unused)
{
    (void)unused;
    model_graph graph = model_gemm2d(40);
    model_machine machine = unit_machine("stationary", 8, 34);
    machine.bandwidth = 1e7;
    model_result result = model_run(&graph, &machine);
    assert_int_equal(devices_at_work(&result), 8);
    model_free(&graph);
}

/* --- plans -------------------------------------------------------------------------- */

/* Each task once, after all that it depends on; about as much as was asked for. */
static void check_plan(const struct problem *q, const od_phase_result *plan)
{
    bool done[TASKS] = {false};
    double seconds = 0, longest = 0;
    for (uint32_t i = 0; i < plan->ntasks; i++) {
        uint32_t task = plan->order[i];
        assert_true(task < q->p.ntasks && !done[task]);
        for (uint32_t t = 0; t < q->p.ntasks; t++)
            for (uint32_t e = q->first_successor[t]; e < q->first_successor[t + 1]; e++)
                assert_true(q->successor[e] != task || done[t]);
        done[task] = true;
        seconds += q->seconds[task];
        longest = q->seconds[task] > longest ? q->seconds[task] : longest;
    }
    assert_true(plan->ntasks > 0 || q->p.ntasks == 0);
    assert_true(seconds == plan->seconds && seconds < 1.25 * q->p.share + longest);
    assert_true(plan->loads >= 0 && plan->stores >= 0);
}

static void test_plans_are_plans(void **unused)
{
    (void)unused;
    enum { PROBLEMS = 3000 };
    static const double rounding = 1 + 1e-9;
    uint64_t random = 11;
    static struct problem q;
    for (int i = 0; i < PROBLEMS; i++) {
        uint32_t order[2][TASKS + 1];
        od_phase_result plan = {.order = order[0]}, again = {.order = order[1]};
        double loads, least;
        make_problem(&q, &random);
        assert_int_equal(od_phase_plan(&q.p, &plan), OD_OK);
        check_plan(&q, &plan);
        assert_int_equal(od_phase_plan(&q.p, &again), OD_OK);
        assert_int_equal(plan.ntasks, again.ntasks);
        assert_memory_equal(order[0], order[1], plan.ntasks * sizeof order[0][0]);
        unsigned devices = 1 + (unsigned)random_below(&random, 4);
        assert_int_equal(od_phase_estimate(&q.p, devices, INFINITY, &loads), OD_OK);
        assert_true(loads >= 0);
        assert_int_equal(od_phase_estimate(&q.p, devices, loads, &least), OD_OK);
        assert_true(least == loads);
        assert_int_equal(od_phase_estimate(&q.p, devices, loads / 2, &least), OD_OK);
        assert_true(loads == 0 || (least > loads / 2 && least <= rounding * loads));
    }
}

/* Every task once, after those that it waits for, on a device that there is; not sooner than work and chains allow. */
static void check_list(const struct problem *q, unsigned devices, const od_list_plan *plan)
{
    uint32_t place[TASKS];
    double level[TASKS], work = 0, chain = 0;
    bool met[TASKS] = {false};
    for (uint32_t i = 0; i < q->p.ntasks; i++) {
        uint32_t t = plan->order[i];
        assert_true(t < q->p.ntasks && !met[t] && plan->place[t] < devices);
        met[t] = true;
        place[t] = i;
    }
    for (uint32_t t = q->p.ntasks; t-- > 0;) {
        level[t] = 0;
        for (uint32_t e = q->p.first_successor[t]; e < q->p.first_successor[t + 1]; e++) {
            assert_true(place[t] < place[q->p.successor[e]]);
            level[t] = fmax(level[t], level[q->p.successor[e]]);
        }
        level[t] += q->seconds[t];
        work += q->seconds[t];
        chain = fmax(chain, level[t]);
    }
    assert_true(plan->seconds >= work / devices * (1 - 1e-9) && plan->seconds >= chain * (1 - 1e-9));
}

/* The last item that the task writes; TASKS: none. */
static uint32_t written_item(const struct problem *q, uint32_t task)
{
    for (uint32_t u = q->p.first_use[task + 1]; u-- > q->p.first_use[task];)
        if (q->p.writes[u])
            return q->p.use[u];
    return TASKS;
}

static void check_owners(const struct problem *q, const od_list_plan *plan)
{
    unsigned owner[TASKS + 1];
    memset(owner, 0xff, sizeof owner);
    for (uint32_t t = 0; t < q->p.ntasks; t++) {
        unsigned *of = &owner[written_item(q, t)];
        if (of != &owner[TASKS] && *of != UINT_MAX)
            assert_int_equal(*of, plan->place[t]);
        *of = plan->place[t];
    }
}

static void test_joint_plans_are_plans(void **unused)
{
    (void)unused;
    enum { PROBLEMS = 2000, WITH_OWNERS = 8 }; /* every so many */
    uint64_t random = 5;
    static struct problem q;
    for (int i = 0; i < PROBLEMS; i++) {
        uint32_t order[2][TASKS + 1];
        unsigned place[2][TASKS + 1], devices = 1 + (unsigned)random_below(&random, 8);
        od_placeset copies[TASKS] = {OD_NO_PLACES};
        make_problem(&q, &random);
        assert_true(q.p.nitems <= TASKS);
        for (uint32_t item = 0; item < q.p.nitems; item++)
            copies[item].word[0] = random_below(&random, 2) ? random_below(&random, UINT64_C(1) << devices) : 0;
        od_list_plan plan = {place[0], order[0], 0}, again = {place[1], order[1], 0};
        bool owners = i % WITH_OWNERS == 0;
        od_list_problem problem = {&q.p,    copies, NULL,     (const unsigned[]){0, 1, 2, 3, 4, 5, 6, 7},
                                   devices, owners, INFINITY, NULL};
        assert_int_equal(od_list_plan_best(&problem, devices, &plan), OD_OK);
        check_list(&q, devices, &plan);
        if (owners)
            check_owners(&q, &plan);
        assert_int_equal(od_list_plan_best(&problem, devices, &again), OD_OK);
        assert_memory_equal(order[0], order[1], q.p.ntasks * sizeof order[0][0]);
        assert_memory_equal(place[0], place[1], q.p.ntasks * sizeof place[0][0]);
        problem.limit = plan.seconds;
        assert_int_equal(od_list_plan_best(&problem, devices, &again), OD_OK);
        assert_true(owners || !q.p.ntasks || isinf(again.seconds) || again.seconds < plan.seconds);
    }
}

/* What one estimate tells the next hardly changes it. */
static void test_estimates_share_a_memo(void **unused)
{
    (void)unused;
    enum { PROBLEMS = 1000, COUNTS = 8 };
    static const double much = 2, little = 1.01; /* the most that one estimate is off by, and all together */
    uint64_t random = 12;
    unsigned told = 0;
    double all = 0, all_plain = 0;
    static struct problem q;
    for (int i = 0; i < PROBLEMS; i++) {
        od_phase_memo memo = {0};
        make_problem(&q, &random);
        for (unsigned n = 1; n <= COUNTS; n++) {
            double plain, loads, longest = memo.longest;
            q.p.memo = NULL;
            assert_int_equal(od_phase_estimate(&q.p, n, INFINITY, &plain), OD_OK);
            q.p.memo = &memo;
            assert_int_equal(od_phase_estimate(&q.p, n, INFINITY, &loads), OD_OK);
            assert_true(loads <= much * plain && plain <= much * loads);
            assert_true(loads == plain || memo.longest == longest);
            told += n > 1 && q.p.ntasks && memo.longest == longest;
            all += loads;
            all_plain += plain;
        }
    }
    assert_true(told > 0);
    assert_true(all <= little * all_plain && all_plain <= little * all);
}

/* --- what is known ---------------------------------------------------------------------- */

enum { KNOWN = 24, DATA = 6, DEVICES = 3 };

struct story {
    od_known *known;
    od_known_task *task[KNOWN];
    od_task ready[KNOWN];
    od_access access[KNOWN][DATA];
    od_datum *data[DATA];
};

static void emit_submit(struct story *s, unsigned t, uint64_t *random)
{
    od_level_use uses[4];
    uint32_t n = (uint32_t)random_below(random, 5);
    for (uint32_t i = 0; i < n; i++)
        uses[i] =
            (od_level_use){.address = s->data[random_below(random, DATA)]->base, .write = random_below(random, 2)};
    static const char kinds[3]; /* of most tasks the depend items say nothing, sooner or later */
    s->task[t] =
        od_known_submit(s->known, random_below(random, 4) ? &kinds[random_below(random, 3)] : NULL, 0, 1, uses, n);
    assert_non_null(s->task[t]);
}

/* What it uses is what was predicted only at times. */
static void emit_ready(struct story *s, unsigned t, uint64_t *random)
{
    s->ready[t] = (od_task){.access = s->access[t], .duration = 1};
    const od_known_task *task = s->task[t];
    for (uint32_t i = 0; task && i < task->nuses; i++)
        for (int d = 0; d < DATA; d++)
            if (s->data[d]->base == task->uses[i].item->base)
                s->access[t][s->ready[t].naccess++] = (od_access){.datum = s->data[d], .mode = task->uses[i].mode};
    if (s->ready[t].naccess && random_below(random, 3) == 0)
        s->ready[t].naccess--;
    s->task[t] = od_known_ready(s->known, s->task[t], &s->ready[t]);
    assert_non_null(s->task[t]);
    assert_ptr_equal(s->task[t]->task, &s->ready[t]);
}

static void emit_next(struct story *s, unsigned t, uint64_t *random)
{
    od_known_task *task = s->task[t];
    uint64_t what = random_below(random, 8);
    if (!task && what < 6)
        emit_submit(s, t, random);
    else if (!task || (!task->task && what < 3))
        emit_ready(s, t, random);
    else if (!task->taken && what < 5)
        od_known_claim(s->known, task, (unsigned)random_below(random, DEVICES));
    else if (!task->taken && what < 7)
        od_known_take(s->known, task);
    else {
        od_known_done(s->known, task);
        s->task[t] = NULL;
    }
}

/* Tasks that it depends on are counted, however they came and went. */
static void check_counts(const struct story *s)
{
    for (unsigned t = 0; t < KNOWN; t++) {
        uint32_t count = 0;
        for (unsigned b = 0; b < KNOWN; b++) {
            const od_known_task *before = s->task[b];
            for (uint32_t i = 0; before && i < before->nsuccessors; i++)
                count += s->task[t] && before->successors[i] == s->task[t];
        }
        if (s->task[t])
            assert_int_equal(s->task[t]->before, count);
    }
}

static void test_known_graph(void **unused)
{
    (void)unused;
    static struct story s;
    for (int d = 0; d < DATA; d++) {
        s.data[d] = calloc(1, sizeof *s.data[d] + DEVICES * sizeof s.data[d]->replica[0]);
        assert_non_null(s.data[d]);
        s.data[d]->base = 4096 * (uintptr_t)(d + 1);
        s.data[d]->size = 100;
    }
    for (uint64_t seed = 1; seed <= 40; seed++) {
        uint64_t random = seed;
        memset(s.task, 0, sizeof s.task);
        s.known = od_known_create(DEVICES, NULL, NULL);
        assert_non_null(s.known);
        for (int i = 0; i < 600; i++) {
            emit_next(&s, (unsigned)random_below(&random, KNOWN), &random);
            assert_true(od_known_is_valid(s.known));
            check_counts(&s);
        }
        for (unsigned t = 0; seed % 2 && t < KNOWN; t++)
            if (s.task[t])
                od_known_done(s.known, s.task[t]);
        assert_true(seed % 2 == 0 || s.known->nitems == 0);
        od_known_destroy(s.known); /* of even seeds with tasks left */
    }
    for (int d = 0; d < DATA; d++)
        free(s.data[d]);
}

/* Tasks of one kind take what the latest ready one is predicted to, whether open or claimed; others what was predicted
 * for them. */
static void test_durations(void **unused)
{
    (void)unused;
    static const char kinds[OD_DURATIONS_KINDS + 1];
    od_known *known = od_known_create(DEVICES, NULL, NULL);
    assert_non_null(known);
    od_known_task *open = od_known_submit(known, &kinds[0], 0, 1, NULL, 0);
    od_known_task *claimed = od_known_submit(known, &kinds[0], 0, 2, NULL, 0);
    od_known_task *other = od_known_submit(known, &kinds[1], 0, 3, NULL, 0);
    od_known_task *without = od_known_submit(known, NULL, 0, 4, NULL, 0);
    od_known_claim(known, claimed, 1);
    od_known_predict(known);
    assert_true(open->seconds == 1 && claimed->seconds == 2 && known->open_seconds == 1 + 3 + 4);
    const od_durations none = known->durations;
    od_durations_note(&known->durations, &kinds[0], 7);
    od_durations_note(&known->durations, &kinds[0], 5);
    od_durations_note(&known->durations, NULL, 9);
    const od_durations then = known->durations;
    assert_false(od_durations_differ(&none, &then, 1) || od_durations_differ(&then, &then, 1));
    od_durations_note_host(&known->durations, &kinds[0], 8);
    od_known_predict(known);
    assert_true(open->seconds == 5 && claimed->seconds == 5 && other->seconds == 3 && without->seconds == 4);
    assert_true(known->open_seconds == 5 + 3 + 4 && known->claimed_seconds[1] == 5);
    assert_true(od_durations_host(&known->durations, &kinds[0]) == 8);
    assert_true(od_durations_host(&known->durations, &kinds[1]) == 0 && od_durations_host(&known->durations, NULL) == 0);
    od_known_take(known, claimed); /* with the engine it is predicted anew, too */
    od_durations_note(&known->durations, &kinds[0], 2);
    od_known_predict(known);
    assert_true(claimed->seconds == 2 && known->taken_seconds == 2);
    const od_durations noted = known->durations;
    assert_false(od_durations_has_guess(&known->durations));
    od_durations_set_guessed(&known->durations, &kinds[0], true);
    od_durations_set_guessed(&known->durations, NULL, true);
    assert_true(od_durations_has_guess(&known->durations));
    od_durations_set_guessed(&known->durations, &kinds[1], true); /* nothing is noted of it: predictions stay */
    od_durations_set_guessed(&known->durations, &kinds[0], false);
    od_known_predict(known);
    assert_true(od_durations_has_guess(&known->durations) && other->seconds == 3 && claimed->seconds == 2);
    od_durations_set_guessed(&known->durations, &kinds[1], false);
    assert_false(od_durations_has_guess(&known->durations));
    known->durations = noted;
    assert_true(od_durations_differ(&then, &known->durations, 2.4) &&
                od_durations_differ(&known->durations, &then, 2.4));
    assert_false(od_durations_differ(&then, &known->durations, 2.6));
    od_durations_note(&known->durations, &kinds[0], 5);
    for (size_t i = 2; i < sizeof kinds; i++)
        od_durations_note(&known->durations, &kinds[i], 1);
    od_durations_note(&known->durations, &kinds[1], 6); /* one kind too many */
    od_known_predict(known);
    assert_true(open->seconds == 5 && other->seconds == 3);
    od_known_destroy(known);
}

/* One estimate for each batch, though its tasks use no data; tasks wait for the very first one alone. */
static void test_one_estimate_a_batch(void **unused)
{
    enum { BATCHES = 3, AT_ONCE = 20 };
    (void)unused;
    const size_t memory = 100;
    const od_policy_env env = {.ndevices = 4, .buffer = 1, .memory = &memory};
    od_known *known = od_known_create(env.ndevices, NULL, NULL);
    od_active active;
    od_active_init(&active, &env, OD_ACTIVE_CHOSEN, false);
    assert_non_null(known);
    for (int batch = 0; batch < BATCHES; batch++) {
        od_known_task *task[AT_ONCE];
        od_active_estimate estimate;
        for (int t = 0; t < AT_ONCE; t++)
            task[t] = od_known_submit(known, NULL, 0, 1, NULL, 0);
        assert_true(od_active_is_due(&active, known));
        assert_int_equal(od_active_begin(&active, &env, known, &estimate), OD_OK);
        assert_true(active.first == (batch == 0));
        od_active_find(&estimate);
        od_active_end(&active, &estimate);
        assert_int_equal(active.count, 4);
        for (int t = 0; t < AT_ONCE; t++) {
            assert_false(od_active_is_due(&active, known));
            od_known_done(known, task[t]);
        }
    }
    od_known_destroy(known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loads_on_one_device),
        cmocka_unit_test(test_other_sizes),
        cmocka_unit_test(test_loads_on_several_devices),
        cmocka_unit_test(test_looks_ahead),
        cmocka_unit_test(test_owners_send_each_other_little),
        cmocka_unit_test(test_devices_idle_under_every_policy),
        cmocka_unit_test(test_devices_rest),
        cmocka_unit_test(test_devices_work),
        cmocka_unit_test(test_plans_are_plans),
        cmocka_unit_test(test_joint_plans_are_plans),
        cmocka_unit_test(test_estimates_share_a_memo),
        cmocka_unit_test(test_known_graph),
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_one_estimate_a_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
