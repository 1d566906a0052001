/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Host tasks with dependences beside target tasks: those that come after none are libomp's alone, whatever their code
 * does the next time. In teams, by a thread that is alone, in taskgroups.
 *
 * variants: chain mixed
 * memory: 40Ki
 * run: OMPDARTS_COHERENCE=depend
 */
#include "check.h"

#include <string.h>

enum { LINKS = 10000, EVERY = 1000, COUNT = 8 };

static void add(double *x, double value)
{
#pragma omp task depend(inout : x[0])
    x[0] += value;
}

static void add_on_device(double *tile, double value)
{
#pragma omp target nowait depend(inout : tile[0]) map(tofrom : tile[0 : TILE])
    for (int i = 0; i < TILE; i++)
        tile[i] += value;
}

/* The first shows that its code does not offload; what follows is the library's business only where it comes after a
 * target task: none. */
static void chain(double *x, double *tile)
{
    add(x, 1);
#pragma omp taskwait
    for (int k = 0; k < LINKS; k++) {
        if (k % EVERY == 0)
            add_on_device(tile, 1);
        add(x, 1);
    }
#pragma omp taskwait
    CHECK(x[0] == LINKS + 1 && all_are(tile, TILE, LINKS / EVERY));
}

/* Code that is known not to offload does so later: on data outside of regions, with host tasks after it. */
static void branch(double *x, double *tile)
{
    for (int k = 0; k < 60; k++) {
#pragma omp task depend(inout : tile[0]) depend(out : x[0]) firstprivate(k)
        {
            if (k % 4 == 3) {
#pragma omp target map(tofrom : tile[0 : TILE])
                for (int i = 0; i < TILE; i++)
                    tile[i] *= 2;
            }
            for (int i = 0; i < TILE; i++)
                tile[i] += k % 4 == 3 ? -15 : 1;
            x[0] = tile[TILE - 1];
        }
        add(x, 1);
    }
#pragma omp taskwait
    for (int k = 0, value = 0; k < 60; k++) {
        value = k % 4 == 3 ? value * 2 - 15 : value + 1;
        if (k == 59)
            CHECK(all_are(tile, TILE, value) && x[0] == value + 1);
    }
}

/* The group's task depends on a target task from before it, by way of another host task, and its end waits for it. */
static void group(double *x, double *tile)
{
    for (int round = 1; round <= 20; round++) {
        add_on_device(tile, 1);
#pragma omp task depend(in : tile[0]) depend(out : x[1])
        x[1] = tile[TILE / 2];
#pragma omp taskgroup
        {
#pragma omp task depend(in : x[1]) depend(out : x[0])
            x[0] = x[1];
            add(x + 2, 1);
        }
        CHECK(x[0] == round && x[2] == round);
    }
#pragma omp taskwait
}

/* A task without dependences that creates target tasks, and does not wait for them; its code is known. */
static void parents(double *tile)
{
    for (int round = 1; round <= 10; round++) {
#pragma omp taskgroup
#pragma omp task
        {
            add_on_device(tile, 1);
            add_on_device(tile, 1);
#pragma omp task depend(in : tile[0])
            CHECK(all_are(tile, TILE, 2 * round));
        }
    }
}

/* Host tasks between target tasks that use the same data, and others beside them. */
static void between(double *x, double *tiles)
{
    for (int step = 0; step < 6; step++)
        for (int t = 0; t < COUNT; t++) {
            double *tile = tiles + t * TILE;
            add_on_device(tile, 1);
            add(x, 1);
            add(tile, 2);
            add(x + t, 1);
#pragma omp task depend(mutexinoutset : x[COUNT]) depend(in : tile[0])
            x[COUNT] += tile[1];
        }
#pragma omp taskwait
    CHECK(x[0] == 6 * COUNT + 6 && x[1] == 6 && x[COUNT] == COUNT * (1 + 2 + 3 + 4 + 5 + 6));
    for (int t = 0; t < COUNT; t++)
        CHECK(tiles[t * TILE] == 6 * 3 && tiles[t * TILE + 1] == 6);
}

static void mixed(void)
{
    void (*const parts[])(double *, double *) = {chain, branch, group, between};
    for (int p = 0; p < 4; p++) {
        double *tiles = make_tiles(COUNT, 0), *x = make_tiles(1, 0);
        parts[p](x, tiles);
        memset(tiles, 0, COUNT * TILE * sizeof *tiles);
        parents(tiles);
        free(x);
        free(tiles);
    }
}

int main(int argc, char **argv)
{
    double *tile = make_tiles(1, 0), *x = make_tiles(1, 0);
    if (argc > 1 && strcmp(argv[1], "mixed") == 0) {
        mixed(); /* alone */
#pragma omp parallel
#pragma omp single
        mixed();
#pragma omp parallel num_threads(3) /* each for itself */
        mixed();
    } else {
#pragma omp parallel
#pragma omp single
        chain(x, tile);
    }
    free(x);
    free(tile);
    return check_result();
}
