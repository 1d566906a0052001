/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A target task whose code has run on a device before names the host: it sees what other tasks have written to what it
 * names, though it maps nothing, and what it writes stays.
 */
#include "check.h"

#include <omp.h>

enum { N = 1000 };

static double y[N];

static void step(double *p, int device)
{
#pragma omp target nowait depend(inout : y[0]) map(tofrom : y[ : N])
    for (int i = 0; i < N; i++)
        y[i] += 1;
#pragma omp target nowait depend(inout : y[0]) device(device) is_device_ptr(p)
    for (int i = 0; i < N; i++)
        p[i] += 10;
#pragma omp target nowait depend(inout : y[0]) map(tofrom : y[ : N])
    for (int i = 0; i < N; i++)
        y[i] *= 2;
}

int main(void)
{
    int device = omp_get_default_device();
    double *there = omp_target_alloc(sizeof y, device), want = 0;
    step(there, device);
#pragma omp taskwait
    want = (want + 1) * 2;
    for (int round = 0; round < 3; round++) {
        step(y, omp_get_initial_device());
        want = (want + 11) * 2;
#pragma omp taskwait
        CHECK(y[0] == want && y[N - 1] == want);
    }
    for (int round = 0; round < 3; round++) {
        step(y, omp_get_initial_device());
        want = (want + 11) * 2;
    }
#pragma omp taskwait
    CHECK(y[0] == want && y[N - 1] == want);
    omp_target_free(there, device);
    return check_result();
}
