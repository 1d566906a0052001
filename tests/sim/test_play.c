/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The oracle against SimGrid: small graphs to the nanosecond, random cases within 3 %. */
#include "tests/unit/random.h"
#include "world.h"

#include <math.h>
#include <string.h>

enum { CASES = 80 };

static bool may_run(const sim_graph *graph, const world_setting *setting)
{
    return graph->ntasks && sim_footprint(graph) <= setting->memory;
}

static const char *any(uint64_t *seed, const char *const *names, size_t count)
{
    return names[random_below(seed, count)];
}

#define ANY(seed, names) any(seed, names, sizeof(names) / sizeof *(names))

typedef struct played {
    const sim_graph *graph;
    const world_setting *setting;
    const sim_result *expected;
    double tolerance; /* of the makespan, relative */
} played;

/* In a child, which loads the platform. */
static bool is_near(void *argument)
{
    const played *p = argument;
    char error[256] = "";
    sim_result result;
    sim_platform platform;
    const world_setting *s = p->setting;
    sim_machine machine = {.platform = &platform,
                           .ndevices = s->devices,
                           .memory = s->memory,
                           .cpus = s->cpus,
                           .cores = 1,
                           .buffer = s->buffer ? s->buffer : 5,
                           .seed = s->seed};
    if (od_policy_choose(s->policy, &machine.policy, error, sizeof error) ||
        sim_platform_load(s->platform, &sim_one_node, &platform, error, sizeof error))
        return false;
    machine.evict = od_evict_find(machine.policy.ops->default_evict);
    bool near = sim_play(p->graph, &machine, &result, error, sizeof error) == OD_OK &&
                fabs(result.makespan - p->expected->makespan) <= p->tolerance * p->expected->makespan &&
                result.total.tasks + result.cpu.tasks == p->expected->total.tasks + p->expected->cpu.tasks;
    if (!near)
        fprintf(stderr, "%s on %s x%u: %g instead of %g %s\n", s->policy, s->platform, s->devices, result.makespan,
                p->expected->makespan, error);
    sim_platform_free(&platform);
    return near;
}

static bool agrees(const sim_graph *graph, const sim_workload *workload, const world_setting *setting, double tolerance)
{
    world_outcome outcome = world_run(graph, workload, setting);
    assert_int_equal(outcome.status, OD_OK);
    return world_in_child(is_near, &(played){graph, setting, &outcome.result, tolerance});
}

static void test_random(void **unused)
{
    static const char *const workloads[] = {"gemm2d", "gemm3d", "cholesky", "lu", "qr", "sparse2d", "cholesky-set"};
    static const char *const platforms[] = {"pcie", "pcie-half", "nvlink", "pcie-nopeer", "gemini", "h200x8"};
    static const char *const policies[] = {"darts", "dmdas", "dmdar", "lws", "stationary", "eager", "ap", "hfp"};
    uint64_t seed = 25;
    unsigned near = 0, all = 0;
    (void)unused;
    for (int i = 0; i < CASES; i++) {
        char text[64];
        sim_workload workload;
        snprintf(text, sizeof text, "%s:n=%u", ANY(&seed, workloads), 3 + (unsigned)random_below(&seed, 5));
        sim_graph graph = world_workload(text, seed, &workload);
        world_setting setting = {.platform = ANY(&seed, platforms),
                                 .policy = ANY(&seed, policies),
                                 .devices = 1 + (unsigned)random_below(&seed, 8),
                                 .memory = (200 + random_below(&seed, 1000)) << 20,
                                 .seed = seed};
        if (may_run(&graph, &setting)) {
            near += agrees(&graph, &workload, &setting, 0.03);
            all++;
        }
        sim_graph_free(&graph);
    }
    if (near * 100 < all * 95 || all < CASES / 2)
        fail_msg("%u of %u cases within 3 %%", near, all);
}

