/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Devices of several ranks: sums for each rank, in the summary and in the JSON file. Sums over ranks are those over
 * devices, whatever the figures are.
 */
#include "sched/report/report.h"
#include "tests/unit/random.h"

#include <cjson/cJSON.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* --- sums -------------------------------------------------------------------- */

static od_report_device random_device(uint64_t *seed, unsigned nranks)
{
    const uint64_t most = UINT64_C(1) << 40;
    od_device_stats s = {.tasks = random_below(seed, most),
                         .host_tasks = random_below(seed, most),
                         .h2d_bytes = random_below(seed, most),
                         .d2h_bytes = random_below(seed, most),
                         .d2d_bytes = random_below(seed, most),
                         .spilled_bytes = random_below(seed, most),
                         .loads = random_below(seed, most),
                         .reloads = random_below(seed, most),
                         .evictions = random_below(seed, most),
                         .dropped_bytes = random_below(seed, most),
                         .reruns = random_below(seed, most),
                         .busy_ns = random_below(seed, most),
                         .occupied_ns = random_below(seed, most),
                         .stall_ns = random_below(seed, most),
                         .transfer_ns = random_below(seed, most),
                         .overlapped_ns = random_below(seed, most),
                         .faults = random_below(seed, most),
                         .fault_bytes = random_below(seed, most),
                         .fault_ns = random_below(seed, most),
                         .peak_bytes = random_below(seed, most),
                         .limit_bytes = random_below(seed, most),
                         .rank = 1 + (unsigned)random_below(seed, nranks) * 7};
    s.remote_bytes = random_below(seed, s.d2d_bytes + 1);
    return (od_report_device){.name = "device", .stats = s, .host = "node"};
}

/* The sums of the ranks, taken for devices, have the totals of the devices. */
static void sums_over_ranks_are_sums_over_devices(void **state)
{
    uint64_t seed = 1;
    (void)state;
    for (unsigned round = 0; round < 2000; round++) {
        od_report_device devices[OD_MAX_DEVICES], sums[OD_MAX_DEVICES] = {0};
        od_report_rank ranks[OD_MAX_DEVICES];
        unsigned n = 1 + (unsigned)random_below(&seed, OD_MAX_DEVICES), most = 1 + (unsigned)random_below(&seed, n);
        for (unsigned k = 0; k < n; k++)
            devices[k] = random_device(&seed, most);
        od_report report = {.ndevices = n, .devices = devices}, of_ranks = {.devices = sums};
        of_ranks.ndevices = od_report_ranks(&report, ranks);
        if (!of_ranks.ndevices) {
            for (unsigned k = 1; k < n; k++)
                assert_int_equal(devices[k].stats.rank, devices[0].stats.rank);
            continue;
        }
        unsigned ndevices = 0;
        for (unsigned i = 0; i < of_ranks.ndevices; i++) {
            assert_true(ranks[i].ndevices && (!i || ranks[i - 1].rank < ranks[i].rank));
            sums[i].stats = ranks[i].sum;
            ndevices += ranks[i].ndevices;
        }
        assert_int_equal(ndevices, n);
        od_device_stats all = od_report_totals(&report), again = od_report_totals(&of_ranks);
        assert_memory_equal(&all, &again, offsetof(od_device_stats, rank)); /* which sums do not have */
    }
}

/* --- what is written ------------------------------------------------------------ */

static const od_report_device devices[] = {
    {.name = "device 0 of rank 3",
     .host = "node-b",
     .stats = {.rank = 3, .tasks = 10, .h2d_bytes = 5000000, .busy_ns = 1500000000, .evictions = 1}},
    {.name = "device 0 of rank 1",
     .host = "node-a",
     .stats = {.rank = 1, .tasks = 20, .d2d_bytes = 3000000, .remote_bytes = 1000000, .busy_ns = 2000000000}},
    {.name = "device 1 of rank 3",
     .host = "node-b",
     .stats = {.rank = 3, .tasks = 30, .h2d_bytes = 1000000, .d2d_bytes = 700000, .evictions = 2}},
};

static const od_report report = {.program = "solver",
                                 .policy = "darts",
                                 .evict = "luf",
                                 .wall_s = 2,
                                 .engine = {.tasks = 60},
                                 .ndevices = 3,
                                 .devices = devices};

