/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The figures of a run: each one in the summary and in the JSON file, exact, and their sums.
 */
#include "sched/report/report.h"
#include "util/log.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* Device 0's byte counts are not doubles: 2^53 + 1 and the largest of all. */
static const od_report_device devices[] = {
    {.name = "host-0",
     .stats = {.tasks = 10,
               .host_tasks = 2,
               .h2d_bytes = 9007199254740993,
               .d2h_bytes = 18446744073709551615u,
               .d2d_bytes = 30,
               .spilled_bytes = 31,
               .loads = 40,
               .reloads = 5,
               .evictions = 6,
               .dropped_bytes = 32,
               .reruns = 4,
               .busy_ns = 1500000000,
               .occupied_ns = 1750000000,
               .stall_ns = 250000000,
               .transfer_ns = 2000000000,
               .overlapped_ns = 1500000000,
               .peak_bytes = 59999999,
               .limit_bytes = 60000000}},
    {.name = "host-1",
     .stats = {.tasks = 1,
               .h2d_bytes = 7,
               .d2d_bytes = 1000000,
               .loads = 3,
               .reloads = 1,
               .evictions = 2,
               .reruns = 1,
               .busy_ns = 500000000,
               .occupied_ns = 500000000,
               .stall_ns = 1,
               .peak_bytes = 10,
               .limit_bytes = 60000000}},
};

static const od_report report = {
    .program = "solver",
    .policy = "darts",
    .evict = "luf",
    .seed = 18446744073709551614u,
    .wall_s = 3.25,
    .engine = {.tasks = 13, .host_tasks = 2, .host_busy_ns = 250000000, .sched_ns = 6500, .spill_peak_bytes = 77},
    .ndevices = 2,
    .devices = devices,
};

static char folder[] = "/tmp/ompdarts-report-XXXXXX";
static char path[64];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/stats.json", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static char *read_file(const char *name)
{
    static char text[16384];
    FILE *file = fopen(name, "r");

    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static void has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' does not contain '%s'", text, part);
}

static void totals_are_sums_and_largest_memory(void **state)
{
    od_report_device two[] = {devices[0], devices[1]};
    od_report r = report;

    (void)state;
    two[0].stats.d2h_bytes = 20;
    r.devices = two;
    od_device_stats sum = od_report_totals(&r);
    assert_int_equal(sum.tasks, 11);
    assert_int_equal(sum.host_tasks, 2);
    assert_int_equal(sum.h2d_bytes, 9007199254741000);
    assert_int_equal(sum.d2h_bytes, 20);
    assert_int_equal(sum.d2d_bytes, 1000030);
    assert_int_equal(sum.spilled_bytes, 31);
    assert_int_equal(sum.loads, 43);
    assert_int_equal(sum.reloads, 6);
    assert_int_equal(sum.evictions, 8);
    assert_int_equal(sum.dropped_bytes, 32);
    assert_int_equal(sum.reruns, 5);
    assert_int_equal(sum.busy_ns, 2000000000);
    assert_int_equal(sum.stall_ns, 250000001);
    assert_int_equal(sum.transfer_ns, 2000000000);
    assert_int_equal(sum.overlapped_ns, 1500000000);
    assert_int_equal(sum.peak_bytes, 59999999);
    assert_int_equal(sum.limit_bytes, 60000000);
}

static const char *summary_of(const od_report *r)
{
    FILE *file = fopen(path, "w");
    od_report_print(r, file);
    fclose(file);
    return read_file(path);
}

static void the_summary_names_habits(void **state)
{
    od_report r = report;
    (void)state;
    assert_null(strstr(summary_of(&r), "named the default device"));
    r.habits = 1;
    has(summary_of(&r), "1 construct named the default device");
    r.habits = 7;
    has(summary_of(&r), "7 constructs named the default device");
}

static const od_choices choices = {
    .count = 2,
    .processor_ns = 1200000,
    .kept = {{.adopted = true,
              .tasks = 64,
              .tried = 30,
              .present = {"present", 2.5, false},
              .best = {"lws+luf", 1.25, false},
              .second = {"eager+lru", 1.5, true},
              .half_predicted = 0.5,
              .half_taken = 0.625},
             {.tasks = 128, .tried = 1, .best = {"present", 3, false}, .present = {"present", 3, false}}}};

