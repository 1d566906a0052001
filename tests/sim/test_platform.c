/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Platform files, their links and their kernel times. */
#include "world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool near(double value, double expected)
{
    bool ok = fabs(value - expected) <= 1e-6 * fabs(expected);
    if (!ok)
        fprintf(stderr, "%g instead of %g\n", value, expected);
    return ok;
}

static bool load(const char *name, sim_platform *platform)
{
    char error[256] = "";
    bool ok = sim_platform_load(name, &sim_one_node, platform, error, sizeof error) == OD_OK;
    if (!ok)
        fprintf(stderr, "%s\n", error);
    return ok;
}

/* Every way exists and has a latency; every kernel of the workloads that its tiles are for has a time. */
static bool is_complete(void *name)
{
    sim_platform p;
    bool ok = load(name, &p) && p.ndevices > 0 && p.peak > 0;
    for (int i = -1; ok && i < (int)p.ndevices; i++)
        for (int j = -1; ok && j < (int)p.ndevices; j++) {
            int from = i < 0 ? OD_HOST : i, to = j < 0 ? OD_HOST : j;
            od_link link = sim_platform_link(&p, from, to, 1);
            bool there = from != to && (p.peer || from == OD_HOST || to == OD_HOST);
            ok = there ? link.bandwidth > 0 && link.latency > 0 : link.bandwidth == 0;
        }
    for (const char *const *kernel = (const char *const[]){"gemm", "syrk", "trsm", "potrf", "getrf", NULL};
         ok && *kernel; kernel++)
        ok = sim_platform_seconds(&p, *kernel, 1920) > 0;
    return ok;
}

static void test_all(void **unused)
{
    (void)unused;
    int count = 0;
    for (const char *const *name = sim_platform_names(); *name; name++, count++)
        if (!world_in_child(is_complete, (void *)(uintptr_t)*name))
            fail_msg("platform %s", *name);
    assert_int_equal(count, 10);
}

static bool pcie(void *unused)
{
    sim_platform p;
    (void)unused;
    return load("pcie", &p) && p.peer && p.ndevices == 8 && p.slots == 1 && near(p.peak, 13250e9) &&
           near(sim_platform_link(&p, OD_HOST, 3, 1).bandwidth, 12e9) &&
           near(sim_platform_link(&p, OD_HOST, 3, 1).latency, 10e-6) &&
           near(sim_platform_link(&p, OD_HOST, 3, 8).bandwidth, 1.5e9) && /* all at once */
           near(sim_platform_link(&p, 2, 3, 8).bandwidth, 1.5e9) && near(sim_platform_inbound(&p, 1), 12e9) &&
           near(sim_platform_inbound(&p, 8), 12e9) && near(sim_platform_seconds(&p, "gemm", 960), 133.5e-6) &&
           near(sim_platform_seconds(&p, "potrf", 1920), 1572.9e-6) &&
           near(sim_platform_seconds(&p, "gemm", 480), 133.5e-6 / 8) && sim_platform_seconds(&p, "none", 960) == 0;
}

static bool nvlink(void *unused)
{
    sim_platform p;
    (void)unused;
    return load("nvlink", &p) && near(sim_platform_link(&p, 2, 3, 8).bandwidth, 48e9) &&
           near(sim_platform_link(&p, OD_HOST, 3, 8).bandwidth, 1.5e9);
}

static bool nopeer(void *unused)
{
    sim_platform p;
    (void)unused;
    return load("pcie-nopeer", &p) && !p.peer && sim_platform_link(&p, 0, 1, 2).bandwidth == 0;
}

/* Thesis 4.1.1: a pair shares 12 GB/s, a NUMA node 22 GB/s; the far node comes over 22 GB/s. */
static bool gemini(void *unused)
{
    sim_platform p;
    (void)unused;
    return load("gemini", &p) && near(sim_platform_inbound(&p, 1), 12e9) && near(sim_platform_inbound(&p, 2), 12e9) &&
           near(sim_platform_inbound(&p, 4), 22e9) && near(sim_platform_inbound(&p, 8), 44e9) &&
           near(sim_platform_link(&p, 0, 1, 1).bandwidth, 24e9) &&
           near(sim_platform_link(&p, 0, 3, 1).bandwidth, 48e9) && near(sim_platform_link(&p, 0, 5, 1).bandwidth, 12e9);
}

/* The two A100 of the slides: 7 ms for a product of order 3840, 74.4 ms for the same by 64 cores in tiles of 480. */
static bool a100x2(void *unused)
{
    sim_platform p;
    (void)unused;
    return load("a100x2", &p) && p.cores == 64 && near(p.core_peak, 41.6e9) &&
           near(sim_platform_seconds(&p, "gemm", 3840), 7e-3) &&
           near(512 * sim_platform_core_seconds(&p, "gemm", 480, 1) / 64, 74.4e-3) &&
           near(sim_platform_inbound(&p, 2), 48e9);
}

