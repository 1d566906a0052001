/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A parallel region gets one pointer per shared variable: regions with 1, 3, 4, 5, 130 and 300 of them, with and
 * without offloading inside. */
#include "check.h"

#define TEN(f, n) f(n##0) f(n##1) f(n##2) f(n##3) f(n##4) f(n##5) f(n##6) f(n##7) f(n##8) f(n##9)
#define HUNDRED(f, n)                                                                                                  \
    TEN(f, n##0) TEN(f, n##1) TEN(f, n##2) TEN(f, n##3) TEN(f, n##4) TEN(f, n##5) TEN(f, n##6) TEN(f, n##7)            \
    TEN(f, n##8) TEN(f, n##9)
#define DECLARE(n) int v##n = 0;
#define ADD(n) v##n += 1##n;
#define EXPECT(n) CHECK(v##n == rounds * 1##n);

enum { THREADS = 4 };

static void one_to_five(double *x)
{
    int a = 0, b = 0, c = 0, d = 0, e = 0;
#pragma omp parallel num_threads(THREADS)
#pragma omp atomic
    a++;
#pragma omp parallel num_threads(THREADS)
#pragma omp critical
    {
        a++, b++, c++;
    }
#pragma omp parallel num_threads(THREADS)
#pragma omp critical
    {
        a++, b++, c++, d++;
    }
#pragma omp parallel num_threads(THREADS)
#pragma omp critical
    {
        a++, b++, c++, d++, e++;
#pragma omp target map(tofrom : x[0 : TILE])
        for (int i = 0; i < TILE; i++)
            x[i] += 1;
    }
    CHECK(a == 4 * THREADS && b == 3 * THREADS && c == 3 * THREADS && d == 2 * THREADS && e == THREADS);
}

static void hundreds(double *x)
{
    int rounds = 0;
    HUNDRED(DECLARE, 1)
    HUNDRED(DECLARE, 2)
    HUNDRED(DECLARE, 3)
#pragma omp parallel num_threads(THREADS)
#pragma omp critical
    {
        rounds++;
        HUNDRED(ADD, 1)
        HUNDRED(ADD, 2)
        HUNDRED(ADD, 3)
    }
    CHECK(rounds == THREADS);
    HUNDRED(EXPECT, 1)
    HUNDRED(EXPECT, 2)
    HUNDRED(EXPECT, 3)
#pragma omp parallel num_threads(THREADS)
#pragma omp single
    {
        rounds++;
        HUNDRED(ADD, 1)
        TEN(ADD, 21) TEN(ADD, 22) TEN(ADD, 23)
#pragma omp target nowait depend(inout : x[0]) map(tofrom : x[0 : TILE])
        for (int i = 0; i < TILE; i++)
            x[i] += 1;
    }
    HUNDRED(EXPECT, 1)
    TEN(EXPECT, 21) TEN(EXPECT, 22) TEN(EXPECT, 23)
}

int main(void)
{
    double *x = make_tiles(1, 0);
    hundreds(x); /* at first without anything started */
    one_to_five(x);
    hundreds(x);
    CHECK(all_are(x, TILE, THREADS + 2));
    free(x);
    return check_result();
}
