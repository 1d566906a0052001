/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * `taskwait depend(…) nowait` does not wait: the event that its predecessor waits for is fulfilled behind it. Later
 * tasks come after what it names. Libomp 19 waits there.
 */
#include "check.h"

#include <omp.h>

enum { SLOW = 1000000 };

static int x[4], y[4];

static void order(void)
{
    omp_event_handle_t event = (omp_event_handle_t)0;
#pragma omp task detach(event) depend(inout : x)
    x[0] = 5;
#pragma omp target nowait depend(inout : x) map(tofrom : x)
    x[0] = x[0] * 3 + 1;
#pragma omp taskwait depend(in : x) depend(out : y) nowait
#pragma omp target nowait depend(inout : y) map(tofrom : x, y)
    y[0] = x[0] * 2;
    omp_fulfill_event(event);
#pragma omp taskwait
    CHECK(x[0] == 16 && y[0] == 32);
}

/* The end of the taskgroup waits for what the taskwait in it waits for. */
static void order_in_group(void)
{
    static int z[4], seen;
    z[0] = 0;
#pragma omp target nowait depend(out : z) map(tofrom : z)
    for (volatile int i = 0; i < SLOW; i++)
        z[0] = 7;
#pragma omp taskgroup
    {
#pragma omp taskwait depend(in : z) depend(out : seen) nowait
#pragma omp task depend(in : seen)
        seen = z[0];
    }
    CHECK(seen == 7);
#pragma omp taskwait
}

int main(void)
{
    const char *preloaded = getenv("LD_PRELOAD");
    if (!preloaded || !*preloaded)
        return check_result();
    for (int i = 0; i < 20; i++) {
#pragma omp parallel num_threads(4)
#pragma omp single
        order();
#pragma omp parallel num_threads(1)
        order();
        order();
#pragma omp parallel num_threads(3)
#pragma omp single
        order_in_group();
#pragma omp parallel num_threads(1)
        order_in_group();
        order_in_group();
    }
    return check_result();
}
