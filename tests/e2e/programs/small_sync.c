/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Synchronous target regions on next to no data, one after the other: without data, with scalars, with arrays of a
 * region, and with arrays that each maps for itself, as tofrom, to and from. With the argument `switches` it says on
 * standard error how often its thread has waited for others meanwhile, in any way (small_sync.sh).
 *
 * stats: stats.tasks == 601
 * stats: stats.host_tasks == 0
 */
#include "check.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

enum { COUNT = 100, LENGTH = 16 };

static long switches(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nvcsw;
}

static void without_arrays(void)
{
    int sum = 0;
    for (int i = 0; i < COUNT; i++) {
#pragma omp target
        {
        }
        double x = i;
#pragma omp target firstprivate(x, i) map(tofrom : sum)
        sum += x == i;
    }
    CHECK(sum == COUNT);
}

static void in_region(double *x)
{
#pragma omp target data map(tofrom : x[0 : LENGTH])
    for (int i = 0; i < COUNT; i++) {
#pragma omp target map(tofrom : x[0 : LENGTH])
        for (int j = 0; j < LENGTH; j++)
            x[j] += 1;
    }
}

static void mapped(double *x, double *y)
{
    for (int i = 0; i < COUNT; i++) {
        x[i % LENGTH] += 1;
#pragma omp target map(tofrom : x[0 : LENGTH])
        for (int j = 0; j < LENGTH; j++)
            x[j] += 1;
#pragma omp target map(to : x[0 : LENGTH]) map(from : y[0 : LENGTH])
        for (int j = 0; j < LENGTH; j++)
            y[j] = 2 * x[j];
        CHECK(y[0] == 2 * x[0]);
        y[0] = -1;
#pragma omp target map(to : x[0 : LENGTH]) map(tofrom : y[0 : LENGTH])
        for (int j = 0; j < LENGTH; j++)
            y[j] += x[j];
        CHECK(y[0] == x[0] - 1 && y[LENGTH - 1] == 3 * x[LENGTH - 1]);
    }
}

int main(int argc, char **argv)
{
    double x[LENGTH] = {0}, y[LENGTH] = {0};
#pragma omp target /* starts the library */
    {
    }
    long before = switches();
    without_arrays();
    in_region(x);
    mapped(x, y);
    if (argc > 1 && strcmp(argv[1], "switches") == 0)
        fprintf(stderr, "switches %ld\n", switches() - before);
    for (int j = 0; j < LENGTH; j++)
        CHECK(x[j] == 2 * COUNT + COUNT / LENGTH + (j < COUNT % LENGTH));
    return check_result();
}
