/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * requires unified_address, dynamic_allocators, atomic_default_mem_order: constructs as ever, addresses from
 * omp_target_alloc inside structs, omp_alloc in kernels.
 *
 * memory: 48Ki
 */
#include "check.h"

#include <omp.h>

#pragma omp requires unified_address dynamic_allocators atomic_default_mem_order(seq_cst)

int main(void)
{
    double *x = make_tiles(1, 0), seen = 0;
    double *d = omp_target_alloc(TILE * sizeof *d, omp_get_default_device());
#pragma omp target nowait depend(inout : x[0]) map(tofrom : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] += 1;
#pragma omp taskwait
    CHECK(all_are(x, TILE, 1));
#pragma omp target is_device_ptr(d)
    for (int i = 0; i < TILE; i++)
        d[i] = i;
#pragma omp target map(from : seen) /* without is_device_ptr: addresses are unified */
    seen = d[5];
    CHECK(seen == 5);
#pragma omp target map(from : seen)
    {
        int counter = 0;
        double *p = omp_alloc(16 * sizeof *p, omp_default_mem_alloc);
        for (int i = 0; i < 16; i++) {
#pragma omp atomic
            counter += i;
            p[i] = counter;
        }
        seen = p[15];
        omp_free(p, omp_default_mem_alloc);
    }
    CHECK(seen == 120);
    omp_target_free(d, omp_get_default_device());
    free(x);
    return check_result();
}
