/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A task asks whether to split itself, is told to, and runs another task, which creates a target task without a
 * question, before it creates its own. What it has been told is about these. (split.sh)
 */
#include "check.h"

#include "ompdarts.h"

enum { ROUNDS = 3 };

static double x[TILE], y[TILE];

static __attribute__((noinline)) int asks(int level)
{
    return ompdarts_split(level, (const void *const[]){x}, 1);
}

static void add_to(double *a)
{
#pragma omp target nowait map(tofrom : a [0:TILE]) depend(inout : a[0])
    for (int i = 0; i < TILE; i++)
        a[i]++;
}

/* 0: it was not to be split. */
static int run(void)
{
    int splits = asks(0);
#pragma omp task
    add_to(y);
#pragma omp taskwait
    int splits_below = splits && asks(1); /* there is no level below */
    CHECK(!splits_below);
    add_to(x);
    return splits;
}

int main(void)
{
    int splits[ROUNDS] = {0};
#pragma omp parallel num_threads(1)
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp task shared(splits)
        splits[round] = run();
#pragma omp taskwait
    }
    for (int round = 1; round < ROUNDS; round++)
        CHECK(splits[round] == splits[0]);
    CHECK(all_are(x, TILE, ROUNDS) && all_are(y, TILE, ROUNDS));
    return check_result();
}
