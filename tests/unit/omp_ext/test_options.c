/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Options: sizes, each option's values and defaults, errors that name variable, value and what is allowed.
 */
#include "omp_ext/options.h"
#include "sched/phase/active.h"
#include "util/nearest.h"

#include <ctype.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cmocka.h>

static od_options options;
static char error[OD_OPTION_ERROR];

/* What the loader says of the process; libc's own is not asked. */
static unsigned long secure;

unsigned long getauxval(unsigned long type)
{
    return type == AT_SECURE ? secure : 0;
}

/* Each test starts without any of our variables. */
static int setup(void **state)
{
    const od_option_spec *row;

    (void)state;
    for (size_t i = 0; (row = od_option_row(od_all_options, i)); i++)
        unsetenv(row->name);
    memset(error, 0, sizeof error);
    return 0;
}

static od_status parse(void)
{
    return od_options_parse(&options, error, sizeof error);
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

/* Bytes/s that the chosen back-end, opened, says all copies share. */
static double link_of(const od_backend_choice *choice)
{
    static const int numbers[] = {0};
    const od_omptarget_api api = {.host_device = 1};
    od_backend_request request = {.ndevices = 1, .device_numbers = numbers, .api = &api};
    od_backend backend;
    assert_int_equal(od_backend_open(&backend, choice, &request, error, sizeof error), OD_OK);
    double link = backend.shared_link;
    od_backend_release(&backend);
    return link;
}

static void defaults(void **state)
{
    (void)state;
    assert_int_equal(parse(), OD_OK);
    assert_string_equal(options.sched.sched.text, "auto");
    assert_string_equal(options.sched.sched.policy.ops->name, "auto");
    assert_string_equal(options.sched.evict, "auto");
    assert_int_equal(options.devices.count, 0);
    assert_false(options.devices.listed);
    assert_int_equal(options.devices.active, OD_ACTIVE_AS_POLICY);
    assert_null(options.memory.backend.type); /* auto */
    assert_int_equal(options.memory.limit, 0);
    assert_true(options.memory.spill);
    assert_int_equal(options.sched.buffer, 3);
    assert_int_equal(options.sched.write_back, OD_WRITE_BACK_EARLY);
    assert_int_equal(options.sched.recompute, OD_RECOMPUTE_OFF);
    assert_int_equal(options.coherence, OD_COHERENCE_AUTO);
    assert_int_equal(options.device_clause, OD_DEVICE_CLAUSE_AUTO);
    assert_int_equal(options.priority, OD_PRIORITY_AUTO);
    assert_int_equal(options.slice.count, OD_SLICE_OFF);
    assert_string_equal(options.stats.file, "");
    assert_string_equal(options.record, "");
    assert_false(options.stats.summary);
    assert_int_equal(options.sched.seed, 1);
    assert_int_equal(options.log, OD_LOG_WARNING);
    assert_false(options.disable);
    assert_int_equal(options.debug.check, OD_CHECK_OFF);
    assert_true(options.debug.watchdog_s == 0);
    assert_true(options.debug.jitter_s == 0);
}

static void empty_variables_count_as_unset(void **state)
{
    const od_option_spec *row;

    for (size_t i = 0; (row = od_option_row(od_all_options, i)); i++)
        setenv(row->name, "", 1);
    defaults(state);
}

static void values_reach_their_members(void **state)
{
    (void)state;
    setenv("OMPDARTS_SCHED", "dmdas:bus=2,ahead=7", 1);
    setenv("OMPDARTS_EVICT", "luf", 1);
    setenv("OMPDARTS_DEVICES", "4:2", 1);
    setenv("OMPDARTS_BACKEND", "omptarget:link=12G", 1);
    setenv("OMPDARTS_MEM", "60M", 1);
    setenv("OMPDARTS_BUFFER", "30", 1);
    setenv("OMPDARTS_WRITE_BACK", "late", 1);
    setenv("OMPDARTS_RECOMPUTE", "auto", 1);
    setenv("OMPDARTS_COHERENCE", "depend", 1);
    setenv("OMPDARTS_DEVICE_CLAUSE", "hint", 1);
    setenv("OMPDARTS_PRIORITY", "none", 1);
    setenv("OMPDARTS_SLICE", "8", 1);
    setenv("OMPDARTS_STATS", "summary,/tmp/ompdarts-stats.json", 1);
    setenv("OMPDARTS_SEED", "18446744073709551615", 1);
    setenv("OMPDARTS_LOG", "debug", 1);
    setenv("OMPDARTS_DISABLE", "1", 1);
    setenv("OMPDARTS_DEBUG", "watchdog=60,check,jitter=0.002", 1);
    assert_int_equal(parse(), OD_OK);
    assert_string_equal(options.sched.sched.text, "dmdas:bus=2,ahead=7");
    assert_string_equal(options.sched.sched.policy.ops->name, "dmdas");
    assert_int_equal(options.sched.sched.policy.ahead, 7);
    assert_string_equal(options.sched.evict, "luf");
    assert_int_equal(options.devices.count, 4);
    assert_int_equal(options.devices.active, 2);
    assert_string_equal(options.memory.backend.type->name, "omptarget");
    assert_true(link_of(&options.memory.backend) == 12e9);
    assert_int_equal(options.memory.limit, 60000000);
    assert_int_equal(options.sched.buffer, 30);
    assert_int_equal(options.sched.write_back, OD_WRITE_BACK_LATE);
    assert_int_equal(options.sched.recompute, OD_RECOMPUTE_AUTO);
    assert_int_equal(options.coherence, OD_COHERENCE_DEPEND);
    assert_int_equal(options.device_clause, OD_DEVICE_CLAUSE_HINT);
    assert_int_equal(options.priority, OD_PRIORITY_NONE);
    assert_int_equal(options.slice.count, 8);
    assert_false(options.slice.early);
    assert_string_equal(options.stats.file, "/tmp/ompdarts-stats.json");
    assert_true(options.stats.summary);
    assert_true(options.sched.seed == UINT64_MAX);
    assert_int_equal(options.log, OD_LOG_DEBUG);
    assert_true(options.disable);
    assert_int_equal(options.debug.check, OD_CHECK_STOP);
    assert_true(options.debug.watchdog_s == 60);
    assert_true(options.debug.jitter_s == 0.002);
}

static void check_devices(const char *text, unsigned count, int active)
{
    accept("OMPDARTS_DEVICES", text);
    assert_int_equal(options.devices.count, count);
    assert_int_equal(options.devices.active, active);
}

static void devices_and_how_many_are_active(void **state)
{
    (void)state;
    check_devices("all", 0, OD_ACTIVE_AS_POLICY);
    check_devices("auto", 0, OD_ACTIVE_CHOSEN);
    check_devices("all:auto", 0, OD_ACTIVE_CHOSEN);
    check_devices(OD_MAX_DEVICES_TEXT, OD_MAX_DEVICES, OD_ACTIVE_AS_POLICY);
    check_devices("3:policy", 3, OD_ACTIVE_AS_POLICY);
    check_devices("3:all", 3, INT_MAX);
    assert_false(options.devices.listed);
    check_devices("0,2:1", 2, 1);
    assert_true(options.devices.listed);
    assert_int_equal(options.devices.number[1], 2);
    check_devices("1*3,0:" OD_MAX_DEVICES_TEXT, 4, OD_MAX_DEVICES);
    assert_int_equal(options.devices.number[2], 1);
    assert_int_equal(options.devices.number[3], 0);
}

static void back_ends_and_their_settings(void **state)
{
    (void)state;
    accept("OMPDARTS_BACKEND", "cuda");
    assert_string_equal(options.memory.backend.type->name, "cuda");
    accept("OMPDARTS_BACKEND", "cuda:pin=8G");
    accept("OMPDARTS_BACKEND", "cuda:pin=0");
    accept("OMPDARTS_BACKEND", "omptarget");
    assert_true(link_of(&options.memory.backend) == 0);
    accept("OMPDARTS_BACKEND", "auto");
    assert_null(options.memory.backend.type);
}

static void check_slice(const char *text, int count, bool early)
{
    accept("OMPDARTS_SLICE", text);
    assert_int_equal(options.slice.count, count);
    assert_int_equal(options.slice.early, early);
}

static void slices_and_whether_they_begin_early(void **state)
{
    (void)state;
    check_slice("off", OD_SLICE_OFF, false);
    check_slice("0", OD_SLICE_OFF, false);
    check_slice("auto", OD_SLICE_AUTO, false);
    check_slice("2", 2, false);
    check_slice("eager", OD_SLICE_AUTO, true);
    check_slice("eager:64", 64, true);
}

static void check_stats(const char *text, bool summary, const char *file)
{
    accept("OMPDARTS_STATS", text);
    assert_int_equal(options.stats.summary, summary);
    assert_string_equal(options.stats.file, file);
}

static void summary_and_statistics(void **state)
{
    (void)state;
    check_stats("summary", true, "");
    check_stats("/tmp/x", false, "/tmp/x");
    check_stats("summary,/tmp/x", true, "/tmp/x");
    check_stats("summary,0", true, "");
    check_stats("/tmp/summary", false, "/tmp/summary");
    check_stats("/tmp/a,b", false, "/tmp/a,b");
    check_stats("0", false, "");
}

static void check_debug(const char *text, od_check check, double watchdog_s, double jitter_s)
{
    accept("OMPDARTS_DEBUG", text);
    assert_int_equal(options.debug.check, check);
    assert_true(options.debug.watchdog_s == watchdog_s && options.debug.jitter_s == jitter_s);
}

static void parts_of_debug(void **state)
{
    (void)state;
    check_debug("check", OD_CHECK_STOP, 0, 0);
    check_debug("check=warn", OD_CHECK_WARN, 0, 0);
    check_debug("jitter=0.5", OD_CHECK_OFF, 0, 0.5);
    check_debug("watchdog=10,check=warn,watchdog=20", OD_CHECK_WARN, 20, 0);
    check_debug("watchdog=10,watchdog=0", OD_CHECK_OFF, 0, 0);
    check_debug("0", OD_CHECK_OFF, 0, 0);
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
    (void)state;
    accept("OMPDARTS_LOG", "0");
    assert_int_equal(options.log, OD_LOG_OFF);
}

static void unknown_names_are_refused_with_a_suggestion(void **state)
{
    (void)state;
    refuse("OMPDARTS_SCHED", "dart", "OMPDARTS_SCHED=dart: unknown name; allowed: ap, auto, darts, dmda, ");
    refuse("OMPDARTS_SCHED", "dart", "; did you mean darts?");
    refuse("OMPDARTS_SCHED", "stat", "; did you mean stationary?");
    refuse("OMPDARTS_SCHED", "heft-like", "allowed: ap, auto, darts, ");
    refuse("OMPDARTS_SCHED", "plugin", "allowed: ap, auto, darts, ");
    refuse("OMPDARTS_SCHED", "darts:anything", "'anything' is no option; allowed: alg9 alg11 alg12 opti ");
    refuse("OMPDARTS_SCHED", "plugin:/nowhere", "OMPDARTS_SCHED=plugin:/nowhere: ");
    refuse("OMPDARTS_EVICT", "lfu", "OMPDARTS_EVICT=lfu: unknown name; allowed: auto, belady, lru, luf; did you mean ");
    refuse("OMPDARTS_RECOMPUTE", "on", "off|auto|always");
}

static void old_words_of_policies_are_answered(void **state)
{
    (void)state;
    refuse("OMPDARTS_SCHED", "darts:first", "'first' is no option, did you mean 'alg9'?");
    refuse("OMPDARTS_SCHED", "darts:opti,3inputs", "'3inputs' is no option, did you mean 'alg11'?");
    refuse("OMPDARTS_SCHED", "darts:published", "'published' is no option, did you mean 'alg12'?");
    refuse("OMPDARTS_SCHED", "darts+luf", "'luf' is an eviction rule, which has an option of its own: --evict=luf");
    refuse("OMPDARTS_SCHED", "darts+lfu", "unknown name");
    refuse("OMPDARTS_SCHED", "mhfp:first", "'first' is no option; allowed: ");
    refuse("OMPDARTS_SCHED", "darts:steel=0", "'steel=0' is no option, did you mean 'steal'?");
}

static void bad_values_are_refused(void **state)
{
    static const char *const devices[] = {"0:1",    "-1",          "1.5",    "1063",  "4294967296", "0*0",
                                          "0*1063", "0*2*2",       "1,-1",   "*2",    "40000,1",    "0,",
                                          "0,,1",   "0*600,1*600", "2:",     "2:0",   "2:1063",     "2:-1",
                                          ":1",     "2:half",      "policy", "2:1:1", "auto:1"};
    static const char *const cpus[] = {"-1", "1:", ":1", "1:0", "0:1", "1:2:3", "2.5", "all", "1,1"};
    static const char *const backends[] = {"hip",
                                           "omptarget:link=400",
                                           "auto:pin=1G",
                                           "omptarget:pin=1G",
                                           "cuda:link=1G",
                                           "cuda:pin",
                                           "cuda:pin=off",
                                           "cuda:",
                                           "omptarget:link=fast",
                                           "omptarget:link=",
                                           "omptarget:slow",
                                           "omptarget:slow=0",
                                           "CUDA",
                                           "cuda:pin=1G,",
                                           "omptarget:slow=:2",
                                           "omptarget:slow=gemm:",
                                           "omptarget:slow=gemm:0",
                                           "omptarget:slow=gemm:8/",
                                           "omptarget:slow=a_name_of_more_than_31_characters:2",
                                           "omptarget:slow=1,slow=2,slow=3,slow=4,slow=5"};
    static const char *const debugs[] = {
        "1",           "warn",           "check=1",    "check,", "jitter", "jitter=", "watchdog=1e3",
        "watchdog=-1", "jitter=1000001", "check warn", ",",
        "watchdog=00000000000000000000000000000000000000000000000000000000000000001"};

    (void)state;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        refuse("OMPDARTS_DEVICES", devices[i], "a whole number from 1 to " OD_MAX_DEVICES_TEXT);
    for (size_t i = 0; i < sizeof cpus / sizeof *cpus; i++)
        refuse("OMPDARTS_CPU", cpus[i], "allowed: 0 (off), auto, N, or N:W");
    refuse("OMPDARTS_CPU", "99999", "99999 workers of 1 core: this process may use ");
    refuse("OMPDARTS_CPU", "1:99999", "1 worker of 99999 cores: this process may use ");
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++)
        refuse("OMPDARTS_BACKEND", backends[i],
               "allowed: auto, cuda, cuda:pin=SIZE,loads=N,keep,managed, mpi, mpi:silence=SECONDS, omptarget, "
               "omptarget:link=RATE,slow=TIMES,slow=KERNEL:TIMES; SIZE: 0 (none) ");
    for (size_t i = 0; i < sizeof debugs / sizeof *debugs; i++)
        refuse("OMPDARTS_DEBUG", debugs[i], "allowed: 0 (off), or some of check, check=warn, watchdog=SECONDS");
    refuse("OMPDARTS_BACKEND", "omptargte", "; did you mean omptarget?");
    refuse("OMPDARTS_DEBUG", "check,jiter=1", "OMPDARTS_DEBUG=check,jiter=1: 'jiter=1' is not a valid part; allowed: ");
    refuse("OMPDARTS_MEM", "0", "allowed: auto, or a size > 0");
    refuse("OMPDARTS_MEM", "12Q", "OMPDARTS_MEM=12Q:");
    refuse("OMPDARTS_MEM", "12M ", "OMPDARTS_MEM='12M ': not a valid value");
    refuse("OMPDARTS_MEM", "0.2", "a size > 0");
    refuse("OMPDARTS_BUFFER", "0", "from 1 to 1000000");
    refuse("OMPDARTS_BUFFER", "1000001", "from 1 to 1000000");
    refuse("OMPDARTS_COHERENCE", "str", "auto|strict|depend");
    refuse("OMPDARTS_COHERENCE", "auto|strict", "auto|strict|depend");
    refuse("OMPDARTS_COHERENCE", "0", "auto|strict|depend");
    refuse("OMPDARTS_DEVICE_CLAUSE", "PIN", "auto|pin|hint");
    refuse("OMPDARTS_PRIORITY", "some", "auto|clause|none");
    refuse("OMPDARTS_SLICE", "1", "a whole number from 2 to 64");
    refuse("OMPDARTS_SLICE", "65", "a whole number from 2 to 64");
    refuse("OMPDARTS_SLICE", "eager:", "a whole number from 2 to 64");
    refuse("OMPDARTS_SLICE", "eager:1", "a whole number from 2 to 64");
    refuse("OMPDARTS_SLICE", "eager:off", "a whole number from 2 to 64");
    refuse("OMPDARTS_SLICE", "eagerly", "a whole number from 2 to 64");
    refuse("OMPDARTS_SLICE", "on", "a whole number from 2 to 64");
    refuse("OMPDARTS_SPILL", "yes", "0|1");
    refuse("OMPDARTS_SEED", "-3", "from 0 to 18446744073709551615");
    refuse("OMPDARTS_SEED", "18446744073709551616", "from 0 to 18446744073709551615");
    refuse("OMPDARTS_LOG", "loud", "off|error|warning|info|debug");
    refuse("OMPDARTS_STATS", "summary,", "allowed: 0 (off), summary, FILE, or summary,FILE");
    refuse("OMPDARTS_STATS", "/tmp/x.json,summary", "allowed: 0 (off), summary, FILE, or summary,FILE");
}

