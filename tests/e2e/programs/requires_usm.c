/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * requires unified_shared_memory: kernels use host addresses without maps, pointers in structs and lists, and nothing
 * is copied; the host sees what kernels write while they are mapped.
 *
 * memory: 48Ki
 * says: unified shared memory
 */
#include "check.h"

#include <omp.h>

#pragma omp requires unified_shared_memory

typedef struct node {
    struct node *next;
    double value;
} node;

int main(void)
{
    double *x = make_tiles(1, 0), y[64] = {0};
    node list[10];
    for (int i = 0; i < 10; i++)
        list[i] = (node){i < 9 ? &list[i + 1] : NULL, i};
    node *first = list;
#pragma omp target
    for (int i = 0; i < TILE; i++)
        x[i] += 1;
    CHECK(all_are(x, TILE, 1));
    double sum = 0;
#pragma omp target map(tofrom : sum)
    for (node *n = first; n; n = n->next) {
        sum += n->value;
        n->value *= 2;
    }
    CHECK(sum == 45 && list[9].value == 18);
#pragma omp target data map(tofrom : x[0 : TILE], y)
    {
#pragma omp target
        {
            x[0] += 1;
            y[0] += 1;
        }
        CHECK(x[0] == 2 && y[0] == 1); /* one memory */
        x[1] = 5;
#pragma omp target
        x[1] += 1;
    }
    CHECK(x[1] == 6);
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < 8; round++) {
#pragma omp target nowait depend(inout : x[0])
        x[2] += 1;
#pragma omp task depend(inout : x[0])
        x[2] *= 2;
    }
    CHECK(x[2] == 2 * 255 + 256);
    free(x);
    return check_result();
}
