/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Devices that are none: device(omp_get_initial_device()), the default device set to the initial one, if(0): the
 * region runs on the host, on the program's own data.
 *
 * memory: 32Ki
 * says: (its device is chosen by the program)
 */
#include "check.h"

#include <omp.h>

static void at(double *x, int device, bool on_host)
{
    int initial = -1;
#pragma omp target device(device) map(tofrom : x[0 : TILE]) map(from : initial)
    {
        initial = omp_is_initial_device();
        for (int i = 0; i < TILE; i++)
            x[i] += 1;
    }
    CHECK(initial == on_host);
}

static void tasks(double *x, int device)
{
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < 4; round++) {
#pragma omp target nowait depend(inout : x[0 : TILE]) map(tofrom : x[0 : TILE])
        for (int i = 0; i < TILE; i++)
            x[i] += 1;
#pragma omp target nowait device(device) depend(inout : x[0 : TILE]) map(tofrom : x[0 : TILE])
        for (int i = 0; i < TILE; i++)
            x[i] *= 2;
    }
}

static void data_constructs(double *x, int device)
{
#pragma omp target data device(device) map(tofrom : x[0 : TILE])
    {
#pragma omp target device(device)
        x[0] += 1;
        x[0] += 1; /* the host's own memory */
    }
#pragma omp target enter data device(device) map(to : x[0 : TILE])
#pragma omp target update device(device) to(x[0 : TILE])
#pragma omp target exit data device(device) map(from : x[0 : TILE])
    CHECK(omp_target_is_present(x, device));
}

int main(void)
{
    double *x = make_tiles(1, 0);
    int host = omp_get_initial_device();
    at(x, host, true);
    for (int d = 0; d < omp_get_num_devices(); d++)
        at(x, d, false);
    CHECK(all_are(x, TILE, 1 + omp_get_num_devices()));
    tasks(x, host);
    CHECK(all_are(x, TILE, 16 * (1 + omp_get_num_devices()) + 30));
    data_constructs(x, host);
    CHECK(x[0] == x[1] + 2);
    int initial = -1;
    omp_set_default_device(host);
#pragma omp target map(tofrom : x[0 : TILE]) map(from : initial)
    {
        initial = omp_is_initial_device();
        x[0] -= 2;
    }
    CHECK(initial == 1 && x[0] == x[1]);
    omp_set_default_device(0);
#pragma omp target map(tofrom : x[0 : TILE]) map(from : initial)
    {
        initial = omp_is_initial_device();
        x[0] += 1;
    }
    CHECK(initial == 0 && x[0] == x[1] + 1);
    free(x);
    return check_result();
}
