/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Threads work on slices of their own of one present array that no device has memory for: kernels that map a section,
 * kernels that name all of it, updates of sections in both directions. What each has written stays, on the device and on
 * the host.
 *
 * memory: 6000
 * run: OMPDARTS_DEVICES=1
 * run: OMPDARTS_COHERENCE=strict
 */
#include "check.h"

#include <string.h>

enum { THREADS = 3, SLICE = 700, N = THREADS * SLICE, ROUNDS = 20, STEPS = 60, MODULUS = 1009 };

static int *a; /* global: its sections are mapped through the pointer */
static int host[N], device[N];

static unsigned draw(unsigned *state, unsigned below)
{
    *state = *state * 1103515245u + 12345u;
    return (*state >> 16) % below;
}

/* One construct or more on [b, b+n), and what it is to do there. */
static void step(unsigned kind, int b, int n, int v)
{
    switch (kind) {
    case 0:
#pragma omp target map(tofrom : a[b : n])
        for (int i = b; i < b + n; i++)
            a[i] = a[i] * 3 % MODULUS + v;
        for (int i = b; i < b + n; i++)
            device[i] = device[i] * 3 % MODULUS + v;
        break;
    case 1:
#pragma omp target nowait depend(inout : a[b])
        for (int i = b; i < b + n; i++)
            a[i] += v;
#pragma omp taskwait
        for (int i = b; i < b + n; i++)
            device[i] += v;
        break;
    case 2:;
#pragma omp target update to(a[b : n])
        memcpy(device + b, host + b, (size_t)n * sizeof *a);
        break;
    case 3:;
#pragma omp target update from(a[b : n])
        memcpy(host + b, device + b, (size_t)n * sizeof *a);
        break;
    case 4:
        for (int i = b; i < b + n; i++)
            a[i] = host[i] = v + i;
        break;
    case 5:
#pragma omp target map(tofrom : a[b : n]) nowait depend(inout : a[b])
        for (int i = b; i < b + n; i++)
            a[i] = a[i] * 7 % MODULUS + v;
#pragma omp target map(tofrom : a[b : n]) nowait depend(inout : a[b])
        for (int i = b; i < b + n; i++)
            a[i] = a[i] * 2 % MODULUS + v;
#pragma omp taskwait
        for (int i = b; i < b + n; i++)
            device[i] = (device[i] * 7 % MODULUS + v) * 2 % MODULUS + v;
        break;
    case 6:;
#pragma omp target update to(a[b : n]) nowait depend(inout : a[b])
#pragma omp target nowait depend(inout : a[b])
        for (int i = b; i < b + n; i++)
            a[i] += v;
#pragma omp target update from(a[b : n]) nowait depend(inout : a[b])
#pragma omp taskwait
        for (int i = b; i < b + n; i++)
            host[i] = device[i] = host[i] + v;
        break;
    default:
#pragma omp target map(always, tofrom : a[b : n])
        for (int i = b; i < b + n; i++)
            a[i] += v;
        for (int i = b; i < b + n; i++)
            host[i] = device[i] = host[i] + v;
    }
}

static void work(int thread, unsigned seed)
{
    unsigned kinds = seed % 4 == 1 ? 8 : 4, state = seed * 7919 + (unsigned)thread * 104729;
    for (int k = 0; k < STEPS; k++) {
        unsigned kind = kinds == 8 ? draw(&state, 8) : (const unsigned[]){1, 2, 5, 6}[draw(&state, 4)];
        int first = (int)draw(&state, SLICE), n = 1 + (int)draw(&state, (unsigned)(SLICE - first));
        step(kind, thread * SLICE + first, n, (int)draw(&state, 100));
    }
    CHECK(!memcmp(a + thread * SLICE, host + thread * SLICE, SLICE * sizeof *a));
}

static void round_of(unsigned seed)
{
    int last[N];
    for (int i = 0; i < N; i++)
        a[i] = host[i] = device[i] = i + (int)seed;
#pragma omp target enter data map(to : a[0 : N])
#pragma omp parallel for num_threads(THREADS)
    for (int t = 0; t < THREADS; t++)
        work(t, seed);
#pragma omp target map(from : last)
    for (int i = 0; i < N; i++)
        last[i] = a[i];
#pragma omp target exit data map(from : a[0 : N])
    CHECK(!memcmp(last, device, sizeof last));
    CHECK(!memcmp(a, device, sizeof device));
}

int main(void)
{
    a = malloc(N * sizeof *a);
    if (!a)
        abort();
    for (unsigned seed = 1; seed <= ROUNDS; seed++)
        round_of(seed);
    free(a);
    return check_result();
}
