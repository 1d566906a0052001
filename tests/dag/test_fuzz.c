/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Damaged graphs: bytes exchanged, pieces moved, cut off, numbers replaced; thousands of them, under AddressSanitizer
 * where the compiler has it. Each is refused with one line, or is a graph of which everything can be computed.
 */
#include "world.h"

#include "dag/read/read.h"
#include "tests/unit/damage.h"
#include "tools/analyze/recorded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILES = 6000 };

static uint64_t seed = 1;

static const char bytes[] = "\"{}[],;:=-># \n/*.e0129abtr\\\0";
/* Numbers, and other names. */
static const char *const words[] = {
    "0", "-1", "1e300", "-1e300", "nan", "1152921504606846976", "1e18", "a", "b", "join",
    "18446744073709551616", "", "null", "{}", "[]", "\"b\"", "9E", "left", "->"};
static const damage_alphabet alphabet = {bytes, sizeof bytes, words, sizeof words / sizeof *words, " \n,:[]={}"};

static void compute_all(od_dag *dag, od_dag_model model)
{
    uint32_t *order = malloc((dag->ntasks + 1) * sizeof *order);
    od_dag_series found;
    od_dag_serialized result;
    od_dag_postorder(dag, model, order);
    od_dag_liu(dag, model, order);
    assert_int_equal(od_dag_depth_first(dag, order), OD_OK);
    assert_int_equal(od_dag_series_parallel(dag, model, order, order, &found), OD_OK);
    int64_t peak = od_dag_peak(dag, model, order, NULL);
    assert_true(peak >= 0);
    assert_int_equal(od_dag_serialize(dag, model, OD_DAG_RESPECT_ORDER, peak, order, 10000, &result), OD_OK);
    assert_true(result.kept);
    free(order);
}

/* The reader of recorded runs wants a file with a name. */
static od_status read_recorded(const document *doc, od_dag *dag, char *error, size_t size)
{
    char name[] = "/tmp/ompdarts-fuzz-XXXXXX";
    int file = mkstemp(name);
    assert_true(file >= 0 && write(file, doc->text, doc->length) == (ssize_t)doc->length);
    close(file);
    int64_t memory;
    od_status status = analyze_read_recorded(name, dag, &memory, error, size);
    unlink(name);
    return status;
}

static od_status read_graph(document *doc, od_dag *dag, char *error, size_t size)
{
    if (doc->length > 14 && memcmp(doc->text, "ompdarts-graph", 14) == 0)
        return read_recorded(doc, dag, error, size);
    FILE *file = doc->length ? fmemopen(doc->text, doc->length, "r") : fopen("/dev/null", "r");
    assert_non_null(file);
    od_status status = od_dag_read(file, dag, error, size);
    fclose(file);
    return status;
}

static bool try_one(document *doc)
{
    char error[1024] = "";
    od_dag dag = {0};
    od_status status = read_graph(doc, &dag, error, sizeof error);
    if (status && (status != OD_EINVAL || strlen(error) < 7 || strchr(error, '\n')))
        fail_msg("status %d, '%s'", status, error);
    if (!status)
        compute_all(&dag, (od_dag_model)random_below(&seed, 2));
    od_dag_free(&dag);
    return !status;
}

static void try_all(const char *path)
{
    document doc = damage_load(path, DAMAGE_MOST * 3 / 4);
    int accepted = 0;
    assert_true(try_one(&doc));
    for (int i = 0; i < FILES; i++) {
        document other = damage(&doc, &alphabet, &seed);
        accepted += try_one(&other);
    }
    print_message("%s: %d of %d accepted\n", strrchr(path, '/') + 1, accepted, (int)FILES);
    assert_in_range(accepted, FILES / 100, FILES - FILES / 10);
}

static void test_text(void **unused)
{
    (void)unused;
    try_all(DAG_DATA "/small.dag");
}

static void test_dot(void **unused)
{
    (void)unused;
    try_all(DAG_DATA "/small.dot");
}

static void test_workflows(void **unused)
{
    (void)unused;
    try_all(DAG_DATA "/wfcommons-1.5.json");
    try_all(DAG_DATA "/wfcommons-1.3.json");
}

static void test_recorded(void **unused)
{
    (void)unused;
    try_all(SIM_DATA "/cholesky.graph");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_text), cmocka_unit_test(test_dot),
                                       cmocka_unit_test(test_workflows), cmocka_unit_test(test_recorded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
