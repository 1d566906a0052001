/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Groups of cores for CPU workers, on machines that hwloc makes up. */
#define _GNU_SOURCE 1
#include "omp_ext/runtime/cpu/groups.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static cpu_set_t first(unsigned count)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (unsigned i = 0; i < count; i++)
        CPU_SET(i, &set);
    return set;
}

/* As a list, "0,8". */
static void expect(const cpu_set_t *allowed, unsigned workers, unsigned cores, unsigned index, const char *expected)
{
    char text[256] = "";
    cpu_set_t own;
    od_cpu_group(allowed, workers, cores, index, &own);
    for (unsigned i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &own))
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%u", *text ? "," : "", i);
    assert_string_equal(text, expected);
}

/* Two packages of four cores with two hardware threads each, whose numbers follow each other. */
static void neighbours(void **unused)
{
    (void)unused;
    cpu_set_t all = first(16);
    setenv("HWLOC_SYNTHETIC", "package:2 core:4 pu:2", 1);
    expect(&all, 2, 2, 0, "0,2");
    expect(&all, 2, 2, 1, "4,6");
    expect(&all, 8, 1, 5, "10");
    expect(&all, 2, 8, 1, "8,9,10,11,12,13,14,15"); /* both threads of each core */
    expect(&all, 16, 1, 3, "3");
    expect(&all, 3, 8, 2, ""); /* there are not so many */
}

/* The same machine as Linux often numbers it: the second threads come last, and cores go from package to package. */
static void scattered_numbers(void **unused)
{
    (void)unused;
    cpu_set_t all = first(16);
    setenv("HWLOC_SYNTHETIC", "package:2 core:4 pu:2(indexes=0,8,2,10,4,12,6,14,1,9,3,11,5,13,7,15)", 1);
    expect(&all, 2, 4, 0, "0,2,4,6");
    expect(&all, 2, 4, 1, "1,3,5,7");
    expect(&all, 2, 8, 0, "0,2,4,6,8,10,12,14");
}

/* What the process may use, of each core the first thread of these. */
static void part_of_the_machine(void **unused)
{
    (void)unused;
    cpu_set_t some = first(16);
    setenv("HWLOC_SYNTHETIC", "package:2 core:4 pu:2", 1);
    CPU_CLR(0, &some);
    CPU_CLR(2, &some);
    CPU_CLR(3, &some);
    expect(&some, 3, 2, 0, "1,4");
    expect(&some, 3, 2, 1, "6,8");
    expect(&some, 3, 2, 2, "10,12");
    expect(&some, 13, 1, 12, "15");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbours),
        cmocka_unit_test(scattered_numbers),
        cmocka_unit_test(part_of_the_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
