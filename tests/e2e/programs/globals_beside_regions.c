/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Kernels and data constructs that use declare target variables, also link ones, beside data of open regions: both are
 * used where they are, and the program's own memory stays what the host has written inside the region.
 *
 * memory: 48Ki
 */
#include "entered.h"

enum { COUNT = 256 };

double table[COUNT], factor = 1;
#pragma omp declare target to(table, factor)

double linked[COUNT];
#pragma omp declare target link(linked)

typedef struct holder {
    double *pointee;
    double value;
} holder;

holder global_holder;
#pragma omp declare target to(global_holder)

static void globals(void)
{
    double *x = entered();
    for (int i = 0; i < COUNT; i++)
        table[i] = i;
#pragma omp target update to(table)
    table[3] = -3;
#pragma omp target map(tofrom : x[0 : TILE])
    {
        x[0] += table[3];
        table[4] += x[0];
        factor = 2;
    }
    CHECK(all_are(x, 2 * TILE, -1) && table[4] == 4 && factor == 1);
    for (int i = 0; i < 3; i++) {
#pragma omp target nowait depend(inout : x[TILE]) map(tofrom : x[TILE : TILE]) map(tofrom : table)
        {
            x[TILE] += table[4];
            table[5] += 1;
        }
    }
#pragma omp taskwait
    CHECK(all_are(x, 2 * TILE, -1) && table[4] == 4 && table[5] == 5);
    table[6] = 60;
#pragma omp target map(always, tofrom : table) map(tofrom : x[0 : TILE])
    x[0] += table[6];
    CHECK(table[3] == -3 && table[4] == 4 && table[5] == 5);
#pragma omp target update from(factor, x[0 : 1])
    CHECK(factor == 2 && x[0] == 64);
    x[0] = -1;
    LEFT(x, 64, 1 + 3 * 8);
}

static void link_variables(void)
{
    double *x = entered();
    for (int i = 0; i < COUNT; i++)
        linked[i] = i;
#pragma omp target map(tofrom : x[0 : TILE]) map(tofrom : linked)
    {
        x[0] += linked[3];
        linked[4] += x[0];
    }
    CHECK(linked[4] == 8 && all_are(x, 2 * TILE, -1));
#pragma omp target data map(tofrom : linked) map(tofrom : x[0 : 2 * TILE])
    {
        linked[3] = -3;
        for (int i = 0; i < 2; i++) {
#pragma omp target nowait depend(inout : x[TILE]) map(tofrom : x[TILE : TILE])
            {
                x[TILE] += linked[3];
                linked[4] += 1;
            }
        }
#pragma omp taskwait
        CHECK(linked[3] == -3 && linked[4] == 8);
    }
    CHECK(linked[3] == 3 && linked[4] == 10);
    LEFT(x, 4, 7);
}

#if __clang_major__ < 22 /* does not attach it where x is present */
/* A variable of libomptarget's that points to what is ours. */
static void pointers(void)
{
    double *x = entered();
    global_holder = (holder){x, 5};
#pragma omp target update to(global_holder.value)
    global_holder.value = -5;
    for (int i = 0; i < 2; i++) {
#pragma omp target nowait depend(inout : x[0]) map(tofrom : global_holder.pointee[0 : TILE])
        global_holder.pointee[0] += global_holder.value;
#pragma omp target nowait depend(inout : x[0]) map(tofrom : x[0 : 2 * TILE])
        x[TILE] += x[0] + global_holder.value;
    }
#pragma omp taskwait
    CHECK(global_holder.pointee == x && global_holder.value == -5);
    LEFT(x, 11, 1 + 11 + 16);
}
#endif

int main(void)
{
    globals();
    link_variables();
#if __clang_major__ < 22
    pointers();
#endif
    return check_result();
}
