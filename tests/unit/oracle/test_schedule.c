/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Static schedules: every one can be carried out, and local search makes them no worse. */
#include "sched/auto/schedule/improve.h"
#include "sched/auto/schedule/schedule.h"
#include "sched/oracle/play.h"

#include "memmgr/device/measured.h"
#include "sched/policy.h"
#include "util/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_TASKS = 60, MOST_DATA = 12, MOST_USES = 3, BYTES = 10 };

/* A problem and its arrays. */
struct world {
    od_play_problem problem;
    od_play_task task[MOST_TASKS];
    od_play_access access[MOST_TASKS * MOST_USES];
    uint32_t after[MOST_TASKS * MOST_TASKS];
    od_play_datum datum[MOST_DATA];
    bool follows[MOST_TASKS][MOST_TASKS]; /* [a][b]: b waits for a */
};

static void use(struct world *w, uint32_t t, uint32_t datum, od_mode mode)
{
    od_play_task *task = &w->task[t];
    for (uint32_t a = task->first_access; a < task->first_access + task->naccess; a++)
        if (w->access[a].datum == datum)
            return;
    for (uint32_t before = 0; before < t; before++) /* of each access of the datum, one must write */
        for (uint32_t i = 0; i < w->task[before].naccess; i++) {
            od_play_access *a = &w->access[w->task[before].first_access + i];
            w->follows[before][t] |= a->datum == datum && ((a->mode | mode) & OD_WRITE);
        }
    w->access[w->problem.naccesses++] = (od_play_access){datum, mode};
    task->naccess++;
}

static void add_task(struct world *w, double seconds)
{
    uint32_t t = w->problem.ntasks++;
    w->task[t] = (od_play_task){.seconds = seconds, .bound = OD_NOWHERE, .number = t};
    w->task[t].first_access = w->problem.naccesses;
}

static void finish(struct world *w, unsigned ndevices, size_t memory)
{
    od_play_problem *p = &w->problem;
    for (uint32_t a = 0; a < p->ntasks; a++) {
        w->task[a].first_after = p->nafter;
        for (uint32_t b = a + 1; b < p->ntasks; b++)
            if (w->follows[a][b]) {
                w->after[p->nafter++] = b;
                w->task[b].before++;
            }
        w->task[a].nafter = p->nafter - w->task[a].first_after;
    }
    p->tasks = w->task;
    p->accesses = w->access;
    p->after = w->after;
    p->data = w->datum;
    p->topology = od_topology_bus(ndevices, BYTES);
    assert_non_null(p->topology);
    p->ndevices = ndevices;
    p->slots = 1;
    p->memory = memory;
    p->alignment = 1;
    p->peer = true;
}

static void add_data(struct world *w, uint32_t count)
{
    for (uint32_t d = 0; d < count; d++)
        w->datum[w->problem.ndata++] = (od_play_datum){.bytes = BYTES, .valid = od_placeset_of(OD_HOST), .tie = d};
}

static struct world *random_world(uint64_t *random)
{
    static const od_mode modes[] = {OD_READ, OD_READ, OD_READ_WRITE, OD_WRITE};
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    add_data(w, 1 + od_random_below(random, MOST_DATA));
    uint32_t ntasks = 1 + od_random_below(random, MOST_TASKS);
    for (uint32_t t = 0; t < ntasks; t++) {
        add_task(w, 0.1 + od_random_fraction(random));
        for (uint32_t left = od_random_below(random, MOST_USES + 1); left > 0; left--)
            use(w, t, od_random_below(random, w->problem.ndata), modes[od_random_below(random, 4)]);
    }
    finish(w, 1 + od_random_below(random, 5), (MOST_USES + od_random_below(random, MOST_DATA)) * BYTES);
    return w;
}

static void free_world(struct world *w)
{
    od_topology_destroy((od_topology *)(uintptr_t)w->problem.topology);
    free(w);
}

static od_settings settings_of(const char *policy, const char *rule)
{
    char error[256];
    od_settings s = {.evict = od_evict_find(rule), .buffer = 3, .active = OD_MAX_DEVICES};
    assert_int_equal(od_policy_choose(policy, &s.policy, error, sizeof error), OD_OK);
    return s;
}

static od_improvement improvement_of(const struct world *w, const od_settings *s)
{
    return (od_improvement){
        .problem = &w->problem, .settings = s, .devices = od_placeset_below(w->problem.ndevices), .random = 1};
}

