/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Synchronous kernels over whole arrays inside data regions, which OMPDARTS_SLICE cuts into slices for all devices. The
 * same results as on the host, bit for bit; the driver (slices.sh) looks at which of them were cut, and by the reason
 * which were not.
 */
#include "check.h"

#include <omp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 12, WIDTH = 2048, ROWS = 96, N = WIDTH * ROWS };

static double expected_a[N], expected_b[N];
static _Alignas(4096) double a[N], b[N]; /* borders of rows are borders of pages */
static int32_t index_of[N];

static void fill(void)
{
    for (int i = 0; i < N; i++) {
        expected_a[i] = a[i] = (i * 7919 % 1009) * 0.25;
        expected_b[i] = b[i] = 0;
        index_of[i] = (int32_t)((uint32_t)i * 2654435761u % N);
    }
}

static bool same(const double *x, const double *y, int n)
{
    for (int i = 0; i < n; i++)
        if (memcmp(&x[i], &y[i], sizeof *x) != 0) {
            printf("element %d is %.17g, not %.17g\n", i, x[i], y[i]);
            return false;
        }
    return true;
}

static double sum_of(const double *x, int i, int j)
{
    const double *at = &x[i * WIDTH + j];
    return 0.25 * (at[-WIDTH] + at[WIDTH] + at[-1] + at[1]);
}

/* Each row needs its neighbours: the borders of the slices move at each step. */
static void stencil(void)
{
    double *from = a, *to = b, *efrom = expected_a, *eto = expected_b;
#pragma omp target data map(tofrom : a, b)
    for (int r = 0; r < ROUNDS; r++) {
#pragma omp target teams distribute parallel for collapse(2)
        for (int i = 1; i < ROWS - 1; i++)
            for (int j = 1; j < WIDTH - 1; j++) {
                const double *at = &from[i * WIDTH + j];
                to[i * WIDTH + j] = 0.25 * (at[-WIDTH] + at[WIDTH] + at[-1] + at[1]);
            }
        for (int i = 1; i < ROWS - 1; i++)
            for (int j = 1; j < WIDTH - 1; j++)
                eto[i * WIDTH + j] = sum_of(efrom, i, j);
        double *swap = from;
        from = to, to = swap;
        swap = efrom;
        efrom = eto, eto = swap;
    }
    CHECK(same(a, expected_a, N) && same(b, expected_b, N));
}

/* Whole rows; the number of steps may be the second argument of the program, so that what each moves can be counted. */
static int steps = ROUNDS;

static void rows(void)
{
    double *from = a, *to = b, *efrom = expected_a, *eto = expected_b;
#pragma omp target data map(tofrom : a, b)
    for (int r = 0; r < steps; r++) {
#pragma omp target teams distribute parallel for
        for (int i = 1; i < ROWS - 1; i++)
            for (int j = 1; j < WIDTH - 1; j++) {
                const double *at = &from[i * WIDTH + j];
                to[i * WIDTH + j] = 0.25 * (at[-WIDTH] + at[WIDTH] + at[-1] + at[1]);
            }
        double *swap = from;
        from = to, to = swap;
    }
    for (int r = 0; r < steps; r++) {
        for (int i = 1; i < ROWS - 1; i++)
            for (int j = 1; j < WIDTH - 1; j++)
                eto[i * WIDTH + j] = sum_of(efrom, i, j);
        double *swap = efrom;
        efrom = eto, eto = swap;
    }
    CHECK(same(a, expected_a, N) && same(b, expected_b, N));
}

/* Cell by cell, in arrays that begin anywhere in a page: so do slices of as many cells each. */
static void cells(void)
{
    enum { OFFSET = 17, CELLS = N - OFFSET };
    double *from = a + OFFSET, *to = b + OFFSET, *efrom = expected_a + OFFSET, *eto = expected_b + OFFSET;
#pragma omp target data map(tofrom : a[OFFSET : CELLS], b[OFFSET : CELLS])
    for (int r = 0; r < steps; r++) {
#pragma omp target teams distribute parallel for
        for (int i = 1; i < CELLS - 1; i++)
            to[i] = 0.5 * from[i] + 0.25 * (from[i - 1] + from[i + 1]);
        double *swap = from;
        from = to, to = swap;
    }
    for (int r = 0; r < steps; r++) {
        for (int i = 1; i < CELLS - 1; i++)
            eto[i] = 0.5 * efrom[i] + 0.25 * (efrom[i - 1] + efrom[i + 1]);
        double *swap = efrom;
        efrom = eto, eto = swap;
    }
    CHECK(same(a, expected_a, N) && same(b, expected_b, N));
}

