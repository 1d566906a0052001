/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Options: sizes, each option's values and defaults, errors that name variable, value and what is allowed.
 */
#include "util/log.h"
#include "util/nearest.h"
#include "util/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cmocka.h>

static const char *const policies[] = {"darts", "eager", NULL};
static const char *const rules[] = {"lru", "luf", NULL};

static od_options options;
static char error[512];

/* What the loader says of the process; libc's own is not asked. */
static unsigned long secure;

unsigned long getauxval(unsigned long type)
{
    return type == AT_SECURE ? secure : 0;
}

/* Each test starts without any of our variables. */
static int setup(void **state)
{
    size_t count;
    const od_option_spec *table = od_option_table(&count);

    (void)state;
    for (size_t i = 0; i < count; i++)
        unsetenv(table[i].name);
    memset(error, 0, sizeof error);
    return 0;
}

static od_status parse(void)
{
    return od_options_parse(&options, policies, rules, error, sizeof error);
}

static void accept(const char *name, const char *value)
{
    setenv(name, value, 1);
    od_status status = parse();
    if (status)
        print_error("%s\n", error);
    assert_int_equal(status, OD_OK);
}

/* The value must be refused by one line that names the variable and contains `part`. */
static void refuse(const char *name, const char *value, const char *part)
{
    memset(error, 0, sizeof error);
    setenv(name, value, 1);
    assert_int_equal(parse(), OD_EINVAL);
    assert_ptr_equal(strstr(error, name), error);
    assert_null(strchr(error, '\n'));
    if (!strstr(error, part))
        fail_msg("'%s' does not contain '%s'", error, part);
    unsetenv(name);
}

static void check_size(const char *text, size_t expected)
{
    size_t bytes = 0;

    assert_int_equal(od_parse_size(text, &bytes), OD_OK);
    assert_int_equal(bytes, expected);
}

static void sizes_use_powers_of_ten_and_of_two(void **state)
{
    (void)state;
    check_size("0", 0);
    check_size("123", 123);
    check_size("123B", 123);
    check_size("1K", 1000);
    check_size("1k", 1000);
    check_size("2M", 2000000);
    check_size("500MB", 500000000);
    check_size("12G", 12000000000);
    check_size("3T", 3000000000000);
    check_size("1Ki", 1024);
    check_size("1KiB", 1024);
    check_size("2Mi", 2097152);
    check_size("1Gi", 1073741824);
    check_size("1Ti", 1099511627776);
}

static void sizes_with_fractions_are_exact(void **state)
{
    (void)state;
    check_size("1.5G", 1500000000);
    check_size("0.1G", 100000000);
    check_size("0.5Ki", 512);
    check_size("1.0001K", 1000);
    check_size("1.123456789012345T", 1123456789012);
    check_size("18446744073709551615", SIZE_MAX);
    check_size("0.5", 0);
}

static void malformed_sizes_are_refused(void **state)
{
    static const char *const bad[] = {
        "",          "K",
        "-1",        "+1",
        " 1",        "1 ",
        "1 M",       "12Q",
        "1MM",       "1iB",
        "1Mib",      "1.",
        ".5",        "1..5",
        "1.5.5G",    "1e9",
        "0x10",      "inf",
        "nan",       "1BB",
        "1,5G",      "18446744073709551616",
        "18446745T", "99999999999999999999999999999999999999999999999999",
    };
    size_t bytes = 7;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (od_parse_size(bad[i], &bytes) != OD_EINVAL)
            fail_msg("'%s' was accepted", bad[i]);
    assert_int_equal(bytes, 7);
}