/* Devices that there are not, tasks that it does not know, equal ranks: it runs. */
static void any_schedule_can_be_carried_out(void **state)
{
    uint64_t random = 7;
    (void)state;
    for (int round = 0; round < 300; round++) {
        struct world *w = random_world(&random);
        od_settings s = settings_of("darts", "luf");
        od_improvement i = improvement_of(w, &s);
        w->problem.lost = od_placeset_below(w->problem.ndevices > 1 && od_random_below(&random, 4) == 0 ? 1 : 0);
        od_schedule *schedule = od_schedule_create(1 + od_random_below(&random, 2 * MOST_TASKS));
        assert_non_null(schedule);
        for (uint32_t t = 0; t < schedule->ntasks; t++)
            if (od_random_below(&random, 5))
                schedule->task[t] = (od_scheduled){od_random_below(&random, w->problem.ndevices + 1),
                                                   od_random_below(&random, schedule->ntasks)};
        if (!isfinite(od_improve_play(&i, schedule, (double)INFINITY)))
            fail_msg("round %d: %u tasks on %u devices", round, w->problem.ntasks, w->problem.ndevices);
        free(schedule);
        free_world(w);
    }
}

/* And what comes out takes what is said of it. */
static void improving_makes_nothing_worse(void **state)
{
    static const char *const policies[] = {"darts", "eager", "dmdas", "lws"};
    uint64_t random = 11;
    double before = 0, after = 0;
    (void)state;
    for (int round = 0; round < 60; round++) {
        struct world *w = random_world(&random);
        od_settings s = settings_of(policies[round % 4], "luf");
        od_improvement i = improvement_of(w, &s);
        double first = 0;
        od_schedule *schedule = od_improve_begin(&i, &s, &first);
        assert_true(schedule && isfinite(first));
        double improved = od_improve(&i, schedule, first);
        assert_true(improved <= first);
        double again = od_improve_play(&i, schedule, (double)INFINITY);
        if (fabs(again - improved) > 1e-9)
            fail_msg("round %d: %g s, played again %g", round, improved, again);
        before += first;
        after += improved;
        free(schedule);
        free_world(w);
    }
    assert_true(after < 0.95 * before);
}

/* Two data, each read by half of the tasks, in turn: each device should have the readers of one. */
static void readers_of_a_datum_come_together(void **state)
{
    enum { READERS = 8 };
    struct world *w = calloc(1, sizeof *w);
    (void)state;
    assert_non_null(w);
    add_data(w, 2);
    for (uint32_t t = 0; t < READERS; t++) {
        add_task(w, 1);
        use(w, t, t % 2, OD_READ);
    }
    finish(w, 2, BYTES); /* one datum fits, and takes a second to load */
    od_settings s = settings_of("eager", "lru");
    od_improvement i = improvement_of(w, &s);
    od_schedule *schedule = od_schedule_create(READERS);
    assert_non_null(schedule);
    for (uint32_t t = 0; t < READERS; t++)
        schedule->task[t] = (od_scheduled){t / 2 % 2, t};
    double bad = od_improve_play(&i, schedule, (double)INFINITY), good = od_improve(&i, schedule, bad);
    assert_true(bad > 8 && good < 6.01); /* the second load begins behind the first */
    for (uint32_t t = 0; t < READERS; t++)
        assert_int_equal(schedule->task[t].device, schedule->task[t % 2].device);
    free(schedule);
    free_world(w);
}

/* Readers, which come one by one, on all devices but the last. */
static od_schedule *make_readers(struct world *w, uint64_t *random)
{
    enum { DEVICES = 4, TASKS = 40 };
    add_data(w, MOST_DATA);
    for (uint32_t t = 0; t < TASKS; t++) {
        add_task(w, 1);
        use(w, t, od_random_below(random, MOST_DATA), OD_READ);
    }
    finish(w, DEVICES, MOST_DATA / 2 * BYTES);
    w->problem.arrives = true;
    od_schedule *schedule = od_schedule_create(TASKS);
    assert_non_null(schedule);
    for (uint32_t t = 0; t < TASKS; t++) /* in an order of its own, which begins with the last ones */
        schedule->task[t] = (od_scheduled){od_random_below(random, DEVICES - 1), TASKS - t};
    return schedule;
}

/* Nothing happens out of turn: not while the program creates tasks, and not on devices that have no part in it. Who has
 * done all of its tasks may take others'. */
