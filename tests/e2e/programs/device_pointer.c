/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * is_device_ptr with memory from omp_target_alloc: such a task runs where that memory lies, on the default device or on
 * another that it names, together with mapped tiles.
 *
 * memory: 24Ki
 */
#include "check.h"

#include <omp.h>

enum { TASKS = 12 };

static double *on_device(int device, double value)
{
    double host[TILE];
    for (int i = 0; i < TILE; i++)
        host[i] = value;
    double *memory = omp_target_alloc(sizeof host, device);
    if (!memory || omp_target_memcpy(memory, host, sizeof host, 0, 0, device, omp_get_initial_device()))
        abort();
    return memory;
}

int main(void)
{
    double *x = make_tiles(TASKS, 0), *y = make_tiles(TASKS, 0), back[TILE];
    double *ones = on_device(omp_get_default_device(), 1), *twos = on_device(2, 2);
#pragma omp parallel
#pragma omp single
    for (int t = 0; t < TASKS; t++) {
        double *xt = x + t * TILE, *yt = y + t * TILE;
#pragma omp target nowait is_device_ptr(ones) depend(inout : xt[0 : TILE]) map(tofrom : xt[0 : TILE])
        for (int i = 0; i < TILE; i++)
            xt[i] += ones[i] + t;
#pragma omp target nowait device(2) is_device_ptr(twos) depend(inout : yt[0 : TILE]) map(tofrom : yt[0 : TILE])
        for (int i = 0; i < TILE; i++)
            yt[i] += twos[i] + t;
    }
    for (int t = 0; t < TASKS; t++) {
        CHECK(all_are(x + t * TILE, TILE, t + 1));
        CHECK(all_are(y + t * TILE, TILE, t + 2));
    }
#pragma omp target is_device_ptr(ones) map(to : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        ones[i] += x[i];
    CHECK(omp_target_memcpy(back, ones, sizeof back, 0, 0, omp_get_initial_device(), omp_get_default_device()) == 0);
    CHECK(all_are(back, TILE, 2));
    omp_target_free(ones, omp_get_default_device());
    omp_target_free(twos, 2);
    free(x);
    free(y);
    return check_result();
}
