/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Names that the program gives its tasks (ompdarts_name_task), in the trace: of target tasks, synchronous constructs
 * and host tasks; each for one task, the others keep those of their code. named_tasks.sh reads the trace; without the
 * library and without a trace nothing happens.
 */
#include "../../../omp_ext/hooks/ompdarts.h"
#include "check.h"

enum { COUNT = 6 };

int main(void)
{
    double *x = make_tiles(COUNT, 1);
#pragma omp parallel
#pragma omp single
    {
        for (int round = 0; round < 3; round++)
            for (int i = 0; i < COUNT; i++) {
                double *tile = x + i * TILE;
                if (i % 2 == 0) {
                    char name[16] = "even tile"; /* copied */
                    ompdarts_name_task(name);
                    name[0] = '?';
                }
#pragma omp target nowait map(tofrom : tile[0 : TILE]) depend(inout : tile[0 : TILE])
                for (int j = 0; j < TILE; j++)
                    tile[j] += i;
            }
#pragma omp taskwait
        ompdarts_name_task("synchronous");
#pragma omp target map(tofrom : x[0 : TILE])
        x[0] += 1;
        ompdarts_name_task("nothing");
        ompdarts_name_task(NULL);
#pragma omp target map(tofrom : x[0 : TILE])
        x[0] += 1;
        for (int round = 0; round < 3; round++) { /* what they offload has their name */
            ompdarts_name_task("a \"host\" task");
#pragma omp task depend(inout : x[0 : TILE])
            {
#pragma omp target data map(tofrom : x[0 : TILE]) use_device_ptr(x)
                {
#pragma omp target is_device_ptr(x)
                    x[0] += 1;
                }
            }
        }
    }
    for (int i = 0; i < COUNT; i++)
        CHECK(x[i * TILE] == 1 + 3 * i + (i == 0 ? 5 : 0));
    free(x);
    return check_result();
}