/* Chunks of one iteration, as programs for GPUs have them: clang's code for them is right where a team has several
 * threads, which it has without the library. */
static void singles(void)
{
#pragma omp target data map(tofrom : a, b)
    for (int r = 0; r < ROUNDS; r++) {
#pragma omp target teams distribute parallel for schedule(static, 1)
        for (int i = 0; i < N; i++)
            b[i] += a[i] + i;
    }
    for (int r = 0; r < ROUNDS; r++)
        for (int i = 0; i < N; i++)
            expected_b[i] += expected_a[i] + i;
    CHECK(same(a, expected_a, N) && same(b, expected_b, N));
}

/* Each iteration reads anywhere in a table, which all devices need. */
static void lookup(void)
{
#pragma omp target data map(to : a, index_of) map(tofrom : b)
    for (int r = 0; r < ROUNDS; r++) {
#pragma omp target teams distribute parallel for
        for (int i = 0; i < N; i++)
            b[i] += a[index_of[i]] * (r + 1);
        for (int i = 0; i < N; i++)
            expected_b[i] += expected_a[index_of[i]] * (r + 1);
    }
    CHECK(same(b, expected_b, N));
}

/* The last iteration's values are the variables'. */
static void lastprivate(void)
{
    static int32_t last[1024];
    static double kept[1024];
#pragma omp target data map(tofrom : a, last, kept)
    for (int r = 0; r < ROUNDS; r++) {
        int32_t final = -1;
        double value = -1;
#pragma omp target data map(tofrom : final, value)
        {
#pragma omp target teams distribute parallel for lastprivate(final, value) map(tofrom : final, value)
            for (int i = 0; i < N; i++) {
                final = i + r;
                value = a[i] + r;
                a[i] += 1;
            }
        }
        CHECK(final == N - 1 + r);
        for (int i = 0; i < N; i++)
            expected_a[i] += 1;
        CHECK(value == expected_a[N - 1] - 1 + r);
    }
    CHECK(same(a, expected_a, N));
}

/* Numbers of teams, and which iterations a team has, are those of the whole launch. */
static void teams(void)
{
    static int32_t team[N], count[N];
    int64_t sum = 0;
#pragma omp target data map(from : team, count) map(tofrom : a)
    for (int r = 0; r < ROUNDS; r++) {
#pragma omp target teams distribute num_teams(2) thread_limit(2)
        for (int i = 0; i < N; i++) {
            team[i] = omp_get_team_num();
            count[i] = omp_get_num_teams();
            a[i] += omp_get_team_num();
        }
    }
    for (int i = 0; i < N; i++)
        sum += (int64_t)(a[i] * 4) % 1000 * (i % 13) + count[i] + 7 * team[i];
    printf("%d and %d teams, sum %lld\n", count[0], count[N - 1], (long long)sum);
}

/* What all slices compute together, where it is mapped for the launch alone, and where it is in a region. */
typedef struct least {
    int64_t value, index;
} least;
#pragma omp declare reduction(least : least : omp_out = omp_in.value < omp_out.value || \
    (omp_in.value == omp_out.value && omp_in.index < omp_out.index) ? omp_in : omp_out) \
    initializer(omp_priv = (least){INT64_MAX, INT64_MAX})

