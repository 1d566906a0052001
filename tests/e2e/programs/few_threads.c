/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The user limits the threads of the process: leagues and regions of kernels have as many as without the library, whose
 * own threads would count.
 *
 * environment: KMP_DEVICE_THREAD_LIMIT=3 OMP_NUM_THREADS=2 KMP_WARNINGS=0
 * says: KMP_DEVICE_THREAD_LIMIT leaves no threads for devices
 */
#include "check.h"

#include <omp.h>

enum { TASKS = 8 };

static void look(int *seen)
{
#pragma omp target teams num_teams(2) thread_limit(1) nowait depend(inout : seen[0]) map(tofrom : seen[0 : 2])
    if (omp_get_team_num() == 0)
        seen[0] = omp_get_num_teams();
#pragma omp target nowait depend(inout : seen[0]) map(tofrom : seen[0 : 2])
    {
#pragma omp parallel num_threads(3)
#pragma omp single
        seen[1] = omp_get_num_threads();
    }
}

int main(void)
{
    int seen[TASKS][2] = {{0}};
    for (int i = 0; i < TASKS; i++)
        look(seen[i]);
#pragma omp taskwait
    for (int i = 0; i < TASKS; i++) {
        CHECK(seen[i][0] == 2);
        CHECK(seen[i][1] == 3);
    }
    return check_result();
}
