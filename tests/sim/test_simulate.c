/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Time and bytes of small graphs whose schedule can be told by hand, and what holds for all. */
#include "world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MEGA = 1000000 };
static const double latency = 10e-6, bus = 12e9;

/* So many independent tasks of a second, each reading a datum of its own. */
static sim_graph independent(uint32_t count, size_t bytes, double seconds)
{
    sim_graph graph = {0};
    uint32_t kernel = sim_graph_kernel(&graph, "any", 1, 1);
    for (uint32_t t = 0; t < count; t++) {
        uint32_t datum = sim_graph_datum(&graph, &(sim_datum){.bytes = bytes});
        sim_graph_task(&graph, &(sim_task){.kernel = kernel, .seconds = seconds});
        sim_graph_access(&graph, datum, OD_READ);
    }
    return graph;
}

static world_outcome run(const sim_graph *graph, world_setting setting)
{
    world_outcome outcome = world_run(graph, NULL, &setting);
    if (outcome.status)
        fail_msg("%s", outcome.error);
    return outcome;
}

static void expect_time(const world_outcome *outcome, double seconds)
{
    world_near(outcome->result.makespan, seconds, 1e-9);
}

static void test_one_task(void **unused)
{
    (void)unused;
    sim_graph graph = independent(1, 12 * MEGA, 1);
    world_outcome o =
        run(&graph, (world_setting){.platform = "pcie", .policy = "eager", .devices = 1, .memory = 20 * MEGA});
    expect_time(&o, latency + 12e6 / bus + 1);
    assert_int_equal(o.result.total.h2d_bytes, 12 * MEGA);
    assert_int_equal(o.result.total.loads, 1);
    sim_graph_free(&graph);
}

static void test_nothing(void **unused)
{
    (void)unused;
    sim_graph graph = {0};
    world_outcome o = run(&graph, (world_setting){.platform = "pcie", .policy = "darts", .devices = 2, .memory = 1});
    expect_time(&o, 0);
    sim_graph_free(&graph);
}

/* Two devices on one bus get half of it each; with a bus per direction a load and a write-back do not meet. */
static void test_contention(void **unused)
{
    (void)unused;
    sim_graph graph = independent(2, 12 * MEGA, 1);
    world_setting setting = {.platform = "pcie", .policy = "eager", .devices = 2, .memory = 20 * MEGA};
    world_outcome o = run(&graph, setting);
    expect_time(&o, latency + 2 * 12e6 / bus + 1);
    setting.platform = "h200x8"; /* a way of its own for each */
    o = run(&graph, setting);
    expect_time(&o, 5e-6 + 12e6 / 55e9 + 1);
    sim_graph_free(&graph);
}

/* The loads of the next tasks happen while the first one computes. */
static void test_overlap(void **unused)
{
    (void)unused;
    sim_graph graph = independent(4, 12 * MEGA, 1);
    world_outcome o =
        run(&graph, (world_setting){.platform = "pcie", .policy = "eager", .devices = 1, .memory = 60 * MEGA});
    expect_time(&o, latency + 12e6 / bus + 4);
    assert_int_equal(o.result.total.evictions, 0);
    /* No room for a second datum: nothing overlaps. */
    o = run(&graph, (world_setting){.platform = "pcie", .policy = "eager", .devices = 1, .memory = 12 * MEGA});
    expect_time(&o, 4 * (latency + 12e6 / bus + 1));
    assert_int_equal(o.result.total.evictions, 3);
    sim_graph_free(&graph);
}

/* A task writes a datum on one device; then two tasks read it beside a datum of their own, which makes both devices
 * work. */