static void the_summary_names_choices(void **state)
{
    od_report r = report;
    (void)state;
    assert_null(strstr(summary_of(&r), "settings"));
    r.policy = "auto";
    r.choices = &choices;
    const char *text = summary_of(&r);
    has(text, "auto: settings chosen 2 times, 0.0012 s of processor time\n");
    has(text, "64 tasks, 30 settings played: lws+luf, predicted 1.250 s; as before 2.500 s; next best eager+lru > 1.500 s; "
              "half took 0.625 s, predicted 0.500 s\n");
    has(text, "128 tasks, 1 settings played: present (no change), predicted 3.000 s\n");
    assert_int_equal(od_report_write_json(&r, path), OD_OK);
    cJSON *root = cJSON_Parse(read_file(path)), *all = cJSON_GetObjectItem(root, "choices");
    assert_int_equal(cJSON_GetArraySize(all), 2);
    const cJSON *first = cJSON_GetArrayItem(all, 0), *second = cJSON_GetObjectItem(first, "second");
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(first, "adopted")));
    assert_true(cJSON_GetObjectItem(second, "at_least_s")->valuedouble == 1.5);
    assert_true(cJSON_GetObjectItem(first, "half_taken_s")->valuedouble == 0.625);
    assert_null(cJSON_GetObjectItem(cJSON_GetArrayItem(all, 1), "second"));
    cJSON_Delete(root);
}

static void the_summary_names_page_faults(void **state)
{
    od_report_device two[] = {{.name = "host-0", .stats = {.faults = 1, .fault_bytes = 4096, .fault_ns = 250000000}},
                              {.name = "host-1", .stats = {.faults = 2, .fault_bytes = 8192, .fault_ns = 500000000}}};
    od_report r = report;
    (void)state;
    assert_null(strstr(summary_of(&r), "page fault"));
    r.devices = two;
    has(summary_of(&r), "3 page faults of kernels that touched more of an array than their tasks named: 0.012 MB, "
                        "0.750 s of waiting");
    od_device_stats totals = od_report_totals(&r);
    assert_int_equal(totals.faults, 3);
    assert_int_equal(totals.fault_bytes, 12288);
    assert_int_equal(totals.fault_ns, 750000000);
}

/* Those in slices one by one; the others by what they are whole for. */
static void the_summary_names_kernels(void **state)
{
    static const char alike[] = "prints", other[] = "is long";
    od_report_slicing kernels[] = {{.name = "a:1", .whole = 2, .reason = alike},
                                   {.name = "b:2", .sliced = 1, .slices = 4, .whole = 3, .reason = other},
                                   {.name = "c:3", .whole = 5, .reason = other},
                                   {.name = "d:4", .whole = 6, .reason = "prints"},
                                   {.name = "e:5", .sliced = 7, .slices = 2},
                                   {.name = "f:6", .whole = 8, .reason = alike}};
    od_report r = report;
    (void)state;
    r.kernels = kernels;
    r.nkernels = sizeof kernels / sizeof *kernels;
    has(summary_of(&r), "ompdarts: kernels a:1, d:4, f:6: 16 whole; each prints\n"
                        "ompdarts: kernel b:2: 1 launch in 4 slices, 3 whole; it is long\n"
                        "ompdarts: kernel c:3: 5 whole; it is long\n"
                        "ompdarts: kernel e:5: 7 launches in 2 slices\n");
    od_report_slicing many[11];
    for (unsigned i = 0; i < 11; i++)
        many[i] = (od_report_slicing){.name = "k", .whole = 1};
    r.kernels = many;
    r.nkernels = 8;
    has(summary_of(&r), "ompdarts: kernels k, k, k, k, k, k, k, k: 8 whole\n");
    r.nkernels = 11;
    has(summary_of(&r), "ompdarts: kernels k, k, k, k, k, k, k, k and 3 more: 11 whole\n");
}

