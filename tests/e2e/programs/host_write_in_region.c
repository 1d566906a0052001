/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The host writes to mapped arrays inside a region, at every legal moment and without any update: devices keep what
 * they had when the region was opened (or updated), and the host keeps what it has written until something is mapped or
 * updated `from`.
 *
 * memory: 32Ki
 * variants: region enter update awaited ordered sections released unread unmapped parts two_threads late_push read_only
 * members
 */
#include "check.h"

#include <string.h>

enum { N = 4 * TILE };

static void set(double *x, size_t count, double value)
{
    for (size_t i = 0; i < count; i++)
        x[i] = value;
}

static void region(double *x, double *y)
{
#pragma omp target data map(to : x [0:TILE]) map(tofrom : y [0:TILE])
    {
        x[0] = 100;
        y[1] = 50;
#pragma omp target
        y[0] += x[0];
        x[2] = 100;
        y[2] = 50;
#pragma omp target
        y[2] += x[2];
        CHECK(y[0] == 1 && y[1] == 50 && y[2] == 50);
    }
    CHECK(y[0] == 2 && y[1] == 1 && y[2] == 2);
    CHECK(x[0] == 100 && x[2] == 100);
}

static void enter(double *x, double *y)
{
#pragma omp target enter data map(to : x [0:N], y [0:N])
    set(x, N, 100);
    set(y, N, 200);
#pragma omp target
    for (int i = 0; i < TILE; i++)
        y[i] += x[i];
#pragma omp target exit data map(from : y [0:N]) map(release : x [0:N])
    CHECK(all_are(y, TILE, 2) && all_are(y + TILE, N - TILE, 1) && all_are(x, N, 100));
}

static void update(double *x, double *y)
{
#pragma omp target enter data map(to : x [0:N]) map(alloc : y [0:N])
    set(x, N, 3);
#pragma omp target update to(x [0:TILE])
    set(x, N, 9);
#pragma omp target
    for (int i = 0; i < N; i++)
        y[i] = x[i];
    set(y, N, 77);
#pragma omp target update from(y [TILE:TILE])
    CHECK(all_are(y, TILE, 77) && all_are(y + TILE, TILE, 1) && all_are(y + 2 * TILE, 2 * TILE, 77));
    set(x, N, 5);
#pragma omp target update to(x [0:N])
    set(x, N, 9);
#pragma omp target
    for (int i = 0; i < N; i++)
        y[i] += x[i];
#pragma omp target exit data map(from : y [0:N]) map(delete : x [0:N])
    CHECK(all_are(y, TILE, 8) && all_are(y + TILE, N - TILE, 6) && all_are(x, N, 9));
}

/* Nothing is loaded when asynchronous constructs end; the host writes after a taskwait, a taskgroup, a barrier. */
static void awaited(double *x, double *y)
{
#pragma omp parallel num_threads(2)
    {
#pragma omp single nowait
        {
#pragma omp target enter data nowait depend(out : x[0]) map(to : x [0:TILE])
#pragma omp target enter data nowait map(to : y [0:N])
#pragma omp taskwait
            set(x, TILE, 100);
            set(y, TILE, 100);
#pragma omp taskgroup
            {
#pragma omp target enter data nowait map(to : x [TILE:TILE])
#pragma omp target enter data nowait map(to : x [2 * TILE:TILE])
            } set(x + TILE, TILE, 100);
#pragma omp target enter data nowait map(to : x [3 * TILE:TILE])
        }
#pragma omp barrier
#pragma omp single
        set(x + 2 * TILE, 2 * TILE, 100);
#pragma omp single
        for (int t = 0; t < 4; t++) {
            double *a = x + t * TILE, *b = y + t * TILE;
#pragma omp target nowait depend(inout : b[0])
            for (int i = 0; i < TILE; i++)
                b[i] += a[i];
        }
    }
    CHECK(all_are(x, N, 100) && all_are(y, TILE, 100) && all_are(y + TILE, N - TILE, 1));
#pragma omp target exit data map(from : y [0:N])
    for (int t = 0; t < 4; t++) {
#pragma omp target exit data map(release : x [t * TILE:TILE])
    }
    CHECK(all_are(y, N, 2) && all_are(x, N, 100));
}

