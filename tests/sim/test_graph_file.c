/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Reading recorded runs: what a small one says, and damaged ones. A damaged file is refused with one line, or is
 * another recording, which can be replayed.
 */
#include "world.h"

#include "sim/graph/graph_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 1 << 14 };

typedef struct document {
    char text[MOST];
    size_t length;
} document;

static char path[] = "/tmp/ompdarts-graph-XXXXXX";

static document load(void)
{
    document doc;
    FILE *file = fopen(SIM_DATA "/cholesky.graph", "r");
    assert_non_null(file);
    doc.length = fread(doc.text, 1, sizeof doc.text, file);
    fclose(file);
    assert_in_range(doc.length, 1000, MOST - 1000);
    return doc;
}

/* The status; on failure the message is one line. */
static od_status read_text(const char *text, size_t length, sim_graph *graph, sim_recording *recording)
{
    char error[512] = "";
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    fclose(file);
    od_status status = sim_graph_read(path, graph, recording, error, sizeof error);
    if (status) {
        assert_true(status == OD_EINVAL || status == OD_EIO);
        assert_true(strlen(error) > 10);
        assert_null(strchr(error, '\n'));
    }
    return status;
}

static void forget(sim_graph *graph, sim_recording *recording)
{
    sim_graph_free(graph);
    sim_recording_free(recording);
}

static void test_contents(void **unused)
{
    (void)unused;
    sim_graph graph = {0};
    sim_recording r = {0};
    document doc = load();
    assert_int_equal(read_text(doc.text, doc.length, &graph, &r), OD_OK);
    assert_int_equal(r.ndevices, 1);
    assert_int_equal(r.memory, 61440);
    assert_int_equal(r.buffer, 3);
    assert_string_equal(r.policy, "darts");
    assert_string_equal(r.evict, "luf");
    assert_true(r.spill);
    world_near(r.host_link.bandwidth, 12e9, 1);
    world_near(r.peer_link.latency, 1e-6, 1e-12);
    assert_int_equal(graph.ntasks, 4); /* potrf, trsm, syrk, potrf */
    assert_int_equal(graph.ndata, 3);
    assert_int_equal(graph.nbefore, 3); /* each task after the one before it */
    assert_int_equal(r.nnodes, 10);     /* and six data constructs */
    assert_int_equal(r.ncopies, 6);
    assert_int_equal(r.h2d_bytes, 3 * 16384);
    assert_int_equal(r.d2h_bytes, 3 * 16384);
    assert_int_equal(r.d2d_bytes, 0);
    world_near(graph.tasks[1].seconds, 0.000042577, 1e-12);
    assert_int_equal(graph.tasks[1].priority, 3906);
    assert_int_equal(graph.accesses[graph.tasks[2].first_access].mode, OD_READ);
    assert_int_equal(graph.accesses[graph.tasks[2].first_access + 1].mode, OD_READ_WRITE);
    assert_int_equal(graph.data[1].bytes, 16384);
    forget(&graph, &r);
}

static void test_every_cut(void **unused)
{
    (void)unused;
    document doc = load();
    for (size_t length = 0; length < doc.length - 1; length++) { /* the last line may end without a newline */
        sim_graph graph = {0};
        sim_recording r = {0};
        if (read_text(doc.text, length, &graph, &r) == OD_OK)
            fail_msg("accepted when cut off after %zu of %zu bytes", length, doc.length);
        forget(&graph, &r);
    }
}

/* Without one of its lines, or with one of them twice: the counts at the end tell. */
static void test_every_line(void **unused)
{
    (void)unused;
    document doc = load();
    for (size_t begin = 0; begin < doc.length;) {
        const char *newline = memchr(doc.text + begin, '\n', doc.length - begin);
        size_t line = (size_t)(newline - doc.text) + 1 - begin;
        for (int twice = 0; twice < 2; twice++) {
            document other = {.length = begin};
            memcpy(other.text, doc.text, begin);
            for (int i = 0; i < 2 * twice; i++, other.length += line)
                memcpy(other.text + other.length, doc.text + begin, line);
            memcpy(other.text + other.length, doc.text + begin + line, doc.length - begin - line);
            other.length += doc.length - begin - line;
            sim_graph graph = {0};
            sim_recording r = {0};
            if (read_text(other.text, other.length, &graph, &r) == OD_OK)
                fail_msg("accepted with the line at byte %zu %s", begin, twice ? "twice" : "left out");
            forget(&graph, &r);
        }
        begin += line;
    }
}

static uint64_t below(uint64_t *seed, uint64_t n)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*seed >> 33) % n;
}

typedef struct replay {
    const sim_graph *graph;
    const sim_recording *recording;
} replay;

/* Ends, well or with a message. */
static bool runs(void *argument)
{
    const replay *what = argument;
    sim_platform platform;
    sim_result result;
    char error[512] = "";
    const sim_recording *r = what->recording;
    sim_machine machine = {.platform = &platform,
                           .ndevices = r->ndevices > 4 ? 4 : r->ndevices,
                           .memory = r->memory,
                           .buffer = r->buffer > 100 ? 100 : r->buffer,
                           .policy_text = "darts",
                           .evict = od_evict_find("luf"),
                           .recording = r};
    alarm(20);
    if (sim_platform_load("pcie", &sim_one_node, &platform, error, sizeof error) ||
        od_policy_choose("darts", &machine.policy, error, sizeof error))
        return false;
    return sim_run(what->graph, &machine, &result, error, sizeof error) == OD_OK || strlen(error) > 10;
}

static void test_damage(void **unused)
{
    (void)unused;
    enum { FILES = 4000, REPLAYS = 150 };
    static const char letters[] = "0123456789 -.:x\nabcdehnoprstw";
    document doc = load();
    uint64_t seed = 1;
    int accepted = 0;
    for (int i = 0; i < FILES; i++) {
        document other = doc;
        for (uint64_t n = 1 + below(&seed, 2); n > 0; n--)
            other.text[below(&seed, other.length)] = letters[below(&seed, sizeof letters - 1)];
        sim_graph graph = {0};
        sim_recording r = {0};
        if (read_text(other.text, other.length, &graph, &r) == OD_OK && accepted++ < REPLAYS && graph.ntasks > 0 &&
            sim_footprint(&graph) <= r.memory && !world_in_child(runs, &(replay){&graph, &r}))
            fail_msg("damaged file %d: its replay did not end; it is in %s", i, path);
        forget(&graph, &r);
    }
    print_message("%d of %d damaged files are recordings\n", accepted, FILES);
    assert_in_range(accepted, 10, FILES - 10);
}

int main(void)
{
    int file = mkstemp(path);
    if (file < 0)
        return 1;
    close(file);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contents),
        cmocka_unit_test(test_every_cut),
        cmocka_unit_test(test_every_line),
        cmocka_unit_test(test_damage),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (!failed)
        unlink(path);
    return failed;
}
