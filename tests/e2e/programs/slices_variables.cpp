// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/*
 * Synchronous kernels whose teams share variables that are private to the target region: constants of a template, whose
 * address compiled code passes on, arrays and structs of parameters, a counter that teams increment, from the first
 * launch on or later, and objects. One calls a function that may throw. The driver (slices_variables.sh) looks at which
 * were cut.
 */
#include "check.h"

#include <cstdint>
#include <cstring>
#include <omp.h>
#include <vector>

namespace
{

enum { ROUNDS = 12, N = 1 << 18 };

template <typename T> struct stream {
    T *a, *b, *c;
    int n;

    void triad(T factor)
    {
        const T scalar = factor;
        T *x = a, *y = b, *z = c;
        const int size = n;
#pragma omp target teams distribute parallel for
        for (int i = 0; i < size; i++)
            x[i] = y[i] + scalar * z[i];
    }
};

struct parameters {
    double weight[5];
    int32_t shift;
    double scale;
};

void weigh(double *x, const parameters &given)
{
    parameters p = given;
#pragma omp target teams distribute parallel for firstprivate(p) num_teams(2)
    for (int i = 0; i < N; i++)
        x[i] = x[i] * p.weight[(i + p.shift) % 5] + p.scale;
}

/* A table on the stack, larger than a page. */
void look_up(double *x, int r)
{
    double table[2048];
    for (int j = 0; j < 2048; j++)
        table[j] = j * r;
#pragma omp target teams distribute parallel for firstprivate(table)
    for (int i = 0; i < N; i++)
        x[i] += table[(i * 7 + r) % 2048];
}

/* Each of the iterations that want one gets a ticket of its own. */
void take_tickets(int64_t *owner, int64_t *taken, int r, int first)
{
    int64_t next = 0;
#pragma omp target firstprivate(next)
#pragma omp teams distribute parallel for shared(next)
    for (int i = 0; i < N; i++)
        if (r >= first && i % 3 == r % 3) {
            int64_t ticket;
#pragma omp atomic capture
            ticket = next++;
            owner[ticket] = i;
#pragma omp atomic update
            *taken += ticket;
        }
}

/* Both write to what their teams share later than in the launch that is watched. */
void take_tickets_late(int64_t *owner, int64_t *taken, int r)
{
    int64_t next = 0;
    char padding[96] = {0};
#pragma omp target firstprivate(next, padding)
#pragma omp teams distribute parallel for shared(next, padding)
    for (int i = 0; i < N; i++)
        if (r >= 5 && i % 5 == r % 5) {
            int64_t ticket;
#pragma omp atomic capture
            ticket = next++;
            owner[ticket] = i + padding[i % 96];
#pragma omp atomic update
            *taken += ticket;
        }
}

/* A function that may throw, as far as C++ knows, puts a reference to the C++ runtime among the image's variables. */
void divide(double *x)
{
#pragma omp target teams distribute parallel for num_teams(2)
    for (int i = 0; i < N; i++)
        x[i] /= 1 + (omp_get_num_teams() > 0);
}

/* It has an address of its own in it. */
struct cursor {
    double step, *at;
    cursor(double s) : step(s), at(&step) {}
    cursor(const cursor &other) : step(other.step), at(&step) {}
};

void walk(double *x, int r)
{
    cursor c(r + 0.5);
#pragma omp target teams distribute parallel for firstprivate(c)
    for (int i = 0; i < N; i++)
        x[i] += *c.at;
}

bool are_taken(const std::vector<int64_t> &owner, int64_t taken, int every, int r)
{
    int64_t expected = 0, found = 0, n = 0;
    for (int i = r % every; i < N; i += every)
        expected += i, n++;
    for (int64_t k = 0; k < n; k++)
        found += owner[static_cast<size_t>(k)];
    return expected == found && taken == n * (n - 1) / 2;
}

void ticket_rounds(int every, int first, void (*take)(int64_t *, int64_t *, int))
{
    std::vector<int64_t> owners(N);
    int64_t *owner = owners.data(), taken[1];
#pragma omp target data map(alloc : owner[0 : N], taken)
    for (int r = 0; r < ROUNDS; r++) {
        taken[0] = 0;
#pragma omp target update to(taken)
        take(owner, taken, r);
#pragma omp target update from(taken, owner[0 : N])
        CHECK(r < first ? taken[0] == 0 : are_taken(owners, taken[0], every, r));
    }
}

uint64_t hash_of(const std::vector<double> &x)
{
    uint64_t hash = 0, word;
    for (double v : x) {
        memcpy(&word, &v, sizeof word);
        hash = (hash ^ word) * 1099511628211u;
    }
    return hash;
}

void array_rounds()
{
    std::vector<double> va(N, 1.0), vb(N, 0.5), vc(N, 0.25);
    stream<double> s = {va.data(), vb.data(), vc.data(), N};
    double *a = s.a, *b = s.b, *c = s.c;
#pragma omp target data map(tofrom : a[0 : N], b[0 : N]) map(to : c[0 : N])
    for (int r = 0; r < ROUNDS; r++) {
        parameters p = {{1, 0.5, 0.25, 2, 1}, r, 0.125 * r};
        s.triad(r + 0.5);
        weigh(b, p);
        look_up(a, r);
        walk(b, r);
        divide(a);
    }
    printf("%016llx %016llx\n", static_cast<unsigned long long>(hash_of(va)), static_cast<unsigned long long>(hash_of(vb)));
}

} // namespace

int main()
{
    array_rounds();
    ticket_rounds(3, 0, [](int64_t *owner, int64_t *taken, int r) { take_tickets(owner, taken, r, 0); });
    ticket_rounds(5, 5, take_tickets_late);
    return check_result();
}
