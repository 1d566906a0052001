/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The history file: values survive, damaged files do not matter, processes that save at once lose nothing. */
#define _GNU_SOURCE
#include "tests/unit/random.h"

#include "util/file/history.h"
#include "util/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/test_history.XXXXXX";
static char path[128];

static void put(od_history *h, const char *name, uint64_t size, double mean)
{
    od_history_row row = {
        .size = size, .count = 7, .mean = mean, .deviation = mean / 10, .name = (char *)(uintptr_t)name};
    assert_int_equal(od_history_put(h, &row), OD_OK);
}

static void expect(const od_history *h, const char *name, uint64_t size, double mean)
{
    const od_history_row *row = od_history_find(h, name, size);
    assert_non_null(row);
    assert_true(row->mean == mean && row->deviation == mean / 10 && row->count == 7);
}

static void write_text(const char *text, size_t length)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    fclose(file);
}

static void values_survive(void **state)
{
    (void)state;
    unlink(path);
    od_history *h = od_history_open(path);
    assert_null(od_history_find(h, "kernel", 4096));
    put(h, "kernel", 4096, 0.25);
    put(h, "a kernel with a long name, and spaces", 0, 2);
    put(h, "kernel", 4096, 0.5);
    expect(h, "kernel", 4096, 0.5);
    assert_int_equal(od_history_save(h), OD_OK);
    od_history_close(h);

    h = od_history_open(path);
    expect(h, "kernel", 4096, 0.5);
    expect(h, "a kernel with a long name, and spaces", 0, 2);
    assert_null(od_history_find(h, "kernel", 4097));
    od_history_close(h);
}

static void count_rows(const od_history_row *row, void *arg)
{
    assert_non_null(row->name);
    ++*(unsigned *)arg;
}

/* Also what another process has saved meanwhile. */
static void rows_are_visited_and_removed(void **state)
{
    unsigned rows = 0;
    size_t removed;
    (void)state;
    unlink(path);
    od_history *h = od_history_open(path), *other = od_history_open(path);
    put(h, "kernel one", 1, 1);
    put(h, "kernel two", 2, 2);
    put(h, "link", 0, 3);
    assert_int_equal(od_history_save(h), OD_OK);
    put(other, "kernel three", 3, 3);
    assert_int_equal(od_history_save(other), OD_OK);
    od_history_visit(h, count_rows, &rows);
    assert_int_equal(rows, 3);
    assert_int_equal(od_history_remove(h, "kernel", &removed), OD_OK);
    assert_int_equal(removed, 3);
    od_history_close(h);
    od_history_close(other);

    h = od_history_open(path);
    expect(h, "link", 0, 3);
    assert_null(od_history_find(h, "kernel three", 3));
    assert_int_equal(od_history_remove(h, "", &removed), OD_OK);
    assert_int_equal(removed, 1);
    od_history_close(h);
}

static void bad_names_are_refused(void **state)
{
    (void)state;
    od_history *h = od_history_open(path);
    od_history_row row = {.name = (char *)(uintptr_t)"two\nlines"};
    assert_int_equal(od_history_put(h, &row), OD_EINVAL);
    row.name = (char *)(uintptr_t)"";
    assert_int_equal(od_history_put(h, &row), OD_EINVAL);
    od_history_close(h);
}

/* Every cut of a good file, and random bytes in it: read without harm, and begun anew by the next save. */
static void damaged_files_are_begun_anew(void **state)
{
    (void)state;
    unlink(path);
    od_history *h = od_history_open(path);
    put(h, "kernel", 1, 0.5);
    put(h, "another", 2, 0.25);
    assert_int_equal(od_history_save(h), OD_OK);
    od_history_close(h);
    char good[1024];
    FILE *file = fopen(path, "r");
    size_t length = fread(good, 1, sizeof good, file);
    fclose(file);
    od_log_set_level(OD_LOG_OFF);
    for (uint64_t i = 0; i < length + 500; i++) {
        char bad[1024];
        uint64_t random = i;
        memcpy(bad, good, length);
        for (uint64_t j = 0; i >= length && j < 3; j++)
            bad[random_below(&random, length)] = (char)random_next(&random);
        write_text(bad, i < length ? i : length);
        h = od_history_open(path);
        put(h, "new", 3, 1);
        assert_int_equal(od_history_save(h), OD_OK);
        od_history_close(h);
        h = od_history_open(path);
        expect(h, "new", 3, 1);
        if (i < length - 1)
            assert_null(od_history_find(h, "kernel", 1));
        od_history_close(h);
    }
    od_log_set_level(OD_LOG_WARNING);
}

static void a_folder_that_cannot_be_written(void **state)
{
    (void)state;
    od_history *h = od_history_open("/proc/no/such/folder");
    put(h, "kernel", 1, 0.5);
    od_log_set_level(OD_LOG_OFF);
    assert_int_equal(od_history_save(h), OD_EIO);
    od_log_set_level(OD_LOG_WARNING);
    od_history_close(h);
}

static void save_many(int process)
{
    for (int i = 0; i < 20; i++) {
        od_history *h = od_history_open(path);
        put(h, "kernel", (uint64_t)(process * 100 + i), 1);
        if (od_history_save(h))
            _exit(1);
        od_history_close(h);
    }
    _exit(0);
}

static void processes_that_save_at_once(void **state)
{
    (void)state;
    enum { PROCESSES = 4 };
    unlink(path);
    for (int p = 0; p < PROCESSES; p++)
        if (fork() == 0)
            save_many(p);
    for (int p = 0; p < PROCESSES; p++) {
        int status;
        wait(&status);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    od_history *h = od_history_open(path);
    for (int p = 0; p < PROCESSES; p++)
        for (int i = 0; i < 20; i++)
            expect(h, "kernel", (uint64_t)(p * 100 + i), 1);
    od_history_close(h);
}

static void the_path_follows_the_environment(void **state)
{
    (void)state;
    char cache[96], found[256];
    struct stat info;
    snprintf(cache, sizeof cache, "%s/a/b", folder);
    setenv("XDG_CACHE_HOME", cache, 1);
    assert_int_equal(od_history_path(found, sizeof found), OD_OK);
    assert_int_equal(strncmp(found, cache, strlen(cache)), 0);
    *strrchr(found, '/') = '\0';
    assert_int_equal(stat(found, &info), 0);
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", folder, 1);
    assert_int_equal(od_history_path(found, sizeof found), OD_OK);
    assert_non_null(strstr(found, "/.cache/ompdarts/"));
    unsetenv("HOME");
    assert_int_equal(od_history_path(found, sizeof found), OD_EIO);
    setenv("XDG_CACHE_HOME", "/proc/none", 1);
    assert_int_equal(od_history_path(found, sizeof found), OD_EIO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_survive),
        cmocka_unit_test(rows_are_visited_and_removed),
        cmocka_unit_test(bad_names_are_refused),
        cmocka_unit_test(damaged_files_are_begun_anew),
        cmocka_unit_test(a_folder_that_cannot_be_written),
        cmocka_unit_test(processes_that_save_at_once),
        cmocka_unit_test(the_path_follows_the_environment),
    };
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/file", folder);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char command[160];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) || failed;
}
