/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Thousands of data: what a kernel on an array of structs costs, and an allocation of device memory, does not grow with
 * their number. Processor time of eight times as many is compared, of which linear growth takes 8, quadratic 64.
 */
#include "check.h"

#include <omp.h>
#include <time.h>

enum { FEW = 125, TIMES = 8, TRIES = 5 };
static const double too_much = 28;

typedef struct element {
    double *p;
    long n;
} element;

static double processor_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Seconds of kernels on `count` structs, whose pointers are attached. */
static double launches(int count)
{
    const int rounds = 4;
    element *e = calloc((size_t)count, sizeof *e);
    double *all = calloc((size_t)count, sizeof *all);
    for (int i = 0; i < count; i++)
        e[i].p = all + i;
#pragma omp target enter data map(to : e[0 : count])
    for (int i = 0; i < count; i++) {
#pragma omp target enter data map(to : e[i].p[0 : 1])
    }
    double begin = processor_time();
    for (int round = 0; round < rounds; round++) {
#pragma omp target map(tofrom : e[0 : count])
        for (int i = 0; i < count; i++)
            e[i].p[0] += (double)i;
    }
    double seconds = processor_time() - begin;
    for (int i = 0; i < count; i++) {
#pragma omp target exit data map(from : e[i].p[0 : 1])
        CHECK(all[i] == (double)i * rounds);
    }
#pragma omp target exit data map(release : e[0 : count])
    free(e);
    free(all);
    return seconds;
}

static double allocations(int count)
{
    int n = 16 * count, device = omp_get_default_device();
    void **memory = malloc((size_t)n * sizeof *memory);
    double begin = processor_time();
    for (int i = 0; i < n; i++)
        memory[i] = omp_target_alloc(64, device);
    for (int i = 0; i < n; i++) {
        CHECK(memory[i] != NULL);
        omp_target_free(memory[i], device);
    }
    free(memory);
    return processor_time() - begin;
}

static bool grows_linearly(double (*cost)(int count))
{
    cost(FEW);
    for (int i = 0; i < TRIES; i++)
        if (cost(FEW * TIMES) < too_much * cost(FEW))
            return true;
    return false;
}

int main(void)
{
    CHECK(grows_linearly(launches));
    CHECK(grows_linearly(allocations));
    return check_result();
}
