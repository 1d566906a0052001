/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Patterns of file names, and which names are one file. */
#include "util/file/name.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static bool in_a_job;

static const char *variable(const char *name)
{
    if (in_a_job && strcmp(name, "PMI_RANK") == 0)
        return "12";
    return strcmp(name, "RANK") == 0 ? "7" : NULL;
}

static od_status name_of(const char *pattern, char name[256])
{
    return od_file_name(name, 256, pattern, variable);
}

static void patterns_are_filled_in(void **state)
{
    char name[256], expected[256], host[128] = "";
    (void)state;
    gethostname(host, sizeof host - 1);
    assert_int_equal(name_of("/run-%p-%h.json", name), OD_OK);
    snprintf(expected, sizeof expected, "/run-%ld-%s.json", (long)getpid(), host);
    assert_string_equal(name, expected);
    assert_int_equal(name_of("/%q{RANK}%q{RANK}.json", name), OD_OK);
    assert_string_equal(name, "/77.json");
    assert_int_equal(name_of("/%r.json", name), OD_OK);
    assert_string_equal(name, "/0.json");
    in_a_job = true;
    assert_int_equal(name_of("/%r.json", name), OD_OK);
    assert_string_equal(name, "/12.json");
    assert_int_equal(name_of("/100%%.json", name), OD_OK);
    assert_string_equal(name, "/100%.json");
}

static void names_are_absolute(void **state)
{
    char name[256];
    (void)state;
    assert_int_equal(chdir("/usr"), 0);
    assert_int_equal(name_of("s.json", name), OD_OK);
    assert_string_equal(name, "/usr/s.json");
}

static void what_cannot_be_filled_in_is_refused(void **state)
{
    static const char *const wrong[] = {"/%x", "/%", "/%q", "/%q{", "/%q{}", "/%q{RANK", "/%qRANK", "/%q{UNSET}"};
    char name[256];
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(name_of(wrong[i], name), OD_EINVAL);
    assert_int_equal(od_file_name(name, 4, "/abcd", variable), OD_EIO);
    assert_int_equal(errno, ENAMETOOLONG);
    assert_int_equal(od_file_name(name, 6, "/abcd", variable), OD_OK);
}

static void one_file_has_many_names(void **state)
{
    char folder[] = "/tmp/test_name.XXXXXX", a[64], b[64], link_path[64], other[64];
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(a, sizeof a, "%s/a", folder);
    snprintf(b, sizeof b, "%s/../%s/a", folder, folder + sizeof "/tmp");
    snprintf(link_path, sizeof link_path, "%s/link", folder);
    snprintf(other, sizeof other, "%s/b", folder);
    assert_true(od_file_is_same(a, b)); /* not there yet */
    assert_false(od_file_is_same(a, other));
    FILE *file = fopen(a, "w");
    assert_non_null(file);
    fclose(file);
    assert_int_equal(symlink(a, link_path), 0);
    assert_true(od_file_is_same(a, b));
    assert_true(od_file_is_same(a, link_path));
    assert_false(od_file_is_same(a, other));
    assert_false(od_file_is_same("/dev/null", "/dev/null"));
    unlink(a);
    unlink(link_path);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_are_filled_in),
        cmocka_unit_test(names_are_absolute),
        cmocka_unit_test(what_cannot_be_filled_in_is_refused),
        cmocka_unit_test(one_file_has_many_names),
    };
    return cmocka_run_group_tests_name("name", tests, NULL, NULL);
}
