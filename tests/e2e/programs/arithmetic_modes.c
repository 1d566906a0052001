/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Rounding and the treatment of denormal numbers, as a thread has set them: kernels compute with the modes of the thread
 * that runs their task (without hidden helper threads), wherever they run, and so do their parallel regions and host
 * versions. Threads keep their own modes.
 *
 * variants: sync nowait region host
 * memory: 24Ki
 */
#include "check.h"

#include <fenv.h>
#include <omp.h>
#include <string.h>
#include <xmmintrin.h>

#pragma STDC FENV_ACCESS ON

enum { RESULTS = 3, TASKS = 16 };

#pragma omp declare target
static double divide(volatile double a, volatile double b)
{
    return a / b;
}

/* Rounded, perhaps denormal, rounded in a parallel region. */
static void compute(double *x)
{
    x[0] = divide(1, 3);
    x[1] = divide(1e-300, 1e20);
#pragma omp parallel num_threads(2)
#pragma omp single
    x[2] = divide(1, 3);
}
#pragma omp end declare target

static void run(double *x, const char *variant)
{
    int offload = strcmp(variant, "host") != 0;
    if (!strcmp(variant, "sync")) {
#pragma omp target map(tofrom : x[0 : RESULTS])
        compute(x);
        return;
    }
#pragma omp target nowait depend(inout : x[0]) map(tofrom : x[0 : RESULTS]) if (target : offload)
    compute(x);
}

static void run_all(double (*x)[RESULTS], const char *variant)
{
    for (int k = 0; k < TASKS; k++)
        run(x[k], variant);
#pragma omp taskwait
}

static void check_modes(int rounding, unsigned flush, const char *variant)
{
    double x[TASKS][RESULTS] = {{0}};
    fesetround(rounding);
    _MM_SET_FLUSH_ZERO_MODE(flush);
    if (!strcmp(variant, "region")) {
#pragma omp parallel num_threads(3)
#pragma omp single
        run_all(x, variant);
    } else {
        run_all(x, variant);
    }
    CHECK(fegetround() == rounding && _MM_GET_FLUSH_ZERO_MODE() == flush);
    double third = divide(1, 3), least = divide(1e-300, 1e20);
    for (int k = 0; k < TASKS; k++)
        CHECK(x[k][0] == third && x[k][1] == least && x[k][2] == third);
}

int main(int argc, char **argv)
{
    static const int roundings[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    const char *variant = argc > 1 ? argv[1] : "sync";
    for (int round = 0; round < 3; round++)
        for (int r = 0; r < 4; r++) {
            check_modes(roundings[r], _MM_FLUSH_ZERO_OFF, variant);
            check_modes(roundings[r], _MM_FLUSH_ZERO_ON, variant);
        }
    fesetround(FE_TONEAREST);
    _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_OFF);
    return check_result();
}
