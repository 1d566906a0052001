/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Synchronous kernels that GPUs may run in slices, or had better not: what they do is the same in any case. The driver
 * (slices.sh) looks at which were whole, and why. The first argument says what is run. With -DPRINTS a kernel prints.
 */
#include "../programs/check.h"

#include <omp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 6, N = 4096 };

static double a[N], b[N];
static double *where[N];

/* Outside of data regions, and in one of which a half is mapped; teams by a clause. */
static void plain(void)
{
    for (int r = 0; r < ROUNDS; r++) {
#pragma omp target teams distribute parallel for map(to : a) map(tofrom : b)
        for (int i = 0; i < N; i++)
            b[i] += a[N - 1 - i] + r;
#pragma omp target teams distribute parallel for map(tofrom : a [N / 2:N / 2]) num_teams(6) thread_limit(64)
        for (int i = N / 2; i < N; i++)
            a[i] += 1;
    }
    for (int i = 0; i < N; i++) {
        double steps = N - 1 - i >= N / 2 ? ROUNDS * (ROUNDS - 1) / 2 : 0;
        CHECK(b[i] == ROUNDS * (ROUNDS - 1) / 2 + steps && a[i] == (i >= N / 2 ? ROUNDS : 0));
    }
}

/* Each number of a team once, and the number of teams the same in all. */
static void numbers(void)
{
    static int32_t teams[N], seen[N];
    int32_t n = 0;
    for (int r = 0; r < ROUNDS; r++) {
        memset(seen, 0, sizeof seen);
#pragma omp target teams distribute parallel for map(tofrom : teams, seen) num_teams(16)
        for (int i = 0; i < N; i++) {
            teams[i] = omp_get_num_teams();
            seen[i] = omp_get_team_num();
        }
        n = teams[0];
        CHECK(n == 16);
        for (int i = 0; i < N; i++)
            CHECK(teams[i] == n && seen[i] >= 0 && seen[i] < n && (i == 0 || seen[i] >= seen[i - 1]));
    }
}

/* Teams that depend on each other's order, which happens to be that of a league on one GPU here. */
static void racy(void)
{
    for (int r = 0; r < ROUNDS; r++) {
        memset(a, 0, sizeof a);
#pragma omp target teams distribute num_teams(8) map(tofrom : a)
        for (int i = 0; i < N; i++)
            a[i] = (i ? a[i - 1] : 0) + 1;
        CHECK(a[N - 1] == N);
    }
}

/* A region without a loop for its teams: each waits for the one before it, which GPUs begin first. */
static void waiting(void)
{
    enum { TEAMS = 8 };
    static int32_t done[TEAMS + 1];
    for (int r = 0; r < ROUNDS; r++) {
        memset(done, 0, sizeof done);
        done[0] = 1;
#pragma omp target teams num_teams(TEAMS) map(tofrom : done)
        {
            int t = omp_get_team_num();
            int32_t before = 0;
            while (!before) {
#pragma omp atomic read
                before = done[t];
            }
#pragma omp atomic write
            done[t + 1] = before + 1;
        }
        CHECK(done[TEAMS] == TEAMS + 1);
    }
}

/* Few iterations: one team would have all of them. */
static void few(void)
{
    static double sums[24];
    for (int r = 0; r < ROUNDS; r++) {
#pragma omp target teams distribute parallel for map(to : a) map(tofrom : sums)
        for (int i = 0; i < 24; i++)
            for (int j = 0; j < 1000; j++)
                sums[i] += a[j] + i;
    }
    for (int i = 0; i < 24; i++)
        CHECK(sums[i] == 1000.0 * ROUNDS * i);
}

static void critical(void)
{
    double best = -1, at = -1;
    for (int r = 0; r < ROUNDS; r++) {
        best = at = -1;
#pragma omp target teams distribute parallel for map(tofrom : best, at)
        for (int i = 0; i < N; i++) {
            double value = i % 1000 * 7 % 1000;
#pragma omp critical
            if (value > best || (value == best && i < at))
                best = value, at = i;
        }
        CHECK(best == 999 && (int)at % 1000 * 7 % 1000 == 999 && at < 1000);
    }
}