static sim_graph written_and_read(void)
{
    sim_graph graph = independent(2, 12 * MEGA, 1);
    uint32_t shared = sim_graph_datum(&graph, &(sim_datum){.bytes = 12 * MEGA});
    sim_graph result = {0};
    uint32_t kernel = sim_graph_kernel(&result, "any", 1, 1);
    for (uint32_t d = 0; d < graph.ndata; d++)
        sim_graph_datum(&result, &graph.data[d]);
    sim_graph_task(&result, &(sim_task){.kernel = kernel, .seconds = 1});
    sim_graph_access(&result, shared, OD_WRITE);
    for (uint32_t t = 0; t < 2; t++) {
        sim_graph_task(&result, &(sim_task){.kernel = kernel, .seconds = 1});
        sim_graph_access(&result, t, OD_READ);
        sim_graph_access(&result, shared, OD_READ);
    }
    sim_graph_depend(&result);
    sim_graph_free(&graph);
    return result;
}

static void test_routes(void **unused)
{
    (void)unused;
    sim_graph graph = written_and_read();
    world_setting setting = {.platform = "nvlink", .policy = "eager", .devices = 2, .memory = 60 * MEGA};
    world_outcome o = run(&graph, setting);
    assert_int_equal(o.result.total.d2d_bytes, 12 * MEGA);
    assert_int_equal(o.result.total.h2d_bytes, 24 * MEGA);
    assert_int_equal(o.result.total.d2h_bytes, 0);
    setting.platform = "pcie-nopeer"; /* by way of the host */
    o = run(&graph, setting);
    assert_int_equal(o.result.total.d2d_bytes, 0);
    assert_int_equal(o.result.total.h2d_bytes, 36 * MEGA);
    assert_int_equal(o.result.total.d2h_bytes, 12 * MEGA);
    sim_graph_free(&graph);
}

/* What all devices need crosses the way from the host once where links between them are faster, and once for each
 * where they are not. */
static void test_broadcast(void **unused)
{
    (void)unused;
    enum { DEVICES = 4 };
    sim_graph graph = {0};
    uint32_t kernel = sim_graph_kernel(&graph, "any", 1, 1);
    uint32_t shared = sim_graph_datum(&graph, &(sim_datum){.bytes = 12 * MEGA});
    for (uint32_t t = 0; t < DEVICES; t++) {
        sim_graph_task(&graph, &(sim_task){.kernel = kernel, .seconds = 1});
        sim_graph_access(&graph, shared, OD_READ);
    }
    world_setting setting = {.platform = "nvlink", .policy = "eager", .devices = DEVICES, .memory = 60 * MEGA};
    world_outcome o = run(&graph, setting);
    assert_int_equal(o.result.total.h2d_bytes, 12 * MEGA);
    assert_int_equal(o.result.total.d2d_bytes, (DEVICES - 1) * 12 * MEGA);
    expect_time(&o, 2 * latency + 12e6 / bus + 12e6 / 48e9 + 1);
    setting.platform = "pcie";
    o = run(&graph, setting);
    assert_int_equal(o.result.total.h2d_bytes, DEVICES * 12 * MEGA);
    assert_int_equal(o.result.total.d2d_bytes, 0);
    sim_graph_free(&graph);
}

/* The tasks of one device that has several slots run side by side and share its memory. */
static void test_slots(void **unused)
{
    (void)unused;
    sim_graph graph = independent(16, 1000, 1);
    world_outcome o = run(
        &graph, (world_setting){.platform = "epyc16", .policy = "eager", .devices = 1, .buffer = 16, .memory = MEGA});
    assert_true(o.result.makespan < 1.1);
    sim_graph_free(&graph);
}

/* --- CPU workers ---------------------------------------------------------------- */

static uint32_t add_kernel(sim_graph *graph, const char *name)
{
    uint32_t number = sim_graph_kernel(graph, name, 1, 1);
    graph->kernels[number].calls = 1;
    return number;
}

/* So many tasks without dependences or loads. */
static void add_tasks(sim_graph *graph, const char *kernel, uint32_t count)
{
    uint32_t number = add_kernel(graph, kernel);
    for (uint32_t t = 0; t < count; t++) {
        uint32_t datum = sim_graph_datum(graph, &(sim_datum){.bytes = 12 * MEGA});
        sim_graph_task(graph, &(sim_task){.kernel = number});
        sim_graph_access(graph, datum, OD_WRITE);
    }
}

