/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Constructs that LIBOMPTARGET_INFO tells of (info.sh). `regions`: kernels on present data; `maps`: kernels with maps
 * of their own. */
#include "check.h"

#include <string.h>

static double x[TILE], y[TILE];

static void use_regions(void)
{
    double *p = y;
#pragma omp target data map(tofrom : x)
    {
#pragma omp target
        for (int i = 0; i < TILE; i++)
            x[i] += 1;
#pragma omp target update from(x[0 : 16])
#pragma omp target data map(to : x)
        {
#pragma omp target
            for (int i = 0; i < TILE; i++)
                x[i] += 1;
        }
    }
#pragma omp target enter data map(to : p[0 : TILE])
#pragma omp target teams distribute parallel for firstprivate(p)
    for (int i = 0; i < TILE; i++)
        p[i] += 1;
#pragma omp target exit data map(from : p[0 : TILE])
#pragma omp target data map(alloc : p[0 : 4])
    ;
}

static void use_maps(void)
{
    int a = 3;
    double *p = y;
#pragma omp target map(tofrom : y) map(to : x[0 : 16]) firstprivate(a)
    for (int i = 0; i < 16; i++)
        y[i] += x[i] + a;
#pragma omp target nowait depend(inout : p[0]) map(tofrom : p[0 : 16])
    for (int i = 0; i < 16; i++)
        p[i] += 1;
#pragma omp taskwait
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "regions") == 0)
        use_regions();
    else
        use_maps();
    return check_result();
}
