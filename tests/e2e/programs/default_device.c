/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * After omp_set_default_device(d) constructs without a device clause belong to device d, which has contents of its own;
 * a task inherits the choice of the thread that created it.
 *
 * memory: 32Ki
 * says: (its device is chosen by the program)
 */
#include "check.h"

#include <omp.h>

int main(void)
{
    double *x = make_tiles(1, 0);
    int devices = omp_get_num_devices();
    for (int d = 0; d < devices; d++) {
        omp_set_default_device(d);
        for (int i = 0; i < TILE; i++)
            x[i] = 10 * d;
#pragma omp target enter data map(to : x[0 : TILE])
    }
    for (int round = 0; round < 3; round++)
        for (int d = 0; d < devices; d++) {
            omp_set_default_device(d);
            CHECK(omp_get_default_device() == d);
#pragma omp target map(tofrom : x[0 : TILE])
            for (int i = 0; i < TILE; i++)
                x[i] += d + 1;
#pragma omp target nowait depend(inout : x[0 : TILE]) map(tofrom : x[0 : TILE])
            for (int i = 0; i < TILE; i++)
                x[i] += d + 1;
#pragma omp taskwait
        }
    for (int d = 0; d < devices; d++) {
        omp_set_default_device(d);
#pragma omp target exit data map(from : x[0 : TILE])
        CHECK(all_are(x, TILE, 10 * d + 6 * (d + 1)));
    }
    free(x);
    return check_result();
}
