/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Threads that are shown device addresses, each perhaps of another device, ask which device that is, and name it: it has what
 * the default device has, and their constructs are those of the default device.
 */
#include "check.h"

#include <omp.h>

enum { THREADS = 4, ROUNDS = 20 };

static double y[TILE], *tile[THREADS];

static void use(int own)
{
    double *p = tile[own];
#pragma omp target data use_device_ptr(p)
    {
        int device = omp_get_default_device();
        CHECK(omp_target_is_present(y, device));
        CHECK(omp_get_mapped_ptr(y, device) != NULL);
#pragma omp target device(device) is_device_ptr(p) map(tofrom : y[own : 1])
        {
            p[0] += 1;
            y[own] = p[0];
        }
    }
}

int main(void)
{
    for (int i = 0; i < THREADS; i++) {
        double *t = tile[i] = make_tiles(1, i);
#pragma omp target enter data map(to : t[0 : TILE])
    }
#pragma omp target enter data map(to : y)
#pragma omp parallel num_threads(THREADS)
    for (int round = 0; round < ROUNDS; round++)
        use(omp_get_thread_num());
    use(0);
#pragma omp target exit data map(from : y)
    for (int i = 0; i < THREADS; i++) {
        double *t = tile[i];
#pragma omp target exit data map(from : t[0 : TILE])
        CHECK(t[0] == i + ROUNDS + (i == 0));
        CHECK(y[i] == t[0]);
        free(t);
    }
    return check_result();
}
