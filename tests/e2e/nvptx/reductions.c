/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * usage: reductions TASKS
 *
 * Tasks of which each adds up an array with teams: on a GPU such a kernel gets memory to do so with each launch.
 * Whether that is given back the driver tells, after the first tenth of the tasks and at the end.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 64, MOST_LOST = 2 << 20 };

static int find(const char *name, void *function)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY), *symbol = driver ? dlsym(driver, name) : NULL;
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

/* Bytes of the first GPU; 0: there is no driver. */
static size_t free_memory(void)
{
    int (*retain)(void **context, int device), (*push)(void *context), (*pop)(void **context);
    int (*ask)(size_t * bytes, size_t * all), (*release)(int device);
    size_t bytes = 0, all;
    void *context;
    if (!find("cuDevicePrimaryCtxRetain", &retain) || !find("cuDevicePrimaryCtxRelease_v2", &release) ||
        !find("cuCtxPushCurrent_v2", &push) || !find("cuCtxPopCurrent_v2", &pop) || !find("cuMemGetInfo_v2", &ask) ||
        retain(&context, 0))
        return 0;
    if (!push(context)) {
        ask(&bytes, &all);
        pop(&context);
    }
    release(0);
    return bytes;
}

static int add_up(int tasks)
{
    double x[COUNT], *sum = calloc((size_t)tasks, sizeof *sum);
    int wrong = 0;
    for (int i = 0; i < COUNT; i++)
        x[i] = i;
    for (int t = 0; t < tasks; t++) {
        double *s = &sum[t];
#pragma omp target teams distribute parallel for nowait depend(out : s[0]) map(to : x) map(tofrom : s[0 : 1])          \
    reduction(+ : s[0 : 1])
        for (int i = 0; i < COUNT; i++)
            s[0] += x[i];
    }
#pragma omp taskwait
    for (int t = 0; t < tasks; t++)
        wrong += sum[t] != COUNT * (COUNT - 1) / 2;
    free(sum);
    return wrong;
}

int main(int argc, char **argv)
{
    int tasks = argc > 1 ? atoi(argv[1]) : 200, first = tasks / 10;
    int wrong = add_up(first);
    size_t before = free_memory();
    wrong += add_up(tasks - first);
    size_t after = free_memory(), lost = before > after ? before - after : 0;
    if (lost > MOST_LOST)
        fprintf(stderr, "%zu bytes of device memory are lost\n", lost);
    puts(wrong || lost > MOST_LOST ? "wrong" : "right");
    return wrong || lost > MOST_LOST;
}