/* The nearest number of cores first, then the nearest tile; scaled by both. */
static bool cores(void *unused)
{
    sim_platform p;
    (void)unused;
    return load(SIM_DATA "/cores.xml", &p) && p.cores == 4 && near(p.core_peak, 1e9) && p.ndevices == 2 &&
           near(sim_platform_core_seconds(&p, "panel", 1, 1), 0.5) &&
           near(sim_platform_core_seconds(&p, "panel", 2, 1), 4) &&
           near(sim_platform_core_seconds(&p, "panel", 2, 2), 2) &&
           near(sim_platform_core_seconds(&p, "panel", 4, 4), 10) &&
           near(sim_platform_core_seconds(&p, "panel", 4, 8), 5) &&
           near(sim_platform_core_seconds(&p, "gemm", 1, 3), 0.8) &&
           sim_platform_core_seconds(&p, "device", 1, 1) == 0 && near(sim_platform_seconds(&p, "device", 1), 1);
}

static void test_cores(void **unused)
{
    (void)unused;
    assert_true(world_in_child(a100x2, NULL));
    assert_true(world_in_child(cores, NULL));
}

static void test_links(void **unused)
{
    (void)unused;
    assert_true(world_in_child(pcie, NULL));
    assert_true(world_in_child(nvlink, NULL));
    assert_true(world_in_child(nopeer, NULL));
    assert_true(world_in_child(gemini, NULL));
}

static bool is_refused(void *name)
{
    char error[256] = "";
    sim_platform p;
    return sim_platform_load(name, &sim_one_node, &p, error, sizeof error) == OD_EINVAL && strlen(error) > 10;
}

static void test_refused(void **unused)
{
    (void)unused;
    assert_true(world_in_child(is_refused, (void *)(uintptr_t)"nvlinc"));
    assert_true(world_in_child(is_refused, (void *)(uintptr_t)"/nowhere/node.xml"));
}

/* The platform pcie with its first `from` replaced by `to`, or what `to` says alone, in a file of its own. */
typedef struct change {
    const char *from, *to, *expected;
} change;

static bool write_changed(const change *c, char *path)
{
    static char text[1 << 16];
    FILE *original = fopen(SIM_PLATFORMS "/pcie.xml", "r"), *file = fdopen(mkstemp(path), "w");
    text[original ? fread(text, 1, sizeof text - 1, original) : 0] = '\0';
    const char *at = c->from ? strstr(text, c->from) : NULL;
    if (at)
        fprintf(file, "%.*s%s%s", (int)(at - text), text, c->to, at + strlen(c->from));
    else
        fputs(c->to, file);
    fclose(original);
    fclose(file);
    return !c->from || at;
}

/* The changed platform in a folder of its own, with its kernel times. */
typedef struct place {
    char folder[32], path[64], times[64];
} place;

static bool make_place(const change *c, place *p)
{
    snprintf(p->folder, sizeof p->folder, "/tmp/ompdarts-platform-XXXXXX");
    if (!mkdtemp(p->folder))
        return false;
    snprintf(p->path, sizeof p->path, "%s/XXXXXX", p->folder);
    snprintf(p->times, sizeof p->times, "%s/v100.times", p->folder);
    return write_changed(c, p->path) && symlink(SIM_PLATFORMS "/v100.times", p->times) == 0;
}

static void remove_place(const place *p)
{
    unlink(p->path);
    unlink(p->times);
    rmdir(p->folder);
}

static bool is_refused_changed(void *argument)
{
    const change *c = argument;
    char error[1024] = "";
    place at;
    sim_platform p;
    bool changed = make_place(c, &at);
    bool ok = sim_platform_load(at.path, &sim_one_node, &p, error, sizeof error) == OD_EINVAL &&
              strstr(error, c->expected) && !strchr(error, '\n');
    remove_place(&at);
    if (!ok)
        fprintf(stderr, "'%s' instead of '%s'\n", error, c->expected);
    return ok && changed;
}

static double slowness(const sim_platform *p, const char *kernel, unsigned k)
{
    return od_slowness_of(&p->topology->slowness, sim_platform_speed_class(p, kernel), k);
}

/* gpu1 takes twice as long as its kernel times say, but half as long for gemm, and six times for potrf. */
static bool has_a_slow_device(void *unused)
{
    const change slow = {"\"gpu1\" speed=\"1Gf\"/>",
                         "\"gpu1\" speed=\"500Mf\"><prop id=\"times\" value=\"potrf:3 gemm:0.25\"/></host>", ""};
    char error[1024] = "";
    place at;
    sim_platform p;
    (void)unused;
    bool ok = make_place(&slow, &at) && sim_platform_load(at.path, &sim_one_node, &p, error, sizeof error) == OD_OK &&
              near(slowness(&p, "trsm", 0), 1) && near(slowness(&p, "trsm", 1), 2) &&
              near(slowness(&p, "gemm", 0), 1) && near(slowness(&p, "gemm", 1), 0.5) &&
              near(slowness(&p, "potrf", 1), 6) && near(sim_platform_speed(&p, 2), 3);
    remove_place(&at);
    fputs(error, stderr);
    return ok;
}

