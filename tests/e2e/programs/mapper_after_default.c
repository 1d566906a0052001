/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A program that sets the default device and back: what a mapper stands for is still where it was entered.
 */
#include "check.h"

#include <omp.h>

enum { LENGTH = 64 };

typedef struct part {
    double *begin;
    long length;
} part;

#pragma omp declare mapper(all : part p) map(p, p.begin[0 : p.length])

int main(void)
{
    double *x = calloc(LENGTH, sizeof *x);
    part *p = calloc(1, sizeof *p);
    *p = (part){x + LENGTH / 2, LENGTH / 2};
#pragma omp target enter data map(to : x[0 : LENGTH])
    int device = omp_get_default_device();
    omp_set_default_device(omp_get_num_devices() - 1);
    omp_set_default_device(device);
#pragma omp target map(tofrom : x[0 : LENGTH])
    for (int i = 0; i < LENGTH; i++)
        x[i] += 1;
#pragma omp target exit data map(mapper(all), from : p[0 : 1])
    CHECK(all_are(x, LENGTH / 2, 0));
    CHECK(all_are(x + LENGTH / 2, LENGTH / 2, 1));
    free(p);
    free(x);
    return check_result();
}
