// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/*
 * Closures, functors and objects that hold addresses from omp_target_alloc, as Kokkos' and RAJA's kernels get them, or
 * that use_device_ptr has shown: by value, mapped, and in a region. No clause names that memory, and their tasks all run
 * where it is.
 *
 * stats: sum(d.tasks > 0 for d in devices) == 1
 * stats: stats.host_tasks == 0
 */
#include "check.h"

#include <omp.h>

namespace
{

enum { VIEWS = 24, ROUNDS = 4 };

struct view {
    double *at;
    int n;
    double &operator()(int i) const { return at[i]; }
};

struct axpy {
    double factor;
    view x, y;
    void operator()(int i) const { y(i) += factor * x(i); }
};

template <typename Body> void by_value(int n, Body body)
{
#pragma omp target teams distribute parallel for firstprivate(body)
    for (int i = 0; i < n; i++)
        body(i);
}

template <typename Body> void mapped(int n, const Body *body)
{
#pragma omp target nowait map(to : body[0 : 1])
    for (int i = 0; i < n; i++)
        (*body)(i);
}

view allocated()
{
    const size_t bytes = TILE * sizeof(double);
    return {static_cast<double *>(omp_target_alloc(bytes, omp_get_default_device())), TILE};
}

/* The region stays open. */
view shown(double *x)
{
    view v = {nullptr, TILE};
#pragma omp target enter data map(alloc : x[0 : TILE])
#pragma omp target data use_device_ptr(x)
    v.at = x;
    return v;
}

bool all_are_there(const view &v, double value)
{
    double host[TILE];
    bool right = !omp_target_memcpy(host, v.at, sizeof host, 0, 0, omp_get_initial_device(), omp_get_default_device());
    for (double x : host)
        right &= x == value;
    return right;
}

void tasks(view (&v)[VIEWS])
{
    axpy bodies[VIEWS];
#pragma omp parallel for num_threads(4)
    for (int k = 0; k < VIEWS; k++) {
        view x = v[k];
        for (int r = 0; r < ROUNDS; r++)
            by_value(x.n, [=](int i) { x(i) = r ? x(i) + 1 : k; });
    }
#pragma omp parallel
#pragma omp single
    for (int k = 0; k < VIEWS; k += 2) {
        bodies[k] = {2.0, v[k], v[k + 1]};
        mapped(TILE, &bodies[k]);
    }
    for (int k = 0; k < VIEWS; k++)
        CHECK(all_are_there(v[k], k + ROUNDS - 1 + (k % 2 ? 2.0 * (k - 1 + ROUNDS - 1) : 0)));
}

void object_in_region(view x, view y)
{
    axpy object = {2.0, x, y};
    double before = 1, after = 0;
#pragma omp target enter data map(to : object)
#pragma omp target map(to : before)
    object.y(0) = before;
#pragma omp target map(from : after)
    {
        object(0);
        after = object.y(0);
    }
#pragma omp target exit data map(release : object)
    CHECK(after == 1 + 2.0 * (2 + ROUNDS - 1));
}

} // namespace

int main()
{
    static double memory[VIEWS][TILE];
    view v[VIEWS];
    for (int k = 0; k < VIEWS; k++)
        v[k] = k % 4 < 2 ? shown(memory[k]) : allocated();
    tasks(v);
    object_in_region(v[2], v[1]);
    for (int k = 0; k < VIEWS; k++) {
        double *x = memory[k];
        if (k % 4 >= 2)
            omp_target_free(v[k].at, omp_get_default_device());
#pragma omp target exit data map(release : x[0 : TILE]) if (k % 4 < 2)
    }
    return check_result();
}