static void defaults(void **state)
{
    (void)state;
    assert_int_equal(parse(), OD_OK);
    assert_string_equal(options.sched, "darts");
    assert_string_equal(options.evict, "auto");
    assert_int_equal(options.devices.count, 0);
    assert_false(options.devices.listed);
    assert_int_equal(options.backend, OD_BACKEND_AUTO);
    assert_true(options.pin == OD_PIN_AUTO);
    assert_int_equal(options.mem_limit, 0);
    assert_int_equal(options.task_buffer, 3);
    assert_true(options.lookahead_s == 0);
    assert_int_equal(options.coherence, OD_COHERENCE_AUTO);
    assert_int_equal(options.device_clause, OD_DEVICE_CLAUSE_PIN);
    assert_int_equal(options.priority, OD_PRIORITY_AUTO);
    assert_true(options.link_bandwidth == 0);
    assert_string_equal(options.stats, "");
    assert_string_equal(options.record, "");
    assert_false(options.summary);
    assert_int_equal(options.seed, 1);
    assert_int_equal(options.log, OD_LOG_WARNING);
    assert_false(options.disable);
    assert_true(options.watchdog_s == 0);
    assert_true(options.jitter_s == 0);
}

static void empty_variables_count_as_unset(void **state)
{
    size_t count;
    const od_option_spec *table = od_option_table(&count);

    for (size_t i = 0; i < count; i++)
        setenv(table[i].name, "", 1);
    defaults(state);
}

static void values_reach_their_members(void **state)
{
    (void)state;
    setenv("OMPDARTS_SCHED", "eager", 1);
    setenv("OMPDARTS_EVICT", "luf", 1);
    setenv("OMPDARTS_DEVICES", "4", 1);
    setenv("OMPDARTS_MEM_LIMIT", "60M", 1);
    setenv("OMPDARTS_TASK_BUFFER", "30", 1);
    setenv("OMPDARTS_COHERENCE", "depend", 1);
    setenv("OMPDARTS_DEVICE_CLAUSE", "hint", 1);
    setenv("OMPDARTS_PRIORITY", "none", 1);
    setenv("OMPDARTS_LINK_BANDWIDTH", "12G", 1);
    setenv("OMPDARTS_STATS", "/tmp/ompdarts-stats.json", 1);
    setenv("OMPDARTS_SUMMARY", "1", 1);
    setenv("OMPDARTS_SEED", "18446744073709551615", 1);
    setenv("OMPDARTS_LOG", "debug", 1);
    setenv("OMPDARTS_DISABLE", "1", 1);
    setenv("OMPDARTS_WATCHDOG", "60", 1);
    setenv("OMPDARTS_JITTER", "0.002", 1);
    assert_int_equal(parse(), OD_OK);
    assert_string_equal(options.sched, "eager");
    assert_string_equal(options.evict, "luf");
    assert_int_equal(options.devices.count, 4);
    assert_int_equal(options.mem_limit, 60000000);
    assert_int_equal(options.task_buffer, 30);
    assert_int_equal(options.coherence, OD_COHERENCE_DEPEND);
    assert_int_equal(options.device_clause, OD_DEVICE_CLAUSE_HINT);
    assert_int_equal(options.priority, OD_PRIORITY_NONE);
    assert_true(options.link_bandwidth == 12e9);
    assert_string_equal(options.stats, "/tmp/ompdarts-stats.json");
    assert_true(options.summary);
    assert_true(options.seed == UINT64_MAX);
    assert_int_equal(options.log, OD_LOG_DEBUG);
    assert_true(options.disable);
    assert_true(options.watchdog_s == 60);
    assert_true(options.jitter_s == 0.002);
}

static void choices_follow_their_enums(void **state)
{
    (void)state;
    accept("OMPDARTS_COHERENCE", "strict");
    assert_int_equal(options.coherence, OD_COHERENCE_STRICT);
    accept("OMPDARTS_LOG", "error");
    assert_int_equal(options.log, OD_LOG_ERROR);
    accept("OMPDARTS_LOG", "info");
    assert_int_equal(options.log, OD_LOG_INFO);
    accept("OMPDARTS_LOG", "off");
    assert_int_equal(options.log, OD_LOG_OFF);
}