/* A host task is ordered after the asynchronous construct, directly or by way of a kernel. */
static void ordered(double *x, double *y)
{
    double *a = x + TILE, *b = y + TILE;
#pragma omp parallel
#pragma omp single
    {
#pragma omp target enter data nowait depend(out : x[0]) map(to : x [0:TILE])
#pragma omp target enter data nowait depend(out : a[0]) map(to : a [0:TILE])
#pragma omp target enter data nowait depend(out : y[0]) map(to : y [0:TILE])
#pragma omp target enter data nowait depend(out : b[0]) map(to : b [0:TILE])
#pragma omp task depend(inout : x[0])
        set(x, TILE, 100);
#pragma omp target nowait depend(in : a[0]) depend(inout : y[0])
        for (int i = 0; i < TILE; i++)
            y[i] += 1;
#pragma omp task depend(in : y[0])
        set(a, TILE, 100);
#pragma omp target nowait depend(in : x[0]) depend(inout : y[0])
        for (int i = 0; i < TILE; i++)
            y[i] += x[i];
#pragma omp target nowait depend(in : a[0]) depend(in : y[0]) depend(inout : b[0])
        for (int i = 0; i < TILE; i++)
            b[i] += a[i];
#pragma omp target exit data nowait depend(inout : y[0]) map(from : y [0:TILE])
#pragma omp target exit data nowait depend(inout : b[0]) map(from : b [0:TILE])
#pragma omp target exit data nowait depend(inout : x[0]) map(release : x [0:TILE])
#pragma omp target exit data nowait depend(inout : a[0]) map(release : a [0:TILE])
    }
    CHECK(all_are(y, TILE, 3) && all_are(b, TILE, 2) && all_are(x, 2 * TILE, 100));
}

/* The whole array is entered, kernels use tiles of it on several devices, in too little memory. */
static void sections(double *x, double *y)
{
#pragma omp target enter data map(to : x [0:N], y [0:N])
    set(x, N, 100);
    set(y, N, 100);
#pragma omp parallel
#pragma omp single
    for (int r = 0; r < 5; r++)
        for (int t = 0; t < 4; t++) {
            double *a = x + t * TILE, *b = y + t * TILE;
#pragma omp target nowait depend(in                                                                                    \
                                 : a [0:TILE]) depend(inout                                                            \
                                                      : b [0:TILE]) map(to                                             \
                                                                        : a [0:TILE]) map(tofrom                       \
                                                                                          : b [0:TILE])
            for (int i = 0; i < TILE; i++)
                b[i] += a[i];
        }
    CHECK(all_are(x, N, 100) && all_are(y, N, 100));
    set(y, N, 100);
#pragma omp target exit data map(from : y [0:N]) map(release : x [0:N])
    CHECK(all_are(x, N, 100) && all_are(y, N, 6));
}

/* What kernels write never reaches the host, though it has been evicted. */
static void released(double *x, double *y)
{
#pragma omp target enter data map(to : x [0:N], y [0:N])
    for (int r = 0; r < 3; r++)
        for (int t = 0; t < 4; t++) {
            double *a = x + t * TILE, *b = y + t * TILE;
#pragma omp target map(tofrom : a [0:TILE], b [0:TILE])
            for (int i = 0; i < TILE; i++)
                a[i] = b[i] += a[i];
            CHECK(all_are(x, N, 1) && all_are(y, N, 1));
        }
#pragma omp target update from(y [0:TILE])
    CHECK(all_are(y, TILE, 8) && all_are(y + TILE, N - TILE, 1));
#pragma omp target exit data map(release : x [0:N], y [0:N])
    CHECK(all_are(y, TILE, 8) && all_are(y + TILE, N - TILE, 1) && all_are(x, N, 1));
}

/* Kernels only read, or use nothing at all: `from` brings home what the region was opened with. */
static void unread(double *x, double *y)
{
    double sum = 0;
#pragma omp target data map(tofrom : x [0:N], y [0:N])
    {
#pragma omp target map(tofrom : sum)
        for (int i = 0; i < N; i++)
            sum += x[i];
        set(x, N, 5);
        set(y, N, 5);
    }
    CHECK(sum == (double)N && all_are(x, N, 1) && all_are(y, N, 1));
}

/* The region goes and comes again with what the host has written. */
static void unmapped(double *x, double *y)
{
    for (int r = 0; r < 4; r++) {
        set(x, TILE, r);
#pragma omp target enter data map(to : x [0:TILE])
        set(x, TILE, -1);
#pragma omp target map(from : y [0:TILE])
        for (int i = 0; i < TILE; i++)
            y[i] = x[i];
#pragma omp target exit data map(release : x [0:TILE])
        CHECK(all_are(y, TILE, r) && all_are(x, TILE, -1));
    }
}

