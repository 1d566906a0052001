/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Constructs whose events an OMPT tool logs (ompt.sh). `host`: without offloading; `target`: target constructs; `tasks`:
 * target tasks; `locks`: locks and critical sections without offloading, `locked`: after some.
 */
#include "check.h"

#include <omp.h>
#include <string.h>

enum { N = 4 * TILE };

static double x[N];

static void use_host(void)
{
    int sum = 0;
#pragma omp parallel num_threads(3) reduction(+ : sum)
    {
#pragma omp for
        for (int i = 0; i < N; i++)
            sum += i % 2;
#pragma omp barrier
#pragma omp single
        {
            for (int i = 0; i < 4; i++) {
#pragma omp task depend(inout : x[i * TILE])
                x[i * TILE] += 1;
            }
#pragma omp taskgroup
            {
#pragma omp task
                x[1] += 1;
            }
#pragma omp taskwait
        }
    }
    CHECK(sum == N / 2);
}

static void use_target(void)
{
#pragma omp target data map(tofrom : x)
    {
#pragma omp target
        for (int i = 0; i < N; i++)
            x[i] += 1;
#pragma omp target update from(x)
    }
#pragma omp target enter data map(to : x)
#pragma omp target teams distribute parallel for
    for (int i = 0; i < N; i++)
        x[i] += 1;
#pragma omp target exit data map(from : x)
#pragma omp target map(tofrom : x)
    for (int i = 0; i < N; i++)
        x[i] += 1;
}

static void use_tasks(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int i = 0; i < 8; i++) {
        double *tile = x + i % 4 * TILE;
#pragma omp target nowait depend(inout : tile [0:TILE]) map(tofrom : tile [0:TILE])
        for (int j = 0; j < TILE; j++)
            tile[j] += 1;
    }
}

static void use_locks(void)
{
    int count = 0, ended = 0;
    omp_lock_t lock;
    omp_nest_lock_t nest;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
#pragma omp parallel num_threads(3)
    {
#pragma omp critical
        count++;
#pragma omp critical(hinted) hint(omp_sync_hint_contended)
        x[0] += 1;
#pragma omp barrier /* libomp: where a critical section ends, what the first thread does has no place */
        omp_set_lock(&lock);
        count++;
        omp_unset_lock(&lock);
        while (!omp_test_lock(&lock))
            ;
        count++;
        omp_unset_lock(&lock);
        omp_set_nest_lock(&nest);
        if (omp_test_nest_lock(&nest)) {
            x[1] += 1;
            omp_unset_nest_lock(&nest);
        }
        omp_unset_nest_lock(&nest);
#pragma omp atomic /* the call before it is not the region's last: that would be a jump */
        ended++;
    }
    omp_destroy_nest_lock(&nest);
    omp_destroy_lock(&lock);
    CHECK(count == 9 && ended == 3 && x[1] >= 3);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "host") == 0)
        use_host();
    if (strcmp(what, "target") == 0)
        use_target();
    if (strcmp(what, "tasks") == 0 || strcmp(what, "locked") == 0)
        use_tasks();
    if (strcmp(what, "locks") == 0 || strcmp(what, "locked") == 0)
        use_locks();
    return check_result();
}
