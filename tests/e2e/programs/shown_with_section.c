/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Two pointers into one array are shown, one of them mapped from its tenth element on.
 *
 * memory: 16Ki
 */
#include "check.h"

enum { COUNT = 100 };

int main(void)
{
    double *x = calloc(COUNT, sizeof *x), *p = x, *q = x + 10;
    for (int i = 0; i < COUNT; i++)
        x[i] = i;
#pragma omp target data map(tofrom : p[10 : 50]) use_device_ptr(p, q)
    {
#pragma omp target is_device_ptr(p, q)
        {
            p[20] += 1000;
            q[1] += p[12];
        }
    }
    CHECK(x[20] == 1020 && x[11] == 23 && x[10] == 10 && x[0] == 0);
    free(x);
    return check_result();
}
