/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Splitting rules, their linear program and their profiles, on plain numbers. */
#include "sched/split/bag.h"
#include "sched/split/gaspp.h"
#include "sched/split/program.h"
#include "tests/unit/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>
#include <time.h>

static od_split_answer ask(const od_split_view *view, const char *text, od_split_task *task)
{
    char error[256] = "";
    od_split_choice choice;
    void *state = NULL;
    assert_int_equal(od_split_choose(text, &choice, error, sizeof error), OD_OK);
    assert_int_equal(choice.ops->create(view, choice.level, &state, error, sizeof error), OD_OK);
    od_split_answer answer = choice.ops->decide(state, task);
    choice.ops->destroy(state);
    return answer;
}

/* --- names ------------------------------------------------------------------------- */

static void refuses(const char *text, const char *says)
{
    char error[256] = "";
    od_split_choice choice;
    assert_int_equal(od_split_choose(text, &choice, error, sizeof error), OD_EINVAL);
    assert_non_null(strstr(error, says));
    assert_null(strchr(error, '\n'));
}

static void test_choose(void **unused)
{
    (void)unused;
    refuses("nevre", "did you mean never?");
    refuses("", "allowed: ");
    refuses("level", "needs a level");
    refuses("level=", "is no level");
    refuses("level=-1", "is no level");
    refuses("level=8", "a whole number from 0 to 7");
    refuses("lp=1", "takes no level");
    for (const char *const *name = od_split_names(); *name; name++)
        assert_string_equal(od_split_find(*name)->name, *name);
}

static void test_level(void **unused)
{
    (void)unused;
    char error[256] = "";
    void *state;
    od_split_view view = {.ndevices = 2, .nkinds = 1, .nlevels = 3};
    for (unsigned l = 0; l < 2; l++) {
        od_split_task task = {.level = l};
        assert_int_equal(ask(&view, "never", &task), OD_SPLIT_RUN);
        assert_int_equal(ask(&view, "level=0", &task), OD_SPLIT_RUN);
        assert_int_equal(ask(&view, "level=1", &task), l < 1 ? OD_SPLIT_SPLIT : OD_SPLIT_RUN);
        assert_int_equal(ask(&view, "level=2", &task), OD_SPLIT_SPLIT);
    }
    assert_int_equal(od_split_find("level")->create(&view, 3, &state, error, sizeof error), OD_EINVAL);
    assert_string_equal(error, "the program has no level 3: its levels are 0 to 2");
}

/* --- starve --------------------------------------------------------------------------- */

static void test_starve(void **unused)
{
    (void)unused;
    od_split_view view = {.ndevices = 2, .nkinds = 1, .nlevels = 2, .work_s = 10};
    view.kind[0] = (od_split_kind){.device_s = {3, 1}, .spread_s = {2}, .spread_to = {1}};
    od_split_task task = {.bottom_s = 5};
    assert_int_equal(ask(&view, "starve", &task), OD_SPLIT_RUN); /* 10 / 5 is both devices */
    task.bottom_s = 5.1;
    assert_int_equal(ask(&view, "starve", &task), OD_SPLIT_SPLIT);
    assert_int_equal(task.plan.to, 1);
    task = (od_split_task){.bottom_s = 5, .transfer_s = 0.1};
    assert_int_equal(ask(&view, "starve", &task), OD_SPLIT_SPLIT);
    view.kind[0].spread_s[0] = 3; /* nothing is gained */
    assert_int_equal(ask(&view, "starve", &task), OD_SPLIT_RUN);
    view.kind[0].spread_s[0] = 0; /* not known */
    assert_int_equal(ask(&view, "starve", &task), OD_SPLIT_RUN);
}

/* --- the linear program ----------------------------------------------------------------- */

/* NULL: without GLPK. */
static od_split_solver *solver(void)
{
    char error[256] = "";
    od_split_solver *s = NULL;
    if (od_split_solver_create(&s, error, sizeof error))
        print_message("without GLPK (Debian: libglpk40): %s\n", error);
    return s;
}

