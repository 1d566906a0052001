/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the readers make of files, what they refuse and how; what is written is read again as the same graph. */
#include "world.h"

#include "dag/generate.h"
#include "dag/read/read.h"
#include "dag/write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static od_status read_text(const char *text, od_dag *dag, char *error)
{
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    *dag = (od_dag){0};
    od_status status = od_dag_read(file, dag, error, 512);
    fclose(file);
    return status;
}

static void read_file(const char *path, od_dag *dag)
{
    char error[512];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    *dag = (od_dag){0};
    if (od_dag_read(file, dag, error, sizeof error))
        fail_msg("%s: %s", path, error);
    fclose(file);
}

static uint32_t find(const od_dag *dag, const char *name)
{
    uint32_t t = 0;
    while (t < dag->ntasks && strcmp(od_dag_name(dag, t), name) != 0)
        t++;
    assert_true(t < dag->ntasks);
    return t;
}

static bool precedes(const od_dag *dag, const char *a, const char *b)
{
    uint32_t from = find(dag, a), to = find(dag, b);
    for (uint32_t i = dag->after.first[from]; i < dag->after.first[from + 1]; i++)
        if (dag->after.items[i] == to)
            return true;
    return false;
}

static void test_text(void **unused)
{
    (void)unused;
    od_dag dag;
    read_file(DAG_DATA "/small.dag", &dag);
    assert_int_equal(dag.ntasks, 5);
    assert_int_equal(dag.ndata, 6);
    assert_int_equal(dag.norders, 1);
    assert_int_equal(dag.tasks[1].bytes, 10000000);
    assert_int_equal(dag.tasks[2].bytes, 10 << 20);
    assert_int_equal(dag.data[2].bytes, 15000000);
    assert_true(dag.data[4].lazy && dag.data[4].nreaders == 3 && dag.data[3].producer == OD_DAG_NONE);
    assert_true(precedes(&dag, "read", "right") && precedes(&dag, "join", "report") &&
                !precedes(&dag, "left", "right"));
    assert_true(od_dag_critical_path(&dag, NULL, NULL) == 0.5 + 3 + 1.5 + 0.25);
    od_dag_free(&dag);
}

static void test_dot(void **unused)
{
    (void)unused;
    od_dag dag;
    read_file(DAG_DATA "/small.dot", &dag);
    assert_int_equal(dag.ntasks, 6);
    assert_int_equal(dag.ndata, 4); /* one with two readers */
    assert_int_equal(dag.norders, 1);
    assert_true(dag.tasks[find(&dag, "b")].seconds == 2.5 && dag.tasks[find(&dag, "a")].bytes == 10);
    assert_true(precedes(&dag, "d", "e") && precedes(&dag, "c", "e") && precedes(&dag, "f-1.0", "e"));
    assert_int_equal(dag.data[0].nreaders, 2);
    assert_int_equal(dag.data[2].bytes, 1000);
    od_dag_free(&dag);
}

static void test_workflows(void **unused)
{
    (void)unused;
    od_dag dag;
    read_file(DAG_DATA "/wfcommons-1.5.json", &dag);
    assert_int_equal(dag.ntasks, 4);
    assert_int_equal(dag.ndata, 7);
    assert_true(dag.tasks[find(&dag, "blast_3")].seconds == 12 && precedes(&dag, "split_1", "blast_2"));
    assert_int_equal(od_dag_peak(&dag, OD_DAG_RESIDENT, dag.sorted, NULL), 3000 + 5000 + 300);
    od_dag_free(&dag);
    read_file(DAG_DATA "/wfcommons-1.3.json", &dag);
    assert_int_equal(dag.ntasks, 3);
    assert_int_equal(dag.ndata, 3);
    assert_int_equal(od_dag_peak(&dag, OD_DAG_RESIDENT, dag.sorted, NULL), 900);
    od_dag_free(&dag);
}

