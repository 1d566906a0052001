/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A program whose own threads are bound to one processor each: threads of the library may run wherever the process may.
 *
 * environment: OMP_PROC_BIND=close
 * cpu: 0
 */
#define _GNU_SOURCE
#include "check.h"

#include <dirent.h>
#include <sched.h>
#include <string.h>

static bool is_of_the_library(const char *thread)
{
    char path[64], name[32] = "";
    snprintf(path, sizeof path, "/proc/self/task/%s/comm", thread);
    FILE *file = fopen(path, "r");
    if (file) {
        if (!fgets(name, sizeof name, file))
            name[0] = 0;
        fclose(file);
    }
    return strncmp(name, "od-", 3) == 0;
}

static int bound_threads(int processors)
{
    int bound = 0;
    struct dirent *entry;
    DIR *tasks = opendir("/proc/self/task");
    while (tasks && (entry = readdir(tasks))) {
        cpu_set_t set;
        pid_t id = atoi(entry->d_name);
        if (id > 0 && is_of_the_library(entry->d_name) && !sched_getaffinity(id, sizeof set, &set))
            bound += CPU_COUNT(&set) < processors;
    }
    if (tasks)
        closedir(tasks);
    return bound;
}

int main(void)
{
    cpu_set_t process;
    double *x = make_tiles(4, 0);
    sched_getaffinity(0, sizeof process, &process);
    for (int round = 0; round < 4; round++) {
#pragma omp parallel num_threads(2)
#pragma omp single
        for (int t = 0; t < 4; t++) {
            double *tile = x + t * TILE;
#pragma omp target nowait depend(inout : tile[0]) map(tofrom : tile[0 : TILE])
            for (int i = 0; i < TILE; i++)
                tile[i] += 1;
        }
    }
    CHECK(all_are(x, 4 * TILE, 4));
    CHECK(bound_threads(CPU_COUNT(&process)) == 0);
    free(x);
    return check_result();
}