static void reductions(void)
{
    enum { BINS = 7 };
    int64_t total = 0, expected_total = 0, bins[BINS] = {0}, expected_bins[BINS] = {0};
    double largest = -1, expected_largest = -1;
    least first = {500, N}, expected_first = {500, N};
#pragma omp target data map(to : a, index_of)
    for (int r = 0; r < ROUNDS; r++) {
#pragma omp target teams distribute parallel for reduction(+ : total) reduction(max : largest) map(tofrom : total, largest)
        for (int i = 0; i < N; i++) {
            total += index_of[i] % 1000 - r;
            largest = largest > a[i] + i + r ? largest : a[i] + i + r;
        }
#pragma omp target data map(tofrom : first, bins)
#pragma omp target teams distribute parallel for num_teams(2) reduction(least : first) reduction(+ : bins)
        for (int i = 0; i < N; i++) {
            bins[i % BINS] += index_of[i];
            int64_t value = 499 + index_of[i] - r;
            if (value < first.value || (value == first.value && i < first.index))
                first = (least){value, i};
        }
        for (int i = 0; i < N; i++) {
            int64_t value = 499 + index_of[i] - r;
            expected_total += index_of[i] % 1000 - r;
            expected_largest = expected_largest > a[i] + i + r ? expected_largest : a[i] + i + r;
            expected_bins[i % BINS] += index_of[i];
            if (value < expected_first.value || (value == expected_first.value && i < expected_first.index))
                expected_first = (least){value, i};
        }
    }
    CHECK(total == expected_total && largest == expected_largest);
    CHECK(first.value == expected_first.value && first.index == expected_first.index);
    CHECK(memcmp(bins, expected_bins, sizeof bins) == 0);
}

/* Memory that a team, or a thread, has by its number: for the first time when slices run already. */
static void numbers(void)
{
    enum { TEAMS = 64, THREADS = 256, TIMES = 4000 };
    static volatile int64_t own[TEAMS * THREADS];
    static int64_t result[N];
#pragma omp target data map(alloc : own) map(tofrom : result)
    for (int r = 0; r < ROUNDS; r++)
#pragma omp target teams distribute parallel for num_teams(2)
        for (int i = 0; i < N; i++) {
            int64_t value = i;
            if (r % 4 == 3 && i % 16 == 0) {
                volatile int64_t *mine = &own[omp_get_team_num() % TEAMS * THREADS + omp_get_thread_num() % THREADS];
                *mine = 0;
                for (int k = 0; k < TIMES; k++)
                    *mine += i;
                value = *mine;
            }
            result[i] += value;
        }
    for (int i = 0; i < N; i++)
        CHECK(result[i] == (int64_t)i * (i % 16 ? ROUNDS : ROUNDS * 3 / 4 + TIMES * ROUNDS / 4));
}

/* Private copies, values that differ from launch to launch, and loops of unsigned and of long counters. */
static void counters(void)
{
    double weight[4] = {1, 2, 3, 4};
#pragma omp target data map(tofrom : a, b)
    for (int r = 0; r < ROUNDS; r++) {
        double scale = r + 0.5;
#pragma omp target teams distribute parallel for firstprivate(weight, scale)
        for (uint32_t i = N; i > 0; i--)
            a[i - 1] = a[i - 1] * 0.5 + weight[i % 4] * scale;
#pragma omp target teams distribute parallel for num_threads(3)
        for (int64_t i = 0; i < N; i += 3)
            b[i] += a[i];
#pragma omp target teams distribute parallel for simd firstprivate(scale)
        for (uint64_t i = 1; i < N; i += 3)
            b[i] -= a[i] * scale;
        for (uint32_t i = 0; i < N; i++)
            expected_a[i] = expected_a[i] * 0.5 + weight[(i + 1) % 4] * scale;
        for (int64_t i = 0; i < N; i += 3)
            expected_b[i] += expected_a[i];
        for (uint64_t i = 1; i < N; i += 3)
            expected_b[i] -= expected_a[i] * scale;
    }
    CHECK(same(a, expected_a, N) && same(b, expected_b, N));
}

/* A region inside each iteration, whose threads see its slice's memory. */
static void nested(void)
{
#pragma omp target data map(tofrom : a, b)
    for (int r = 0; r < ROUNDS; r++) {
#pragma omp target teams distribute
        for (int i = 0; i < ROWS; i++) {
#pragma omp parallel for num_threads(2)
            for (int j = 0; j < WIDTH; j++)
                b[i * WIDTH + j] += a[(ROWS - 1 - i) * WIDTH + j];
        }
        for (int i = 0; i < N; i++)
            expected_b[i] += expected_a[(ROWS - 1 - i / WIDTH) * WIDTH + i % WIDTH];
    }
    CHECK(same(b, expected_b, N));
}

