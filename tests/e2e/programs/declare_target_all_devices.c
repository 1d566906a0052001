/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * declare target variables with contents per device: each is updated, computed on and read back by device(d); link
 * variables are mapped like others; functions called from kernels, also through pointers.
 *
 * memory: 32Ki
 * says: (its device is chosen by the program)
 */
#include "check.h"

#include <omp.h>

double table[64];
int counter = 3;
static const int constants[4] = {1, 2, 3, 4};
#pragma omp declare target to(table, counter, constants)

double linked[64];
#pragma omp declare target link(linked)

#pragma omp begin declare target
static double twice(double value)
{
    return 2 * value + constants[1];
}
static double indirect_a(double value);
static double indirect_b(double value);
static double next(void)
{
    static int calls = 10;
    return ++calls;
}
#pragma omp end declare target

#pragma omp begin declare target indirect
static double indirect_a(double value)
{
    return value + 1;
}
static double indirect_b(double value)
{
    return value * 3;
}
#pragma omp end declare target

static void each_device(void)
{
    int devices = omp_get_num_devices();
    for (int d = 0; d < devices; d++) {
        for (int i = 0; i < 64; i++)
            table[i] = 100 * d + i;
#pragma omp target update device(d) to(table)
    }
    for (int d = 0; d < devices; d++) {
        double sum = 0;
        int start = 0;
#pragma omp target device(d) map(from : sum, start)
        {
            start = counter;
            counter += d;
            sum = 0;
            for (int i = 0; i < 64; i++) {
                sum += table[i];
                table[i] += 0.5;
            }
        }
        CHECK(start == 3);
        CHECK(sum == 64 * 100 * d + 63 * 32);
    }
    for (int d = devices - 1; d >= 0; d--) {
#pragma omp target update device(d) from(table, counter)
        CHECK(table[0] == 100 * d + 0.5 && table[63] == 100 * d + 63.5);
        CHECK(counter == 3 + d);
    }
}

static void on_default(void)
{
    int start = 0;
    CHECK(omp_target_is_present(table, omp_get_default_device()));
    for (int i = 0; i < 64; i++)
        table[i] = i;
    counter = 50;
#pragma omp target update to(table, counter)
#pragma omp target map(from : start)
    {
        start = counter;
        counter = 60;
        table[1] = next();
        table[2] = next();
    }
    CHECK(start == 50 && counter == 50 && table[1] == 1);
#pragma omp target map(always, tofrom : counter)
    counter += 1;
    CHECK(counter == 51);
#pragma omp target map(tofrom : table)
    table[3] = twice(table[3]);
#pragma omp target update from(table)
    CHECK(table[1] == 11 && table[2] == 12 && table[3] == 8);
}

static void link_variable(void)
{
    for (int i = 0; i < 64; i++)
        linked[i] = i;
#pragma omp target map(tofrom : linked)
    for (int i = 0; i < 64; i++)
        linked[i] += 1;
    CHECK(linked[0] == 1 && linked[63] == 64);
#pragma omp target enter data map(to : linked)
#pragma omp target
    linked[5] = 50;
    CHECK(linked[5] == 6);
#pragma omp target nowait depend(inout : linked)
    linked[6] = linked[5] + 1;
#pragma omp taskwait
#pragma omp target exit data map(from : linked)
    CHECK(linked[5] == 50 && linked[6] == 51);
}

static void indirect(void)
{
    double (*f[2])(double) = {indirect_a, indirect_b};
    double result = 0;
    for (int round = 0; round < 4; round++) {
        double (*g)(double) = f[round % 2];
#pragma omp target map(tofrom : result)
        result = g(result);
    }
    CHECK(result == 12); /* 1, 3, 4, 12 */
}

int main(void)
{
    each_device();
    on_default();
    link_variable();
    indirect();
    return check_result();
}