/* Eight tasks of 8 s on one device; a quarter of one takes a core 4 s, a device 3 s. */
static void test_program(void **unused)
{
    (void)unused;
    od_split_solver *s = solver();
    od_split_ratios r;
    if (!s)
        skip();
    od_split_view view = {.ndevices = 1, .cpus = 4, .nkinds = 1, .nlevels = 2};
    view.kind[0] = (od_split_kind){.device_s = {8, 3}, .host_s = {0, 4}, .waiting = {8}, .children = {{4}}};
    /* x tasks are split and run on cores, (8 - x) on the device: 8 (8 - x) = 4 x, as all end at once */
    assert_true(od_split_solve(s, &view, 0, &r));
    assert_true(fabs(r.seconds - 64. / 3) < 1e-6);
    assert_true(fabs(r.ratio[0][0] - 2. / 3) < 1e-6);
    assert_true(fabs(r.host[0][1] - 1) < 1e-6);
    view.cpus = 0; /* splitting costs: nothing is split */
    assert_true(od_split_solve(s, &view, 1, &r));
    assert_true(fabs(r.seconds - 64) < 1e-6);
    assert_true(r.ratio[0][0] < 1e-6);
    view.kind[0].waiting[0] = 1; /* of each unit ten tasks: more than there are, unless there are more than needed */
    view.cpus = 1;
    assert_true(od_split_solve(s, &view, 10, &r));
    assert_true(r.seconds >= 4 - 1e-6);
    view.kind[0].device_s[0] = view.kind[0].device_s[1] = view.kind[0].host_s[1] = 0; /* nobody can run them */
    assert_false(od_split_solve(s, &view, 1, &r));
    od_split_solver_destroy(s);
}

/* Whatever the numbers: no more time than without any splitting, and no less than all units at their best. */
static void test_random_programs(void **unused)
{
    (void)unused;
    uint64_t seed = 26;
    od_split_solver *s = solver();
    if (!s)
        skip();
    for (int i = 0; i < 200; i++) {
        od_split_ratios r;
        od_split_view view = {.ndevices = 1 + (unsigned)random_below(&seed, 4),
                              .cpus = (unsigned)random_below(&seed, 60),
                              .nkinds = 4,
                              .nlevels = 3};
        double unsplit = 0;
        for (unsigned t = 0; t < 4; t++) {
            od_split_kind *k = &view.kind[t];
            k->waiting[0] = (uint32_t)random_below(&seed, 1000);
            for (unsigned l = 0; l < 3; l++) {
                k->device_s[l] = 1e-3 * (double)(1 + random_below(&seed, 1000));
                k->host_s[l] = 1e-2 * (double)(1 + random_below(&seed, 1000));
                k->children[l][(t + 1) % 4] = l < 2 ? 4 : 0;
            }
            unsplit += k->waiting[0] * k->device_s[0] / view.ndevices;
        }
        assert_true(od_split_solve(s, &view, 0, &r));
        assert_true(r.seconds >= 0 && r.seconds <= unsplit * (1 + 1e-6) + 1e-9);
        for (unsigned t = 0; t < 4; t++)
            for (unsigned l = 0; l < 3; l++)
                assert_true(r.ratio[t][l] >= 0 && r.ratio[t][l] <= 1 && r.host[t][l] >= 0 && r.host[t][l] <= 1);
        assert_true(r.ratio[0][2] <= 0);
    }
    od_split_solver_destroy(s);
}

/* --- profiles ------------------------------------------------------------------------------ */

static void test_pruning(void **unused)
{
    (void)unused;
    od_split_profiles p = {0};
    od_split_profiles_add(&p, (od_split_profile){.makespan_s = 4, .device_s = 2, .cores = 1});
    od_split_profiles_add(&p, (od_split_profile){.makespan_s = 5, .device_s = 2, .cores = 1}); /* dominated */
    od_split_profiles_add(&p, (od_split_profile){.makespan_s = 4, .device_s = 2, .cores = 1}); /* the same again */
    assert_int_equal(p.count, 1);
    od_split_profiles_add(&p, (od_split_profile){.makespan_s = 9, .device_s = 0, .cores = 1});
    od_split_profiles_add(&p, (od_split_profile){.makespan_s = 3, .device_s = 0, .cores = 8});
    assert_int_equal(p.count, 3);
    od_split_profiles_add(&p, (od_split_profile){.makespan_s = 3, .device_s = 0, .cores = 1}); /* better than all */
    assert_int_equal(p.count, 1);
}

static void test_best(void **unused)
{
    (void)unused;
    od_split_profiles p = {.count = 3,
                           .item = {{.makespan_s = 9, .device_s = 0, .cores = 2},
                                    {.makespan_s = 3, .device_s = 0, .cores = 8},
                                    {.makespan_s = 4, .device_s = 1, .cores = 2}}};
    assert_ptr_equal(od_gaspp_best(&p, 8, 10, 7), &p.item[1]); /* most work off the device, then the first end */
    assert_ptr_equal(od_gaspp_best(&p, 4, 10, 7), &p.item[0]);
    assert_ptr_equal(od_gaspp_best(&p, 4, 9, 7), &p.item[2]); /* the other one would end later than on a device */
    assert_null(od_gaspp_best(&p, 1, 10, 7));
    assert_null(od_gaspp_best(&p, 4, 9, 1)); /* nothing is taken off the device */
}

