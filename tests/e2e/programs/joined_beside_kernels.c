/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A kernel that names one section of an array in parts touches another page of it, too, when meanwhile the array has been
 * wanted in one piece: by a task that no device has room for, or by a construct that can only use it so. A third one is
 * at another place of that page: what it writes stays.
 *
 * variants: whole always
 * run: OMPDARTS_MEM=64Ki
 * run: OMPDARTS_MEM=200Ki
 */
#include "check.h"

#include <string.h>
#include <unistd.h>

enum { PAGE = 1024, PAGES = 64, N = PAGES * PAGE, MS = 1000 };

static void touch_beside(int *a, int *b, bool whole)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp target nowait map(a[0 : N]) depend(inout : a[0 : PAGE])
        {
            usleep(150 * MS);
            a[5 * PAGE + 500] = 1;
            usleep(150 * MS);
            a[0] = 2;
        }
        if (whole) {
#pragma omp target nowait map(a[0 : N])
            a[40 * PAGE]++;
        } else {
#pragma omp target nowait map(a[40 * PAGE : PAGE]) map(always, to : b[0 : PAGE])
            a[40 * PAGE] += b[0];
        }
        usleep(50 * MS);
#pragma omp target nowait map(a[5 * PAGE : PAGE])
        {
            usleep(200 * MS);
            a[5 * PAGE + 3] += 7;
            usleep(10 * MS);
        }
#pragma omp taskwait
    }
}

int main(int argc, char **argv)
{
    int *a = aligned_alloc(4096, N * sizeof *a), *b = a && argc > 0 ? calloc(PAGE, sizeof *b) : NULL;
    CHECK(a && b);
    for (int i = 0; i < N; i++)
        a[i] = i;
    b[0] = 1;
#pragma omp target enter data map(to : a[0 : N], b[0 : PAGE])
    touch_beside(a, b, argc > 1 && !strcmp(argv[1], "whole"));
#pragma omp target exit data map(from : a[0 : N]) map(release : b[0 : PAGE])
    for (int i = 0; i < N; i++)
        CHECK(a[i] == (i == 0                ? 2
                       : i == 5 * PAGE + 500 ? 1
                       : i == 5 * PAGE + 3   ? i + 7
                       : i == 40 * PAGE      ? i + 1
                                             : i));
    free(a);
    free(b);
    return check_result();
}
