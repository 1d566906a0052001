/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Random constructs that name sections of one array, through base pointers inside and outside of it, with and without
 * modifiers: says after each what is present and what is on the host. Sections may be refused: then the program ends,
 * as it does without the library. Argument: the seed.
 */
#include "check.h"

#include <omp.h>
#include <stdint.h>

enum { CELLS = 8, SPACE = 3 * CELLS, STEPS = 24 };

static double space[SPACE];
static double *const line = space + CELLS;
static uint64_t state;

static int below(int n)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((state >> 33) % (uint64_t)n);
}

static void show(int step, const char *what, int begin, int size, int shift)
{
    printf("%d %s [%d, +%d) through %+d:", step, what, begin, size, shift);
    for (int i = 0; i < CELLS; i++)
        printf(" %s%g", omp_target_is_present(line + i, 0) ? "*" : "", line[i]);
    puts("");
    fflush(stdout);
}

static const char *enter(double *p, int b, int n, int how)
{
    if (how == 0) {
#pragma omp target enter data map(to : p[b : n])
        return "enter to";
    }
    if (how == 1) {
#pragma omp target enter data map(present, to : p[b : n])
        return "enter present";
    }
#pragma omp target enter data map(always, to : p[b : n])
    return "enter always";
}

static const char *leave(double *p, int b, int n, int how)
{
    if (how == 0) {
#pragma omp target exit data map(from : p[b : n])
        return "exit from";
    }
    if (how == 1) {
#pragma omp target exit data map(release : p[b : n])
        return "exit release";
    }
    if (how == 2) {
#pragma omp target exit data map(always, from : p[b : n])
        return "exit always";
    }
#pragma omp target exit data map(delete : p[b : n])
    return "exit delete";
}

static const char *move(double *p, int b, int n, int how)
{
    if (how == 0) {
#pragma omp target update from(p[b : n])
        return "update from";
    }
    if (how == 1) {
#pragma omp target update from(present : p[b : n])
        return "update present";
    }
#pragma omp target update to(p[b : n])
    return "update to";
}

static const char *compute(double *p, int b, int n, int how)
{
    if (how == 0) {
#pragma omp target map(tofrom : p[b : n])
        for (int i = b; i < b + n; i++)
            p[i] += 1;
        return "target tofrom";
    }
    if (how == 1) {
#pragma omp target map(present, alloc : p[b : n])
        for (int i = b; i < b + n; i++)
            p[i] += 10;
        return "target present";
    }
    if (how == 2) {
#pragma omp target nowait depend(inout : line[0]) map(tofrom : p[b : n])
        for (int i = b; i < b + n; i++)
            p[i] *= 2;
#pragma omp taskwait
        return "target nowait";
    }
#pragma omp target data map(ompx_hold, tofrom : p[b : n])
    {
#pragma omp target exit data map(delete : p[b : n])
#pragma omp target map(tofrom : p[b : n])
        for (int i = b; i < b + n; i++)
            p[i] += 100;
    }
    return "target data hold";
}

/* Whether the pointer that a kernel uses without mapping anything is the host's. */
static const char *use(double *p)
{
    uintptr_t seen = 0;
#pragma omp target map(from : seen)
    seen = (uintptr_t)p;
    return seen == (uintptr_t)p ? "pointer of the host" : "pointer of the device";
}

/* Mostly a half of the line or a part of one, so that few are refused. */
static void choose(int *begin, int *size)
{
    int part = below(16) ? CELLS / 2 : CELLS, from = below(3) ? 0 : below(part);
    *begin = part < CELLS ? below(2) * part + from : from;
    *size = below(3) ? part - from : below(part - from + 1);
}

static void one_step(int step)
{
    int begin, size;
    choose(&begin, &size);
    int shift = below(2) ? 0 : below(2 * CELLS) - CELLS / 2, kind = below(10);
    double *p = line + shift;
    int b = begin - shift;
    const char *what = kind < 3   ? enter(p, b, size, below(8) ? 0 : 1 + below(16) / 8)
                       : kind < 5 ? leave(p, b, size, below(4))
                       : kind < 6 ? move(p, b, size, below(6) ? below(2) * 2 : 1)
                       : kind < 8 ? compute(p, b, size, below(8) ? below(3) / 2 * 2 : 1 + below(2) * 2)
                                  : use(p);
    show(step, what, begin, size, shift);
}

int main(int argc, char **argv)
{
    state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    for (int i = 0; i < SPACE; i++)
        space[i] = i - CELLS;
    for (int step = 0; step < STEPS; step++)
        one_step(step);
    return check_result();
}
