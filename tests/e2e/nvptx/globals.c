/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A `declare target` array that takes half of the device's memory, and tiles: what the pools take must leave room for
 * it, though it comes there with the program's first kernel only.
 */
#include <stdio.h>

enum { HELD = 8 << 20, LENGTH = 1 << 18, TILES = 34 };

#pragma omp declare target
int held[HELD];
#pragma omp end declare target

static int x[TILES][LENGTH];

int main(void)
{
    int wrong = 0;
    for (int t = 0; t < TILES; t++) {
        int *tile = x[t];
#pragma omp target teams distribute parallel for nowait map(tofrom : tile[ : LENGTH]) depend(inout : tile[0])
        for (int i = 0; i < LENGTH; i++) {
            held[(HELD / TILES) * t + i % (HELD / TILES)] = i;
            tile[i] += t;
        }
    }
#pragma omp taskwait
    for (int t = 0; t < TILES; t++)
        wrong += x[t][0] != t || x[t][LENGTH - 1] != t;
    puts(wrong ? "wrong" : "right");
    return wrong;
}
