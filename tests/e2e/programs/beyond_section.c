/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Kernels that map a section of an array that is present, and use more of it: to libomptarget it is all there. In
 * serial code any; a task where its depend clause names what it uses besides.
 */
#include "check.h"

enum { BLOCKS = 8, STEPS = 3, MOST = 3000 };

static double *numbers(int n)
{
    double *x = malloc((size_t)n * sizeof *x);
    for (int i = 0; i < n; i++)
        x[i] = i % 97;
    return x;
}

#pragma omp declare target
static void step(double *x, int begin, int end)
{
    for (int i = begin; i < end; i++)
        x[i] += x[2 * begin - end + i - begin] * 0.5 + x[i + 1] + x[end + (i - begin) / 2] * 0.25;
}
#pragma omp end declare target

static bool are_same(const double *x, const double *y, int n)
{
    for (int i = 0; i < n; i++)
        if (x[i] != y[i]) {
            printf("element %d is %g, not %g\n", i, x[i], y[i]);
            return false;
        }
    return true;
}

static void on_host(double *x, int block)
{
    for (int k = 0; k < STEPS; k++)
        for (int t = 1; t < BLOCKS - 1; t++)
            step(x, t * block, (t + 1) * block);
}

static void in_serial_code(double *x, int block)
{
#pragma omp target data map(tofrom : x[0 : BLOCKS * block])
    for (int k = 0; k < STEPS; k++)
        for (int t = 1; t < BLOCKS - 1; t++) {
#pragma omp target map(tofrom : x[t * block : block])
            step(x, t * block, (t + 1) * block);
        }
}

/* Their depend clauses name the neighbours, by extent or by their first elements. */
static void in_tasks(double *x, int block, bool by_element)
{
    int extent = by_element ? 1 : block;
#pragma omp target data map(tofrom : x[0 : BLOCKS * block])
#pragma omp parallel
#pragma omp single
    for (int k = 0; k < STEPS; k++)
        for (int t = 1; t < BLOCKS - 1; t++) {
#pragma omp target nowait map(tofrom : x[t * block : block]) depend(inout : x[t * block : extent]) \
    depend(in : x[(t - 1) * block : extent], x[(t + 1) * block : extent])
            step(x, t * block, (t + 1) * block);
        }
}

/* Sections of one task after another, while serial code uses neighbours of its own. */
static void in_both(double *x, int block)
{
#pragma omp target data map(tofrom : x[0 : BLOCKS * block])
    for (int k = 0; k < STEPS; k++)
        for (int t = 1; t < BLOCKS - 1; t++) {
            if (t % 2) {
#pragma omp target nowait map(tofrom : x[t * block : block]) depend(inout : x[t * block : block]) \
    depend(in : x[(t - 1) * block : block], x[(t + 1) * block : block])
                step(x, t * block, (t + 1) * block);
            } else {
#pragma omp target map(tofrom : x[(t - 1) * block : 3 * block])
                step(x, t * block, (t + 1) * block);
            }
#pragma omp taskwait
        }
}

int main(void)
{
    static const int blocks[] = {1, 7, 64, 512, 700, MOST};
    for (unsigned b = 0; b < sizeof blocks / sizeof *blocks; b++) {
        int block = blocks[b], n = BLOCKS * block;
        double *right = numbers(n);
        on_host(right, block);
        for (int way = 0; way < 4; way++) {
            double *x = numbers(n);
            if (way == 0)
                in_serial_code(x, block);
            else if (way == 3)
                in_both(x, block);
            else
                in_tasks(x, block, way == 1);
            CHECK(are_same(x, right, n));
            free(x);
        }
        free(right);
    }
    return check_result();
}
