/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A thread that is alone in its team creates a chain of tasks, with work of its own in between: they run meanwhile. Its
 * taskwait is not what they wait for.
 */
#include "check.h"

#include <unistd.h>

enum { MOST = 5000, ENOUGH = 10 };

static int x[4];
static volatile int done; /* what a kernel on a host device can reach */

/* The number of tasks that were created before some had run. */
static int create(void)
{
    volatile int *counter = &done;
    int n = 0;
    done = 0;
    for (; n < MOST && done < ENOUGH; n++) {
#pragma omp target nowait depend(inout : x) map(tofrom : x) is_device_ptr(counter)
        {
            x[0]++;
            (*counter)++;
        }
        usleep(500);
    }
    return n;
}

static void check(int n)
{
    if (n == MOST)
        printf("%d of %d tasks have run\n", done, n);
    CHECK(n < MOST);
}

int main(void)
{
    int n = create();
#pragma omp taskwait
    check(n);
    CHECK(x[0] == n);
#pragma omp parallel num_threads(1)
    {
        int before = x[0];
        n = create();
#pragma omp taskwait
        check(n);
        CHECK(x[0] == before + n);
    }
    return check_result();
}
