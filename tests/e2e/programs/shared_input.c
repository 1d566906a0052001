/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Slabs of two arrays per task, and one input that all of them share: an array in a region that the tasks do not
 * mention, or map `to`, or name by its first element as read. All devices work: no kernel writes to the input.
 *
 * variants: implicit mapped named
 * memory: 2800Ki
 * stats: stats.tasks == 32
 * stats: all(d.tasks > 0 for d in devices)
 * stats: totals.d2h_bytes <= 3 * (1 << 21) + 4096
 */
#include "check.h"

#include <string.h>
#include <unistd.h>

enum { N = 1 << 18, SLABS = 16, S = N / SLABS, SLEEP_US = 4000 };

static double *a, *b, *c;

static void implicit(int s)
{
    double *x = a, *y = b, *z = c;
    int o = s * S;
#pragma omp target nowait map(to : x[o : S]) map(from : z[o : S]) depend(out : z[o : S])
    {
        usleep(SLEEP_US);
        for (int i = 0; i < S; i++)
            z[o + i] = x[o + i] + y[(i * 7 + s) % N];
    }
}

static void mapped(int s)
{
    double *x = a, *y = b, *z = c;
    int o = s * S;
#pragma omp target nowait map(to : x[o : S], y[0 : N]) map(from : z[o : S]) depend(out : z[o : S])
    {
        usleep(SLEEP_US);
        for (int i = 0; i < S; i++)
            z[o + i] = x[o + i] + y[(i * 7 + s) % N];
    }
}

static void named(int s)
{
    double *x = a, *y = b, *z = c;
    int o = s * S;
#pragma omp target nowait map(to : x[o : S]) map(from : z[o : S]) depend(in : y[0]) depend(out : z[o : S])
    {
        usleep(SLEEP_US);
        for (int i = 0; i < S; i++)
            z[o + i] = x[o + i] + y[(i * 7 + s) % N];
    }
}

static bool is_right(void)
{
    for (int i = 0; i < N; i++)
        if (c[i] != a[i] + b[(i % S * 7 + i / S) % N]) {
            printf("element %d is %g\n", i, c[i]);
            return false;
        }
    return true;
}

int main(int argc, char **argv)
{
    const char *form = argc > 1 ? argv[1] : "implicit";
    void (*task)(int) = !strcmp(form, "mapped") ? mapped : !strcmp(form, "named") ? named : implicit;
    a = make_tiles(N / TILE, 1);
    b = make_tiles(N / TILE, 2);
    c = make_tiles(N / TILE, -1);
    for (int i = 0; i < N; i++) {
        a[i] = i % 11;
        b[i] = i % 13;
    }
#pragma omp target data map(to : b[0 : N])
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < 2; round++) {
        for (int s = 0; s < SLABS; s++)
            task(s);
#pragma omp taskwait
    }
    CHECK(is_right());
    free(a);
    free(b);
    free(c);
    return check_result();
}
