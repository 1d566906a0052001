/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Arrays that lie in a region, and that no clause of the tasks names as written: pointers, arrays, map(to:). Kernels
 * read them in some rounds and write to them in others, each task to elements of its own, which share pages with
 * those of all others; chains of tasks are ordered by tokens, and all add to one counter. Random programs, by seed.
 *
 * variants: 1 2
 * memory: 480Ki
 * run: OMPDARTS_MEM=900Ki OMPDARTS_DEBUG=jitter=0.0005
 * run: OMPDARTS_MEM=480Ki OMPDARTS_SPILL=0
 */
#include "check.h"

#include <stdint.h>

enum { N = 24 * TILE, ROUNDS = 8, TASKS = 8, CHAINS = 4 };

static double *a, *b, *expected_a, *expected_b, *r, *expected_r;
static double fixed[N], counter[3];
static char token[CHAINS];
static int expected_count;
static uint64_t state;

static int draw(int n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)n);
}

/* A task of a chain works on every CHAINS-th element from the chain's number on. */
typedef struct work {
    int chain, skip, count, from, round, slot;
} work;

static void expect(work w, double *x, bool writes)
{
    double sum = 0;
    for (int i = 0; i < w.count; i++) {
        int e = (w.chain + CHAINS * (w.skip + i)) % N;
        sum += x[e] + fixed[(w.from + i) % N];
        if (writes)
            x[e] = 0.5 * x[e] + w.round;
    }
    expected_r[w.slot] = sum;
    expected_count++;
}

/* Pointers and an array, in regions that the task does not mention. */
static void implicit(double *x, work w, bool writes)
{
    double *y = r;
    int chain = w.chain, skip = w.skip, count = w.count, from = w.from, round = w.round, slot = w.slot;
#pragma omp target nowait depend(inout : token[chain]) map(from : y[slot : 1])
    {
        double sum = 0;
        for (int i = 0; i < count; i++) {
            int e = (chain + CHAINS * (skip + i)) % N;
            sum += x[e] + fixed[(from + i) % N];
            if (writes)
                x[e] = 0.5 * x[e] + round;
        }
        y[slot] = sum;
#pragma omp atomic
        counter[1] += 1;
    }
}

/* map(to:) of what is present says nothing either. */
static void mapped(double *x, work w, bool writes)
{
    double *y = r;
    int chain = w.chain, skip = w.skip, count = w.count, from = w.from, round = w.round, slot = w.slot;
#pragma omp target nowait depend(inout : token[chain]) map(to : x[0 : N], fixed) map(from : y[slot : 1])
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        double sum = 0;
        for (int i = 0; i < count; i++) {
            int e = (chain + CHAINS * (skip + i)) % N;
            sum += x[e] + fixed[(from + i) % N];
            if (writes)
                x[e] = 0.5 * x[e] + round;
        }
        y[slot] = sum;
#pragma omp atomic
        counter[1] += 1;
    }
}

/* Names the first element as read. */
static void named(double *x, work w, bool writes)
{
    double *y = r;
    int chain = w.chain, skip = w.skip, count = w.count, from = w.from, round = w.round, slot = w.slot;
#pragma omp target nowait depend(in : x[0]) depend(inout : token[chain]) map(from : y[slot : 1])
    {
        double sum = 0;
        for (int i = 0; i < count; i++) {
            int e = (chain + CHAINS * (skip + i)) % N;
            sum += x[e] + fixed[(from + i) % N];
            if (writes)
                x[e] = 0.5 * x[e] + round;
        }
        y[slot] = sum;
#pragma omp atomic
        counter[1] += 1;
    }
}

static void round_of_tasks(int round)
{
    int form = draw(3), often = draw(4); /* writes are never, seldom, ... */
    for (int t = 0; t < TASKS; t++) {
        bool second = draw(2), writes = draw(4) < often;
        work w = {t % CHAINS, draw(N / CHAINS), draw(2) ? draw(64) + 1 : draw(N / CHAINS) + 1, draw(N), round, round * TASKS + t};
        expect(w, second ? expected_b : expected_a, writes);
        (form == 0 ? implicit : form == 1 ? mapped : named)(second ? b : a, w, writes);
    }
#pragma omp taskwait
}

static void sometimes(int round)
{
    enum { SECTION = 512 };
    int begin = draw(N - SECTION), what = draw(3);
    double *x = a;
    if (what == 0) {
#pragma omp target update from(x[begin : SECTION])
        for (int i = 0; i < SECTION; i++)
            CHECK(x[begin + i] == expected_a[begin + i]);
    } else if (what == 1) {
        for (int i = 0; i < SECTION; i++)
            x[begin + i] = expected_a[begin + i] = round;
#pragma omp target update to(x[begin : SECTION])
    }
}

static double *make(int n)
{
    double *x = (double *)malloc((size_t)(n + 3) * sizeof *x) + 3;
    for (int i = 0; i < n; i++)
        x[i] = i % 7;
    return x;
}

static bool is_right(const char *name, const double *x, const double *expected, int n)
{
    for (int i = 0; i < n; i++)
        if (x[i] != expected[i]) {
            printf("element %d of %s is %.17g, not %.17g\n", i, name, x[i], expected[i]);
            return false;
        }
    return true;
}

int main(int argc, char **argv)
{
    state = argc > 1 ? (uint64_t)atoi(argv[1]) * 7919 : 1;
    a = make(N);
    b = make(N);
    expected_a = make(N);
    expected_b = make(N);
    r = make(ROUNDS * TASKS);
    expected_r = make(ROUNDS * TASKS);
    for (int i = 0; i < N; i++)
        fixed[i] = i % 5;
#pragma omp target enter data map(to : a[0 : N], b[0 : N], fixed, counter)
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < ROUNDS; round++) {
        round_of_tasks(round);
        sometimes(round);
    }
#pragma omp target exit data map(from : a[0 : N], b[0 : N], counter)
    CHECK(is_right("a", a, expected_a, N));
    CHECK(is_right("b", b, expected_b, N));
    CHECK(is_right("r", r, expected_r, ROUNDS * TASKS));
    CHECK(counter[1] == expected_count);
    return check_result();
}
