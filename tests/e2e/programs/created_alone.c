/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A thread that is alone in its team creates a chain of tasks, with work of its own in between: they run meanwhile. Its
 * taskwait is not what they wait for. Inside of a task no other runs on top that is not its child.
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

static int private_number;
#pragma omp threadprivate(private_number)

static void create_in_task(void)
{
#pragma omp target nowait depend(out : x) map(tofrom : x)
    x[0]++;
#pragma omp task depend(in : x)
    private_number = 100;
#pragma omp task
    {
        private_number = 1;
        for (int i = 0; i < 10; i++) {
            usleep(1000);
#pragma omp task
            usleep(0);
            CHECK(private_number == 1);
        }
    }
#pragma omp taskwait
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
        create_in_task();
    }
    create_in_task();
    return check_result();
}
