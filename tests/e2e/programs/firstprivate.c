/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * firstprivate scalars keep the value of the moment the task was created; what the kernel does to them, and to
 * firstprivate arrays, stays inside. (Arrays are left alone after the creation: clang 19 copies them only when the task
 * starts.) Scalars mapped tofrom come back.
 *
 * memory: 24Ki
 * stats: stats.host_tasks == 0
 */
#include "check.h"

enum { TASKS = 16 };

int main(void)
{
    double *x = make_tiles(TASKS, 0), big[300];
    int scalar = 0, list[40];
    float single = 0.5f;
    char letter = 'a';
    for (int i = 0; i < 40; i++)
        list[i] = 2 * i;
    for (int i = 0; i < 300; i++)
        big[i] = 3 * i;
#pragma omp parallel
#pragma omp single
    for (int t = 0; t < TASKS; t++) {
        double *tile = x + t * TILE;
        scalar = t;
        single = (float)t + 0.5f;
        letter = (char)('a' + t);
#pragma omp target nowait firstprivate(scalar, list, single, letter, big) depend(inout : tile[0 : TILE])               \
    map(tofrom : tile[0 : TILE])
        {
            for (int i = 0; i < TILE; i++)
                tile[i] = scalar + list[i % 40] + (double)single + letter + big[i % 300];
            scalar = -1;
            list[0] = -1;
            big[0] = -1;
        }
        scalar = -2;
    }
    for (int t = 0; t < TASKS; t++)
        for (int i = 0; i < TILE; i++)
            CHECK(x[t * TILE + i] == t + 2 * (i % 40) + t + 0.5 + 'a' + t + 3 * (i % 300));

    int count = 0, kept = 3;
    for (int i = 0; i < 10; i++) {
#pragma omp target map(tofrom : count)
        {
            count += kept;
            kept = 100; /* implicitly firstprivate */
        }
    }
    CHECK(count == 30);
    CHECK(kept == 3);
    free(x);
    return check_result();
}
