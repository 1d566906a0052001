/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Two sections of one array: the second has been entered before the program names another device, the first is mapped
 * afterwards by the default device's number. An address in the first one refers to what is mapped around it, not to the
 * second, whose range begins at the array's pointer.
 */
#include "check.h"

#include <omp.h>

enum { N = 6, HALF = N / 2 };

static __attribute__((noinline)) void add(int *on_device, int n)
{
#pragma omp target device(0) is_device_ptr(on_device)
    for (int i = 0; i < n; i++)
        on_device[i] += 10;
}

int main(void)
{
    int a[N], other = 0, *p = a;
    for (int i = 0; i < N; i++)
        a[i] = i;
#pragma omp target enter data device(0) map(to : p[HALF : HALF])
#pragma omp target device(omp_get_num_devices() - 1) map(tofrom : other)
    other++;
#pragma omp target data device(0) map(tofrom : p[0 : HALF])
    {
#pragma omp target data device(0) use_device_ptr(p)
        add(p, HALF);
    }
#pragma omp target exit data device(0) map(from : p[HALF : HALF])
    CHECK(other == 1);
    for (int i = 0; i < N; i++)
        CHECK(a[i] == (i < HALF ? i + 10 : i));
    return check_result();
}
