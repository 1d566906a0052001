/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Tasks of which each adds up an array with teams: on a GPU such a kernel gets memory to do so with each launch. */
#include <stdio.h>

enum { COUNT = 64, TASKS = 200 };

int main(void)
{
    double x[COUNT], sum[TASKS] = {0};
    int wrong = 0;
    for (int i = 0; i < COUNT; i++)
        x[i] = i;
    for (int t = 0; t < TASKS; t++) {
        double *s = &sum[t];
#pragma omp target teams distribute parallel for nowait depend(out : s[0]) map(to : x) map(tofrom : s[0 : 1])          \
    reduction(+ : s[0 : 1])
        for (int i = 0; i < COUNT; i++)
            s[0] += x[i];
    }
#pragma omp taskwait
    for (int t = 0; t < TASKS; t++)
        wrong += sum[t] != COUNT * (COUNT - 1) / 2;
    puts(wrong ? "wrong" : "right");
    return wrong > 0;
}
