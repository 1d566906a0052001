/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Threads run kernels on an array, one after the other, until another thread has come through a construct on other
 * elements of it: an update, or a kernel with a section that overlaps theirs. Nobody waits for ever.
 *
 * variants: to from overlap
 */
#include "check.h"

#include <omp.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 4, N = 1024, MS = 1000 };

static int *x;
static int done;

static void kernels(int thread)
{
    int stop = 0;
    while (!stop) {
#pragma omp target map(tofrom : x[0 : N / 2])
        {
            usleep(3 * MS);
            x[64 * thread]++;
        }
#pragma omp atomic read
        stop = done;
    }
}

static void construct(const char *which)
{
    int sum = 0;
    usleep(100 * MS);
    if (!strcmp(which, "to")) {
        x[1] = 77;
#pragma omp target update to(x[0 : 4])
    } else if (!strcmp(which, "from")) {
#pragma omp target update from(x[0 : 4])
    } else {
#pragma omp target map(to : x[N / 4 : N / 2]) map(tofrom : sum)
        sum += x[N / 2 + 1];
        CHECK(sum == N / 2 + 1);
    }
#pragma omp atomic write
    done = 1;
}

int main(int argc, char **argv)
{
    const char *which = argc > 1 ? argv[1] : "to";
    x = malloc(N * sizeof *x);
    if (!x)
        abort();
    for (int i = 0; i < N; i++)
        x[i] = i;
#pragma omp target enter data map(to : x[0 : N])
#pragma omp parallel num_threads(THREADS)
    {
        if (omp_get_thread_num())
            kernels(omp_get_thread_num());
        else
            construct(which);
    }
#pragma omp target exit data map(from : x[0 : N])
    CHECK(x[1] == (!strcmp(which, "to") ? 77 : 1));
    CHECK(x[N - 1] == N - 1);
    free(x);
    return check_result();
}