static world_setting with_cpus(unsigned cpus)
{
    return (world_setting){
        .platform = SIM_DATA "/cores.xml", .policy = "eager", .devices = 1, .memory = 200 * MEGA, .cpus = cpus};
}

/* Eight tasks, a second each on the device and 2.4 on a core. A worker takes one while the device has as much work left,
 * what it has begun counted whole. One worker: at 0, and at 2.4, when the device has five; at 4.8 it has only two. Two
 * workers: two at 0, and at 2.4, when the device has four, two more, with which they end last. */
static void test_cpu_helps(void **unused)
{
    (void)unused;
    sim_graph graph = {0};
    add_tasks(&graph, "gemm", 8);
    world_outcome o = run(&graph, with_cpus(0));
    expect_time(&o, 8);
    o = run(&graph, with_cpus(1));
    expect_time(&o, 6);
    assert_int_equal(o.result.cpu.tasks, 2);
    assert_int_equal(o.result.cpu.busy_ns, 4800000000);
    assert_int_equal(o.result.total.tasks, 6);
    world_near(o.bounds.compute_s, 8 / (1 + 1 / 2.4), 1e-9); /* both work to the end, on parts of tasks */
    o = run(&graph, with_cpus(2));
    expect_time(&o, 4.8);
    assert_int_equal(o.result.cpu.tasks, 4);
    world_near(o.bounds.compute_s, 8 / (1 + 2 / 2.4), 1e-9);
    sim_graph_free(&graph);
}

/* What only the device has comes home first: 12 MB over the bus. A kernel that the file does not know on cores stays. */
static void test_cpu_fetches(void **unused)
{
    (void)unused;
    sim_graph graph = {0};
    add_tasks(&graph, "device", 5);
    sim_graph_task(&graph, &(sim_task){.kernel = add_kernel(&graph, "panel")});
    sim_graph_access(&graph, 0, OD_READ_WRITE);
    sim_graph_depend(&graph);
    world_outcome o = run(&graph, with_cpus(0));
    expect_time(&o, 6);
    o = run(&graph, with_cpus(1));
    expect_time(&o, 5);
    assert_int_equal(o.result.cpu.tasks, 1);
    assert_int_equal(o.result.cpu.busy_ns, 500000000);
    assert_int_equal(o.result.total.d2h_bytes, 12 * MEGA);
    world_near(o.bounds.critical_path_s, 1.5, 1e-9);
    sim_graph_free(&graph);
}

/* However little the program waits for, it goes where it ends first: the second device computes eight times as fast. */
static void test_unequal_devices(void **unused)
{
    (void)unused;
    for (uint32_t count = 1; count <= 2; count++) {
        sim_graph graph = {0};
        add_tasks(&graph, "gemm", count);
        world_outcome o = run(&graph, (world_setting){.platform = SIM_DATA "/unequal.xml",
                                                      .policy = "auto",
                                                      .devices = 2,
                                                      .memory = 200 * MEGA});
        expect_time(&o, 0.5 * count);
        sim_graph_free(&graph);
    }
}

/* Devices with links of their own, so many GB/s each way, below one that all share. */
static void write_routes(FILE *file, unsigned k, unsigned n)
{
    static const char route[] =
        "<route src='%s' dst='%s' symmetrical='NO'><link_ctn id='latency'/><link_ctn id='%s-out'/>"
        "<link_ctn id='%s-in'/></route>\n";
    char one[16], other[16];
    snprintf(one, sizeof one, "gpu%u", k);
    fprintf(file, route, "ram", one, "ram", one);
    fprintf(file, route, one, "ram", one, "ram");
    for (unsigned i = 0; i < n; i++) {
        snprintf(other, sizeof other, "gpu%u", i);
        if (i != k)
            fprintf(file, route, one, other, one, other);
    }
}