/* A task of 10 s on a device is a chain of two and two beside them, each of which takes a device 1 s and a core 4 s. */
static const od_split_graph *chain_and_two(void *driver, unsigned kind, unsigned level, unsigned to)
{
    static const uint8_t kinds[] = {0, 0, 1, 1};
    static const uint32_t first[] = {0, 0, 1, 1, 1}, before[] = {0};
    static const od_split_graph graph = {4, kinds, first, before};
    (void)driver;
    assert_true(kind == 0 && level == 0 && to == 1);
    return &graph;
}

static bool has(const od_split_profiles *p, double makespan, double device, double cores)
{
    for (unsigned i = 0; i < p->count; i++)
        if (fabs(p->item[i].makespan_s - makespan) < 1e-9 && fabs(p->item[i].device_s - device) < 1e-9 &&
            fabs(p->item[i].cores - cores) < 1e-9)
            return true;
    return false;
}

static void test_profiles(void **unused)
{
    (void)unused;
    od_split_profiles p;
    od_split_view view = {.ndevices = 1, .cpus = 4, .idle_cpus = 4, .nkinds = 2, .nlevels = 2, .graph = chain_and_two};
    view.kind[0] = (od_split_kind){.device_s = {10, 1}, .host_s = {0, 4}};
    view.kind[1] = (od_split_kind){.device_s = {0, 1}, .host_s = {0, 4}};
    assert_int_equal(od_split_profiles_make(&view, 0, 0, &p), OD_OK);
    assert_true(has(&p, 4, 4, 0));  /* all on the device */
    assert_true(has(&p, 4, 2, 2));  /* the chain there, the others on two cores */
    assert_true(has(&p, 8, 2, 1));  /* on one */
    assert_true(has(&p, 8, 0, 2));  /* nothing on the device: the chain on one core, the others on another */
    assert_true(has(&p, 16, 0, 1)); /* all on one */
    assert_int_equal(p.count, 5);
    od_split_task task = {.ahead_s = 0};
    assert_int_equal(ask(&view, "gaspp", &task), OD_SPLIT_SPLIT); /* 8 s are less than 10 */
    assert_true(task.plan.to == 1 && task.plan.on_host == 3);
    view.idle_cpus = 1;
    assert_int_equal(ask(&view, "gaspp", &task), OD_SPLIT_SPLIT); /* half of it on one core, for 8 s */
    assert_int_equal(task.plan.on_host, 2);
    view.kind[0].device_s[0] = 3; /* a device would end it earlier */
    assert_int_equal(ask(&view, "gaspp", &task), OD_SPLIT_LATER);
    view.wants_work = true;
    assert_int_equal(ask(&view, "gaspp", &task), OD_SPLIT_RUN);
}

/* Cores are in use until the profile ends. */
static void test_reserved(void **unused)
{
    (void)unused;
    od_split_view view = {.ndevices = 1, .cpus = 4, .idle_cpus = 4, .nkinds = 2, .nlevels = 2, .graph = chain_and_two};
    view.kind[0] = (od_split_kind){.device_s = {10, 1}, .host_s = {0, 4}};
    view.kind[1] = (od_split_kind){.device_s = {0, 1}, .host_s = {0, 4}};
    od_gaspp *g = od_gaspp_create(&view);
    od_split_task task = {0};
    assert_int_equal(od_gaspp_decide(g, &task), OD_SPLIT_SPLIT); /* two cores, 8 s */
    assert_int_equal(od_gaspp_decide(g, &task), OD_SPLIT_SPLIT); /* the others */
    view.now = 7.9;
    task.plan = (od_split_plan){0};
    od_gaspp_decide(g, &task);
    assert_int_equal(task.plan.on_host, 0); /* split, but all of it on the device */
    view.now = 8;
    od_gaspp_decide(g, &task);
    assert_int_equal(task.plan.on_host, 3);
    od_gaspp_destroy(g);
}

/* --- plays ---------------------------------------------------------------------------------- */

static double bag(const od_split_view *view, const char *text)
{
    char error[256] = "";
    od_split_choice choice;
    assert_int_equal(od_split_choose(text, &choice, error, sizeof error), OD_OK);
    od_split_bag *b = od_split_bag_create(view, &choice);
    assert_non_null(b);
    double first = od_split_bag_play(b, view), again = od_split_bag_play(b, view);
    assert_true(fabs(first - again) < 1e-9);
    od_split_bag_destroy(b);
    return first;
}

