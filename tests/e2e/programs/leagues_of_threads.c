/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Kernels on the program's first thread, waited for or not, and after them kernels that each thread of a parallel region
 * begins: it has taken part in the first ones' teams. `named`: they name devices, as in programs that divide their work.
 *
 * variants: waited tasks named
 * without: libomp fails an assertion in the parallel region (kmp_csupport.cpp, th_set_nproc)
 */
#include "check.h"

#include <omp.h>
#include <string.h>

enum { PARTS = 3, N = 3 * TILE, ROUNDS = 5 };
static const double sum = 6.25; /* of all rounds */

static double x[PARTS][N];

static void add(double *part, double value)
{
#pragma omp target teams distribute parallel for map(tofrom : part [0:N])
    for (int i = 0; i < N; i++)
        part[i] += value;
}

static void add_later(double *part, double value)
{
#pragma omp target teams distribute parallel for map(tofrom : part [0:N]) nowait
    for (int i = 0; i < N; i++)
        part[i] += value;
}

static void add_on(int device, double *part, double value)
{
#pragma omp target teams distribute parallel for map(tofrom : part [0:N]) device(device)
    for (int i = 0; i < N; i++)
        part[i] += value;
}

static void add_later_on(int device, double *part, double value)
{
#pragma omp target teams distribute parallel for map(tofrom : part [0:N]) device(device) nowait
    for (int i = 0; i < N; i++)
        part[i] += value;
}

int main(int argc, char **argv)
{
    bool named = argc > 1 && !strcmp(argv[1], "named"), waited = argc > 1 && !strcmp(argv[1], "waited");
    int devices = omp_get_num_devices();
    for (int r = 0; r < ROUNDS; r++) {
        for (int p = 0; p < PARTS; p++) {
            if (named)
                add_later_on(p % devices, x[p], 0.25);
            else if (waited)
                add(x[p], 0.25);
            else
                add_later(x[p], 0.25);
        }
#pragma omp taskwait
#pragma omp parallel for num_threads(PARTS)
        for (int p = 0; p < PARTS; p++) {
            if (named)
                add_on(p % devices, x[p], 1);
            else
                add(x[p], 1);
        }
    }
    for (int p = 0; p < PARTS; p++)
        for (int i = 0; i < N; i++)
            CHECK(x[p][i] == sum);
    return check_result();
}