static void write_link(FILE *file, const char *name, double in, double out)
{
    static const char link[] = "<link id='%s-%s' bandwidth='%gGBps' latency='0us' sharing_policy='SHARED'/>\n";
    fprintf(file, link, name, "in", in);
    fprintf(file, link, name, "out", out);
}

static void write_platform(FILE *file, const double *bandwidth, unsigned n)
{
    char name[16];
    fprintf(file,
            "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM 'https://simgrid.org/simgrid.dtd'>\n"
            "<platform version='4.1'><zone id='node' routing='Full'>\n<host id='ram' speed='1Gf'>"
            "<prop id='kernels' value='..%s/v100.times'/><prop id='peak' value='13250'/><prop id='peer' value='yes'/>"
            "<prop id='slots' value='1'/></host>\n",
            SIM_PLATFORMS);
    for (unsigned k = 0; k < n; k++)
        fprintf(file, "<host id='gpu%u' speed='1Gf'/>\n", k);
    fputs("<link id='latency' bandwidth='1000000GBps' latency='10us' sharing_policy='FATPIPE'/>\n", file);
    write_link(file, "ram", 11.3, 21.7);
    for (unsigned k = 0; k < n; k++) {
        snprintf(name, sizeof name, "gpu%u", k);
        write_link(file, name, bandwidth[k], bandwidth[k]);
    }
    for (unsigned k = 0; k < n; k++)
        write_routes(file, k, n);
    fputs("</zone></platform>\n", file);
}

/* The fastest few are found among many kinds of devices: with more of these it takes no longer. */
static void test_more_devices(void **unused)
{
    static const double bandwidth[] = {4, 16, 16, 32, 4, 4, 32, 4, 16, 16, 4, 16, 8, 16, 16};
    enum { ALL = sizeof bandwidth / sizeof *bandwidth };
    char path[] = "/tmp/ompdarts-platform-XXXXXX";
    FILE *file = fdopen(mkstemp(path), "w");
    sim_workload workload;
    (void)unused;
    assert_non_null(file);
    write_platform(file, bandwidth, ALL);
    fclose(file);
    sim_graph graph = world_workload("lu:n=6", 1, &workload);
    world_setting s = {.platform = path, .policy = "auto", .devices = 7, .buffer = 3, .memory = 435 << 20};
    double few = run(&graph, s).result.makespan;
    s.devices = ALL;
    double many = run(&graph, s).result.makespan;
    unlink(path);
    sim_graph_free(&graph);
    if (many > 1.001 * few)
        fail_msg("%g s with %d devices, %g with 7", many, ALL, few);
}

/* One device takes four times as long for half of the tasks, the other for the other half: each kind goes to the device
 * that is fast at it. */
static void test_devices_with_their_kernels(void **unused)
{
    static const char *const policies[] = {"dmda", "dmdar", "dmdas", "auto", "stationary", "stationary:owners"};
    enum { EACH = 20 };
    (void)unused;
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        sim_graph graph = {0};
        for (uint32_t t = 0; t < EACH; t++) {
            add_tasks(&graph, "gemm", 1);
            add_tasks(&graph, "panel", 1);
        }
        world_outcome o = run(
            &graph, (world_setting){
                        .platform = SIM_DATA "/apart.xml", .policy = policies[i], .devices = 2, .memory = 2000 * MEGA});
        expect_time(&o, EACH);
        for (unsigned k = 0; k < 2; k++)
            assert_int_equal(o.result.device[k].tasks, EACH);
        sim_graph_free(&graph);
    }
}

/* Where tasks wait for each other, too, those policies end sooner that reckon with it. */
static void test_cholesky_on_such_devices(void **unused)
{
    static const char *const policies[] = {"dmda", "dmdas", "auto", "stationary", "stationary:owners"};
    (void)unused;
    sim_workload workload;
    sim_graph graph = world_workload("cholesky:n=10", 1, &workload);
    world_setting setting = {.platform = SIM_DATA "/apart.xml", .policy = "eager", .devices = 2, .memory = 500 * MEGA};
    double eager = run(&graph, setting).result.makespan;
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        setting.policy = policies[i];
        assert_true(run(&graph, setting).result.makespan < 0.82 * eager);
    }
    sim_graph_free(&graph);
}

