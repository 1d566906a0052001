/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * All threads of a team enter the same array, and when they have, one of them writes to it on the host: kernels see what
 * was entered. Round by round, as it takes a thread that enters between another one's opening and its look at it.
 *
 * memory: 48Ki
 * run: OMP_NUM_THREADS=8
 */
#include "check.h"

enum { N = 1024, ROUNDS = 400 };

static int a[N];

static void enter_and_write(int round)
{
    for (int i = 0; i < N; i++)
        a[i] = round;
#pragma omp parallel
    {
#pragma omp target enter data map(to : a)
#pragma omp barrier
#pragma omp single
        for (int i = 0; i < N; i++)
            a[i] = -1;
    }
}

int main(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        int found = 0;
        enter_and_write(round);
#pragma omp target map(tofrom : found)
        for (int i = 0; i < N; i++)
            found += a[i] == round;
        CHECK(found == N);
#pragma omp target exit data map(delete : a)
    }
    return check_result();
}
