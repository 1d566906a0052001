/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A mapper that leads to a global variable and to an array: libomptarget maps both, and later constructs on the array
 * are for its copy.
 */
#include "check.h"

enum { LENGTH = 8, PART = 4 };

typedef struct parts {
    long *global;
    long nglobal;
    long *array;
    long narray;
} parts;

#pragma omp declare mapper(both : parts p) map(p, p.global[0 : p.nglobal], p.array[0 : p.narray])

#pragma omp declare target
long global[LENGTH];
#pragma omp end declare target

int main(void)
{
    long *array = calloc(LENGTH, sizeof *array);
    parts *p = calloc(1, sizeof *p);
    for (int i = 0; i < LENGTH; i++)
        global[i] = 20 + i;
    *p = (parts){.global = global + PART, .nglobal = PART, .array = array + PART, .narray = PART};
    for (int round = 1; round <= 3; round++) {
#pragma omp target data map(mapper(both), tofrom : p[0 : 1])
        {
            long *part = array + PART;
#pragma omp target data map(tofrom : part[0 : PART]) use_device_addr(part[0 : PART])
#pragma omp target has_device_addr(part[0 : PART])
            for (int i = 0; i < PART; i++)
                part[i] += 77;
        }
        for (int i = 0; i < LENGTH; i++)
            CHECK(array[i] == (i < PART ? 0 : 77 * round) && global[i] == 20 + i);
    }
#pragma omp target data map(tofrom : array[0 : LENGTH])
#pragma omp target map(tofrom : array[0 : LENGTH])
    for (int i = 0; i < LENGTH; i++)
        array[i] = i;
    for (int i = 0; i < LENGTH; i++)
        CHECK(array[i] == i);
    free(p);
    free(array);
    return check_result();
}