/* Devices that the settings leave idle make no difference: all is as if they were not there. */
static void test_idle(void **unused)
{
    static const char *const workloads[] = {"gemm2d:n=6", "gemm3d:n=5", "cholesky:n=7", "lu:n=6", "qr:n=5"};
    static const char *const platforms[] = {"pcie", "pcie-half", "nvlink", "pcie-nopeer", "gemini", "h200x8"};
    static const char *const policies[] = {"darts",      "dmda",        "dmdas:ahead=2", "dmdas:bus",
                                           "dmdar",      "lws:ahead=3", "eager",         "nodes",
                                           "stationary", "ap",          "hfp",           "stationary:ahead=2"};
    uint64_t seed = 27;
    (void)unused;
    for (int i = 0; i < CASES; i++) {
        sim_workload workload;
        sim_graph graph = world_workload(ANY(&seed, workloads), 1, &workload);
        world_setting setting = {.platform = ANY(&seed, platforms),
                                 .policy = ANY(&seed, policies),
                                 .devices = 1 + (unsigned)random_below(&seed, 4),
                                 .buffer = 1 + (unsigned)random_below(&seed, 4),
                                 .memory = (200 + random_below(&seed, 400)) << 20,
                                 .seed = seed};
        setting.active = (int)setting.devices;
        world_outcome alone = world_run(&graph, &workload, &setting);
        setting.devices += 1 + (unsigned)random_below(&seed, 8 - setting.devices);
        world_outcome beside = world_run(&graph, &workload, &setting);
        if (alone.status != beside.status)
            fail_msg("%s, %s", alone.error, beside.error);
        if (!alone.status &&
            (alone.result.makespan != beside.result.makespan || alone.result.total.loads != beside.result.total.loads))
            fail_msg("%s on %s, %d of %u devices: %g instead of %g", setting.policy, setting.platform, setting.active,
                     setting.devices, beside.result.makespan, alone.result.makespan);
        sim_graph_free(&graph);
    }
}

static void test_exact(void **unused)
{
    static const char *const cases[][3] = {{"cholesky:n=6", "pcie", "darts"},
                                           {"lu:n=5", "nvlink", "dmdas"},
                                           {"gemm2d:n=9", "gemini", "lws"},
                                           {"gemm3d:n=4", "pcie-nopeer", "stationary"}};
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sim_workload workload;
        sim_graph graph = world_workload(cases[i][0], 1, &workload);
        world_setting setting = {
            .platform = cases[i][1], .policy = cases[i][2], .devices = 3, .memory = (size_t)400 << 20, .seed = 1};
        assert_true(agrees(&graph, &workload, &setting, 1e-9));
        sim_graph_free(&graph);
    }
}

/* Devices each of which is slow at another kernel. */
static void test_unlike_devices(void **unused)
{
    static const char *const policies[] = {"dmdas", "stationary", "eager", "darts"};
    (void)unused;
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        sim_workload workload;
        sim_graph graph = world_workload("cholesky:n=6", 1, &workload);
        world_setting setting = {.platform = SIM_DATA "/apart.xml",
                                 .policy = policies[i],
                                 .devices = 2,
                                 .memory = (size_t)400 << 20,
                                 .seed = 1};
        assert_true(agrees(&graph, &workload, &setting, 0.03));
        sim_graph_free(&graph);
    }
}

/* With CPU workers. */
static void test_cpu(void **unused)
{
    static const char *const workloads[] = {"gemm3d", "cholesky", "lu"};
    static const char *const policies[] = {"darts", "dmdas", "dmdar", "lws", "stationary", "eager"};
    uint64_t seed = 26, helped = 0;
    unsigned near = 0;
    (void)unused;
    for (int i = 0; i < CASES / 4; i++) {
        char text[64];
        sim_workload workload;
        snprintf(text, sizeof text, "%s:n=%u,tile=1000", ANY(&seed, workloads), 6 + i % 5);
        sim_graph graph = world_workload(text, seed, &workload);
        world_setting setting = {.platform = SIM_DATA "/cores.xml",
                                 .policy = ANY(&seed, policies),
                                 .devices = 1 + (unsigned)random_below(&seed, 2),
                                 .memory = (40 + random_below(&seed, 400)) << 20,
                                 .cpus = 1 + (unsigned)random_below(&seed, 4),
                                 .seed = seed};
        world_outcome outcome = world_run(&graph, &workload, &setting);
        assert_int_equal(outcome.status, OD_OK);
        helped += outcome.result.cpu.tasks;
        near += world_in_child(is_near, &(played){&graph, &setting, &outcome.result, 0.03});
        sim_graph_free(&graph);
    }
    if (near * 100 < CASES / 4 * 95 || helped < CASES)
        fail_msg("%u of %u cases within 3 %%, %u tasks on CPU workers", near, CASES / 4, (unsigned)helped);
}

static void test_refused(void **unused)
{
    (void)unused;
    sim_workload workload;
    sim_graph graph = world_workload("lu:n=3", 1, &workload);
    world_setting setting = {.platform = "pcie", .policy = "darts", .devices = 1, .memory = 1 << 20};
    assert_false(world_in_child(is_near, &(played){&graph, &setting, &(sim_result){0}, 1})); /* no task fits */
    sim_graph_free(&graph);
}

