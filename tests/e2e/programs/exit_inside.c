/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * exit() while target tasks are under way, from a host task between them, from the host branch of a target region,
 * from the host version of a task that fits no device, from main or while main meets one construct after another
 * (exit_inside.sh): the program ends with that code, and what it printed is there.
 */
#include "check.h"

#include <omp.h>
#include <string.h>
#include <unistd.h>

enum { COUNT = 12 };

static void create(double *x)
{
    for (int t = 0; t < COUNT; t++) {
        double *tile = x + t * TILE;
#pragma omp target nowait depend(inout : tile[0 : TILE]) map(tofrom : tile[0 : TILE])
        for (int i = 0; i < TILE; i++)
            tile[i] += 1;
    }
}

/* The process takes its time to end. */
static useconds_t last_nap;

__attribute__((destructor)) static void nap(void)
{
    usleep(last_nap);
}

static void meet_constructs(double *x)
{
    int device = omp_get_default_device();
    for (int i = 0; i < 2000; i++) {
#pragma omp target data map(tofrom : x[0 : TILE])
#pragma omp target
        x[0] += 1;
#pragma omp target device(device) map(tofrom : x[0 : TILE])
        x[0] += 1;
        if (i < 20)
            create(x + TILE);
    }
}

int main(int argc, char **argv)
{
    double *x = make_tiles(2 * COUNT + 1, 0), *first = x;
    const char *where = argc == 2 ? argv[1] : "";
    puts("right");
#pragma omp parallel
#pragma omp single
    {
        create(x);
        if (strcmp(where, "host_task") == 0) {
#pragma omp task depend(inout : first[0 : TILE])
            exit(7);
        } else if (strcmp(where, "constructs") == 0) {
            last_nap = 100000;
#pragma omp task depend(inout : first[0 : TILE])
            exit(7);
            meet_constructs(x + COUNT * TILE);
        } else if (strcmp(where, "host_branch") == 0) {
#pragma omp target if (0) map(tofrom : first[0 : TILE])
            exit(7);
        } else if (strcmp(where, "host_branch_nowait") == 0) {
#pragma omp target nowait if (0) depend(inout : first[0 : TILE]) map(tofrom : first[0 : TILE])
            exit(7);
        } else if (strcmp(where, "host_version") == 0) {
#pragma omp target nowait depend(inout : first[0 : COUNT * TILE]) map(tofrom : first[0 : COUNT * TILE])
            {
                first[0] += 1;
                if (omp_is_initial_device())
                    exit(7);
            }
        } else if (strcmp(where, "main") == 0) {
            exit(7);
        }
        create(x);
    }
    return 1;
}
