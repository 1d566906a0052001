/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Host tasks that ask what is present, and where, for the default device: each instance gets the same answers.
 *
 * memory: 24Ki
 */
#include "check.h"

#include <omp.h>

int main(void)
{
    double *x = make_tiles(1, 0);
    char token = 0;
    int present = 0;
#pragma omp target enter data map(to : x[0 : TILE])
#pragma omp parallel num_threads(3)
#pragma omp single
    for (int round = 0; round < 12; round++) {
#pragma omp task depend(inout : token) shared(present)
        {
            double *there = omp_get_mapped_ptr(x, omp_get_default_device());
            present += omp_target_is_present(x, omp_get_default_device());
#pragma omp target is_device_ptr(there)
            for (int i = 0; i < TILE; i++)
                there[i] += 1;
        }
    }
#pragma omp target exit data map(from : x[0 : TILE])
    CHECK(present == 12 && all_are(x, TILE, 12));
    free(x);
    return check_result();
}
