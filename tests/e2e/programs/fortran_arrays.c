/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Fortran arrays, which arrive as descriptors: allocatables, pointers, sections, assumed shape, scalars, unallocated
 * ones, as flang maps them (flang.h); alone, in `target data`, between enter and exit data, with updates. All are
 * scheduled: a launch that passed through would not be counted.
 *
 * memory: 24Ki
 * variants: flang19 flang22
 * stats: stats.tasks == 3 + 4 + 3 + 6 * 4 + 3 + 2 + 4
 * stats: stats.host_tasks == 0
 * stats: totals.h2d_bytes >= 20 * 8192
 */
#include "flang.h"

#pragma omp begin declare target

/* a(i) = a(i) + n b(i), for all that the descriptor of a says; without b n alone is added */
static void add_on_host(descriptor *a, const descriptor *b, int n)
{
    int64_t rows = a->rank > 0 ? a->first.extent : 1, columns = a->rank > 1 ? ((matrix *)a)->second.extent : 1;
    int64_t step = a->rank > 1 ? ((matrix *)a)->second.stride : 0;
    for (int64_t j = 0; j < columns; j++)
        for (int64_t i = 0; i < rows; i++) {
            double *x = (double *)((char *)a->base + j * step) + i;
            *x += b->base ? n * b->base[i] : n;
        }
}

/* a(n), the lower bound being a's own, and its neighbour */
static void element_on_host(descriptor *a, const descriptor *b, int n)
{
    a->base[n - a->first.lower] += (double)b->first.extent;
    a->base[n + 1 - a->first.lower] += (double)b->element;
}

/* a = b */
static void copy_on_host(descriptor *a, const descriptor *b, int n)
{
    for (int i = 0; i < n; i++)
        a->base[i] = b->base[i];
}

#pragma omp end declare target

FLANG_REGION(add, descriptor, descriptor)
FLANG_REGION(element, descriptor, descriptor)
FLANG_REGION(copy, descriptor, descriptor)

static void *add, *element, *copy; /* the regions */

static void run(void *region, map_list *list, int n)
{
    map_literal(list, n);
    CHECK(launch(region, list, false) == 0);
}

/* map(tofrom: a) map(to: b) */
static void add_to(descriptor *a, descriptor *b, int n, int64_t implicit)
{
    map_list list = {0};
    map_array(&list, KERNEL, a, TO | FROM | implicit);
    map_array(&list, KERNEL, b, TO | implicit);
    run(add, &list, n);
}

static void whole(double *x, double *y)
{
    descriptor a = describe(x, TILE), b = describe(y, TILE), before = a;
    add_to(&a, &b, 3, 0);
    add_to(&a, &b, 1, IMPLICIT);
    CHECK(all_are(x, TILE, 9) && all_are(y, TILE, 2));
    CHECK(memcmp(&a, &before, sizeof a) == 0);
    map_list list = {0};
    map_array(&list, KERNEL, &a, FROM);
    map_array(&list, KERNEL, &b, TO);
    run(copy, &list, TILE);
    CHECK(all_are(x, TILE, 2) && a.base == x);
}

static void sections(double *x, double *y)
{
    descriptor a = describe(x, TILE), b = describe(y, TILE);
    a.first.lower = -5;
    for (int i = 100; i < 104; i += 2) { /* a(i - 5 : i - 4), in the numbers of a */
        map_list list = {0};
        map_section(&list, KERNEL, &a, x + i, 16, TO | FROM);
        map_array(&list, KERNEL, &b, TO);
        run(element, &list, i - 5);
    }
    CHECK(all_are(x, 100, 2) && x[100] == 2 + TILE && x[101] == 10 && x[102] == 2 + TILE && x[103] == 10);
    CHECK(all_are(x + 104, TILE - 104, 2));
    matrix m = {describe(x, 32), {1, 32, 32 * sizeof(double)}};
    m.d.rank = 2;
    descriptor none = describe(NULL, 0);
    add_to(&m.d, &none, 100, 0); /* all columns */
    CHECK(x[0] == 102 && x[100] == 102 + TILE && x[TILE - 1] == 102);
    matrix columns = m;
    columns.d.base = x + 3 * 32;
    columns.second.extent = 2;
    add_to(&columns.d, &none, 1, 0); /* a pointer to the columns 4 and 5 */
    CHECK(x[95] == 102 && x[96] == 103 && x[159] == 103 && x[160] == 102);
}

static void scalars_and_nothing(double *y)
{
    double value = 7;
    descriptor scalar = describe(&value, 0), none = describe(NULL, 0), b = describe(y, TILE);
    scalar.rank = 0;
    add_to(&scalar, &b, 5, 0);
    CHECK(value == 17);
    add_to(&scalar, &none, 1, 0);
    CHECK(value == 18);
    add_to(&none, &none, 1, 0); /* nothing allocated: no elements */
    CHECK(none.base == NULL);
}

static void data(construct what, descriptor *a, int64_t flags)
{
    map_list list = {0};
    map_array(&list, what, a, flags);
    data_construct(what, &list);
}

