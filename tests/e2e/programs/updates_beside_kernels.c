/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Updates of sections of an array while kernels use other sections of it: a pipeline through the three buffers of one
 * array, all asynchronous; host tasks that update their sections while the program's thread updates another one; and
 * threads, each with sections of its own, of an array that may be larger than a device's memory.
 *
 * memory: 64Ki
 */
#include "check.h"

enum { BUFFERS = 3, STEPS = 24, TASKS = 8 };

static double in[BUFFERS][TILE], out[BUFFERS][TILE];

static void pipeline(void)
{
    double sum[STEPS];
#pragma omp target enter data map(alloc : in, out)
#pragma omp parallel
#pragma omp single
    for (int s = 0; s < STEPS; s++) {
        int b = s % BUFFERS;
#pragma omp task depend(out : in[b]) firstprivate(s, b)
        for (int i = 0; i < TILE; i++)
            in[b][i] = s + i % 13;
#pragma omp target update to(in[b]) nowait depend(inout : in[b])
#pragma omp target nowait depend(in : in[b]) depend(out : out[b])
        for (int i = 0; i < TILE; i++)
            out[b][i] = 2 * in[b][i] + in[b][(i + 1) % TILE];
#pragma omp target update from(out[b]) nowait depend(inout : out[b])
#pragma omp task depend(in : out[b]) firstprivate(s, b) shared(sum)
        {
            sum[s] = 0;
            for (int i = 0; i < TILE; i++)
                sum[s] += out[b][i];
        }
    }
#pragma omp target exit data map(delete : in, out)
    double once = 0;
    for (int i = 0; i < TILE; i++)
        once += 3 * (i % 13);
    for (int s = 0; s < STEPS; s++)
        CHECK(sum[s] == once + 3 * s * TILE);
}

/* Section t is the t-th task's, the last one the thread's. */
static void host_tasks(void)
{
    double *x = make_tiles(TASKS + 1, 0);
#pragma omp target enter data map(to : x[0 : (TASKS + 1) * TILE])
#pragma omp parallel
#pragma omp single
    for (int round = 1; round <= 4; round++) {
        for (int t = 0; t < TASKS; t++)
#pragma omp task depend(inout : x[t * TILE : TILE]) firstprivate(t)
        {
#pragma omp target
            for (int i = 0; i < TILE; i++)
                x[t * TILE + i] += 1;
#pragma omp target update from(x[t * TILE : TILE])
            x[t * TILE] *= 3;
#pragma omp target update to(x[t * TILE : 1])
        }
        for (int n = 0; n < 20; n++) {
            x[TASKS * TILE + n] = round;
#pragma omp target update to(x[TASKS * TILE + n : 1])
        }
#pragma omp taskwait
    }
#pragma omp target exit data map(from : x[0 : (TASKS + 1) * TILE])
    for (int t = 0; t < TASKS; t++) {
        CHECK(x[t * TILE] == 120); /* 3 (3 (3 (3 + 1) + 1) + 1) */
        CHECK(all_are(x + t * TILE + 1, TILE - 1, 4));
    }
    CHECK(all_are(x + TASKS * TILE, 20, 4));
    CHECK(all_are(x + TASKS * TILE + 20, TILE - 20, 0));
    free(x);
}

/* Threads, each with its sections: written by the host, brought, computed and fetched, beside each other's kernels. */
static void threads(void)
{
    enum { SECTIONS = 24 };
    double *x = make_tiles(SECTIONS, 0);
#pragma omp target enter data map(to : x[0 : SECTIONS * TILE])
#pragma omp parallel for num_threads(6) schedule(static, 1)
    for (int s = 0; s < SECTIONS; s++) {
        double *own = x + s * TILE;
        for (int i = 0; i < TILE; i++)
            own[i] = s + i;
        if (s % 2) {
#pragma omp target update to(own[0 : TILE]) nowait depend(inout : own[0])
#pragma omp target nowait depend(inout : own[0])
            for (int i = 0; i < TILE; i++)
                own[i] *= 2;
#pragma omp target update from(own[0 : TILE]) nowait depend(inout : own[0])
#pragma omp taskwait
        } else {
#pragma omp target update to(own[0 : TILE])
#pragma omp target
            for (int i = 0; i < TILE; i++)
                own[i] *= 3;
#pragma omp target update from(own[0 : TILE])
        }
    }
    for (int s = 0; s < SECTIONS; s++)
        for (int i = 0; i < TILE; i++)
            CHECK(x[s * TILE + i] == (s % 2 ? 2 : 3) * (s + i));
#pragma omp target exit data map(release : x[0 : SECTIONS * TILE])
    free(x);
}

int main(void)
{
    pipeline();
    host_tasks();
    threads();
    return check_result();
}
