/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* usage: spare BYTES: after a task, memory of the device's for the program itself. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { LENGTH = 4096 };

int main(int argc, char **argv)
{
    static int x[LENGTH];
#pragma omp target teams distribute parallel for nowait map(tofrom : x) depend(inout : x[0])
    for (int i = 0; i < LENGTH; i++)
        x[i] += i;
#pragma omp taskwait
    void *memory = argc > 1 ? omp_target_alloc(strtoul(argv[1], NULL, 10), 0) : NULL;
    puts(memory ? "right" : "there is no memory");
    if (memory)
        omp_target_free(memory, 0);
    return 0;
}
