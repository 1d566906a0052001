/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Logs and clusters as text: what is read, the rules for what is not given, and what is refused with line and
 * reason. */
#include "world.h"

#include "batch/log/read.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static od_batch_node nodes[] = {{20, 128, 0.5}, {20, 256, 0.5}};
static const od_batch_cluster cluster = {.nodes = nodes, .count = 2};
static char error[256];
static od_batch_rules rules;

/* Reads and completes. */
static od_status take(const char *text, od_batch_log *log)
{
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    assert_non_null(file);
    *log = (od_batch_log){0};
    *error = '\0';
    od_status status = od_batch_log_read(file, log, error, sizeof error);
    fclose(file);
    return status ? status : od_batch_log_complete(log, &cluster, &rules, error, sizeof error);
}

static void refused(const char *text, const char *message)
{
    od_batch_log log;
    assert_int_equal(take(text, &log), OD_EINVAL);
    assert_string_equal(error, message);
    od_batch_log_free(&log);
}

#define HEADER "job,submit_s,walltime_s,duration_s,cores,user,file,size_gb\n"

static void test_csv(void **unused)
{
    (void)unused;
    od_batch_log log;
    assert_int_equal(take("# a comment\n" HEADER "7, 100 ,200,50,2,ann,F1,12.8\r\n\n5,0,300,60,1,bob,F2,6.4", &log),
                     OD_OK);
    assert_int_equal(log.count, 2); /* by submission */
    assert_int_equal(log.jobs[0].id, 5);
    assert_int_equal(log.jobs[1].line, 3);
    assert_true(log.jobs[1].number == 1 && log.jobs[1].cores == 2 && fabs(log.jobs[1].size - 12.8) < 1e-9);
    assert_true(fabs(log.jobs[1].walltime - 200) < 1e-9 && fabs(log.jobs[1].duration - 50) < 1e-9);
    assert_int_not_equal(log.jobs[0].file, log.jobs[1].file);
    assert_int_not_equal(log.jobs[0].session, log.jobs[1].session);
    od_batch_log_free(&log);
}

/* The first 800 s of a user's jobs with so many cores share a file, the first 300 s are a session. */
static void test_rules(void **unused)
{
    (void)unused;
    od_batch_log log;
    assert_int_equal(
        take("submit_s,duration_s,cores,user\n0,10,1,a\n0,10,2,a\n300,10,1,a\n301,10,1,a\n800,10,1,a\n801,10,1,a\n"
             "801,10,1,b\n",
             &log),
        OD_OK);
    static const uint32_t files[] = {0, 1, 0, 0, 0, 2, 3}, sessions[] = {0, 0, 0, 1, 2, 2, 3};
    for (uint32_t i = 0; i < 7; i++)
        for (uint32_t j = 0; j < 7; j++) {
            assert_int_equal(log.jobs[i].file == log.jobs[j].file, files[i] == files[j]);
            assert_int_equal(log.jobs[i].session == log.jobs[j].session, sessions[i] == sessions[j]);
        }
    assert_true(fabs(log.jobs[1].size - 12.8) < 1e-9); /* two of 20 cores, two 20ths of 128 GB */
    od_batch_log_free(&log);
}

/* 1.5 times the longest with its load, rounded up; who was killed while loading tells its walltime. */
static void test_walltimes(void **unused)
{
    (void)unused;
    od_batch_log log;
    assert_int_equal(take("submit_s,duration_s,cores,session\n0,500,10,s\n1,600,10,s\n2,50,1,s\n3,-20,10,s\n", &log),
                     OD_OK);
    assert_true(fabs(log.jobs[0].walltime - 1800) < 1e-9); /* 1.5 x (600 + 128) = 1092 */
    assert_true(fabs(log.jobs[1].walltime - 1800) < 1e-9);
    assert_true(fabs(log.jobs[2].walltime - 300) < 1e-9);
    assert_true(fabs(log.jobs[3].walltime - 108) < 1e-9);
    assert_true(log.jobs[3].duration >= log.jobs[3].walltime);
    od_batch_log_free(&log);
}

static void test_swf(void **unused)
{
    (void)unused;
    od_batch_log log;
    assert_int_equal(take("; Version: 2.2\n"
                          " 1 0 5 100 4 -1 -1 4 3600 -1 1 17 3 -1 -1 -1 -1 -1\n"
                          " 2 9 5 -1 4 -1 -1 4 3600 -1 5 17 3 -1 -1 -1 -1 -1\n"
                          " 3 8 5 60 4 -1 -1 -1 -1 -1 2 17 3 -1 -1 -1 -1 -1\n" /* a part of the next */
                          " 3 8 5 100 4 -1 -1 -1 -1 -1 1 17 3 -1 -1 -1 -1 -1\n", &log), OD_OK);
    assert_int_equal(log.count, 2);
    assert_int_equal(log.left_out, 2);
    assert_int_equal(log.jobs[1].id, 3);
    assert_int_equal(log.jobs[1].cores, 4);
    assert_int_equal(log.jobs[0].user, 17);
    assert_true(fabs(log.jobs[0].walltime - 3600) < 1e-9 && fabs(log.jobs[0].duration - 100) < 1e-9);
    assert_int_equal(log.jobs[0].file, log.jobs[1].file);
    od_batch_log_free(&log);
}

