/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What the host version of a region may count on, and what is said where it crashes (kernels/cpu.sh): with an argument it
 * does on the host what the argument says.
 */
#define _GNU_SOURCE
#include "check.h"

#include <dirent.h>
#include <omp.h>
#include <sched.h>
#include <string.h>

enum { TASKS = 6 };

/* That each thread of a CPU worker may use; -1: not the same. */
static int processors_of_workers(void)
{
    int processors = 0;
    struct dirent *entry;
    DIR *tasks = opendir("/proc/self/task");
    while (tasks && (entry = readdir(tasks))) {
        char path[300], name[32] = "";
        cpu_set_t set;
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
        FILE *file = fopen(path, "r");
        if (!file)
            continue;
        if (fgets(name, sizeof name, file) && strcmp(name, "od-host\n") == 0 &&
            !sched_getaffinity(atoi(entry->d_name), sizeof set, &set)) {
            processors = processors && processors != CPU_COUNT(&set) ? -1 : CPU_COUNT(&set);
        }
        fclose(file);
    }
    if (tasks)
        closedir(tasks);
    return processors;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    bool crashes = strcmp(what, "crash") == 0, traps = strcmp(what, "trap") == 0;
    int threads[TASKS] = {0}, most = omp_get_max_threads();
    double *x = make_tiles(TASKS, 1);
    for (int t = 0; t < TASKS; t++) {
        double *tile = x + t * TILE;
        int *own = &threads[t];
#pragma omp target nowait depend(inout : tile [0:TILE]) map(tofrom : tile [0:TILE]) map(from : own [0:1])
        {
            if (crashes && omp_is_initial_device())
                *(volatile int *)0 = 1;
            if (traps && omp_is_initial_device())
                __builtin_trap();
            int n = 0;
#pragma omp parallel reduction(max : n)
            {
                n = omp_get_num_threads();
#pragma omp for
                for (int i = 0; i < TILE; i++)
                    tile[i] += 1;
            }
            own[0] = n;
        }
    }
#pragma omp taskwait
    CHECK(all_are(x, TASKS * TILE, 2));
    CHECK(omp_get_max_threads() == most);
    if (strcmp(what, "team") == 0) {
        for (int t = 1; t < TASKS; t++)
            CHECK(threads[t] == threads[0]);
        printf("%d processors, %d threads\n", processors_of_workers(), threads[0]);
    }
    free(x);
    return check_result();
}