/* All slices count in the same few pages, and find what is the largest one after the other. */
static void histogram(void)
{
    enum { BINS = 3000, FEW = 4000 };
    static int64_t bins[BINS], one[1];
    int64_t largest = 0;
    static int64_t expected[BINS];
#pragma omp target data map(to : index_of) map(tofrom : bins, one)
    for (int r = 0; r < ROUNDS; r++) {
#pragma omp target teams distribute parallel for num_teams(4)
        for (int i = 0; i < FEW; i++) {
#pragma omp atomic
            bins[index_of[i] % BINS] += i;
#pragma omp atomic
            one[0]++;
        }
#pragma omp target teams distribute parallel for map(tofrom : largest)
        for (int i = 0; i < 500; i++)
#pragma omp critical
            largest = largest > i + r ? largest : i + r;
        for (int i = 0; i < FEW; i++)
            expected[index_of[i] % BINS] += i;
    }
    CHECK(largest == 499 + ROUNDS - 1);
    CHECK(one[0] == (int64_t)ROUNDS * FEW);
    CHECK(memcmp(bins, expected, sizeof bins) == 0);
}

/* Sections in which there are regions, whose threads have sections and reductions of their own, and tasks. */
static void regions_in_sections(void)
{
    enum { FEW = 40, TEAM = 2, COUNTED = 4 };
    const int64_t indices = FEW * (FEW - 1) / 2;
    int64_t *sum = calloc(COUNTED, sizeof *sum);
#pragma omp target data map(tofrom : sum[0 : COUNTED])
    for (int r = 0; r < ROUNDS; r++) {
#pragma omp target teams distribute thread_limit(TEAM)
        for (int i = 0; i < FEW; i++)
#pragma omp critical(outer)
        {
#pragma omp parallel num_threads(TEAM)
#pragma omp critical(inner)
            sum[0] += i;
            sum[1] += i;
        }
#pragma omp target teams distribute thread_limit(TEAM)
        for (int i = 0; i < FEW; i++)
#pragma omp critical(outer)
        {
            int64_t own = 0;
#pragma omp parallel for num_threads(TEAM) reduction(+ : own)
            for (int j = 0; j < 10; j++)
                own += i + j;
            sum[2] += own;
        }
#pragma omp target teams distribute parallel for
        for (int i = 0; i < FEW; i++)
#pragma omp critical(outer)
        {
#pragma omp task
#pragma omp critical(inner)
            sum[3] += i;
#pragma omp taskwait
        }
    }
    CHECK(sum[0] == ROUNDS * indices * TEAM);
    CHECK(sum[1] == ROUNDS * indices);
    CHECK(sum[2] == ROUNDS * (10 * indices + 45 * FEW));
    CHECK(sum[3] == ROUNDS * indices);
    free(sum);
}

/* All slices write to all pages, each to its own elements. */
static void interleaved(void)
{
    enum { PARTS = 64 };
#pragma omp target data map(tofrom : a)
    for (int r = 0; r < ROUNDS; r++) {
#pragma omp target teams distribute
        for (int k = 0; k < PARTS; k++)
            for (int i = k; i < N; i += PARTS * 16)
                a[i] += k;
        for (int k = 0; k < PARTS; k++)
            for (int i = k; i < N; i += PARTS * 16)
                expected_a[i] += k;
    }
    CHECK(same(a, expected_a, N));
}

