/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Of structs that are mapped by members, or in part, what lies on a device is aligned as on the host, also behind a
 * first member of four bytes: GPUs cannot load it otherwise.
 *
 * memory: 24Ki
 */
#include "check.h"

#include <stdint.h>

struct node {
    int a, b;
    double *p, x;
};

enum { N = 512 };

static void by_members(struct node *s)
{
    int off = -1, other = -1;
#pragma omp target map(tofrom : s->b, s->x, s->p[0 : N]) map(from : off, other)
    {
        off = (int)((uintptr_t)&s->x % sizeof(double));
        other = (int)((uintptr_t)&s->b % sizeof(double));
        s->b++;
        s->x += s->p[N - 1];
    }
    CHECK(off == 0 && other == (int)((uintptr_t)&s->b % sizeof(double)));
}

static void in_region(struct node *s)
{
    int off = -1;
#pragma omp target enter data map(to : s->b, s->x, s->p[0 : N])
#pragma omp target map(from : off)
    {
        off = (int)((uintptr_t)&s->x % sizeof(double));
        s->b++;
        s->x += s->p[N - 1];
    }
#pragma omp target exit data map(from : s->b, s->x, s->p[0 : N])
    CHECK(off == 0);
}

/* Of a vector: behind a first member that is mapped at 8 bytes beside a multiple of 16. */
struct particle {
    double mass, charge;
    _Alignas(16) double place[2];
};

static void of_vectors(struct particle *p)
{
    int off = -1;
#pragma omp target map(tofrom : p->charge, p->place) map(from : off)
    {
        off = (int)((uintptr_t)p->place % 16);
        p->place[1] += p->charge;
    }
    CHECK(off == 0);
}

int main(void)
{
    static struct particle particle = {.charge = 2};
    struct node s = {1, 2, malloc(N * sizeof(double)), 3};
    if (!s.p)
        abort();
    for (int i = 0; i < N; i++)
        s.p[i] = i;
    for (int i = 0; i < 4; i++) {
        by_members(&s);
        in_region(&s);
        of_vectors(&particle);
    }
    CHECK(s.a == 1 && s.b == 10 && s.x == 3 + 8.0 * (N - 1));
    CHECK(particle.place[1] == 8);
    free(s.p);
    return check_result();
}