/* Makespans. */
static double best_of(const sim_graph *graph, const sim_workload *workload, world_setting setting)
{
    static const char *const policies[] = {"darts", "stationary", "dmdas", "dmdas:bus", "dmdar", "lws", "eager"};
    double best = (double)INFINITY;
    for (size_t p = 0; p < sizeof policies / sizeof *policies; p++) {
        setting.policy = policies[p];
        best = fmin(best, world_run(graph, workload, &setting).result.makespan);
    }
    return best;
}

static double of_auto(const sim_graph *graph, const sim_workload *workload, world_setting setting)
{
    setting.policy = "auto";
    world_outcome ours = world_run(graph, workload, &setting);
    assert_int_equal(ours.status, OD_OK);
    return ours.result.makespan;
}

/* What auto takes is as good as the best of what it could have been told, SimGrid being the judge. */
static void test_auto(void **unused)
{
    static const char *const cases[][2] = {{"cholesky:n=8", "nvlink"},  {"lu:n=6", "pcie"},
                                           {"gemm3d:n=5", "pcie-half"}, {"gemm2d:n=9", "gemini"},
                                           {"cholesky:n=3", "pcie"},    {"sparse2d:n=20", "pcie"},
                                           {"sparse2d:n=16", "nvlink"}};
    (void)unused;
    static const unsigned devices[] = {2, 3, 6};
    for (unsigned i = 0; i < 3 * sizeof cases / sizeof *cases; i++) {
        const char *const *c = cases[i / 3];
        sim_workload workload;
        sim_graph graph = world_workload(c[0], 1, &workload);
        world_setting setting = {.platform = c[1], .devices = devices[i % 3], .memory = (size_t)400 << 20, .seed = 1};
        double ours = of_auto(&graph, &workload, setting), best = best_of(&graph, &workload, setting);
        if (ours > 1.01 * best)
            fail_msg("%s on %s x%u: auto %g, others %g", c[0], c[1], setting.devices, ours, best);
        sim_graph_free(&graph);
    }
}

/* Few tasks that are all known from the beginning, on devices so unlike that it matters how many are taken for active
 * before the first one is placed. */
static void test_auto_few(void **unused)
{
    (void)unused;
    for (unsigned n = 16; n < 26; n++) {
        sim_workload workload;
        char text[32];
        snprintf(text, sizeof text, "sparse2d:n=%u", n);
        sim_graph graph = world_workload(text, 1, &workload);
        world_setting setting = {
            .platform = SIM_DATA "/unlike-bus.xml", .devices = 8, .memory = (size_t)800 << 20, .seed = 1};
        double ours = of_auto(&graph, &workload, setting), best = best_of(&graph, &workload, setting);
        if (ours > 1.01 * best)
            fail_msg("%s: auto %g, others %g", text, ours, best);
        sim_graph_free(&graph);
    }
}

/* Likewise with CPU workers, which it may leave idle: they bring something, and cost nothing. */
static void test_auto_cpu(void **unused)
{
    static const struct {
        const char *workload, *platform;
        unsigned cpus;
    } cases[] = {{"cholesky:n=8,tile=1000", SIM_DATA "/cores.xml", 4},
                 {"lu:n=6,tile=1000", SIM_DATA "/cores.xml", 2},
                 {"gemm3d:n=6,tile=1000", SIM_DATA "/cores.xml", 1},
                 {"cholesky:n=20,tile=480,element=8", "a100x2", 64},
                 {"cholesky:n=8,tile=1920,element=8", "a100x2", 64}};
    enum { n = sizeof cases / sizeof *cases };
    double gain = 0;
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sim_workload workload;
        sim_graph graph = world_workload(cases[i].workload, 1, &workload);
        world_setting setting = {.platform = cases[i].platform, .devices = 2, .memory = (size_t)400 << 20, .seed = 1};
        double without = fmin(best_of(&graph, &workload, setting), of_auto(&graph, &workload, setting));
        setting.cpus = cases[i].cpus;
        double with = best_of(&graph, &workload, setting), ours = of_auto(&graph, &workload, setting);
        if (ours > 1.01 * fmin(with, without))
            fail_msg("%s: auto %g, others %g with CPU workers, %g without", cases[i].workload, ours, with, without);
        gain += without / ours;
        sim_graph_free(&graph);
    }
    assert_true(gain > 1.05 * n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact),    cmocka_unit_test(test_random),  cmocka_unit_test(test_unlike_devices),
        cmocka_unit_test(test_cpu),      cmocka_unit_test(test_auto),    cmocka_unit_test(test_auto_cpu),
        cmocka_unit_test(test_auto_few), cmocka_unit_test(test_refused), cmocka_unit_test(test_idle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