static void zero_means_off(void **state)
{
    static const char *const names[] = {
        "OMPDARTS_LINK_BANDWIDTH", "OMPDARTS_STATS",    "OMPDARTS_SUMMARY", "OMPDARTS_LOG",
        "OMPDARTS_DISABLE",        "OMPDARTS_WATCHDOG", "OMPDARTS_JITTER"};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        setenv(names[i], "0", 1);
    assert_int_equal(parse(), OD_OK);
    assert_true(options.link_bandwidth == 0);
    assert_string_equal(options.stats, "");
    assert_false(options.summary);
    assert_int_equal(options.log, OD_LOG_OFF);
    assert_false(options.disable);
    assert_true(options.watchdog_s == 0);
    assert_true(options.jitter_s == 0);
}

static void unknown_names_are_refused_with_a_suggestion(void **state)
{
    (void)state;
    refuse("OMPDARTS_SCHED", "dart", "OMPDARTS_SCHED=dart: unknown name; allowed: darts, eager; did you mean darts?");
    refuse("OMPDARTS_SCHED", "heft-like", "allowed: darts, eager");
    refuse("OMPDARTS_SCHED", "plugin", "allowed: darts, eager");
    accept("OMPDARTS_SCHED", "darts:anything");
    accept("OMPDARTS_SCHED", "plugin:anything");
    refuse("OMPDARTS_EVICT", "lfu", "OMPDARTS_EVICT=lfu: unknown name; allowed: auto, lru, luf; did you mean ");
    setenv("OMPDARTS_SCHED", "anything", 1);
    assert_int_equal(od_options_parse(&options, NULL, NULL, error, sizeof error), OD_OK);
    assert_string_equal(options.sched, "anything");
}

static void bad_values_are_refused(void **state)
{
    (void)state;
    refuse("OMPDARTS_DEVICES", "0", "allowed: all, or a whole number >= 1");
    refuse("OMPDARTS_DEVICES", "-1", "OMPDARTS_DEVICES=-1:");
    refuse("OMPDARTS_DEVICES", "1.5", "whole number");
    refuse("OMPDARTS_DEVICES", "0,", "list of their numbers");
    refuse("OMPDARTS_DEVICES", "0*0", "list of their numbers");
    refuse("OMPDARTS_DEVICES", "0*63", "list of their numbers");
    refuse("OMPDARTS_DEVICES", "0*2*2", "list of their numbers");
    refuse("OMPDARTS_DEVICES", "1,-1", "list of their numbers");
    refuse("OMPDARTS_DEVICES", "*2", "list of their numbers");
    refuse("OMPDARTS_DEVICES", "40000,1", "list of their numbers");
    refuse("OMPDARTS_PIN", "half", "allowed: auto, off, or a size");
    refuse("OMPDARTS_BACKEND", "hip", "allowed: auto|omptarget|cuda");
    refuse("OMPDARTS_DEVICES", "4294967296", "whole number");
    refuse("OMPDARTS_MEM_LIMIT", "0", "allowed: auto, or a size > 0");
    refuse("OMPDARTS_MEM_LIMIT", "12Q", "OMPDARTS_MEM_LIMIT=12Q:");
    refuse("OMPDARTS_MEM_LIMIT", "0.2", "a size > 0");
    refuse("OMPDARTS_TASK_BUFFER", "0", ">= 1");
    refuse("OMPDARTS_COHERENCE", "str", "auto|strict|depend");
    refuse("OMPDARTS_COHERENCE", "auto|strict", "auto|strict|depend");
    refuse("OMPDARTS_DEVICE_CLAUSE", "PIN", "pin|hint");
    refuse("OMPDARTS_PRIORITY", "some", "auto|clause|none");
    refuse("OMPDARTS_LINK_BANDWIDTH", "fast", "a size such as 12G");
    refuse("OMPDARTS_SUMMARY", "yes", "0|1");
    refuse("OMPDARTS_SEED", "-3", ">= 0");
    refuse("OMPDARTS_SEED", "18446744073709551616", ">= 0");
    refuse("OMPDARTS_LOG", "loud", "off|error|warning|info|debug");
    refuse("OMPDARTS_WATCHDOG", "1e3", "OMPDARTS_WATCHDOG=1e3:");
    refuse("OMPDARTS_JITTER", "2000000", "1000000");
}