static void schedules_are_followed(void **state)
{
    uint64_t random = 17;
    (void)state;
    for (int round = 0; round < 50; round++) {
        struct world *w = calloc(1, sizeof *w);
        assert_non_null(w);
        od_schedule *schedule = make_readers(w, &random);
        od_settings others = settings_of("darts", "luf"), s = od_schedule_settings(schedule, &others);
        od_play_began began[MOST_TASKS];
        od_play_result result = {.began = began};
        uint32_t all[OD_SCHEDULE_OPEN] = {0}, left[OD_SCHEDULE_OPEN] = {0}, last[OD_SCHEDULE_OPEN] = {0};
        assert_int_equal(od_play(&w->problem, &s, (double)INFINITY, &result), OD_OK);
        for (uint32_t t = 0; t < schedule->ntasks; t++)
            all[schedule->task[t].device] = ++left[schedule->task[t].device];
        for (uint32_t i = 0; i < schedule->ntasks; i++) {
            od_scheduled place = schedule->task[began[i].task];
            uint32_t k = (uint32_t)began[i].device;
            bool first = began[i].task == 0; /* which goes to its device before others are there */
            if (k != place.device ? !all[k] || left[k] : !first && place.rank < last[k])
                fail_msg("round %d: task %u of device %u begins on %u", round, began[i].task, place.device, k);
            left[place.device]--;
            last[k] = first ? 0 : place.rank;
        }
        free(schedule);
        free_world(w);
    }
}

/* A part of a graph, which was submitted first in part. */
static void numbers_are_those_of_the_graph(void **state)
{
    enum { PART = 5, SHIFT = 3 };
    od_play_task tasks[PART];
    od_play_problem problem = {.tasks = tasks, .ntasks = PART};
    (void)state;
    for (uint32_t t = 0; t < PART; t++)
        tasks[t] = (od_play_task){.number = t + SHIFT};
    tasks[0].number = UINT32_MAX; /* of a batch before */
    od_schedule *part = od_schedule_create(PART);
    assert_non_null(part);
    for (uint32_t t = 0; t < PART; t++)
        part->task[t] = (od_scheduled){t % 2, PART - t};
    od_schedule *graph = od_schedule_for_graph(part, &problem);
    od_schedule *again = graph ? od_schedule_for_problem(graph, &problem) : NULL;
    assert_non_null(again);
    assert_int_equal(graph->ntasks, PART + SHIFT);
    for (uint32_t t = 0; t <= SHIFT; t++)
        assert_int_equal(graph->task[t].device, OD_SCHEDULE_OPEN);
    assert_int_equal(again->task[0].device, OD_SCHEDULE_OPEN);
    assert_memory_equal(again->task + 1, part->task + 1, (PART - 1) * sizeof part->task[0]);
    free(part);
    free(graph);
    free(again);
}

/* What is written is read again; what is none is not. */
static void schedules_survive_as_text(void **state)
{
    static const char *const wrong[] = {"", "000", "0001000", "000 ", "Z00.", "-000"}; /* the last: no such device */
    uint64_t random = 13;
    (void)state;
    for (int round = 0; round < 50; round++) {
        od_schedule *s = od_schedule_create(1 + od_random_below(&random, round == 49 ? 65536 : 2000));
        assert_non_null(s);
        for (uint32_t t = 0; t < s->ntasks; t++)
            s->task[t] = (od_scheduled){od_random_below(&random, OD_SCHEDULE_OPEN + 1), od_random_below(&random, 1 << 18)};
        char *text = od_schedule_write(s);
        od_schedule *again = text ? od_schedule_read(text) : NULL;
        assert_true(again && !strpbrk(text, "\n\t"));
        assert_int_equal(again->ntasks, s->ntasks);
        assert_memory_equal(again->task, s->task, s->ntasks * sizeof s->task[0]);
        s->task[0].rank = 1 << 18;
        assert_null(od_schedule_write(s));
        free(s);
        free(text);
        free(again);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_null(od_schedule_read(wrong[i]));
    od_schedule *large = od_schedule_create(65537);
    assert_true(large && !od_schedule_write(large));
    free(large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_schedule_can_be_carried_out),  cmocka_unit_test(improving_makes_nothing_worse),
        cmocka_unit_test(readers_of_a_datum_come_together), cmocka_unit_test(schedules_are_followed),
        cmocka_unit_test(numbers_are_those_of_the_graph),   cmocka_unit_test(schedules_survive_as_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