/* The whole arrays come between: on the host, in another kernel, and in parts that tasks name. */
static void between(void)
{
#pragma omp target enter data map(to : a, b)
    for (int r = 0; r < ROUNDS; r++) {
#pragma omp target teams distribute parallel for
        for (int i = 0; i < N; i++)
            b[i] = a[i] + r;
#pragma omp target update from(b[r * 100 : 5000])
        for (int i = 0; i < N; i++)
            expected_b[i] = expected_a[i] + r;
        CHECK(same(b + r * 100, expected_b + r * 100, 5000));
        if (r % 4 == 1) {
#pragma omp target
            for (int i = 0; i < N; i++)
                a[i] = b[N - 1 - i];
            for (int i = 0; i < N; i++)
                expected_a[i] = expected_b[N - 1 - i];
        }
        if (r % 4 == 2) {
            for (int k = 0; k < 8; k++)
#pragma omp target nowait depend(inout : a[k * (N / 8) : N / 8])
                for (int i = k * (N / 8); i < (k + 1) * (N / 8); i++)
                    a[i] *= 2;
#pragma omp taskwait
            for (int i = 0; i < N; i++)
                expected_a[i] *= 2;
        }
    }
#pragma omp target exit data map(from : a, b)
    CHECK(same(a, expected_a, N) && same(b, expected_b, N));
}

/* What stays whole. */
static void whole(void)
{
    static double sum[N];
    double outside[16] = {0};
#pragma omp target data map(tofrom : a, b)
    for (int r = 0; r < ROUNDS; r++) {
#pragma omp target teams distribute num_teams(1) map(tofrom : sum) /* in order */
        for (int i = 0; i < N; i++)
            sum[i] = (i ? sum[i - 1] : 0) * 0.5 + a[i];
#pragma omp target teams distribute parallel for dist_schedule(static, 100)
        for (int i = 0; i < N; i++)
            a[i] += 1;
#pragma omp target teams distribute parallel for map(always, tofrom : outside)
        for (int i = 0; i < 16; i++)
            outside[i] += a[i];
#pragma omp target teams
        {
#pragma omp distribute
            for (int i = 0; i < N / 2; i++)
                b[i] += 1;
#pragma omp distribute
            for (int i = N / 2; i < N; i++)
                b[i] += 2;
        }
#pragma omp target parallel for
        for (int i = 0; i < N; i++)
            b[i] += 3;
        double before = 0;
        for (int i = 0; i < N; i++) {
            before = before * 0.5 + expected_a[i];
            CHECK(sum[i] == before);
            expected_a[i] += 1;
            expected_b[i] += i < N / 2 ? 4 : 5;
        }
    }
    CHECK(same(a, expected_a, N) && same(b, expected_b, N));
}

/* Kernels in slices come seldom, between many others. */
static void seldom(void)
{
    enum { TURNS = 3, IN_SLICES = 4, IN_ONE_PIECE = 40 };
#pragma omp target data map(tofrom : a)
    for (int turn = 0; turn < TURNS; turn++) {
        for (int r = 0; r < IN_SLICES; r++)
#pragma omp target teams distribute parallel for
            for (int i = 0; i < N; i++)
                a[i] = 3 * a[i] + r;
        for (int r = 0; r < IN_ONE_PIECE; r++)
#pragma omp target teams distribute parallel for dist_schedule(static, 100)
            for (int i = 0; i < N; i++)
                a[i] -= turn;
        for (int r = 0; r < IN_SLICES; r++)
            for (int i = 0; i < N; i++)
                expected_a[i] = 3 * expected_a[i] + r;
        for (int r = 0; r < IN_ONE_PIECE; r++)
            for (int i = 0; i < N; i++)
                expected_a[i] -= turn;
    }
    CHECK(same(a, expected_a, N));
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } all[] = {{"stencil", stencil},
               {"rows", rows},
               {"cells", cells},
               {"lookup", lookup},
               {"lastprivate", lastprivate},
               {"reductions", reductions},
               {"numbers", numbers},
               {"teams", teams},
               {"counters", counters},
               {"nested", nested},
               {"histogram", histogram},
               {"sections", regions_in_sections},
               {"interleaved", interleaved},
               {"between", between},
               {"whole", whole},
               {"seldom", seldom},
               {"singles", singles}};
    if (argc > 2)
        steps = (int)strtol(argv[2], NULL, 10);
    for (size_t i = 0; argc > 1 && i < sizeof all / sizeof *all; i++)
        if (strcmp(argv[1], all[i].name) == 0) {
            fill();
            all[i].run();
            return check_result();
        }
    return 2;
}