/* As in test_program. */
static void test_bag(void **unused)
{
    (void)unused;
    od_split_view view = {.ndevices = 1, .cpus = 4, .nkinds = 1, .nlevels = 2};
    view.kind[0] = (od_split_kind){.device_s = {8, 3}, .host_s = {0, 4}, .waiting = {8}, .children = {{4}}};
    assert_true(fabs(bag(&view, "never") - 64) < 1e-9);
    double split = bag(&view, "level=1"); /* 32 tasks: somewhat more than a quarter of them on the device */
    assert_true(split >= 24 && split <= 36);
    view.kind[0].waiting[0] = 8000; /* some stand for all */
    assert_true(fabs(bag(&view, "never") - 64000) < 1e-6);
    view.ndevices = 2;
    assert_true(fabs(bag(&view, "never") - 32000) < 1e-6);
    view.kind[0].device_s[0] = 0;
    assert_true(bag(&view, "never") <= 0);
}

/* A driver whose plays end `step` seconds later each; of one of them it is told that it is in it. */
typedef struct player {
    double end_s, step;
    int calls, inside;
} player;

static bool play(void *driver, double limit, double *end_s)
{
    player *p = driver;
    (void)limit;
    p->calls++;
    *end_s = p->end_s + p->step * p->calls;
    return p->calls == p->inside;
}

/* The answer about a task that all rules split, but for never. */
static od_split_answer answer_of(player *p)
{
    od_split_view view = {
        .ndevices = 2, .nkinds = 1, .nlevels = 2, .work_s = 1000, .wants_work = true, .play = play, .driver = p};
    view.kind[0] =
        (od_split_kind){.device_s = {3, 1}, .spread_s = {2}, .spread_to = {1}, .waiting = {4}, .children = {{4}}};
    od_split_task task = {.bottom_s = 600};
    return ask(&view, "auto", &task);
}

static void test_auto(void **unused)
{
    (void)unused;
    player later = {100, 1, 0, 0}, sooner = {100, -1, 0, 0}, inside = {100, 1, 0, 2};
    assert_int_equal(answer_of(&later), OD_SPLIT_SPLIT);  /* the first candidate: where devices starve */
    assert_true(later.calls >= 6);                        /* five rules or more, and this task */
    assert_int_equal(answer_of(&sooner), OD_SPLIT_SPLIT); /* the last one, to level 1; and the task that is played */
    assert_int_equal(answer_of(&inside), OD_SPLIT_RUN);   /* the second one is never */
    assert_int_equal(inside.calls, 2);                    /* a play does not play */
    od_split_view view = {.ndevices = 1, .cpus = 4, .nkinds = 1, .nlevels = 2, .work_s = 64, .wants_work = true};
    view.kind[0] = (od_split_kind){.device_s = {8, 3}, .host_s = {0, 4}, .waiting = {8}, .children = {{4}}};
    od_split_task task = {.bottom_s = 8, .ahead_s = 56};
    od_split_solver *s = solver();
    if (s) /* without a graph of children gaspp splits nothing, and lp ends first as a bag */
        assert_int_equal(ask(&view, "auto", &task), ask(&view, "lp", &task));
    od_split_solver_destroy(s);
}

/* More tasks than may be played under each rule: as lp, though a device would starve otherwise. */
static void test_auto_of_many_tasks(void **unused)
{
    (void)unused;
    player none = {0};
    od_split_view view = {
        .ndevices = 2, .nkinds = 1, .nlevels = 2, .work_s = 1000, .wants_work = true, .play = play, .driver = &none};
    view.kind[0] =
        (od_split_kind){.device_s = {3, 1}, .spread_s = {2}, .spread_to = {1}, .waiting = {20000}, .children = {{4}}};
    od_split_task task = {.bottom_s = 600};
    od_split_solver *s = solver();
    od_split_answer expected = s ? ask(&view, "lp", &task) : OD_SPLIT_SPLIT;
    od_split_solver_destroy(s);
    assert_int_equal(ask(&view, "starve", &task), OD_SPLIT_SPLIT);
    assert_int_equal(ask(&view, "auto", &task), expected);
    assert_int_equal(none.calls, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choose),
        cmocka_unit_test(test_level),
        cmocka_unit_test(test_starve),
        cmocka_unit_test(test_program),
        cmocka_unit_test(test_random_programs),
        cmocka_unit_test(test_pruning),
        cmocka_unit_test(test_best),
        cmocka_unit_test(test_profiles),
        cmocka_unit_test(test_reserved),
        cmocka_unit_test(test_bag),
        cmocka_unit_test(test_auto),
        cmocka_unit_test(test_auto_of_many_tasks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
