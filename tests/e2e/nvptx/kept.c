/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kept [ANEW]: a loop over the same arrays with a taskwait in it, or over arrays that are allocated ANEW each time, mostly
 * where those were that have been freed before. */
#include <stdio.h>
#include <stdlib.h>

enum { LENGTH = 1 << 18, COUNT = 3, ROUNDS = 20, TIMES = 3 };

static void add_one(int *x)
{
#pragma omp target teams distribute parallel for nowait depend(inout : x[0]) map(tofrom : x[0 : LENGTH])
    for (int i = 0; i < LENGTH; i++)
        x[i]++;
}

static int *make(int first)
{
    int *x = malloc(LENGTH * sizeof *x);
    for (int i = 0; i < LENGTH; i++)
        x[i] = first + i;
    return x;
}

static int is_wrong(const int *x, int first)
{
    int wrong = 0;
    for (int i = 0; i < LENGTH; i++)
        wrong |= x[i] != first + i;
    return wrong;
}

int main(int argc, char **argv)
{
    int *x[COUNT], wrong = 0, anew = argc > 1;
    (void)argv;
    for (int t = 0; t < COUNT; t++)
        x[t] = make(t);
    for (int round = 0; round < ROUNDS; round++) {
        for (int t = 0; t < COUNT; t++)
            for (int time = 0; time < TIMES; time++)
                add_one(x[t]);
#pragma omp taskwait
        for (int t = 0; t < COUNT; t++)
            wrong += is_wrong(x[t], t + (anew ? TIMES + round : TIMES * (round + 1)));
        for (int t = 0; t < COUNT && anew; t++)
            free(x[t]);
        for (int t = 0; t < COUNT && anew; t++)
            x[t] = make(t + round + 1);
    }
    puts(wrong ? "wrong" : "right");
    for (int t = 0; t < COUNT; t++)
        free(x[t]);
    return 0;
}