/* target data map(tofrom: a1 … a6), of which the tight runs hold less than half: a(i) = a(i) + a(i + 1) */
static void in_a_region(double *x)
{
    enum { ARRAYS = 6 };
    descriptor a[ARRAYS];
    map_list list = {0};
    for (int i = 0; i < ARRAYS; i++) {
        a[i] = describe(x + (size_t)i * TILE, TILE);
        if (i < 4) /* four of them with one construct */
            map_array(&list, BEGIN, &a[i], TO | FROM);
        else
            data(BEGIN, &a[i], TO | FROM);
    }
    data_construct(BEGIN, &list);
    for (int round = 0; round < 4; round++)
        for (int i = 0; i < ARRAYS; i++)
            add_to(&a[i], &a[(i + 1) % ARRAYS], 1, IMPLICIT);
    data_construct(END, &list);
    for (int i = 4; i < ARRAYS; i++)
        data(END, &a[i], TO | FROM);
    double expected[ARRAYS] = {1, 1, 1, 1, 1, 1};
    for (int round = 0; round < 4; round++)
        for (int i = 0; i < ARRAYS; i++)
            expected[i] += expected[(i + 1) % ARRAYS];
    for (int i = 0; i < ARRAYS; i++)
        CHECK(all_are(x + (size_t)i * TILE, TILE, expected[i]) && a[i].base == x + (size_t)i * TILE);
}

/* Updates of the whole and of a section; a section computed on inside the region of the whole. */
static void updates(double *x, double *y)
{
    descriptor a = describe(x, TILE), b = describe(y, TILE);
    map_list list = {0};
    data(BEGIN, &a, TO);
    add_to(&a, &b, 1, 0);
    data(UPDATE, &a, FROM);
    CHECK(all_are(x, TILE, 3));
    for (int i = 0; i < TILE; i++)
        x[i] = 10;
    map_section(&list, UPDATE, &a, x + 16, 16 * sizeof *x, TO);
    data_construct(UPDATE, &list);
    list.count = 0;
    map_section(&list, KERNEL, &a, x + 20, 2 * sizeof *x, TO | FROM);
    map_array(&list, KERNEL, &b, TO);
    run(element, &list, 21);
    add_to(&a, &b, 1, 0);
    list.count = 0;
    map_section(&list, UPDATE, &a, x + 20, 4 * sizeof *x, FROM);
    data_construct(UPDATE, &list);
    CHECK(x[19] == 10 && x[20] == 12 + TILE && x[21] == 20 && x[22] == 12 && x[23] == 12 && x[24] == 10);
    data(END, &a, FROM);
    CHECK(x[0] == 5 && x[15] == 5 && x[16] == 12 && x[31] == 12 && x[32] == 5 && x[20] == 12 + TILE);
}

/* enter data map(to: a), kernels through other descriptors of the same array (dummy arguments), exit data map(from:
 * a). */
static void entered(double *x, double *y)
{
    descriptor a = describe(x, TILE), b = describe(y, TILE), dummy = a;
    data(BEGIN, &a, TO);
    add_to(&dummy, &b, 1, 0);
    map_list list = {0};
    map_array(&list, KERNEL, &a, is_flang19 ? 0 : PRESENT);
    map_array(&list, KERNEL, &b, TO);
    run(add, &list, 2);
    data(END, &a, FROM);
    CHECK(all_are(x, TILE, 7));
}

/* The same descriptor comes to describe another array, inside the region of the first. */
static void redescribed(double *x, double *y)
{
    descriptor a = describe(x, TILE), b = describe(y, TILE);
    data(BEGIN, &a, TO | FROM);
    data(BEGIN, &b, TO);
    add_to(&a, &b, 1, 0);
    descriptor moved = describe(x + TILE, TILE / 2);
    add_to(&moved, &b, 2, 0);
    a.base = x + TILE;
    a.first.extent = TILE / 2;
    /* flang 19's map(to: descriptor) does not reach a descriptor that is present. */
    add_to(is_flang19 ? &moved : &a, &b, 3, 0);
    a = describe(x, TILE);
    add_to(&a, &b, 1, 0);
    data(END, &a, TO | FROM);
    data(END, &b, TO);
    CHECK(all_are(x, TILE, 5) && all_are(x + TILE, TILE / 2, 11) && all_are(x + TILE + TILE / 2, TILE / 2, 1));
}

int main(int argc, char **argv)
{
    choose_flang(argc, argv);
    add = find_region(add_region);
    element = find_region(element_region);
    copy = find_region(copy_region);
    double *x = make_tiles(6, 1), *y = make_tiles(1, 2);
    whole(x, y);
    sections(x, y);
    scalars_and_nothing(y);
    free(x);
    x = make_tiles(6, 1);
    in_a_region(x);
    free(x);
    x = make_tiles(6, 1);
    updates(x, y);
    free(x);
    x = make_tiles(6, 1);
    entered(x, y);
    free(x);
    x = make_tiles(6, 1);
    redescribed(x, y);
    free(x);
    free(y);
    return check_result();
}