static void the_summary_names_what_held_all_tasks_on_one_device(void **state)
{
    od_report_device two[] = {{.name = "host-0", .stats = {.tasks = 9}}, {.name = "host-1"}};
    od_report r = report;
    (void)state;
    r.devices = two;
    r.engine.waited = true;
    r.engine.shared_tasks = 9;
    r.engine.shared_base = 0x12340;
    r.engine.shared_size = 32000000;
    has(summary_of(&r), "all tasks ran on host-0, since each may write to the 32.0 MB at 0x12340");
    r.engine.shared_tasks = 8;
    assert_null(strstr(summary_of(&r), "may write to"));
    r.engine.shared_tasks = 9;
    r.engine.waited = false;
    assert_null(strstr(summary_of(&r), "may write to"));
    r.engine.waited = true;
    two[0].stats.tasks = 8;
    two[1].stats.tasks = 1;
    assert_null(strstr(summary_of(&r), "may write to"));
}

static void the_summary_names_slices_where_kernels_come_one_by_one(void **state)
{
    od_report_device two[] = {{.name = "host-0", .stats = {.tasks = 9}}, {.name = "host-1"}};
    od_report r = report;
    (void)state;
    r.devices = two;
    r.not_sliced = 9;
    has(summary_of(&r), "9 kernels ran one by one, each on one of 2 devices: OMPDARTS_SLICE=auto");
    r.not_sliced = 4;
    has(summary_of(&r), "4 kernels ran one by one");
    r.not_sliced = 3;
    assert_null(strstr(summary_of(&r), "one by one"));
    two[0].stats.tasks = 0; /* they ran on the host */
    assert_null(strstr(summary_of(&r), "one by one"));
}

static void shares_and_averages(void **state)
{
    od_report empty = {.program = "nothing", .policy = "eager", .evict = "lru"};

    (void)state;
    assert_true(od_report_sched_ns_per_task(&report) == 500);
    assert_true(od_report_sched_ns_per_task(&empty) == 0);
    assert_true(od_report_overlap(&devices[0].stats) == 0.75);
    assert_true(od_report_overlap(&devices[1].stats) == 0);
}

static void the_summary_shows_every_figure(void **state)
{
    od_report_device one = {.name = "host-0",
                            .stats = {.tasks = 11,
                                      .host_tasks = 2,
                                      .h2d_bytes = 123456789,
                                      .d2h_bytes = 20000000,
                                      .d2d_bytes = 3050000,
                                      .loads = 41,
                                      .reloads = 5,
                                      .evictions = 6,
                                      .busy_ns = 1500000000,
                                      .occupied_ns = 1750000000,
                                      .stall_ns = 250000000,
                                      .transfer_ns = 2000000000,
                                      .overlapped_ns = 1500000000,
                                      .peak_bytes = 59900000,
                                      .limit_bytes = 60000000}};
    od_report r = report;
    FILE *file = fopen(path, "w");

    (void)state;
    r.ndevices = 1;
    r.devices = &one;
    assert_non_null(file);
    od_report_print(&r, file);
    fclose(file);
    const char *text = read_file(path);
    has(text, "ompdarts: solver, darts+luf, seed 18446744073709551614: 13 tasks (2 on the host) in 3.250 s, "
              "scheduling 500 ns per task\n");
    has(text, "device    tasks on host   busy s  start s  stall s   idle s      MB in     MB out    MB pe"
              "er    loads  reloads evictions  overlap   peak MB  limit MB\n");
    has(text, "host-0       11       2    1.500    0.250    0.250    1.250      123.5       20.0        3"
              ".0       41        5         6    75.0%      59.9      60.0\n");
    has(text, "host          2       -    0.250        -        -    3.000\n");
    has(text, "all          13       2    1.500    0.250    0.250    1.250      123.5       20.0        3"
              ".0       41        5         6    75.0%      59.9      60.0\n");
}

static void a_run_without_transfers_shows_no_share(void **state)
{
    od_report r = report;
    FILE *file = fopen(path, "w");

    (void)state;
    r.ndevices = 1;
    r.devices = &devices[1];
    assert_non_null(file);
    od_report_print(&r, file);
    fclose(file);
    has(read_file(path), "        2        -       0.0      60.0\n");
}

