/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A kernel with private arrays as large as the main thread's stack may have, or libomp's threads by OMP_STACKSIZE.
 * process/stacks.sh runs it where the main thread's has no limit, too.
 *
 * run: OMP_STACKSIZE=24M
 */
#include "check.h"

#include <sys/resource.h>

enum { MIB = 1 << 20 };

static long sum_of(size_t bytes)
{
    long sum = 0;
#pragma omp target nowait map(tofrom : sum) depend(inout : sum) firstprivate(bytes)
    {
        volatile char a[bytes];
        for (size_t i = 0; i < bytes; i += 512)
            a[i] = 1;
        for (size_t i = 0; i < bytes; i += 512)
            sum += a[i];
    }
#pragma omp taskwait
    return sum;
}

int main(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_STACK, &limit);
    size_t mib = limit.rlim_cur == RLIM_INFINITY ? 40 : limit.rlim_cur / MIB, most = mib > 8 ? mib * 3 / 4 : 6;
    CHECK(sum_of(3 * MIB) == 3 * MIB / 512);
    if (limit.rlim_cur >= 8 * MIB)
        CHECK(sum_of((most < 40 ? most : 40) * MIB) == (long)((most < 40 ? most : 40) * MIB / 512));
    return check_result();
}