static void long_and_strange_values_stay_one_line(void **state)
{
    char text[2000];

    (void)state;
    refuse("OMPDARTS_COHERENCE", "a\nb\x1b[31m", "OMPDARTS_COHERENCE=a?b?[31m:");
    refuse("OMPDARTS_DEBUG", "check\n", "OMPDARTS_DEBUG=check?: 'check?' is not a valid part");
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    refuse("OMPDARTS_SCHED", text, "xxx...");
    refuse("OMPDARTS_DEVICES", text, "xxx...: not a valid value");
    refuse("OMPDARTS_MEM", text, "xxx...: not a valid value; allowed: auto");
    refuse("OMPDARTS_STATS", text, "File name too long");
}

static void errors_fit_small_buffers(void **state)
{
    char small[24];

    (void)state;
    setenv("OMPDARTS_SCHED", "dart", 1);
    assert_int_equal(od_options_parse(&options, small, sizeof small), OD_EINVAL);
    assert_string_equal(small, "OMPDARTS_SCHED=dart: un");
}

static void unwritable_stats_files_are_refused(void **state)
{
    (void)state;
    refuse("OMPDARTS_STATS", "/nonexistent/x.json", "OMPDARTS_STATS=/nonexistent/x.json: No such file or directory");
    refuse("OMPDARTS_STATS", "/tmp", "Is a directory");
    refuse("OMPDARTS_RECORD", "/nonexistent/x", "OMPDARTS_RECORD=/nonexistent/x: No such file or directory");
    refuse("OMPDARTS_TRACE", "/nonexistent/x", "OMPDARTS_TRACE=/nonexistent/x: No such file or directory");
    refuse("OMPDARTS_STATS", "/dev/null/x.json", "Not a directory; allowed: 0 (off), summary, FILE");
    refuse("OMPDARTS_STATS", "summary,/nonexistent/x.json", "No such file or directory; allowed: 0 (off), summary");
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
    assert_string_equal(options.stats.file, expected);
    assert_int_equal(rmdir(folder), 0);
    accept("OMPDARTS_STATS", "/dev/null");
    assert_string_equal(options.stats.file, "/dev/null");
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

/* Of one variable that is no option. */
static void warned_about(const char *name, const char *expected)
{
    char text[1024], line[1024];

    setenv(name, "1", 1);
    capture_warnings(text, sizeof text);
    unsetenv(name);
    snprintf(line, sizeof line, "ompdarts: options: unknown variable %s is ignored%s; `ompdarts env` lists all\n",
             name, expected);
    assert_string_equal(text, line);
}

static void names_that_have_gone_are_answered(void **state)
{
    (void)state;
    warned_about("OMPDARTS_WORKING", ": set OMPDARTS_DEVICES=WHICH:ACTIVE");
    warned_about("OMPDARTS_LOOKAHEAD", ": set OMPDARTS_SCHED=POLICY:ahead=N");
    warned_about("OMPDARTS_SUMMARY", ": set OMPDARTS_STATS=summary");
    warned_about("OMPDARTS_PIN", ": set OMPDARTS_BACKEND=cuda:pin=SIZE");
    warned_about("OMPDARTS_LINK_BANDWIDTH", ": set OMPDARTS_BACKEND=omptarget:link=RATE");
    warned_about("OMPDARTS_CHECK", ": set OMPDARTS_DEBUG=check");
    warned_about("OMPDARTS_WATCHDOG", ": set OMPDARTS_DEBUG=watchdog=SECONDS");
    warned_about("OMPDARTS_JITTER", ": set OMPDARTS_DEBUG=jitter=SECONDS");
    warned_about("OMPDARTS_MEM_LIMIT", ": set OMPDARTS_MEM=SIZE");
    warned_about("OMPDARTS_TASK_BUFFER", ": set OMPDARTS_BUFFER=N");
    warned_about("OMPDARTS_POLICY", ": set OMPDARTS_SCHED=POLICY");
}

static void beginnings_of_names_are_suggested(void **state)
{
    (void)state;
    warned_about("OMPDARTS_MEMORY", " (did you mean OMPDARTS_MEM?)");
    warned_about("OMPDARTS_EVICTION", " (did you mean OMPDARTS_EVICT?)");
    warned_about("OMPDARTS_DEVICE", " (did you mean OMPDARTS_DEVICES?)");
    warned_about("OMPDARTS_PRIO", " (did you mean OMPDARTS_PRIORITY?)");
    warned_about("OMPDARTS_SCHEDULING", " (did you mean OMPDARTS_SCHED?)");
}

static void nearest_names(void **state)
{
    static const char *const known[] = {"run", "env", "info", NULL};

    (void)state;
    assert_string_equal(od_nearest_name("rum", known), "run");
    assert_string_equal(od_nearest_name("inffo", known), "info");
    assert_string_equal(od_nearest_name("rnu", known), "run");
    assert_string_equal(od_nearest_name("nifo", known), "info");
    assert_string_equal(od_nearest_name("ENV", known), "env");
    assert_string_equal(od_nearest_name("information", known), "info");
    assert_string_equal(od_nearest_name("--memory", (const char *const[]){"--seed", "--mem", NULL}), "--mem");
    assert_null(od_nearest_name("schedule", known));
    assert_null(od_nearest_name("foo", known));
    assert_null(od_nearest_name("", known));
}

/* A variable and an option of `ompdarts run` have the same name. */
static void check_names(const od_option_spec *row)
{
    const char *name = row->name + strlen("OMPDARTS_");

    assert_int_equal(strncmp(row->name, "OMPDARTS_", strlen("OMPDARTS_")), 0);
    assert_int_equal(strlen(name), strlen(row->long_option));
    for (size_t i = 0; name[i]; i++)
        assert_int_equal(row->long_option[i], name[i] == '_' ? '-' : tolower((unsigned char)name[i]));
}

static void the_tables_are_complete(void **state)
{
    const od_option_spec *row, *other;
    size_t count = 0;

    (void)state;
    for (; (row = od_option_row(od_all_options, count)); count++) {
        check_names(row);
        assert_true(*row->type && *row->default_value && *row->allowed && *row->help);
        assert_non_null(row->unit);
        for (size_t j = 0; j < count; j++)
            assert_string_not_equal(row->name, od_option_row(od_all_options, j)->name);
        for (size_t j = 0; (other = od_option_row(od_all_options, j)); j++)
            for (const od_option_hint *hint = other->hints; hint && hint->name; hint++)
                assert_string_not_equal(row->name + strlen("OMPDARTS_"), hint->name);
    }
    assert_true(count > 10);
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
    assert_int_equal(parse(), OD_EINVAL); /* it has been looked for */
    secure = 1;
    assert_int_equal(parse(), OD_OK);
    assert_null(od_environment_trusted("OMPDARTS_SCHED"));
    secure = 0;
    assert_string_equal(options.sched.sched.text, "auto");
    assert_string_equal(options.stats.file, "");
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
        cmocka_unit_test_setup(devices_and_how_many_are_active, setup),
        cmocka_unit_test_setup(back_ends_and_their_settings, setup),
        cmocka_unit_test_setup(slices_and_whether_they_begin_early, setup),
        cmocka_unit_test_setup(summary_and_statistics, setup),
        cmocka_unit_test_setup(parts_of_debug, setup),
        cmocka_unit_test_setup(choices_follow_their_enums, setup),
        cmocka_unit_test_setup(zero_means_off, setup),
        cmocka_unit_test_setup(unknown_names_are_refused_with_a_suggestion, setup),
        cmocka_unit_test_setup(old_words_of_policies_are_answered, setup),
        cmocka_unit_test_setup(bad_values_are_refused, setup),
        cmocka_unit_test_setup(long_and_strange_values_stay_one_line, setup),
        cmocka_unit_test_setup(errors_fit_small_buffers, setup),
        cmocka_unit_test_setup(unwritable_stats_files_are_refused, setup),
        cmocka_unit_test_setup(stats_files_are_absolute_and_untouched, setup),
        cmocka_unit_test_setup(unknown_variables_are_warned_about, setup),
        cmocka_unit_test_setup(names_that_have_gone_are_answered, setup),
        cmocka_unit_test_setup(beginnings_of_names_are_suggested, setup),
        cmocka_unit_test_setup(other_rights_than_the_callers, setup),
        cmocka_unit_test(nearest_names),
        cmocka_unit_test(the_tables_are_complete),
        cmocka_unit_test(the_environment_is_readable),
    };
    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
