/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* After a synchronisation point no memory of the program's is pinned any more: it may change it or give it back. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { LENGTH = 1 << 18, COUNT = 3, ROUNDS = 4, MEMORY_TYPE = 2, HOST = 1 };

static int (*ask)(void *data, int attribute, unsigned long long address);

static int is_pinned(const int *x)
{
    unsigned type = 0;
    return !ask(&type, MEMORY_TYPE, (unsigned long long)(size_t)(x + LENGTH / 2)) && type == HOST;
}

static void add_one(int *x)
{
#pragma omp target teams distribute parallel for nowait depend(inout : x[0]) map(tofrom : x[0 : LENGTH])
    for (int i = 0; i < LENGTH; i++)
        x[i]++;
}

int main(void)
{
    int *x[COUNT], wrong = 0;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    *(void **)&ask = driver ? dlsym(driver, "cuPointerGetAttribute") : NULL;
    if (!ask)
        return 1;
    for (int t = 0; t < COUNT; t++)
        x[t] = calloc(LENGTH, sizeof **x);
    for (int point = 0; point < 3; point++) {
        for (int round = 0; round < ROUNDS; round++)
            for (int t = 0; t < COUNT; t++)
                add_one(x[t]);
#pragma omp taskwait
        for (int t = 0; t < COUNT; t++)
            wrong += is_pinned(x[t]) || x[t][LENGTH - 1] != (point + 1) * ROUNDS;
    }
    puts(wrong ? "wrong" : "right");
    for (int t = 0; t < COUNT; t++)
        free(x[t]);
    return 0;
}
