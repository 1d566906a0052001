/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Many target tasks that use no data, more at once than are planned without a thread of their own, also under what
 * plans ahead: a policy that does, and the choice of the devices that work. Between two batches of them there are tasks
 * that use some.
 *
 * stats: stats.tasks == 4020
 * run: OMPDARTS_SCHED=stationary OMPDARTS_DEVICES=4
 * run: OMPDARTS_DEVICES=4:auto
 * run: OMPDARTS_DEVICES=4:auto OMPDARTS_SCHED=dmdas
 */
#include "check.h"

enum { ROUNDS = 8, COUNT = 500 };

int main(void)
{
    double *x = make_tiles(1, 0);
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < COUNT; i++) {
#pragma omp target nowait
            {
            }
        }
#pragma omp taskwait
        for (int i = 0; i < round % 2 * 5; i++) {
#pragma omp target nowait depend(inout : x[0 : TILE]) map(tofrom : x[0 : TILE])
            for (int j = 0; j < TILE; j++)
                x[j] += 1;
        }
    }
    CHECK(all_are(x, TILE, ROUNDS / 2 * 5));
    free(x);
    return check_result();
}
