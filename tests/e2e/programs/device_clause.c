/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * device(n) keeps its meaning: each device holds its own contents of one host array, entered, computed on, updated
 * and left by constructs that name it, synchronous and nowait; tasks without the clause run beside them.
 *
 * memory: 32Ki
 * says: (its device is chosen by the program)
 */
#include "check.h"

#include <omp.h>

int main(void)
{
    double *x = make_tiles(1, 0), *y = make_tiles(1, 1);
    int devices = omp_get_num_devices();
    CHECK(devices == 4);
    for (int d = 0; d < devices; d++) {
        for (int i = 0; i < TILE; i++)
            x[i] = 100 * d;
#pragma omp target enter data device(d) map(to : x[0 : TILE])
    }
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < 5; round++)
        for (int d = 0; d < devices; d++) {
#pragma omp target nowait device(d) depend(inout : x[d]) map(tofrom : x[0 : TILE])
            for (int i = 0; i < TILE; i++)
                x[i] += d + 1;
#pragma omp target nowait depend(inout : y[0 : TILE]) map(tofrom : y[0 : TILE])
            for (int i = 0; i < TILE; i++)
                y[i] += 1;
        }
    CHECK(all_are(y, TILE, 1 + 5 * devices));
    for (int d = 0; d < devices; d++) {
#pragma omp target device(d) map(tofrom : x[0 : TILE])
        x[0] += 0.5;
#pragma omp target update device(d) from(x[0 : TILE])
        CHECK(x[0] == 100 * d + 5 * (d + 1) + 0.5);
        CHECK(all_are(x + 1, TILE - 1, 100 * d + 5 * (d + 1)));
    }
    for (int d = devices - 1; d >= 0; d--) {
#pragma omp target exit data device(d) map(from : x[0 : TILE])
        CHECK(all_are(x + 1, TILE - 1, 100 * d + 5 * (d + 1)));
    }
    free(x);
    free(y);
    return check_result();
}