static void long_names_are_cut(void **state)
{
    od_report_device one = {.name = "a device with a very long name indeed"};
    od_report r = report;
    FILE *file = fopen(path, "w");

    (void)state;
    r.ndevices = 1;
    r.devices = &one;
    assert_non_null(file);
    od_report_print(&r, file);
    fclose(file);
    has(read_file(path), "\na device with a very lon        0 ");
}

static double number(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);

    if (!cJSON_IsNumber(item))
        fail_msg("no number '%s'", name);
    return item->valuedouble;
}

static const char *string(const cJSON *object, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));

    assert_non_null(text);
    return text;
}

static cJSON *write_and_parse(const od_report *r)
{
    assert_int_equal(od_report_write_json(r, path), OD_OK);
    cJSON *json = cJSON_Parse(read_file(path));
    assert_non_null(json);
    return json;
}

static void json_has_every_figure_of_the_run(void **state)
{
    cJSON *json = write_and_parse(&report);

    (void)state;
    assert_int_equal(number(json, "schema_version"), OD_REPORT_SCHEMA_VERSION);
    assert_string_equal(string(json, "ompdarts_version"), OMPDARTS_VERSION);
    assert_string_equal(string(json, "policy"), "darts");
    assert_string_equal(string(json, "eviction"), "luf");
    assert_true(number(json, "wall_s") == 3.25);
    assert_true(number(json, "tasks") == 13);
    assert_true(number(json, "host_tasks") == 2);
    assert_true(number(json, "host_busy_s") == 0.25);
    assert_true(number(json, "sched_ns_per_task") == 500);
    assert_true(number(json, "spill_peak_bytes") == 77);
    const cJSON *totals = cJSON_GetObjectItemCaseSensitive(json, "totals");
    assert_true(number(totals, "tasks") == 11);
    assert_true(number(totals, "loads") == 43);
    assert_true(number(totals, "busy_s") == 2.0);
    assert_true(number(totals, "peak_bytes") == 59999999);
    assert_null(cJSON_GetObjectItemCaseSensitive(totals, "name"));
    cJSON_Delete(json);
}

static void json_has_every_figure_of_a_device(void **state)
{
    cJSON *json = write_and_parse(&report);
    const cJSON *array = cJSON_GetObjectItemCaseSensitive(json, "devices");

    (void)state;
    assert_int_equal(cJSON_GetArraySize(array), 2);
    const cJSON *d = cJSON_GetArrayItem(array, 0);
    assert_string_equal(string(d, "name"), "host-0");
    assert_true(number(d, "tasks") == 10);
    assert_true(number(d, "host_tasks") == 2);
    assert_true(number(d, "h2d_bytes") == 9007199254740992.0);
    assert_true(number(d, "d2h_bytes") == 18446744073709551615.0);
    assert_true(number(d, "d2d_bytes") == 30);
    assert_true(number(d, "spilled_bytes") == 31);
    assert_true(number(d, "loads") == 40);
    assert_true(number(d, "reloads") == 5);
    assert_true(number(d, "evictions") == 6);
    assert_true(number(d, "dropped_bytes") == 32);
    assert_true(number(d, "reruns") == 4);
    assert_true(number(d, "peak_bytes") == 59999999);
    assert_true(number(d, "limit_bytes") == 60000000);
    assert_true(number(d, "busy_s") == 1.5);
    assert_true(number(d, "start_s") == 0.25);
    assert_true(number(d, "stall_s") == 0.25);
    assert_true(number(d, "transfer_s") == 2.0);
    assert_true(number(d, "overlapped_s") == 1.5);
    assert_string_equal(string(cJSON_GetArrayItem(array, 1), "name"), "host-1");
    cJSON_Delete(json);
}

static void json_integers_are_exact(void **state)
{
    (void)state;
    assert_int_equal(od_report_write_json(&report, path), OD_OK);
    const char *text = read_file(path);
    has(text, "\"h2d_bytes\":\t9007199254740993,");
    has(text, "\"d2h_bytes\":\t18446744073709551615,");
    has(text, "\"seed\":\t18446744073709551614,");
}

static void json_of_an_empty_run(void **state)
{
    od_report empty = {.program = "nothing", .policy = "eager", .evict = "lru"};
    cJSON *json = write_and_parse(&empty);

    (void)state;
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(json, "devices")), 0);
    assert_true(number(json, "sched_ns_per_task") == 0);
    cJSON_Delete(json);
}

