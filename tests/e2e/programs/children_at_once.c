/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Recursive tasks: a child begins as soon as its own data are ready. Two tiles of BLOCKS blocks; the task of the second
 * reads the first. The last child of the first does not end before a child of the second has run: with a wait for all of
 * them it would give up after a while. (split.sh; in memory that kernels on host devices share.)
 */
#include "check.h"

#include "ompdarts.h"

#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

enum { BLOCKS = 8, TRIES = 20000 };

typedef struct meeting {
    atomic_bool ran;     /* a child of the second tile */
    atomic_bool gave_up; /* the last one of the first tile did not see that */
} meeting;

#pragma omp begin declare target
static void wait_for_child(meeting *m)
{
    for (int i = 0; i < TRIES && !atomic_load(&m->ran); i++)
        usleep(1000);
    atomic_store(&m->gave_up, !atomic_load(&m->ran));
}
#pragma omp end declare target

static __attribute__((noinline)) void first(int level, double *x, int from, int count, uintptr_t at)
{
    double *begin = x + from * TILE;
    if (ompdarts_split(level, (const void *const[]){begin}, 1) && level < 1) {
        for (int b = 0; b < count; b++)
            first(level + 1, x, from + b, 1, at);
        return;
    }
    const int size = count * TILE, waits = count == 1 && from == BLOCKS - 1;
#pragma omp target nowait depend(iterator(b = 0 : count), inout : begin[b * TILE]) map(tofrom : begin [0:size])
    {
        if (waits)
            wait_for_child((meeting *)at);
        for (int i = 0; i < size; i++)
            begin[i] += 1;
    }
}

static __attribute__((noinline)) void second(int level, double *x, double *y, int from, int count, uintptr_t at)
{
    double *in = x + from * TILE, *out = y + from * TILE;
    if (ompdarts_split(level, (const void *const[]){in, out}, 2) && level < 1) {
        for (int b = 0; b < count; b++)
            second(level + 1, x, y, from + b, 1, at);
        return;
    }
    const int size = count * TILE;
#pragma omp target nowait depend(iterator(b = 0                                                                        \
                                          : count),                                                                    \
                                 in                                                                                    \
                                 : in[b * TILE]) depend(iterator(b = 0                                                 \
                                                                 : count),                                             \
                                                        out                                                            \
                                                        : out[b * TILE]) map(to                                        \
                                                                             : in [0:size]) map(from                   \
                                                                                                : out [0:size])
    {
        for (int i = 0; i < size; i++)
            out[i] = 2 * in[i];
        atomic_store(&((meeting *)at)->ran, true);
    }
}

int main(void)
{
    static double x[BLOCKS * TILE], y[BLOCKS * TILE];
    static meeting m;
    for (int i = 0; i < BLOCKS * TILE; i++)
        x[i] = i;
#pragma omp parallel
#pragma omp single
    {
        first(0, x, 0, BLOCKS, (uintptr_t)&m);
        second(0, x, y, 0, BLOCKS, (uintptr_t)&m);
    }
    for (int i = 0; i < BLOCKS * TILE; i++)
        CHECK(x[i] == i + 1 && y[i] == 2 * (i + 1));
    CHECK(!atomic_load(&m.gave_up));
    return check_result();
}