#define DAG "ompdarts-dag 1\n"
#define FLOW(tasks) "{\"workflow\": {\"tasks\": [" tasks "]}}"

static void test_refused(void **unused)
{
    (void)unused;
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"", "neither"},
        {"hello", "neither"},
        {DAG, "no task"},
        {"ompdarts-dag 2\ntask a 1\n", "another version"},
        {DAG "task a", "line 2: the last line has no end: the file is cut off"},
        {DAG "task a\n", "line 2: how many seconds"},
        {DAG "task a -1\n", "line 2: '-1': not seconds"},
        {DAG "task a nan\n", "line 2: 'nan': not seconds"},
        {DAG "task a 1 -5\n", "line 2: '-5': not bytes"},
        {DAG "task a 1 99999999999999999999999\n", "line 2: '99999999999999999999999': not bytes"},
        {DAG "task a 1 2E\n", "not bytes"},
        {DAG "task a 1 5 6\n", "line 2: '6' is one word too many"},
        {DAG "task a 1\n\ntask a 2\n", "line 4: a second task 'a'"},
        {DAG "task a 1\ndata 5 b\n", "line 3: no task 'b'"},
        {DAG "task a 1\nedge a a\n", "line 3: 'edge' is none of"},
        {DAG "task a 1\ntask b 1\norder a b\norder b a\n", "a cycle of 2 tasks: "},
        {DAG "task a 1\norder a a\n", "a cycle of 1 task: a -> a"},
        {DAG "task a 1\ndata 1e18 a\ndata 1e18 a\n", "more than 1152921504606846976 bytes in all"},
        {"digraph { a -> b", "line 1: no '}' at the end"},
        {"digraph { a -- b }", "line 1: an edge without direction"},
        {"digraph {\n subgraph x { a } }", "line 2: a subgraph"},
        {"digraph { a [seconds=-3] }", "'-3': not seconds"},
        {"digraph { a [seconds=] }", "no name"},
        {"digraph { \"a", "a string has no end"},
        {"digraph { \"a b\" }", "not one word"},
        {"digraph { a -> b -> c -> a }", "a cycle of 3 tasks: "},
        {"digraph { a [bytes=1%] }", "'%' has no meaning"},
        {"strict graph { a }", "'graph' and not 'digraph'"},
        {"{\"workflow\": ", "not JSON from byte"},
        {"{}", "not a workflow of WfCommons"},
        {FLOW(""), "no task"},
        {FLOW("{}"), "a task without id"},
        {FLOW("{\"name\": \"a\", \"runtime\": -1}"), "the runtime of a task is no number"},
        {FLOW("{\"name\": \"a\", \"parents\": [\"b\"]}"), "no task 'b'"},
        {FLOW("{\"name\": \"a\", \"parents\": [1]}"), "no name"},
        {FLOW("{\"name\": \"a\", \"files\": [{\"link\": \"x\"}]}"), "neither input nor output"},
        {FLOW("{\"name\": \"a\", \"files\": [{\"link\": \"input\", \"name\": \"f\", \"size\": -2}]}"),
         "size of a file"},
        {FLOW("{\"name\": \"a\", \"outputFiles\": [\"f\"]}, {\"name\": \"b\", \"outputFiles\": [\"f\"]}"),
         "output of two"},
        {FLOW("{\"name\": \"a\", \"parents\": [\"b\"]}, {\"name\": \"b\", \"parents\": [\"a\"]}"),
         "a cycle of 2 tasks"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        od_dag dag;
        char error[512] = "";
        if (!*cases[i].text)
            continue;
        assert_int_equal(read_text(cases[i].text, &dag, error), OD_EINVAL);
        if (!strstr(error, cases[i].error) || strchr(error, '\n'))
            fail_msg("'%s' instead of '%s'", error, cases[i].error);
        od_dag_free(&dag);
    }
}