static unsigned files_in_folder(void)
{
    unsigned count = 0;
    DIR *listing = opendir(folder);

    assert_non_null(listing);
    for (struct dirent *entry; (entry = readdir(listing));)
        count += entry->d_name[0] != '.';
    closedir(listing);
    return count;
}

static void a_file_is_replaced_and_nothing_is_left_over(void **state)
{
    FILE *file = fopen(path, "w");

    (void)state;
    assert_non_null(file);
    fputs("old contents", file);
    fclose(file);
    assert_int_equal(od_report_write_json(&report, path), OD_OK);
    assert_null(strstr(read_file(path), "old contents"));
    assert_int_equal(files_in_folder(), 1);
}

static void unwritable_files_are_errors(void **state)
{
    char below[sizeof path + 8];

    (void)state;
    od_log_set_level(OD_LOG_OFF);
    assert_int_equal(od_report_write_json(&report, "/nonexistent/stats.json"), OD_EIO);
    assert_int_equal(od_report_write_json(&report, folder), OD_EIO);
    assert_int_equal(od_report_write_json(&report, path), OD_OK);
    snprintf(below, sizeof below, "%s/x.json", path);
    assert_int_equal(od_report_write_json(&report, below), OD_EIO);
    assert_int_equal(files_in_folder(), 1);
    od_log_set_level(OD_LOG_WARNING);
}

static void full_disks_are_errors(void **state)
{
    struct stat info;

    (void)state;
    if (stat("/dev/full", &info) != 0)
        skip();
    od_log_set_level(OD_LOG_OFF);
    assert_int_equal(od_report_write_json(&report, "/dev/full"), OD_EIO);
    od_log_set_level(OD_LOG_WARNING);
    assert_int_equal(stat("/dev/full", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
}

static void devices_are_written_in_place(void **state)
{
    struct stat info;

    (void)state;
    assert_int_equal(od_report_write_json(&report, "/dev/null"), OD_OK);
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
}

static unsigned allocations_left;

static void *failing_malloc(size_t size)
{
    return allocations_left-- > 0 ? malloc(size) : NULL;
}

static void running_out_of_memory_is_an_error(void **state)
{
    cJSON_Hooks hooks = {.malloc_fn = failing_malloc, .free_fn = free};
    od_status status = OD_ENOMEM;
    unsigned failures = 0;

    (void)state;
    od_log_set_level(OD_LOG_OFF);
    cJSON_InitHooks(&hooks);
    for (; status; failures++) {
        allocations_left = failures;
        status = od_report_write_json(&report, path);
        assert_true(status == OD_ENOMEM || status == OD_OK);
    }
    cJSON_InitHooks(NULL);
    od_log_set_level(OD_LOG_WARNING);
    assert_true(failures > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(totals_are_sums_and_largest_memory),
        cmocka_unit_test(shares_and_averages),
        cmocka_unit_test(the_summary_names_habits),
        cmocka_unit_test(the_summary_names_choices),
        cmocka_unit_test(the_summary_names_page_faults),
        cmocka_unit_test(the_summary_names_kernels),
        cmocka_unit_test(the_summary_names_what_held_all_tasks_on_one_device),
        cmocka_unit_test(the_summary_names_slices_where_kernels_come_one_by_one),
        cmocka_unit_test(the_summary_shows_every_figure),
        cmocka_unit_test(a_run_without_transfers_shows_no_share),
        cmocka_unit_test(long_names_are_cut),
        cmocka_unit_test(json_has_every_figure_of_the_run),
        cmocka_unit_test(json_has_every_figure_of_a_device),
        cmocka_unit_test(json_integers_are_exact),
        cmocka_unit_test(json_of_an_empty_run),
        cmocka_unit_test(a_file_is_replaced_and_nothing_is_left_over),
        cmocka_unit_test(unwritable_files_are_errors),
        cmocka_unit_test(full_disks_are_errors),
        cmocka_unit_test(devices_are_written_in_place),
        cmocka_unit_test(running_out_of_memory_is_an_error),
    };
    return cmocka_run_group_tests_name("report", tests, make_folder, remove_folder);
}
