/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * C++ lambdas in regions: captures by value and by reference, pointers captured, generic ones, passed through
 * templates as Kokkos-like libraries do.
 *
 * memory: 48Ki
 */
#include "check.h"

#include <vector>

namespace
{

template <typename Body> void for_each(int n, const Body &body)
{
#pragma omp target teams distribute parallel for
    for (int i = 0; i < n; i++)
        body(i);
}

template <typename Body> void now(double *x, int n, Body body)
{
#pragma omp target firstprivate(body) map(tofrom : x[0 : n])
    for (int i = 0; i < n; i++)
        body(x, i);
}

void by_value(double *x)
{
    double factor = 3;
    auto scale = [=](int i) { x[i] *= factor; };
#pragma omp target data map(tofrom : x[0 : TILE])
    {
        for_each(TILE, scale);
        factor = 100; /* the lambda has its own */
        for_each(TILE, [=](int i) { x[i] += 1; });
    }
    CHECK(all_are(x, TILE, 4));
#pragma omp target map(to : scale) map(tofrom : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        scale(i);
    CHECK(all_are(x, TILE, 12));
}

void by_reference(double *x)
{
    double factor = 2, sum = 0;
    auto body = [&](double value) {
        sum += factor * value;
        factor += 1;
    };
#pragma omp target map(to : x[0 : TILE]) map(tofrom : sum, factor)
    for (int i = 0; i < 4; i++)
        body(x[i]);
    CHECK(sum == 12 * (2 + 3 + 4 + 5) && factor == 6);
}

void generic()
{
    std::vector<double> v(TILE, 1.0);
    double *x = v.data();
    auto plus = [](auto a, auto b) { return a + b; };
#pragma omp target map(tofrom : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] = plus(x[i], i);
    CHECK(x[7] == 8);
    for (int round = 0; round < 4; round++) {
        now(x, TILE, [round](double *p, int i) { p[i] += round; });
        now(x, TILE, [](double *p, int i) { p[i] *= 2; });
    }
    CHECK(x[7] == 8 * 16 + 0 * 16 + 1 * 8 + 2 * 4 + 3 * 2);
}

} // namespace

int main()
{
    double *x = make_tiles(1, 1);
    by_value(x);
    by_reference(x);
    generic();
    free(x);
    return check_result();
}
