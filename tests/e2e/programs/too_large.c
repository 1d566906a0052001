/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A task that fits no device's memory (each of its tiles does) runs on the host, between others that run on devices:
 * see too_large.sh.
 */
#include "check.h"

enum { COUNT = 4 };

int main(void)
{
    double *x = make_tiles(COUNT, 1), *y = x + TILE, *z = x + 2 * TILE, *v = x + 3 * TILE;
#pragma omp parallel
#pragma omp single
    {
        for (int t = 0; t < COUNT; t++) {
            double *tile = x + t * TILE;
#pragma omp target nowait depend(inout : tile[0 : TILE]) map(tofrom : tile[0 : TILE])
            for (int i = 0; i < TILE; i++)
                tile[i] += t;
        }
#pragma omp target nowait depend(inout : x[0 : TILE]) depend(in : y[0 : TILE], z[0 : TILE], v[0 : TILE])               \
    map(tofrom : x[0 : TILE]) map(to : y[0 : TILE], z[0 : TILE], v[0 : TILE])
        for (int i = 0; i < TILE; i++)
            x[i] += y[i] + z[i] + v[i];
#pragma omp target nowait depend(inout : x[0 : TILE]) map(tofrom : x[0 : TILE])
        for (int i = 0; i < TILE; i++)
            x[i] *= 2;
    }
    CHECK(all_are(x, TILE, 20));
    puts("end of main");
    free(x);
    return check_result();
}
