/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * usage: spare HOW BYTES
 *
 * Device 0 is full of tiles, and somebody else needs memory there: the program itself (HOW: alloc), libomptarget for an
 * array that a construct maps (map), or a library that calls the driver and must not fail (library).
 */
#include <dlfcn.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH = 1 << 18, TILES = 34, LEAST = 256 << 10 };

static int x[TILES][LENGTH];

static void use_tiles(void)
{
    for (int t = 0; t < TILES; t++) {
        int *tile = x[t];
#pragma omp target teams distribute parallel for nowait map(tofrom : tile[ : LENGTH]) depend(inout : tile[0])
        for (int i = 0; i < LENGTH; i++)
            tile[i] += i;
    }
#pragma omp taskwait
}

static const char *take(size_t bytes)
{
    void *memory = omp_target_alloc(bytes, 0);
    omp_target_free(memory, 0);
    return memory ? "right" : "there is no memory";
}

static const char *map(size_t bytes)
{
    char *array = calloc(bytes, 1);
    size_t wrong = 0;
#pragma omp target teams distribute parallel for device(0) map(tofrom : array[ : bytes])
    for (size_t i = 0; i < bytes; i++)
        array[i]++;
    for (size_t i = 0; i < bytes; i++)
        wrong += array[i] != 1;
    free(array);
    return wrong ? "wrong array" : "right";
}

/* It takes little at a time, between launches. */
static const char *take_in_library(size_t bytes)
{
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
    int (*alloc)(unsigned long long *, size_t) = (int (*)(unsigned long long *, size_t))dlsym(cuda, "cuMemAlloc_v2");
    int (*retain)(void **, int) = (int (*)(void **, int))dlsym(cuda, "cuDevicePrimaryCtxRetain");
    int (*set)(void *) = (int (*)(void *))dlsym(cuda, "cuCtxSetCurrent");
    void *context;
    if (retain(&context, 0) || set(context))
        return "no context";
    for (size_t taken = 0; taken < bytes; taken += LEAST) {
        unsigned long long address;
        double until = omp_get_wtime() + 0.011;
        while (omp_get_wtime() < until)
            continue;
#pragma omp target nowait map(tofrom : x[0][ : 1]) depend(inout : x[0][0])
        x[0][0] += 0;
#pragma omp taskwait
        if (alloc(&address, LEAST))
            return "there is no memory";
    }
    return "right";
}

int main(int argc, char **argv)
{
    const char *how = argc > 2 ? argv[1] : "";
    size_t bytes = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    int rounds = 3, wrong = 0;
    const char *result = "right";
    for (int t = 0; t < TILES; t++) {
        int *tile = x[t];
#pragma omp target enter data map(to : tile[ : LENGTH])
    }
    for (int round = 0; round < rounds; round++) {
        use_tiles();
        if (round == 1)
            result = !strcmp(how, "alloc") ? take(bytes) : !strcmp(how, "map") ? map(bytes) : take_in_library(bytes);
    }
    for (int t = 0; t < TILES; t++) {
        int *tile = x[t];
#pragma omp target exit data map(from : tile[ : LENGTH])
    }
    for (int t = 0; t < TILES; t++)
        for (int i = 0; i < LENGTH; i++)
            wrong += x[t][i] != rounds * i;
    puts(wrong ? "wrong tiles" : result);
    return 0;
}
