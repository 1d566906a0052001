/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Messages: form, level, the cap per call site, threads; and the phrases of status codes.
 */
#include "util/log.h"
#include "util/status.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char text[1 << 20];

/* What `print` writes to standard error, in `text`. */
static void capture(void (*print)(void))
{
    FILE *file = tmpfile();
    int saved = dup(STDERR_FILENO);

    assert_non_null(file);
    fflush(stderr);
    dup2(fileno(file), STDERR_FILENO);
    print();
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
}

static unsigned count_of(const char *part)
{
    unsigned count = 0;

    for (const char *at = text; (at = strstr(at, part)); at++)
        count++;
    return count;
}

static void print_one_of_each(void)
{
    od_log(OD_LOG_ERROR, "pool", "error %d", 1);
    od_log(OD_LOG_WARNING, "pool", "warning %d", 2);
    od_log(OD_LOG_INFO, "pool", "info %d", 3);
    od_log(OD_LOG_DEBUG, "pool", "debug %d", 4);
}

static void lines_have_a_prefix_and_a_level(void **state)
{
    (void)state;
    capture(print_one_of_each);
    assert_string_equal(text, "ompdarts: pool: error 1\nompdarts: pool: warning 2\n");
    assert_true(od_log_enabled(OD_LOG_WARNING));
    assert_false(od_log_enabled(OD_LOG_INFO));
    od_log_set_level(OD_LOG_DEBUG);
    capture(print_one_of_each);
    assert_string_equal(text, "ompdarts: pool: error 1\nompdarts: pool: warning 2\nompdarts: pool: info 3\n"
                              "ompdarts: pool: debug 4\n");
    od_log_set_level(OD_LOG_OFF);
    capture(print_one_of_each);
    assert_string_equal(text, "");
    assert_false(od_log_enabled(OD_LOG_OFF));
    od_log_set_level(OD_LOG_WARNING);
}

static void print_fault_in_a_loop(void)
{
    for (int i = 0; i < 1000; i++)
        od_log(OD_LOG_WARNING, "engine", "fault %d", i);
    od_log(OD_LOG_WARNING, "engine", "another call site");
}

static void a_call_site_is_capped(void **state)
{
    (void)state;
    capture(print_fault_in_a_loop);
    assert_int_equal(count_of("fault "), 20);
    assert_int_equal(count_of("fault 19 (more messages of this kind are not shown)\n"), 1);
    assert_int_equal(count_of("another call site\n"), 1);
}

static void print_debug_lines(void)
{
    od_log_set_level(OD_LOG_DEBUG);
    for (int i = 0; i < 100; i++)
        od_log(OD_LOG_DEBUG, "engine", "step %d", i);
    od_log_set_level(OD_LOG_WARNING);
}

static void debug_lines_are_not_capped(void **state)
{
    (void)state;
    capture(print_debug_lines);
    assert_int_equal(count_of("step "), 100);
}

static void print_long_line(void)
{
    static char word[5000];

    memset(word, 'x', sizeof word - 1);
    od_log(OD_LOG_ERROR, "engine", "%s", word);
}

static void long_lines_are_cut(void **state)
{
    (void)state;
    capture(print_long_line);
    assert_true(strlen(text) < 1200);
    assert_int_equal(count_of("\n"), 1);
    assert_int_equal(text[strlen(text) - 1], '\n');
}

static void *print_from_a_thread(void *argument)
{
    od_log_set_level(OD_LOG_DEBUG);
    for (int i = 0; i < 200; i++)
        od_log(OD_LOG_DEBUG, "thread", "%s", (const char *)argument);
    return NULL;
}

static void print_from_threads(void)
{
    static char words[4][64];
    pthread_t threads[4];

    for (int t = 0; t < 4; t++) {
        memset(words[t], 'a' + t, sizeof words[t] - 1);
        assert_int_equal(pthread_create(&threads[t], NULL, print_from_a_thread, words[t]), 0);
    }
    for (int t = 0; t < 4; t++)
        pthread_join(threads[t], NULL);
    od_log_set_level(OD_LOG_WARNING);
}

static void lines_of_threads_do_not_mix(void **state)
{
    unsigned lines = 0;

    (void)state;
    capture(print_from_threads);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), lines++) {
        const char *word = line + strlen("ompdarts: thread: ");
        assert_int_equal(strlen(line), strlen("ompdarts: thread: ") + 63);
        assert_int_equal(strspn(word, (char[]){*word, '\0'}), 63);
    }
    assert_int_equal(lines, 800);
}

static void each_status_has_a_phrase(void **state)
{
    (void)state;
    assert_string_equal(od_status_text(OD_OK), "success");
    for (od_status s = OD_OK; s <= OD_EIO; s++)
        assert_string_not_equal(od_status_text(s), "unknown status");
    assert_string_equal(od_status_text((od_status)99), "unknown status");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_have_a_prefix_and_a_level), cmocka_unit_test(a_call_site_is_capped),
        cmocka_unit_test(debug_lines_are_not_capped),      cmocka_unit_test(long_lines_are_cut),
        cmocka_unit_test(lines_of_threads_do_not_mix),     cmocka_unit_test(each_status_has_a_phrase),
    };
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