static void long_and_strange_values_stay_one_line(void **state)
{
    char text[2000];

    (void)state;
    refuse("OMPDARTS_COHERENCE", "a\nb\x1b[31m", "OMPDARTS_COHERENCE=a?b?[31m:");
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    refuse("OMPDARTS_SCHED", text, "xxx...");
    refuse("OMPDARTS_MEM_LIMIT", text, "xxx...: not a valid value; allowed: auto");
    refuse("OMPDARTS_STATS", text, "File name too long");
}

static void errors_fit_small_buffers(void **state)
{
    char small[24];

    (void)state;
    setenv("OMPDARTS_SCHED", "dart", 1);
    assert_int_equal(od_options_parse(&options, policies, rules, small, sizeof small), OD_EINVAL);
    assert_string_equal(small, "OMPDARTS_SCHED=dart: un");
}

static void unwritable_stats_files_are_refused(void **state)
{
    (void)state;
    refuse("OMPDARTS_STATS", "/nonexistent/x.json", "OMPDARTS_STATS=/nonexistent/x.json: No such file or directory");
    refuse("OMPDARTS_STATS", "/tmp", "Is a directory");
    refuse("OMPDARTS_RECORD", "/nonexistent/x", "OMPDARTS_RECORD=/nonexistent/x: No such file or directory");
    refuse("OMPDARTS_TRACE", "/nonexistent/x", "OMPDARTS_TRACE=/nonexistent/x: No such file or directory");
    refuse("OMPDARTS_STATS", "/dev/null/x.json", "Not a directory; allowed: 0 (off), or a file in a folder");
}

static void stats_files_are_absolute_and_untouched(void **state)
{
    char folder[] = "/tmp/ompdarts-options-XXXXXX";
    char here[512], expected[600];

    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(folder), 0);
    accept("OMPDARTS_STATS", "x.json");
    assert_int_equal(chdir(here), 0);
    snprintf(expected, sizeof expected, "%s/x.json", folder);
    assert_string_equal(options.stats, expected);
    assert_int_equal(rmdir(folder), 0);
    accept("OMPDARTS_STATS", "/dev/null");
    assert_string_equal(options.stats, "/dev/null");
}

/* What od_options_parse() writes to standard error. */
static void capture_warnings(char *text, size_t size)
{
    FILE *file = tmpfile();
    int saved = dup(STDERR_FILENO);

    assert_non_null(file);
    fflush(stderr);
    dup2(fileno(file), STDERR_FILENO);
    od_status status = parse();
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(file);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
    assert_int_equal(status, OD_OK);
}

static void unknown_variables_are_warned_about(void **state)
{
    char text[1024];

    (void)state;
    setenv("OMPDARTS_SHED", "eager", 1);
    capture_warnings(text, sizeof text);
    assert_string_equal(text, "ompdarts: options: unknown variable OMPDARTS_SHED is ignored (did you mean "
                              "OMPDARTS_SCHED?); `ompdarts env` lists all\n");
    setenv("OMPDARTS_LOG", "off", 1);
    capture_warnings(text, sizeof text);
    assert_string_equal(text, "");
    unsetenv("OMPDARTS_SHED");
    unsetenv("OMPDARTS_LOG");
    setenv("OMPDARTS_COMPLETELY_ELSE", "1", 1);
    capture_warnings(text, sizeof text);
    assert_string_equal(
        text, "ompdarts: options: unknown variable OMPDARTS_COMPLETELY_ELSE is ignored; `ompdarts env` lists all\n");
    unsetenv("OMPDARTS_COMPLETELY_ELSE");
}