static char path[] = "/tmp/ompdarts-ranks-XXXXXX";

static int make_file(void **state)
{
    int file = mkstemp(path);
    (void)state;
    return file < 0 ? -1 : close(file);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static const char *read_back(void)
{
    static char text[16384];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static const char *summary_of(const od_report *r)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    od_report_print(r, file);
    fclose(file);
    return read_back();
}

/* Where the line begins that begins so. */
static const char *line(const char *text, const char *begins)
{
    for (; text; text = strchr(text, '\n') ? strchr(text, '\n') + 1 : NULL)
        if (strncmp(text, begins, strlen(begins)) == 0)
            return text;
    fail_msg("no line begins with '%s'", begins);
    return NULL;
}

static void the_summary_groups_devices_by_rank(void **state)
{
    const char *const order[] = {
        "rank 1 on node-a: 1 device, 20 tasks, busy 100.0%, 0.0 MB from rank 0, 1.0 MB from other ranks, 2.0 MB within "
        "one rank, 0 evictions\n",
        "device 0 of rank 1       20 ",
        "rank 3 on node-b: 2 devices, 40 tasks, busy 37.5%, 6.0 MB from rank 0, 0.0 MB from other ranks, 0.7 MB within "
        "one rank, 3 evictions\n",
        "device 0 of rank 3       10 ",
        "device 1 of rank 3       30 ",
        "2 ranks: 3 devices, 60 tasks, busy 58.3%, 6.0 MB from rank 0, 1.0 MB from other ranks, 2.7 MB within one "
        "rank, 3 "
        "evictions\n",
        "all                      60 "};
    const char *text = summary_of(&report);
    (void)state;
    for (unsigned i = 0; i < sizeof order / sizeof *order; i++)
        text = line(text, order[i]);
}

static void devices_of_one_rank_are_not_grouped(void **state)
{
    od_report one = report;
    (void)state;
    one.ndevices = 1;
    assert_null(strstr(summary_of(&one), "node-b"));
    assert_int_equal(od_report_write_json(&one, path), OD_OK);
    assert_null(strstr(read_back(), "rank\""));
    assert_null(strstr(read_back(), "remote_bytes"));
}

static double number(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    if (!cJSON_IsNumber(item))
        fail_msg("no number '%s'", name);
    return item->valuedouble;
}

static void has_rank(const cJSON *object, unsigned rank, const char *host, uint64_t remote_bytes)
{
    assert_true(number(object, "rank") == rank && number(object, "remote_bytes") == (double)remote_bytes);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, "host")), host);
}

static void json_has_ranks_and_their_sums(void **state)
{
    (void)state;
    assert_int_equal(od_report_write_json(&report, path), OD_OK);
    cJSON *json = cJSON_Parse(read_back());
    const cJSON *ranks = cJSON_GetObjectItemCaseSensitive(json, "ranks");
    const cJSON *all = cJSON_GetObjectItemCaseSensitive(json, "devices");
    assert_int_equal(cJSON_GetArraySize(ranks), 2);
    const cJSON *first = cJSON_GetArrayItem(ranks, 0), *second = cJSON_GetArrayItem(ranks, 1);
    has_rank(first, 1, "node-a", 1000000);
    has_rank(second, 3, "node-b", 0);
    assert_true(number(first, "devices") == 1 && number(second, "devices") == 2);
    assert_true(number(second, "tasks") == 40 && number(second, "busy_s") == 1.5 && number(second, "evictions") == 3);
    has_rank(cJSON_GetArrayItem(all, 0), 3, "node-b", 0);
    has_rank(cJSON_GetArrayItem(all, 1), 1, "node-a", 1000000);
    assert_true(number(cJSON_GetObjectItemCaseSensitive(json, "totals"), "remote_bytes") == 1000000);
    cJSON_Delete(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_over_ranks_are_sums_over_devices),
        cmocka_unit_test(the_summary_groups_devices_by_rank),
        cmocka_unit_test(devices_of_one_rank_are_not_grouped),
        cmocka_unit_test(json_has_ranks_and_their_sums),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
