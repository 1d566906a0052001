/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Mapped ranges that overlap without being equal, in the order that the argument names. The tasks are ordered by
 * dependences on the elements they share, or by the host waiting.
 *
 * memory: 40Ki
 * variants: section_after_whole whole_after_section partly back_and_forth host_between
 */
#include "check.h"

#include <string.h>

enum { LENGTH = 4 * TILE };

static void add(double *x, size_t first, size_t length, double value)
{
#pragma omp target nowait depend(inout : x[0]) firstprivate(value) map(tofrom : x[first : length])
    for (size_t i = first; i < first + length; i++)
        x[i] += value;
}

static void section_after_whole(double *x)
{
    add(x, 0, LENGTH, 1);
    for (size_t t = 0; t < 4; t++)
        add(x, t * TILE, TILE, 10);
}

static void whole_after_section(double *x)
{
    for (size_t t = 0; t < 4; t++)
        add(x, t * TILE, TILE, 10);
    add(x, 0, LENGTH, 1);
}

static void partly(double *x)
{
    add(x, 0, 3 * TILE, 1);
    add(x, 2 * TILE, 2 * TILE, 1);
    add(x, TILE / 2, 3 * TILE, 10);
    add(x, 0, TILE / 2, 10);
    add(x, 3 * TILE + TILE / 2, TILE / 2, 10);
#pragma omp task depend(inout : x[0])
    for (size_t i = 2 * TILE; i < 3 * TILE; i++) /* was added to twice */
        x[i] -= 1;
}

static void back_and_forth(double *x)
{
    for (int round = 0; round < 10; round++) {
        add(x, 0, LENGTH, 0.5);
        add(x, 0, TILE, 0.5);
        add(x, TILE, 3 * TILE, 0.5);
        add(x, 0, LENGTH - 1, 0.1);
        add(x, LENGTH - 1, 1, 0.1);
    }
    add(x, 0, LENGTH, -0.5);
    add(x, 0, LENGTH, 0.5);
}

static void host_between(double *x)
{
    for (size_t t = 0; t < 4; t++) {
        add(x, t * TILE, TILE, 5);
#pragma omp taskwait
        CHECK(all_are(x + t * TILE, TILE, 5));
        for (size_t i = 0; i < TILE; i++)
            x[t * TILE + i] += 5;
        add(x, 0, LENGTH, 1);
        add(x, 0, LENGTH, -1);
    }
    add(x, 0, LENGTH, 1);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(double *);
    } orders[] = {{"section_after_whole", section_after_whole},
                  {"whole_after_section", whole_after_section},
                  {"partly", partly},
                  {"back_and_forth", back_and_forth},
                  {"host_between", host_between}};
    double *x = make_tiles(4, 0);
    bool found = false;
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        if (argc == 2 && strcmp(argv[1], orders[i].name) == 0) {
            found = true;
#pragma omp parallel
#pragma omp single
            orders[i].run(x);
        }
    CHECK(found);
    for (int i = 0; i < LENGTH; i++) {
        double error = x[i] - 11; /* tenths are not exact */
        CHECK(error < 1e-9 && error > -1e-9);
    }
    free(x);
    return check_result();
}
