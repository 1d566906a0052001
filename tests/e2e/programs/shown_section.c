/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * While the program is shown the device address of one section of an array, kernels use another one of it, by its name and
 * by another pointer, and through the address, or all of it; and a kernel reaches what its construct maps through another
 * pointer alone.
 *
 * memory: 40Ki
 */
#include "check.h"

#include <omp.h>

enum { ROUNDS = 4 };

static bool are(const double *x, double value)
{
    for (int i = 0; i < TILE; i++)
        if (x[i] != value)
            return false;
    return true;
}

static void other_half(double *x)
{
    double *same = x;
#pragma omp target enter data map(to : x[0 : 2 * TILE])
    for (int round = 1; round <= ROUNDS; round++) {
#pragma omp target data map(tofrom : x[0 : TILE]) use_device_ptr(x)
        {
#pragma omp target map(tofrom : same[TILE : TILE])
            for (int i = TILE; i < 2 * TILE; i++)
                same[i] += 1;
#pragma omp target is_device_ptr(x)
            for (int i = 0; i < TILE; i++)
                x[i] += 2;
        }
#pragma omp target map(tofrom : same[0 : 2 * TILE])
        for (int i = 0; i < 2 * TILE; i++)
            same[i] += 10;
    }
#pragma omp target exit data map(from : same[0 : 2 * TILE])
    CHECK(are(same, 12 * ROUNDS) && are(same + TILE, 11 * ROUNDS));
}

static void all_of_it(double *x)
{
    double *same = x;
#pragma omp target enter data map(to : x[0 : 2 * TILE])
    for (int round = 1; round <= ROUNDS; round++) {
#pragma omp target data map(tofrom : x[0 : TILE]) use_device_ptr(x)
        {
#pragma omp target is_device_ptr(x)
            for (int i = 0; i < TILE; i++)
                x[i] += 1;
#pragma omp target map(tofrom : same[0 : 2 * TILE])
            for (int i = 0; i < 2 * TILE; i++)
                same[i] *= 2;
#pragma omp target is_device_ptr(x)
            for (int i = 0; i < TILE; i++)
                x[i] += 1;
        }
#pragma omp target data map(tofrom : x[TILE : TILE]) use_device_ptr(x)
        {
#pragma omp target is_device_ptr(x)
            for (int i = TILE; i < 2 * TILE; i++)
                x[i] += 1;
#pragma omp target
            for (int i = 0; i < 2 * TILE; i++)
                same[i] += 1;
        }
    }
#pragma omp target exit data map(from : same[0 : 2 * TILE])
    double first = 0, second = 0;
    for (int round = 1; round <= ROUNDS; round++) {
        first = 2 * (first + 1) + 1 + 1;
        second = 2 * second + 1 + 1;
    }
    CHECK(are(same, first) && are(same + TILE, second));
}

/* In a team the rest of the array is not shown with the section: a kernel on all of it has a copy. */
static void all_of_it_in_a_team(double *x)
{
    double *same = x;
#pragma omp target enter data map(to : x[0 : 2 * TILE])
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int round = 0; round < ROUNDS; round++) {
        double *d = x + round % 2 * TILE;
#pragma omp target data map(tofrom : d[0 : TILE]) use_device_ptr(d)
        {
#pragma omp target is_device_ptr(d)
            for (int i = 0; i < TILE; i++)
                d[i] += 1;
#pragma omp target map(tofrom : same[0 : 2 * TILE])
            for (int i = 0; i < 2 * TILE; i++)
                same[i] *= 2;
#pragma omp target nowait map(tofrom : same[0 : 2 * TILE]) is_device_ptr(d)
            for (int i = 0; i < 2 * TILE; i++)
                same[i] += 1;
#pragma omp taskwait
#pragma omp target is_device_ptr(d)
            for (int i = 0; i < TILE; i++)
                d[i] += 1;
        }
    }
#pragma omp target exit data map(from : same[0 : 2 * TILE])
    double want[2] = {0, 0};
    for (int round = 0; round < ROUNDS; round++) {
        want[round % 2] = 2 * (want[round % 2] + 1) + 2;
        want[(round + 1) % 2] = 2 * want[(round + 1) % 2] + 1;
    }
    CHECK(are(same, want[0]) && are(same + TILE, want[1]));
}