static void test_refused(void **unused)
{
    (void)unused;
    refused(HEADER, "line 1: no jobs before the end");
    refused("# only this\n", "line 1: no jobs");
    refused("submit_s,cores\n1,2\n", "line 1: no column 'duration_s' among the names of columns");
    refused(HEADER "1,0,100,10,1,a,F\n", "line 2: 7 fields and not 8 as in the names of columns");
    refused(HEADER "1,0,100,10,21,a,F,1\n", "line 2: no node has 21 cores and room for a file of 1 GB");
    refused(HEADER "1,0,100,10,1,a,F,257\n", "line 2: no node has 1 cores and room for a file of 257 GB");
    refused(HEADER "1,-5,100,10,1,a,F,1\n", "line 2: submit_s is '-5', not a number from 0 to 1e+10");
    refused(HEADER "1,0,0,10,1,a,F,1\n", "line 2: walltime_s is '0', not a number from 0.001 to 1e+10");
    refused(HEADER "1,0,100,nan,1,a,F,1\n", "line 2: duration_s is 'nan', not a number from -1e+10 to 1e+10");
    refused(HEADER "1,0,100,,1,a,F,1\n", "line 2: nothing in column 'duration_s'");
    refused(HEADER "1,0,100,10,1.5,a,F,1\n", "line 2: 1.5 cores, not a whole number");
    refused(HEADER "1,0,100,10,0,a,F,1\n", "line 2: cores is '0', not a number from 1 to 1e+06");
    refused(HEADER "1,0,100,10,1,a,F,1\n2,0,100,10,1,a,F,2\n", "line 3: its file has 2 GB here and 1 GB in line 2");
    refused(HEADER "1,0,,-5,1,a,F,1\n",
            "line 2: the job ends as it begins or before: a duration of -5 s after a load of 2 s");
    refused("1 0 5 100 4 -1 -1 4 3600 -1 1 17\n", "line 1: 12 fields and not 18 as in the Standard Workload Format");
    refused("1 0 5 100 4 -1 -1 x 3600 -1 1 17 3 -1 -1 -1 -1 -1\n",
            "line 1: field 8 is 'x', not a number from -1e+15 to 1e+15");
    refused("1 0 5 100 4 -1 -1 9999 3600 -1 1 17 3 -1 -1 -1 -1 -1\n",
            "line 1: no node has 9999 cores and room for a file of 63993.6 GB");
    refused("1 -7 5 100 4 -1 -1 4 3600 -1 1 17 3 -1 -1 -1 -1 -1\n",
            "line 1: submitted at -7 s for 100 s: not times of a log");
}

/* A byte order mark, and quotes around fields. */
static void test_spreadsheet(void **unused)
{
    (void)unused;
    od_batch_log log;
    assert_int_equal(take("\xef\xbb\xbf\"submit_s\",\"duration_s\",cores,\"user\"\r\n3,\"40\",2,\"ann\"\r\n", &log),
                     OD_OK);
    assert_int_equal(log.jobs[0].cores, 2);
    assert_true(fabs(log.jobs[0].duration - 40) < 1e-9);
    assert_string_equal(log.user_names.text[0], "ann");
    od_batch_log_free(&log);
}

/* 50 cores are two nodes with 20 and one with 10; the jobs on the former share a file. */
static void test_split(void **unused)
{
    (void)unused;
    od_batch_log log;
    rules.split = true;
    assert_int_equal(take("submit_s,duration_s,cores,user\n7,10,1,a\n3,10,50,a\n", &log), OD_OK);
    rules.split = false;
    static const uint32_t cores[] = {10, 20, 20, 1};
    assert_int_equal(log.count, 4);
    for (uint32_t i = 0; i < log.count; i++)
        assert_int_equal(log.jobs[i].cores, cores[i]);
    assert_int_equal(log.jobs[1].file, log.jobs[2].file);
    assert_int_not_equal(log.jobs[0].file, log.jobs[1].file);
    assert_int_equal(log.jobs[2].line, 3);
    od_batch_log_free(&log);
}

/* A file has one size, of which jobs without it know from the others, and which is that of its largest job if none has
 * one. Jobs whose sizes differ have different files. */