static void test_speeds(void **unused)
{
    (void)unused;
    assert_true(world_in_child(has_a_slow_device, NULL));
}

#define TIMES(text) "\"gpu1\" speed=\"1Gf\"><prop id=\"times\" value=\"" text "\"/></host>"

static void test_malformed(void **unused)
{
    (void)unused;
    change changes[] = {
        {NULL, "", "Parse error"},
        {NULL, "hello\n", "Parse error"},
        {"</platform>", "", "Parse error"},
        {"<route", "<rout", "Parse error"},
        {"12GBps", "fast", "cannot parse number:fast"},
        {"\"gpu1\"", "\"gpu2\"", "Refusing to create a second host"},
        {"<link_ctn id=\"latency\"/><link_ctn id=\"bus-in\"/>", "", "not a platform that SimGrid can use"},
        {"<route src=\"ram\" dst=\"gpu0\" symmetrical=\"NO\">", "<route src=\"gpu0\" dst=\"gpu0\" symmetrical=\"NO\">",
         "no route between ram and gpu0"},
        {"\"peak\" value=\"13250\"", "\"peak\" value=\"much\"", "property peak"},
        {"\"slots\" value=\"1\"", "\"slots\" value=\"0\"", "property slots"},
        {"\"slots\" value=\"1\"", "\"cores\" value=\"4\"", "property cores"},
        {"\"slots\" value=\"1\"", "\"cores\" value=\"none\"", "property cores"},
        {"\"gpu1\" speed=\"1Gf\"/>", TIMES("gemm:2 potrf"), "'potrf' in the property times of the host gpu1 is not"},
        {"\"gpu1\" speed=\"1Gf\"/>", TIMES("gemm:fast"), "'gemm:fast' in the property times"},
        {"\"gpu1\" speed=\"1Gf\"/>", TIMES("gemm:0"), "'gemm:0' in the property times"},
        {"\"gpu1\" speed=\"1Gf\"/>", TIMES(":2"), "':2' in the property times"},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        if (!world_in_child(is_refused_changed, &changes[i]))
            fail_msg("change %zu", i);
}

/* Ways inside a node are as those of one; between nodes they are as long, and both cards and the switch are on them. */
static bool is_cluster(void *shared)
{
    enum { NODES = 3, EACH = 8, ALL = NODES * EACH };
    char error[256];
    sim_platform p;
    const sim_nodes nodes = {.count = NODES, .card = 20e9, .shared = *(const double *)shared, .latency = 3e-6};
    double between = nodes.shared > 0 ? fmin(20e9, nodes.shared) : 20e9;
    if (sim_platform_load("h200x8", &nodes, &p, error, sizeof error) || p.ndevices != ALL || p.total != ALL)
        return false;
    bool ok = strcmp(p.name, "3*h200x8") == 0 && near(p.peak, 51000e9) && p.peer;
    for (int from = 0; ok && from <= ALL; from++)
        for (int to = 0; ok && to <= ALL; to++) {
            int source = from < ALL ? from : OD_HOST, target = to < ALL ? to : OD_HOST;
            unsigned a = sim_platform_node(&p, source), b = sim_platform_node(&p, target);
            bool host = source == OD_HOST || target == OD_HOST;
            if (from == to)
                continue;
            const od_way *way = od_topology_way(p.topology, source, target);
            double bandwidth = way->bandwidth;
            for (uint32_t i = 0; i < way->nlinks; i++)
                bandwidth = fmin(bandwidth, p.topology->capacity[p.topology->on_way[way->first + i]]);
            ok = a == (source == OD_HOST ? 0 : (unsigned)from / EACH) &&
                 near(bandwidth, a != b ? between
                                 : host ? 55e9
                                        : 450e9) &&
                 near(way->latency, a == b ? 5e-6
                                    : host ? 5e-6 + 3e-6
                                           : 2 * 5e-6 + 3e-6);
        }
    /* All devices of the other nodes load over node 0's card. */
    ok = ok && near(sim_platform_inbound(&p, ALL), 400e9 + between);
    sim_platform_free(&p);
    return ok;
}

static bool is_refused_with_turns(void *unused)
{
    char error[512] = "";
    sim_platform p;
    const sim_nodes nodes = {.count = 2, .card = 20e9, .latency = 3e-6};
    struct place at;
    change turns = {"\"slots\" value=\"1\"", "\"turns\" value=\"yes\"", NULL};
    (void)unused;
    bool ok = make_place(&turns, &at) && sim_platform_load(at.path, &nodes, &p, error, sizeof error) == OD_EINVAL &&
              strstr(error, "do not take turns") != NULL;
    remove_place(&at);
    return ok;
}

static void test_nodes(void **unused)
{
    double shared[] = {0, 10e9, 100e9};
    (void)unused;
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
        if (!world_in_child(is_cluster, &shared[i]))
            fail_msg("switch of %g", shared[i]);
    assert_true(world_in_child(is_refused_with_turns, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodes),  cmocka_unit_test(test_all),     cmocka_unit_test(test_links),
        cmocka_unit_test(test_cores),  cmocka_unit_test(test_refused), cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_speeds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