static void test_platform_without_kernel(void **unused)
{
    (void)unused;
    sim_graph graph = {0};
    sim_graph_kernel(&graph, "unheard-of", 960, 1);
    graph.kernels[0].calls = 1;
    sim_graph_task(&graph, &(sim_task){.kernel = 0});
    world_setting setting = {.platform = "pcie", .policy = "eager", .devices = 1, .memory = 1};
    world_outcome o = world_run(&graph, NULL, &setting);
    assert_int_equal(o.status, OD_EINVAL);
    assert_non_null(strstr(o.error, "unheard-of"));
    sim_graph_free(&graph);
}

/* --- what holds for all ------------------------------------------------------ */

static void check_outcome(const char *text, const world_setting *setting, const sim_graph *graph,
                          const world_outcome *o)
{
    if (o->status)
        fail_msg("%s, %s, %s, %u devices of %zu bytes: %s", text, setting->platform, setting->policy, setting->devices,
                 setting->memory, o->error);
    const od_device_stats *total = &o->result.total;
    assert_int_equal(total->tasks, graph->ntasks);
    assert_true(total->peak_bytes <= setting->memory);
    assert_true((double)(total->h2d_bytes + total->d2d_bytes) >= sim_bound_compulsory(graph));
    assert_true(o->result.makespan >= fmax(o->bounds.compute_s, o->bounds.critical_path_s) * (1 - 1e-9));
    assert_true(total->reloads <= total->loads);
}

/* Every policy on every workload, with memory from the least that will do to plenty. */
static void test_generic(void **unused)
{
    (void)unused;
    static const char *const workloads[] = {"gemm2d:n=5",   "gemm2d-random:n=5",
                                            "pairs:n=5",    "sparse2d:n=6,density=30%",
                                            "gemm3d:n=3",   "gemm3d-set:n=3",
                                            "cholesky:n=5", "cholesky-set:n=5",
                                            "lu:n=4",       "qr:n=4",
                                            "lu:n=1"};
    static const char *const platforms[] = {"pcie", "nvlink", "pcie-nopeer", "gemini"};
    uint64_t draw = 1;
    for (size_t w = 0; w < sizeof workloads / sizeof *workloads; w++)
        for (const char *const *policy = od_policy_names(); *policy; policy++) {
            sim_workload workload;
            draw = draw * UINT64_C(6364136223846793005) + 1442695040888963407u;
            sim_graph graph = world_workload(workloads[w], draw, &workload);
            size_t least = sim_footprint(&graph), factor = 1 + (draw >> 40) % 4;
            world_setting setting = {.platform = platforms[(draw >> 33) % 4],
                                     .policy = *policy,
                                     .devices = 1 + (unsigned)(draw >> 35) % 4,
                                     .buffer = 1 + (unsigned)(draw >> 50) % 6,
                                     .memory = factor * least,
                                     .seed = draw};
            world_outcome o = world_run(&graph, &workload, &setting);
            check_outcome(workloads[w], &setting, &graph, &o);
            sim_graph_free(&graph);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_task),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_contention),
        cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_routes),
        cmocka_unit_test(test_broadcast),
        cmocka_unit_test(test_slots),
        cmocka_unit_test(test_cpu_helps),
        cmocka_unit_test(test_cpu_fetches),
        cmocka_unit_test(test_unequal_devices),
        cmocka_unit_test(test_more_devices),
        cmocka_unit_test(test_devices_with_their_kernels),
        cmocka_unit_test(test_cholesky_on_such_devices),
        cmocka_unit_test(test_platform_without_kernel),
        cmocka_unit_test(test_generic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
