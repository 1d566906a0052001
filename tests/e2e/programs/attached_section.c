/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A pointer attached through all of its array leads there still when it has been attached again through a section, and
 * one attached by a section of length zero where its struct's address is shown.
 *
 * memory: 24Ki
 */
#include "check.h"

enum { COUNT = 400 };

typedef struct holder {
    double *p;
    int n;
} holder;

static void check_all(double *p, double value)
{
    for (int i = 0; i < COUNT; i++)
        CHECK(p[i] == (i == 50 ? value + 10 : value));
}

static void use_section(void)
{
    holder s = {calloc(COUNT, sizeof(double)), COUNT};
#pragma omp target enter data map(to : s) map(to : s.p[0 : COUNT])
#pragma omp target map(tofrom : s.p[50 : 10])
    s.p[50] += 10;
#pragma omp target
    for (int i = 0; i < s.n; i++)
        s.p[i] += 1;
#pragma omp target data map(tofrom : s.p[70 : 10])
    {
#pragma omp target
        for (int i = 0; i < s.n; i++)
            s.p[i] += 1;
    }
#pragma omp target
    for (int i = 0; i < s.n; i++)
        s.p[i] += 1;
#pragma omp target exit data map(from : s.p[0 : COUNT]) map(release : s)
    check_all(s.p, 3);
    free(s.p);
}

/* Two halves, one after the other. */
static void use_halves(void)
{
    holder s = {calloc(COUNT, sizeof(double)), COUNT};
    double *q = s.p;
#pragma omp target enter data map(to : q[0 : COUNT])
#pragma omp target enter data map(to : s) map(to : s.p[0 : COUNT / 2])
#pragma omp target enter data map(to : s.p[COUNT / 2 : COUNT / 2])
#pragma omp target
    for (int i = 0; i < s.n; i++)
        s.p[i] += i == 50 ? 11 : 1;
#pragma omp target exit data map(release : s.p[0 : COUNT / 2])
#pragma omp target exit data map(release : s.p[COUNT / 2 : COUNT / 2]) map(release : s)
#pragma omp target exit data map(from : q[0 : COUNT])
    check_all(q, 1);
    free(q);
}

static void show_struct(void)
{
    holder s = {calloc(COUNT, sizeof(double)), COUNT};
    double *q = s.p;
#pragma omp target enter data map(to : q[0 : COUNT])
#pragma omp target enter data map(to : s) map(to : s.p[:0])
#pragma omp target data use_device_addr(s)
    {
#pragma omp target has_device_addr(s)
        for (int i = 0; i < s.n; i++)
            s.p[i] += i == 50 ? 11 : 1;
    }
    CHECK(q[0] == 0 && q[50] == 0);
#pragma omp target exit data map(release : s.p[ : 0]) map(release : s)
#pragma omp target exit data map(from : q[0 : COUNT])
    check_all(q, 1);
    free(q);
}

int main(void)
{
    use_section();
    use_halves();
    show_struct();
    return check_result();
}
