/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * OMP_TARGET_OFFLOAD: with `disabled` everything runs on the host, with the others on devices; the result is the same.
 *
 * memory: 16Ki
 * run: OMP_TARGET_OFFLOAD=disabled
 * run: OMP_TARGET_OFFLOAD=default
 * run: OMP_TARGET_OFFLOAD=mandatory
 */
#include "check.h"

#include <omp.h>

int main(void)
{
    double *x = make_tiles(2, 0);
    int on_host[2] = {-1, -1};
#pragma omp target map(from : on_host[0])
    on_host[0] = omp_is_initial_device();
#pragma omp parallel
#pragma omp single
    for (int step = 0; step < 8; step++) {
        double *tile = x + (step % 2) * TILE;
#pragma omp target nowait depend(inout : tile[0 : TILE]) map(tofrom : tile[0 : TILE])
        for (int i = 0; i < TILE; i++)
            tile[i] += 1;
    }
#pragma omp target data map(tofrom : x[0 : TILE]) map(from : on_host[1])
    {
#pragma omp target map(from : on_host[1])
        {
            on_host[1] = omp_is_initial_device();
            for (int i = 0; i < TILE; i++)
                x[i] += 1;
        }
    }
    CHECK(all_are(x, TILE, 5));
    CHECK(all_are(x + TILE, TILE, 4));
    printf("on the host: %d %d; devices %d\n", on_host[0], on_host[1], omp_get_num_devices());
    free(x);
    return check_result();
}
