/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The line that tells how far a run is. */
#include "sched/report/progress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static od_progress before, now;

static int set_up(void **state)
{
    (void)state;
    before = (od_progress){.ns = 1000000000, .engine = {.tasks = 1000, .submitted = 5000}, .ndevices = 2};
    now = (od_progress){.ns = 3000000000,
                        .engine = {.tasks = 4000, .submitted = 5000, .waiting = 900, .unfinished = 100},
                        .ndevices = 2,
                        .device = {{.occupied_ns = 1000000000,
                                    .used_bytes = 400000000,
                                    .limit_bytes = 500000000,
                                    .h2d_bytes = 12000000000,
                                    .d2h_bytes = 300000000,
                                    .evictions = 340},
                                   {.occupied_ns = 1900000000,
                                    .used_bytes = 5,
                                    .evictions = 5,
                                    .d2d_bytes = 40000000}}};
    return 0;
}

static void emits_everything(void **state)
{
    char line[201];
    (void)state;
    size_t length = od_progress_line(line, 200, &now, &before);
    assert_string_equal(line, "4.0k done, 100 ready, 900 waiting | 1.5k tasks/s | 0 s left | busy 50% 95% | "
                              "memory 400MB 5B of 500MB | moved 12.3GB, 345 evictions");
    assert_int_equal(length, strlen(line));
}

/* Every width: whole parts, the first ones. */
static void fits(void **state)
{
    char all[201], line[201];
    (void)state;
    od_progress_line(all, 200, &now, &before);
    for (size_t width = 0; width <= 200; width++) {
        memset(line, '!', sizeof line);
        size_t length = od_progress_line(line, width, &now, &before);
        assert_true(length <= width && line[length] == '\0' && line[width + 1 < 200 ? width + 1 : 200] == '!');
    }
    assert_int_equal(od_progress_line(line, 40, &now, &before), strlen("4.0k done, 100 ready, 900 waiting"));
}

static void averages_the_devices_of_a_rank(void **state)
{
    char line[201];
    (void)state;
    before.ndevices = now.ndevices = 3;
    now.device[0].rank = now.device[2].rank = 2;
    now.device[1].rank = 1;
    now.device[2].occupied_ns = 500000000;
    od_progress_line(line, 200, &now, &before);
    assert_non_null(strstr(line, "| busy by rank 95% 38% | memory by rank 5B 200MB of 500MB |"));
}

static void shows_many_devices_as_ranges(void **state)
{
    char line[201];
    (void)state;
    before.ndevices = now.ndevices = 5;
    now.device[4].occupied_ns = 200000000;
    now.device[4].used_bytes = 499999999;
    od_progress_line(line, 200, &now, &before);
    assert_non_null(strstr(line, "busy 0 to 95% | memory 0 to 500MB of 500MB"));
}

static void guesses_only_where_the_graph_is_known(void **state)
{
    char line[201];
    (void)state;
    now.engine.waiting = 1500 * 3725;
    assert_true(od_progress_seconds_left(&now, &before) > 3725);
    od_progress_line(line, 200, &now, &before);
    assert_non_null(strstr(line, "| 1 h 02 min left |"));
    now.engine.waiting = 1500 * 62;
    od_progress_line(line, 200, &now, &before);
    assert_non_null(strstr(line, "| 1 min 02 s left |"));
    now.engine.submitted++; /* it creates more */
    assert_true(od_progress_seconds_left(&now, &before) < 0);
    od_progress_line(line, 200, &now, &before);
    assert_null(strstr(line, "left"));
    now.engine.submitted--;
    now.engine.tasks = before.engine.tasks;
    assert_true(od_progress_seconds_left(&now, &before) < 0);
    od_progress_line(line, 200, &now, &now); /* no time has passed */
    assert_non_null(strstr(line, "| 0 tasks/s |"));
}

static void shortens_numbers(void **state)
{
    static const struct {
        uint64_t value;
        const char *shown;
    } numbers[] = {{0, "0 done"},        {999, "999 done"},     {1000, "1.0k done"},   {99949, "99.9k done"},
                   {99951, "100k done"}, {999499, "999k done"}, {999500, "1.0M done"}, {1234567890, "1.2G done"}};
    char line[201];
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        now.engine.tasks = numbers[i].value;
        od_progress_line(line, 200, &now, &before);
        assert_memory_equal(line, numbers[i].shown, strlen(numbers[i].shown));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(emits_everything, set_up),
        cmocka_unit_test_setup(fits, set_up),
        cmocka_unit_test_setup(averages_the_devices_of_a_rank, set_up),
        cmocka_unit_test_setup(shows_many_devices_as_ranges, set_up),
        cmocka_unit_test_setup(guesses_only_where_the_graph_is_known, set_up),
        cmocka_unit_test_setup(shortens_numbers, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
