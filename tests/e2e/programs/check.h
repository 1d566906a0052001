/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What every small program here shares: a failed check prints a line and makes the exit code 1.
 *
 * The first comment of a program says what it shows, and tells the driver (construct.sh) in lines of their own:
 *   memory: SIZE       device memory of the tight runs; a tile has TILE doubles, 8 KiB
 *   environment: VAR=VALUE…  for all runs
 *   cpu: 0             not with E2E_CPU: a kernel writes to what it maps `to`, or CPU workers are bound
 *   variants: NAME…    one test for each, which is the program's argument; read by CMakeLists.txt
 *   run: VAR=VALUE…    one more configuration, for the runs without the library too
 *   without: REASON    it is not run without the library, for LLVM fails with it; it prints "right"
 *   says: TEXT         with OMPDARTS_LOG=info, and the first `run`, the library says so on standard error
 *   stats: EXPRESSION  holds in every run with the library that has the default configuration (check_stats.py)
 * The output must be the same with and without the library.
 */
#ifndef E2E_CHECK_H
#define E2E_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum { TILE = 1024 };

static int failed_checks;

static inline void check_line(bool ok, const char *what, int line)
{
    if (ok)
        return;
    printf("line %d: not true: %s\n", line, what);
    __atomic_fetch_add(&failed_checks, 1, __ATOMIC_RELAXED);
}

#define CHECK(condition) check_line((condition), #condition, __LINE__)

static inline int check_result(void)
{
    puts(failed_checks ? "WRONG" : "right");
    return failed_checks != 0;
}

/* `count` tiles in one array, all elements `value`. The program frees it. */
static inline double *make_tiles(size_t count, double value)
{
    double *x = (double *)malloc(count * TILE * sizeof *x);
    if (!x)
        abort();
    for (size_t i = 0; i < count * TILE; i++)
        x[i] = value;
    return x;
}

static inline bool all_are(const double *x, size_t count, double value)
{
    for (size_t i = 0; i < count; i++)
        if (x[i] != value) {
            printf("element %zu is %g, not %g\n", i, x[i], value);
            return false;
        }
    return true;
}

#endif
