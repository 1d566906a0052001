/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Target tasks whose code runs on the host (`if` is false, or the device is the host) and comes to scheduling points:
 * tasks that libomp runs there are others. Kernels that do the same.
 *
 * memory: 64Ki
 */
#include "check.h"

#include <omp.h>

enum { TASKS = 60, ROUNDS = 5 };

static void add(int *own, int what, int *seen)
{
#pragma omp target map(tofrom : own[0 : 1])
    own[0] += what;
    *seen = own[0];
}

static void go_round(bool on_device, int device)
{
    int a[TASKS] = {0}, seen[TASKS] = {0}, b[TASKS] = {0};
#pragma omp parallel num_threads(3)
#pragma omp single
    for (int i = 0; i < TASKS; i++) {
        if (i % 3)
#pragma omp task firstprivate(i) shared(a, seen)
            add(&a[i], i + 1, &seen[i]);
        else
#pragma omp task untied firstprivate(i) shared(a, seen)
            add(&a[i], i + 1, &seen[i]);
        if (i % 4 == 0) {
            int *own = &b[i];
#pragma omp target nowait if (target : on_device) device(device) map(tofrom : own[0 : 1])
            {
                for (int k = 0; k < 20; k++) {
#pragma omp taskyield
                }
                own[0]++;
#pragma omp task shared(own)
                own[0]++;
#pragma omp taskwait
            }
        }
    }
    for (int i = 0; i < TASKS; i++)
        CHECK(a[i] == i + 1 && seen[i] == i + 1 && b[i] == (i % 4 ? 0 : 2));
}

/* Kernels that come to scheduling points when they have been known for a while, and to be short. */
static void go_late(void)
{
    enum { SHORT = 100, KERNELS = SHORT + TASKS };
    int a[KERNELS] = {0}, seen[KERNELS] = {0}, b[KERNELS] = {0};
#pragma omp parallel num_threads(3)
#pragma omp single
    for (int i = 0; i < KERNELS; i++) {
        int *own = &b[i], late = i >= SHORT;
        if (i >= SHORT / 2)
#pragma omp task untied firstprivate(i) shared(a, seen)
            add(&a[i], i + 1, &seen[i]);
#pragma omp target nowait map(tofrom : own[0 : 1])
        {
            own[0]++;
            if (late) {
#pragma omp taskyield
#pragma omp task shared(own)
                own[0]++;
#pragma omp taskwait
            }
        }
    }
    for (int i = 0; i < KERNELS; i++)
        CHECK(a[i] == (i < SHORT / 2 ? 0 : i + 1) && seen[i] == a[i] && b[i] == (i < SHORT ? 1 : 2));
}

int main(void)
{
    go_late();
    for (int r = 0; r < ROUNDS; r++) {
        go_round(false, omp_get_default_device());
        go_round(true, omp_get_initial_device());
        go_round(true, omp_get_default_device());
    }
    return check_result();
}