/* The cycle that is named is one. */
static void test_long_cycle(void **unused)
{
    (void)unused;
    char text[4096] = DAG, error[512];
    od_dag dag;
    for (int i = 0; i < 50; i++)
        sprintf(text + strlen(text), "task t%d 1\n", i);
    for (int i = 0; i < 50; i++)
        sprintf(text + strlen(text), "order t%d t%d\n", i, i < 49 ? i + 1 : 20);
    assert_int_equal(read_text(text, &dag, error), OD_EINVAL);
    assert_non_null(strstr(error, "a cycle of 30 tasks: "));
    od_dag_free(&dag);
}

/* --- written and read again --------------------------------------------------------------------- */

static void write_and_read(const od_dag *dag, bool dot, od_dag *again)
{
    char *text = NULL, error[512];
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (dot)
        od_dag_write_dot(dag, 0, out);
    else
        od_dag_write_text(dag, out);
    fclose(out);
    if (read_text(text, again, error))
        fail_msg("%s in: %s", error, text);
    free(text);
}

static void assert_same(const od_dag *a, const od_dag *b)
{
    assert_int_equal(a->ntasks, b->ntasks);
    assert_int_equal(a->ndata, b->ndata);
    assert_int_equal(a->norders, b->norders);
    for (uint32_t t = 0; t < a->ntasks; t++) {
        uint32_t other = find(b, od_dag_name(a, t));
        assert_true(a->tasks[t].seconds == b->tasks[other].seconds && a->tasks[t].bytes == b->tasks[other].bytes);
        assert_int_equal(od_dag_count(&a->after, t), od_dag_count(&b->after, other));
    }
    for (od_dag_model model = OD_DAG_RESIDENT; model <= OD_DAG_REPLACE; model++)
        assert_int_equal(world_best_peak(a, model), world_best_peak(b, model));
}

static void test_written(void **unused)
{
    (void)unused;
    uint64_t seed = 1;
    for (int i = 0; i < 1000; i++) {
        od_dag dag, again;
        world_make(&dag, (world_kind)(i % WORLD_KINDS), 9, &seed);
        write_and_read(&dag, false, &again);
        assert_same(&dag, &again);
        od_dag_free(&again);
        if (i % WORLD_KINDS < WORLD_PRIVATE) { /* no data without producer or reader */
            write_and_read(&dag, true, &again);
            assert_same(&dag, &again);
            od_dag_free(&again);
        }
        od_dag_free(&dag);
    }
}

static void test_generated(void **unused)
{
    (void)unused;
    const char *const *kinds = od_dag_generate_help();
    for (size_t i = 0; kinds[i]; i += 2)
        for (uint32_t n = 2; n < 200; n = n * 3 / 2 + 1) {
            char what[64], error[512];
            od_dag dag = {0}, same = {0};
            snprintf(what, sizeof what, "%s:%u:5", kinds[i], n);
            assert_int_equal(od_dag_generate(what, &dag, error, sizeof error), OD_OK);
            assert_int_equal(od_dag_generate(what, &same, error, sizeof error), OD_OK);
            assert_in_range(dag.ntasks, n / 2, 2 * n + 40);
            assert_int_equal(dag.ntasks, same.ntasks);
            assert_true(od_dag_work(&dag) == od_dag_work(&same));
            od_dag_free(&dag);
            od_dag_free(&same);
        }
    od_dag dag = {0};
    char error[512];
    assert_int_equal(od_dag_generate("tree:0", &dag, error, sizeof error), OD_EINVAL);
    assert_int_equal(od_dag_generate("bush:10", &dag, error, sizeof error), OD_EINVAL);
    assert_int_equal(od_dag_generate("tree:10:x", &dag, error, sizeof error), OD_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_text),       cmocka_unit_test(test_dot),
                                       cmocka_unit_test(test_workflows),  cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_long_cycle), cmocka_unit_test(test_written),
                                       cmocka_unit_test(test_generated)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