static void nearest_names(void **state)
{
    static const char *const known[] = {"run", "env", "info", NULL};

    (void)state;
    assert_string_equal(od_nearest_name("rum", known), "run");
    assert_string_equal(od_nearest_name("inffo", known), "info");
    assert_string_equal(od_nearest_name("ENV", known), "env");
    assert_null(od_nearest_name("schedule", known));
    assert_null(od_nearest_name("foo", known));
    assert_null(od_nearest_name("", known));
}

static void the_table_is_complete(void **state)
{
    size_t count;
    const od_option_spec *table = od_option_table(&count);

    (void)state;
    assert_int_equal(count, 26);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(strncmp(table[i].name, "OMPDARTS_", 9), 0);
        assert_true(*table[i].type && *table[i].default_value && *table[i].allowed && *table[i].help);
        assert_true(*table[i].long_option);
        assert_non_null(table[i].unit);
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(table[i].name, table[j].name);
            assert_string_not_equal(table[i].long_option, table[j].long_option);
        }
    }
}

static void the_environment_is_readable(void **state)
{
    (void)state;
    setenv("OMP_TARGET_OFFLOAD", "MANDATORY", 1);
    assert_string_equal(od_environment("OMP_TARGET_OFFLOAD"), "MANDATORY");
    unsetenv("OMP_TARGET_OFFLOAD");
    assert_null(od_environment("OMP_TARGET_OFFLOAD"));
}

/* Of a setuid program: neither a plug-in nor a file to be written comes from the environment. */
static void other_rights_than_the_callers(void **state)
{
    (void)state;
    setenv("OMPDARTS_SCHED", "plugin:/tmp/evil.so", 1);
    setenv("OMPDARTS_STATS", "/tmp/ompdarts-not-to-be-written", 1);
    setenv("OMPDARTS_LOG", "off", 1);
    assert_int_equal(parse(), OD_OK);
    assert_string_equal(options.sched, "plugin:/tmp/evil.so");
    secure = 1;
    assert_int_equal(parse(), OD_OK);
    assert_null(od_environment_trusted("OMPDARTS_SCHED"));
    secure = 0;
    assert_string_equal(options.sched, "darts");
    assert_string_equal(options.stats, "");
    assert_int_equal(options.log, OD_LOG_WARNING);
    assert_string_equal(od_environment_trusted("OMPDARTS_SCHED"), "plugin:/tmp/evil.so");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_use_powers_of_ten_and_of_two),
        cmocka_unit_test(sizes_with_fractions_are_exact),
        cmocka_unit_test(malformed_sizes_are_refused),
        cmocka_unit_test_setup(defaults, setup),
        cmocka_unit_test_setup(empty_variables_count_as_unset, setup),
        cmocka_unit_test_setup(values_reach_their_members, setup),
        cmocka_unit_test_setup(choices_follow_their_enums, setup),
        cmocka_unit_test_setup(zero_means_off, setup),
        cmocka_unit_test_setup(unknown_names_are_refused_with_a_suggestion, setup),
        cmocka_unit_test_setup(bad_values_are_refused, setup),
        cmocka_unit_test_setup(long_and_strange_values_stay_one_line, setup),
        cmocka_unit_test_setup(errors_fit_small_buffers, setup),
        cmocka_unit_test_setup(unwritable_stats_files_are_refused, setup),
        cmocka_unit_test_setup(stats_files_are_absolute_and_untouched, setup),
        cmocka_unit_test_setup(unknown_variables_are_warned_about, setup),
        cmocka_unit_test_setup(other_rights_than_the_callers, setup),
        cmocka_unit_test(nearest_names),
        cmocka_unit_test(the_table_is_complete),
        cmocka_unit_test(the_environment_is_readable),
    };
    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
