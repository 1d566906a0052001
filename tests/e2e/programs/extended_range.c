/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * To what an address refers: sections whose base pointer lies outside of them, in front and behind, used by that
 * pointer; pointers that lead to what the same kernel maps by another name; arrays used whole of which a part is
 * present; sections that exit data and update name and that are not present as a whole.
 *
 * memory: 48Ki
 */
#include "check.h"

#include <omp.h>

static bool present(const void *address)
{
    return omp_target_is_present(address, omp_get_default_device());
}

static void clear(double *x)
{
    for (int i = 0; i < 2 * TILE; i++)
        x[i] = 0;
}

static void base_in_front(double *x)
{
    double sum = 0;
    clear(x);
#pragma omp target enter data map(to : x[64 : 128])
#pragma omp target
    for (int i = 64; i < 192; i++)
        x[i] += i;
    CHECK(x[64] == 0 && !present(x) && present(x + 64) && !omp_get_mapped_ptr(x, omp_get_default_device()));
#pragma omp target map(tofrom : sum)
    for (int i = 64; i < 192; i++)
        sum += x[i];
    CHECK(sum == 127.5 * 128);
#pragma omp target nowait depend(inout : x[64 : 128])
    x[64] += 1;
#pragma omp target nowait depend(inout : x[64 : 128])
    x[64] *= 2;
#pragma omp taskwait
#pragma omp target exit data map(from : x[64 : 128])
    CHECK(x[63] == 0 && x[64] == 130 && x[65] == 65 && x[191] == 191 && x[192] == 0);
}

/* The base itself lies behind the extended range, a pointer in front of it is in it (not for libomptarget 22, which
 * leaves the host's address). */
static void base_behind(double *x)
{
    double *end = x + 400, *between = x + (__clang_major__ < 20 ? 380 : 340);
    long last = x + 349 - between;
    clear(x);
#pragma omp target enter data map(to : end[-100 : 50])
#pragma omp target
    for (int i = 1; i <= 50; i++)
        between[last + 1 - i] += i;
    CHECK(x[349] == 0);
#pragma omp target
    between[last] += 1000;
#pragma omp target exit data map(from : end[-100 : 50])
    CHECK(x[349] == 1001 && x[300] == 50 && x[299] == 0 && x[350] == 0);
}

/* Of two sections with one base pointer, that pointer means the one around it. */
static void two_of_a_base(double *x)
{
    double *middle = x + 512;
    clear(x);
#pragma omp target enter data map(to : x[512 : 64])
#pragma omp target enter data map(to : x[0 : 64])
#pragma omp target
    x[0] = 1;
#pragma omp target
    middle[0] = 2;
#pragma omp target exit data map(from : x[512 : 64])
#pragma omp target exit data map(from : x[0 : 64])
    CHECK(x[0] == 1 && x[512] == 2);
}

static void counted_by_base(double *x)
{
#pragma omp target enter data map(to : x[64 : 64])
#pragma omp target enter data map(to : x[0 : 0])
#pragma omp target exit data map(release : x[64 : 64])
    CHECK(present(x + 64));
#pragma omp target exit data map(release : x[0 : 0])
    CHECK(!present(x + 64));
}

static void shown_by_base(double *x)
{
    double *device = NULL;
    clear(x);
#pragma omp target enter data map(to : x[64 : 64])
#pragma omp target data use_device_ptr(x)
    {
        device = x;
#pragma omp target is_device_ptr(x)
        x[70] = 3;
    }
    CHECK(device != x && x[70] == 0);
#pragma omp target exit data map(from : x[64 : 64])
    CHECK(x[70] == 3);
}

static void another_name(double *x)
{
    double *alias = x, *inside = x + 10;
    clear(x);
#pragma omp target map(tofrom : x[0 : TILE])
    {
        x[0] = 1;
        alias[1] = 2;
        inside[0] = alias[1] + 1;
    }
    CHECK(x[0] == 1 && x[1] == 2 && x[10] == 3);
#pragma omp target map(tofrom : x[0 : TILE]) nowait depend(inout : x[0])
    alias[1] += x[0];
#pragma omp target map(tofrom : x[0 : TILE]) nowait depend(inout : x[0])
    alias[1] *= 2;
#pragma omp taskwait
    CHECK(x[1] == 6);
    double seen = 0;
#pragma omp target map(to : x[0 : TILE]) map(from : seen)
    {
        alias[1] = 50; /* does not come back */
        seen = x[1];
    }
    CHECK(seen == 50 && x[1] == 6);
#pragma omp target map(alloc : x[0 : TILE]) map(from : seen)
    {
        alias[1] = 70;
        seen = x[1];
    }
    CHECK(seen == 70 && x[1] == 6);
}

/* The pointer refers to the kernel's own section, through the base of that. */
static void another_name_of_base(double *x)
{
    double *alias = x;
    clear(x);
#pragma omp target map(tofrom : x[100 : 100])
    alias[150] = x[149] + 4;
    CHECK(x[150] == 4);
}

static double table[256];

static void part_of_an_array(void)
{
    for (int i = 0; i < 256; i++)
        table[i] = i;
#pragma omp target enter data map(to : table[16 : 16])
#pragma omp target
    for (int i = 16; i < 32; i++)
        table[i] += 100;
    CHECK(table[16] == 16 && table[31] == 31);
    table[40] = -1;
#pragma omp target
    table[20] += 1000;
#pragma omp target exit data map(from : table[16 : 16])
    CHECK(table[15] == 15 && table[16] == 116 && table[20] == 1120 && table[31] == 131 && table[32] == 32);
    CHECK(table[40] == -1);
}

static void more_than_is_present(double *x)
{
    clear(x);
#pragma omp target enter data map(to : x[64 : 64])
#pragma omp target
    x[64] = 5;
#pragma omp target update from(x[64 : 65])
    CHECK(x[64] == 0);
    x[65] = 1;
#pragma omp target update to(x[0 : 128])
#pragma omp target exit data map(from : x[0 : 128])
    CHECK(present(x + 64) && x[64] == 0);
#pragma omp target exit data map(delete : x[100 : 64])
    CHECK(present(x + 64));
#pragma omp target exit data map(from : x[64 : 1])
    CHECK(!present(x + 65) && x[64] == 5 && x[65] == 1);
}

int main(void)
{
    double *x = make_tiles(2, 0);
    base_in_front(x);
    base_behind(x);
    two_of_a_base(x);
    counted_by_base(x);
    shown_by_base(x);
    another_name(x);
    another_name_of_base(x);
    part_of_an_array();
    more_than_is_present(x);
    free(x);
    return check_result();
}
