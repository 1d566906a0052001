/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Damaged logs: bytes exchanged, lines moved, cut off, numbers replaced; thousands of them, under AddressSanitizer
 * where the compiler has it. Each is refused with one line, or is a log that can be simulated.
 */
#include "world.h"

#include "batch/log/read.h"
#include "tests/unit/damage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_READ = 4096, LOGS = 6000, SIMULATED = 300 };

static uint64_t seed = 1;
static od_batch_node nodes[] = {{20, 128, 0.1}, {20, 256, 0.1}};
static const od_batch_cluster cluster = {.nodes = nodes, .count = 2};

static const char bytes[] = ",,;#\n -.e0123456789ax:\0";
static const char *const numbers[] = {
    "0", "-1", "1e9", "1e300", "-1e300", "nan", "inf", "0x10", "4097", "20", "21", "128", "129",
    "18446744073709551616", "1.5", "", "  ", "\"7\"", "9999999999"};
static const damage_alphabet alphabet = {bytes, sizeof bytes, numbers, sizeof numbers / sizeof *numbers, ", \n"};

static bool read_and_complete(document *doc, od_batch_log *log)
{
    char error[512] = "";
    od_batch_rules rules = od_batch_usual_rules();
    FILE *file = doc->length ? fmemopen(doc->text, doc->length, "r") : fopen("/dev/null", "r");
    assert_non_null(file);
    od_status status = od_batch_log_read(file, log, error, sizeof error);
    fclose(file);
    if (!status)
        status = od_batch_log_complete(log, &cluster, &rules, error, sizeof error);
    if (status && (status != OD_EINVAL || strncmp(error, "line ", 5) != 0 || strlen(error) < 15 || strchr(error, '\n')))
        fail_msg("status %d, '%s'", status, error);
    return !status;
}

static int try_all(const char *path)
{
    document doc = damage_load(path, MOST_READ);
    assert_true(doc.length > 500);
    int accepted = 0;
    for (int i = 0; i < LOGS; i++) {
        document other = damage(&doc, &alphabet, &seed);
        od_batch_log log = {0};
        if (read_and_complete(&other, &log) && accepted++ < SIMULATED)
            free(world_simulate(&log, &cluster, &world_variants[i % WORLD_VARIANTS], false));
        od_batch_log_free(&log);
    }
    return accepted;
}

static void test_csv(void **unused)
{
    (void)unused;
    assert_in_range(try_all(BATCH_DATA "/small.csv"), LOGS / 100, LOGS - LOGS / 10);
}

static void test_swf(void **unused)
{
    (void)unused;
    assert_in_range(try_all(BATCH_DATA "/small.swf"), LOGS / 100, LOGS - LOGS / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_csv), cmocka_unit_test(test_swf)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
