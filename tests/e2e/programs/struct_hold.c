/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * ompx_hold on a struct and what its pointers lead to: `delete` and `exit data` leave what is held.
 */
#include "check.h"

#include <omp.h>

enum { N = 50 };

typedef struct record {
    int n;
    double *p;
} record;

static bool present(const void *address)
{
    return omp_target_is_present(address, omp_get_default_device());
}

int main(void)
{
    record s = {3, calloc(N, sizeof(double))};
    double *p = s.p;
#pragma omp target data map(ompx_hold, tofrom : s.n, s.p[0 : N])
    {
#pragma omp target
        {
            s.n++;
            s.p[0] = s.n;
        }
#pragma omp target exit data map(delete : s.n, s.p[0 : N])
        CHECK(present(&s.n) && present(p));
        CHECK(s.n == 3 && p[0] == 0);
#pragma omp target
        {
            s.n++;
            s.p[1] = s.n;
        }
    }
    CHECK(!present(&s.n) && !present(p));
    CHECK(s.n == 5 && s.p == p && p[0] == 4 && p[1] == 5);
    free(p);
    return check_result();
}
