/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * An array is mapped as a whole, and after a taskwait in sections: while a task has one section, the host writes
 * another. What comes back from the device is the task's section, not the rest of what was once mapped.
 *
 * memory: 40Ki
 */
#include "check.h"

#include <unistd.h>

enum { COUNT = 4, LENGTH = COUNT * TILE, ROUNDS = 10 };

int main(void)
{
    double *x = make_tiles(COUNT, 0), *last = x + (COUNT - 1) * TILE;
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp target nowait depend(inout : x[0 : LENGTH]) map(tofrom : x[0 : LENGTH])
        for (int i = 0; i < LENGTH; i++)
            x[i] += 1;
#pragma omp taskwait
#pragma omp target nowait depend(inout : x[0 : TILE]) map(tofrom : x[0 : TILE])
        for (int i = 0; i < TILE; i++)
            x[i] += 1;
        for (int part = 0; part < 10; part++) { /* long enough to fall between a load and a write-back */
            usleep(200);
            for (int i = 0; i < TILE; i++)
                last[i] += 1;
        }
#pragma omp taskwait
    }
    CHECK(all_are(x, TILE, 2 * ROUNDS));
    CHECK(all_are(x + TILE, (COUNT - 2) * TILE, ROUNDS));
    CHECK(all_are(last, TILE, 11 * ROUNDS));
    free(x);
    return check_result();
}
