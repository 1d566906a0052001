/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Kernels one after the other, then many: how many threads of the library's device 0 there are at the end. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

enum { TASKS = 40, TILE = 4096 };

static int x[TASKS][TILE];

static void begin(int task)
{
    int *tile = x[task];
#pragma omp target teams distribute parallel for nowait depend(inout : tile[0]) map(tofrom : tile [0:TILE])
    for (int i = 0; i < TILE; i++)
        tile[i]++;
}

static int is_launching(const char *thread)
{
    char path[300], name[32] = "";
    snprintf(path, sizeof path, "/proc/self/task/%s/comm", thread);
    FILE *file = fopen(path, "r");
    int is = file && fgets(name, sizeof name, file) && !strcmp(name, "od-device-0\n");
    if (file)
        fclose(file);
    return is;
}

static int launching_threads(void)
{
    DIR *threads = opendir("/proc/self/task");
    int n = 0;
    for (struct dirent *entry; (entry = readdir(threads));)
        n += is_launching(entry->d_name);
    closedir(threads);
    return n;
}

int main(void)
{
    for (int t = 0; t < 4; t++) {
        begin(t);
#pragma omp taskwait
    }
    for (int t = 0; t < TASKS; t++)
        begin(t);
#pragma omp taskwait
    int n = launching_threads();
    printf("%d launching thread%s\n", n, n == 1 ? "" : "s");
    return 0;
}
