/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Sections of arrays: a part of what is present, parts entered separately side by side, sections with a lower bound,
 * zero-length ones, rows of two-dimensional and variable-length arrays, pointers to pointers, arrays of structs.
 *
 * memory: 48Ki
 */
#include "check.h"

#include <omp.h>

enum { ROWS = 8, COLUMNS = 128 };

static bool present(const void *address)
{
    return omp_target_is_present(address, omp_get_default_device());
}

static void parts(double *x)
{
#pragma omp target enter data map(to : x[0 : 256])
#pragma omp target enter data map(to : x[512 : 256])
    CHECK(present(x) && present(x + 255) && !present(x + 256) && !present(x + 511) && present(x + 512));
    double *second = x + 512;
#pragma omp target map(tofrom : x[16 : 32]) map(tofrom : second[0 : 8])
    {
        for (int i = 16; i < 48; i++)
            x[i] += 1;
        for (int i = 0; i < 8; i++)
            second[i] += 2;
    }
#pragma omp target map(alloc : x[0 : 256])
    x[0] += 5;
#pragma omp target update from(x[16 : 4])
    CHECK(x[16] == 1 && x[19] == 1 && x[20] == 0 && x[0] == 0);
#pragma omp target exit data map(from : x[512 : 256])
    CHECK(x[512] == 2 && x[520] == 0 && !present(x + 512) && present(x));
#pragma omp target exit data map(from : x[0 : 256])
    CHECK(x[0] == 5 && x[20] == 1 && x[47] == 1 && x[48] == 0 && !present(x));
}

static void lower_bound(double *x)
{
#pragma omp target map(tofrom : x[100 : 50])
    for (int i = 100; i < 150; i++)
        x[i] = i;
    CHECK(x[99] == 0 && x[100] == 100 && x[149] == 149 && x[150] == 0);
    double *from = x;
#pragma omp target map(tofrom : x[200 : 50]) map(to : from[100 : 50])
    for (int i = 0; i < 50; i++)
        x[200 + i] = 2 * from[100 + i];
    CHECK(x[200] == 200 && x[249] == 298 && x[100] == 100);
}

static void zero_length(double *x)
{
    int is_null = -1;
    for (int i = 0; i < TILE; i++)
        x[i] = 0;
#pragma omp target data map(tofrom : x[0 : TILE])
    {
#pragma omp target map(alloc : x[0 : 0])
        x[3] = 4;
        double *inside = x + 10;
#pragma omp target map(alloc : inside[0 : 0])
        inside[0] = 5;
#pragma omp target
        inside[1] = 6;
    }
    CHECK(x[3] == 4 && x[10] == 5 && x[11] == 6);
    double *nothing = NULL;
#pragma omp target map(alloc : nothing[0 : 0]) map(from : is_null)
    is_null = nothing == NULL;
    CHECK(is_null == 1);
#pragma omp target enter data map(to : x[0 : 0])
    CHECK(!present(x));
#pragma omp target exit data map(from : x[0 : 0])
    int n = 0;
#pragma omp target enter data map(to : x[0 : n])
#pragma omp target update to(x[0 : n])
#pragma omp target exit data map(release : x[0 : n])
}

static void matrix(void)
{
    static double a[ROWS][COLUMNS];
#pragma omp target map(tofrom : a)
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            a[i][j] = i * COLUMNS + j;
    CHECK(a[ROWS - 1][COLUMNS - 1] == ROWS * COLUMNS - 1);
#pragma omp target map(tofrom : a[2 : 3][0 : COLUMNS])
    for (int i = 2; i < 5; i++)
        for (int j = 0; j < COLUMNS; j++)
            a[i][j] = -1;
    CHECK(a[1][COLUMNS - 1] == 2 * COLUMNS - 1 && a[2][0] == -1 && a[4][COLUMNS - 1] == -1 && a[5][0] == 5 * COLUMNS);
#pragma omp target map(tofrom : a[6 : 1][8 : 16])
    for (int j = 8; j < 24; j++)
        a[6][j] = -2;
    CHECK(a[6][7] == 6 * COLUMNS + 7 && a[6][8] == -2 && a[6][23] == -2 && a[6][24] == 6 * COLUMNS + 24);
#pragma omp target data map(to : a)
    {
#pragma omp target
        for (int j = 0; j < COLUMNS; j++)
            a[7][j] = a[6][j] + 1;
#pragma omp target update from(a[7 : 1][0 : COLUMNS])
    }
    CHECK(a[7][8] == -1 && a[7][0] == 6 * COLUMNS + 1);
}

static void variable_length(int n, int m)
{
    double a[n][m], v[n];
    for (int i = 0; i < n; i++) {
        v[i] = i;
        for (int j = 0; j < m; j++)
            a[i][j] = j;
    }
#pragma omp target teams distribute parallel for map(tofrom : a) map(to : v)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            a[i][j] += v[i];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            CHECK(a[i][j] == i + j);
#pragma omp target
    for (int i = 0; i < n; i++)
        v[i] += a[i][m - 1];
    for (int i = 0; i < n; i++)
        CHECK(v[i] == 2 * i + m - 1);
    double(*pointer)[m] = a;
#pragma omp target map(tofrom : pointer[1 : 2][0 : m])
    pointer[2][0] = -7;
    CHECK(a[2][0] == -7);
}

static void pointers_to_pointers(void)
{
    double *row[ROWS], **table = row;
    for (int i = 0; i < ROWS; i++) {
        row[i] = malloc(COLUMNS * sizeof *row[i]);
        for (int j = 0; j < COLUMNS; j++)
            row[i][j] = i;
    }
#pragma omp target enter data map(to : table[0 : ROWS])
    for (int i = 0; i < ROWS; i++) {
#pragma omp target enter data map(to : table[i][0 : COLUMNS])
    }
#pragma omp target
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            table[i][j] += j;
    for (int i = 0; i < ROWS; i++) {
#pragma omp target exit data map(from : table[i][0 : COLUMNS])
    }
#pragma omp target exit data map(release : table[0 : ROWS])
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLUMNS; j++)
            CHECK(row[i][j] == i + j);
        free(row[i]);
    }
}

typedef struct particle {
    double position[3];
    float mass;
    int kind;
} particle;

static void array_of_structs(void)
{
    particle p[64];
    for (int i = 0; i < 64; i++)
        p[i] = (particle){{i, 0, 0}, 1, i % 3};
#pragma omp target teams distribute parallel for map(tofrom : p)
    for (int i = 0; i < 64; i++) {
        p[i].position[1] = p[i].position[0] * 2;
        p[i].kind++;
    }
#pragma omp target map(tofrom : p[8 : 8])
    for (int i = 8; i < 16; i++)
        p[i].mass = 2;
#pragma omp target map(tofrom : p[3].mass)
    p[3].mass = 9;
    for (int i = 0; i < 64; i++) {
        CHECK(p[i].position[1] == 2 * i && p[i].kind == i % 3 + 1);
        CHECK(p[i].mass == (i == 3 ? 9 : i >= 8 && i < 16 ? 2 : 1));
    }
}

int main(void)
{
    double *x = make_tiles(1, 0);
    parts(x);
    for (int i = 0; i < TILE; i++)
        x[i] = 0;
    lower_bound(x);
    zero_length(x);
    matrix();
    variable_length(9, 33);
    pointers_to_pointers();
    array_of_structs();
    free(x);
    return check_result();
}