/* Likewise, written through an address whose construct says that it is only read. */
static void mapped_to_in_a_team(double *x)
{
    double *same = x;
#pragma omp target enter data map(to : x[0 : 2 * TILE])
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int round = 0; round < ROUNDS; round++) {
        double *d = x;
#pragma omp target data map(to : d[0 : TILE]) use_device_ptr(d)
        {
#pragma omp target is_device_ptr(d)
            for (int i = 0; i < TILE; i++)
                d[i] += 1;
#pragma omp target map(tofrom : same[0 : 2 * TILE])
            for (int i = TILE; i < 2 * TILE; i++)
                same[i] += 1;
#pragma omp target is_device_ptr(d)
            for (int i = 0; i < TILE; i++)
                d[i] += 1;
        }
    }
#pragma omp target exit data map(from : same[0 : 2 * TILE])
    CHECK(are(same, 2 * ROUNDS) && are(same + TILE, ROUNDS));
}

enum { THREADS = 4, PART = TILE / THREADS };

static void add_to_part_and_sum(double *x, int from)
{
#pragma omp target map(tofrom : x[0 : 2 * TILE])
    for (int i = from; i < from + PART; i++) {
        x[i] += 1;
#pragma omp atomic
        x[TILE] += 1;
    }
}

/* Each thread is shown a section, and adds to a sum that lies in the same array beside what others write meanwhile. */
static void all_of_it_by_threads(double *x)
{
#pragma omp target data map(tofrom : x[0 : 2 * TILE])
#pragma omp parallel num_threads(THREADS)
    for (int round = 0; round < ROUNDS; round++) {
        int from = omp_get_thread_num() * PART;
        double *d = x + from;
#pragma omp target data map(tofrom : d[0 : PART]) use_device_ptr(d)
        {
#pragma omp target is_device_ptr(d)
            for (int i = 0; i < PART; i++)
                d[i] += 1;
            add_to_part_and_sum(x, from);
        }
    }
    CHECK(are(x, 2 * ROUNDS) && x[TILE] == TILE * ROUNDS);
}

/* Likewise by host tasks, for which the scheduler keeps their sections once it has learnt what they use. */
static void all_of_it_by_tasks(double *x)
{
#pragma omp target data map(tofrom : x[0 : 2 * TILE])
#pragma omp parallel num_threads(THREADS)
#pragma omp single
    for (int round = 0; round < ROUNDS; round++)
        for (int part = 0; part < THREADS; part++) {
            int from = part * PART;
#pragma omp task firstprivate(from) depend(inout : x[from])
            {
                double *d = x + from;
#pragma omp target data map(tofrom : d[0 : PART]) use_device_ptr(d)
                {
#pragma omp target is_device_ptr(d)
                    for (int i = 0; i < PART; i++)
                        d[i] += 1;
                    add_to_part_and_sum(x, from);
#pragma omp target is_device_ptr(d)
                    for (int i = 0; i < PART; i++)
                        d[i] += 1;
                }
            }
        }
    CHECK(are(x, 3 * ROUNDS) && x[TILE] == TILE * ROUNDS);
}

static void another_pointer(double *x)
{
    double *same = x;
#pragma omp target map(tofrom : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        same[i] += 1;
    for (int round = 1; round <= ROUNDS; round++) {
#pragma omp target nowait map(tofrom : x[0 : TILE]) depend(inout : x[0 : TILE])
        for (int i = 0; i < TILE; i++)
            same[i] += 1;
    }
#pragma omp taskwait
    CHECK(are(x, 1 + ROUNDS));
}

int main(void)
{
    double *x = make_tiles(2, 0), *y = make_tiles(1, 0), *z = make_tiles(2, 0);
    double *u = make_tiles(2, 0), *v = make_tiles(2, 0), *w = make_tiles(2, 0);
    double *s = make_tiles(2, 0);
    other_half(x);
    all_of_it(z);
    all_of_it_in_a_team(u);
    mapped_to_in_a_team(s);
    all_of_it_by_threads(v);
    all_of_it_by_tasks(w);
    another_pointer(y);
    free(x);
    free(y);
    free(z);
    free(u);
    free(s);
    free(v);
    free(w);
    return check_result();
}