#ifdef PRINTS
#define PRINT printf
#else
#define PRINT(...)
#endif

static void print(void)
{
    for (int r = 0; r < ROUNDS; r++) {
#pragma omp target teams distribute parallel for map(tofrom : a)
        for (int i = 0; i < N; i++) {
            a[i] += i;
            if (i == N / 2)
                PRINT("%g\n", a[i]);
        }
    }
}

/* A table of addresses, made and followed on a device. */
static void pointers(void)
{
    for (int i = 0; i < N; i++)
        a[i] = i;
#pragma omp target data map(tofrom : a, b) map(alloc : where)
    for (int r = 0; r < ROUNDS; r++) {
#pragma omp target teams distribute parallel for
        for (int i = 0; i < N; i++)
            where[i] = &a[N - 1 - i];
#pragma omp target teams distribute parallel for
        for (int i = 0; i < N; i++)
            b[i] += *where[i];
    }
    for (int i = 0; i < N; i++)
        CHECK(b[i] == ROUNDS * (double)(N - 1 - i));
}

/* Kernels of tasks are under way when one begins that might be in slices. */
static void beside(void)
{
    static double tiles[64][256];
    for (int r = 0; r < ROUNDS; r++) {
        for (int t = 0; t < 64; t++) {
#pragma omp target teams distribute parallel for nowait depend(inout : tiles[t]) map(tofrom : tiles[t])
            for (int i = 0; i < 256; i++)
                tiles[t][i] += t;
        }
#pragma omp target teams distribute parallel for map(tofrom : a)
        for (int i = 0; i < N; i++)
            a[i] += i;
#pragma omp taskwait
    }
    for (int i = 0; i < N; i++)
        CHECK(a[i] == (double)ROUNDS * i);
    for (int t = 0; t < 64; t++)
        for (int i = 0; i < 256; i++)
            CHECK(tiles[t][i] == ROUNDS * t);
}

/* Two threads, each with kernels of its own. */
static void threads(void)
{
    double *arrays[2] = {a, b};
#pragma omp parallel for num_threads(2) schedule(static, 1)
    for (int t = 0; t < 2; t++) {
        double *x = arrays[t];
        for (int r = 0; r < 2 * ROUNDS; r++) {
            if (t == 0) {
#pragma omp target teams distribute parallel for map(tofrom : x [0:N])
                for (int i = 0; i < N; i++)
                    x[i] += i;
            } else {
#pragma omp target teams distribute parallel for map(tofrom : x [0:N])
                for (int i = 0; i < N; i++)
                    x[i] += 1;
            }
        }
    }
    for (int i = 0; i < N; i++)
        CHECK(a[i] == 2.0 * ROUNDS * i && b[i] == 2 * ROUNDS);
}

/* 64 MiB, outside of data regions and in one. */
static void large(void)
{
    enum { LARGE = 4 << 20 };
    double *x = malloc(LARGE * sizeof *x), *y = calloc(LARGE, sizeof *y);
    for (int i = 0; i < LARGE; i++)
        x[i] = i;
    for (int r = 0; r < ROUNDS; r++) {
#pragma omp target teams distribute parallel for map(to : x [0:LARGE]) map(tofrom : y [0:LARGE])
        for (int i = 0; i < LARGE; i++)
            y[i] += x[i];
    }
#pragma omp target data map(to : x [0:LARGE]) map(tofrom : y [0:LARGE])
    for (int r = 0; r < ROUNDS; r++) {
#pragma omp target teams distribute parallel for
        for (int i = 0; i < LARGE; i++)
            y[i] -= x[i] - 1;
    }
    for (int i = 0; i < LARGE; i++)
        CHECK(y[i] == ROUNDS);
    free(x);
    free(y);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } all[] = {{"plain", plain},       {"numbers", numbers}, {"racy", racy},         {"few", few},
               {"critical", critical}, {"print", print},     {"pointers", pointers}, {"beside", beside},
               {"threads", threads},   {"large", large},     {"waiting", waiting}};
    for (size_t i = 0; argc > 1 && i < sizeof all / sizeof *all; i++)
        if (strcmp(argv[1], all[i].name) == 0) {
            all[i].run();
            return check_result();
        }
    return 2;
}