static void test_sizes(void **unused)
{
    (void)unused;
    od_batch_log log;
    rules.split = true;
    assert_int_equal(take("submit_s,duration_s,cores,file\n0,100,50,f1\n1,100,2,f1\n", &log), OD_OK);
    rules.split = false;
    assert_int_equal(log.count, 4);
    for (uint32_t i = 0; i < log.count; i++)
        assert_true(log.jobs[i].file == 0 && fabs(log.jobs[i].size - 128) < 1e-9);
    od_batch_log_free(&log);
    assert_int_equal(take("submit_s,duration_s,cores,file,size_gb\n0,9,10,f,\n1,9,20,f,\n2,9,1,f,7\n3,9,5,f,\n", &log),
                     OD_OK);
    for (uint32_t i = 0; i < log.count; i++)
        assert_true(fabs(log.jobs[i].size - 7) < 1e-9);
    od_batch_log_free(&log);
    assert_int_equal(take("submit_s,duration_s,cores,size_gb\n0,100,1,5\n10,100,1,10\n20,100,1,5\n", &log), OD_OK);
    assert_int_equal(log.jobs[0].file, log.jobs[2].file);
    assert_int_not_equal(log.jobs[0].file, log.jobs[1].file);
    od_batch_log_free(&log);
}

/* With a walltime, a duration of 0 is just that, and one below it never ends by itself. */
static void test_no_duration(void **unused)
{
    (void)unused;
    od_batch_log log;
    assert_int_equal(take(HEADER "1,0,100,0,1,a,F,1\n2,1,100,-5,1,a,F,1\n", &log), OD_OK);
    assert_true(fabs(log.jobs[0].duration) < 1e-9 && fabs(log.jobs[0].walltime - 100) < 1e-9);
    assert_true(isinf(log.jobs[1].duration) && fabs(log.jobs[1].walltime - 100) < 1e-9);
    od_batch_log_free(&log);
    refused(HEADER "1,0,100,0,1,a,F,0\n",
            "line 2: the job ends as it begins or before: a duration of 0 s after a load of 0 s");
}

/* Whoever asks for all cores of a node gets a file that fits, however memory divides by cores. */
static void test_whole_node(void **unused)
{
    (void)unused;
    for (uint32_t cores = 1; cores <= 128; cores++) {
        od_batch_node node = {cores, 187.23456 + cores, 0.1};
        od_batch_job job = {.duration = 10, .walltime = NAN, .size = NAN, .cores = cores, .file = OD_BATCH_NONE};
        od_batch_log log = {.jobs = &job, .count = 1};
        assert_int_equal(od_batch_log_complete(&log, &(od_batch_cluster){.nodes = &node, .count = 1}, &rules, error,
                                               sizeof error),
                         OD_OK);
        assert_true(job.size <= node.memory && job.size >= node.memory);
    }
}

static void test_clusters(void **unused)
{
    (void)unused;
    od_batch_cluster c = {0};
    static const char *const wrong[][2] = {
        {"3:4:5", "line 1: not N:CORES:MEM:BANDWIDTH, such as 450:20:128:0.1 (GB and GB/s)"},
        {"0:4:5:1", "line 1: the number of nodes is '0', not a number above 0 and up to 100000"},
        {"1:4.5:5:1", "line 1: the number of cores is '4.5', not a whole number"},
        {"1:4:-5:1", "line 1: the memory is '-5', not a number above 0 and up to 1e+09"},
        {"1:4:5:x", "line 1: the bandwidth is 'x', not a number above 0 and up to 1e+09"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(od_batch_cluster_read(wrong[i][0], &c, error, sizeof error), OD_EINVAL);
        assert_string_equal(error, wrong[i][1]);
    }
    assert_int_equal(od_batch_cluster_read("2:4:5:0.5", &c, error, sizeof error), OD_OK);
    assert_int_equal(c.count, 2);
    assert_true(c.nodes[1].cores == 4 && fabs(c.nodes[1].memory - 5) < 1e-9 && fabs(c.nodes[1].bandwidth - 0.5) < 1e-9);
    od_batch_cluster_free(&c);
    assert_int_equal(od_batch_cluster_read(BATCH_DATA "/rackham.nodes", &c, error, sizeof error), OD_OK);
    assert_int_equal(c.count, 486);
    assert_true(fabs(c.nodes[482].memory - 1024) < 1e-9);
    od_batch_cluster_free(&c);
    assert_int_equal(od_batch_cluster_read(BATCH_DATA "/nothing", &c, error, sizeof error), OD_EIO);
}

int main(void)
{
    rules = od_batch_usual_rules();
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_csv),       cmocka_unit_test(test_rules),
                                       cmocka_unit_test(test_walltimes), cmocka_unit_test(test_swf),
                                       cmocka_unit_test(test_refused),   cmocka_unit_test(test_clusters),
                                       cmocka_unit_test(test_spreadsheet), cmocka_unit_test(test_split),
                                       cmocka_unit_test(test_no_duration), cmocka_unit_test(test_whole_node),
                                       cmocka_unit_test(test_sizes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