/* Updates of parts, on data that are on a device, in a spill area, or nowhere yet. */
static void parts(double *x, double *y)
{
#pragma omp target enter data map(to : x [0:N])
    for (int t = 0; t < 4; t++) {
        set(x, N, 10 + t);
#pragma omp target update to(x [t * TILE + 1:TILE / 2])
        set(x, N, -1);
#pragma omp target map(tofrom : y [0:N]) map(tofrom : x [0:N])
        for (int i = 0; i < N; i++)
            y[i] += x[i];
    }
    for (int t = 0; t < 4; t++) {
        size_t at = (size_t)t * TILE;
        CHECK(y[at] == 5 && all_are(y + at + 1 + TILE / 2, TILE / 2 - 1, 5));
        CHECK(all_are(y + at + 1, TILE / 2, 1 + t + (4 - t) * (10 + t)));
    }
    CHECK(all_are(x, N, -1));
#pragma omp target exit data map(from : x [0:N])
    CHECK(x[0] == 1 && x[1] == 10 && x[TILE + 1] == 11 && x[N - 1] == 1);
}

/* Each has regions of its own on parts of one array, and one that both enter. */
static void two_threads(double *x, double *y)
{
#pragma omp parallel num_threads(2)
#pragma omp for schedule(static, 1)
    for (int t = 0; t < 4; t++) {
        double *a = x + t * TILE, *b = y + t * TILE;
        for (int r = 0; r < 20; r++) {
            set(a, TILE, r);
#pragma omp target data map(to : a [0:TILE]) map(tofrom : b [0:TILE])
            {
                set(a, TILE, 100);
                set(b, TILE, 100);
#pragma omp target
                for (int i = 0; i < TILE; i++)
                    b[i] += a[i];
            }
        }
    }
    CHECK(all_are(y, N, 191) && all_are(x, N, 100));
}

/* `always` pushes what the host has then, and nothing else. */
static void late_push(double *x, double *y)
{
#pragma omp target data map(to : x [0:N]) map(tofrom : y [0:N])
    {
        set(x, N, 2);
#pragma omp target map(always, to : x [0:TILE])
        for (int i = 0; i < TILE; i++)
            y[i] += x[i];
        set(x, N, 3);
#pragma omp target data map(always, to : x [TILE:TILE])
        set(x, N, 4);
#pragma omp target
        for (int i = 0; i < N; i++)
            y[i] += x[i];
    }
    CHECK(all_are(y, TILE, 5) && all_are(y + TILE, TILE, 4) && all_are(y + 2 * TILE, 2 * TILE, 2));
}

/* Memory that is only read by all, entered and left again and again while it is in use. */
static void read_only(double *x, double *y)
{
#pragma omp target enter data map(to : x [0:N])
    set(x, N, 7);
#pragma omp parallel num_threads(4)
#pragma omp for
    for (int t = 0; t < 16; t++) {
        double *b = y + t % 4 * TILE, sum = 0;
#pragma omp target data map(to : x [0:N])
#pragma omp target map(tofrom : sum)
        for (int i = 0; i < N; i++)
            sum += x[i];
        CHECK(sum == (double)N);
#pragma omp critical
        b[0] += 1;
    }
#pragma omp target exit data map(from : x [0:N])
    CHECK(all_are(x, N, 1));
    for (int t = 0; t < 4; t++)
        CHECK(y[t * TILE] == 5);
}

typedef struct pair {
    double first, second, third;
} pair;

/* Of a struct, which is mapped through its members. */
static void members(double *x, double *y)
{
    pair p = {1, 2, 3}, *q = &p;
#pragma omp target data map(tofrom : q->first, q->third)
    {
        p.first = 100;
        p.second = 200;
#pragma omp target
        q->third += 1;
        p.third = 300;
    }
    CHECK((int)p.first == 1 && (int)p.second == 200 && (int)p.third == 4);
#pragma omp target data map(tofrom : q->first, q->second, q->third)
    {
        p.first = 100;
    }
    CHECK((int)p.first == 1);
    x[0] = y[0];
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(double *x, double *y);
    } variants[] = {
        {"region", region},       {"enter", enter},       {"update", update},           {"awaited", awaited},
        {"ordered", ordered},     {"sections", sections}, {"released", released},       {"unread", unread},
        {"unmapped", unmapped},   {"parts", parts},       {"two_threads", two_threads}, {"late_push", late_push},
        {"read_only", read_only}, {"members", members}};
    double *x = make_tiles(N / TILE, 1), *y = make_tiles(N / TILE, 1);
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
        if (argc > 1 && strcmp(argv[1], variants[i].name) == 0)
            variants[i].run(x, y);
    free(x);
    free(y);
    return check_result();
}
