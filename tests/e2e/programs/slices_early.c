/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Sequences of synchronous kernels on five arrays that are on the device all the time. slices_early.sh runs them, and
 * `looked` like other programs. `steady.SEED`: some kernels drawn by the seed, whose slices use the same data in each
 * launch; `random.SEED`: once in a while other data; `late`: one that writes late to what the next one has used, for
 * the first time after many launches; `looked`: after each launch another construct asks for what it has done;
 * `beside`: another thread launches kernels of its own meanwhile; `forks`: the program forks between two launches;
 * `unended`: it ends after the last one.
 *
 * environment: OMPDARTS_SLICE=eager:4
 * variants: looked
 */
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 1 << 16, ARRAYS = 5, KERNELS = 9 };

static uint32_t *device[ARRAYS], *host[ARRAYS]; /* the second: what must be there */
static uint64_t state = 1;

static uint32_t draw(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

/* Iterations of one slice take longer than those of others; from 8 on much longer. */
#define WORK(i, slow)                                                                                                  \
    uint32_t more = 0;                                                                                                 \
    for (uint32_t w = 0; w < ((i) / (N / 4) == (slow) % 8 ? (slow) < 8 ? 40u : 1500u : 4u); w++)                       \
    more = more * 5 + w + (i)

#define TARGET _Pragma("omp target teams distribute parallel for map(alloc : to[0 : N], from[0 : N])")
#define LOOP for (uint32_t i = 0; i < N; i++)

#define KERNEL(name, statement)                                                                                        \
    static void name##_there(uint32_t *to, uint32_t *from, uint32_t p, uint32_t slow)                                  \
    {                                                                                                                  \
        TARGET                                                                                                         \
        LOOP                                                                                                           \
        {                                                                                                              \
            WORK(i, slow);                                                                                             \
            statement;                                                                                                 \
        }                                                                                                              \
    }                                                                                                                  \
    static void name##_here(uint32_t *to, const uint32_t *from, uint32_t p, uint32_t slow)                             \
    {                                                                                                                  \
        LOOP                                                                                                           \
        {                                                                                                              \
            WORK(i, slow);                                                                                             \
            statement;                                                                                                 \
        }                                                                                                              \
    }

KERNEL(same, to[i] = from[i] * 3 + p + more)
KERNEL(neighbours, to[i] = from[i ? i - 1 : 0] + from[i] + from[i + 1 < N ? i + 1 : i] + p + (more & 1))
KERNEL(reversed, to[i] = from[N - 1 - i] + p + more)
KERNEL(scattered, to[(i + p) % N] = from[i] + more)
KERNEL(gathered, to[i] = from[(i + p) % N] + more)
KERNEL(in_place, to[i] = to[i] * 5 + from[i] + p + more)
KERNEL(by_index, to[i] = from[from[i] % N] + p + more)
KERNEL(some, if ((i + p) % 3 == 0) to[i] += from[(i * 7 + p) % N] + more)
KERNEL(one_late, if (i == N - 1) to[p ? 9 : i] = from[i] + more + p; else if (i != 9 || !p) to[i] = from[i] + more)

typedef void there_function(uint32_t *to, uint32_t *from, uint32_t p, uint32_t slow);
typedef void here_function(uint32_t *to, const uint32_t *from, uint32_t p, uint32_t slow);
static there_function *const there[KERNELS] = {same_there,      neighbours_there, reversed_there,
                                               scattered_there, gathered_there,   in_place_there,
                                               by_index_there,  some_there,       one_late_there};
static here_function *const here[KERNELS] = {same_here,      neighbours_here, reversed_here,
                                             scattered_here, gathered_here,   in_place_here,
                                             by_index_here,  some_here,       one_late_here};

static void launch(unsigned kernel, unsigned to, unsigned from, uint32_t p, uint32_t slow)
{
    there[kernel](device[to], device[from], p, slow);
    here[kernel](host[to], host[from], p, slow);
}

static void check_one(unsigned a)
{
    uint32_t *array = device[a];
#pragma omp target update from(array [0:N])
    CHECK(!memcmp(array, host[a], N * sizeof *array));
}

/* Kernels of which each launch uses the same as the one before, if it is to be so. */
static unsigned draw_kernel(bool steady)
{
    enum { BY_INDEX = 6 };
    unsigned kernel = draw(KERNELS - 1);
    return steady && kernel == BY_INDEX ? 0 : kernel;
}

static void sequence(unsigned launches, bool steady)
{
    struct {
        unsigned kernel, to, from;
        uint32_t p;
    } call[6];
    unsigned ncalls = 2 + draw(5);
    for (unsigned c = 0; c < ncalls; c++) {
        call[c].kernel = draw_kernel(steady);
        call[c].to = draw(ARRAYS);
        call[c].from = (call[c].to + 1 + draw(ARRAYS - 1)) % ARRAYS;
        call[c].p = draw(3) ? 0 : draw(N);
    }
    for (unsigned l = 0; l < launches; l++) {
        unsigned c = draw(20) ? l % ncalls : draw(ncalls);
        uint32_t p = steady || draw(60) ? call[c].p : draw(N);
        launch(call[c].kernel, call[c].to, call[c].from, p, draw(5));
        if (!draw(80))
            check_one(draw(ARRAYS));
    }
}

/* The last slice, which takes longest, writes into what the first one of the next kernel reads. */
static void late(void)
{
    enum { LAUNCHES = 30, THE_LATE_ONE = 25, LONG = 3 + 8 };
    for (unsigned l = 0; l < LAUNCHES; l++) {
        there[8](device[0], device[1], l == THE_LATE_ONE, LONG);
        there[0](device[2], device[0], 0, 0);
    }
    for (unsigned l = 0; l < LAUNCHES; l++) {
        here[8](host[0], host[1], l == THE_LATE_ONE, LONG);
        here[0](host[2], host[0], 0, 0);
    }
}

static void looked(void)
{
    for (unsigned l = 0; l < 20; l++) {
        launch(1, l % 2, 1 - l % 2, 0, 3);
        check_one(l % 2);
        launch(0, 2, l % 2, l, 3);
        uint32_t *array = device[2], sum = 0, expected = 0;
#pragma omp target map(tofrom : sum)
        for (uint32_t i = 0; i < N; i++)
            sum += array[i];
        for (uint32_t i = 0; i < N; i++)
            expected += host[2][i];
        CHECK(sum == expected);
    }
}

static atomic_bool has_ended;

static void *add_ones(void *unused)
{
    uint32_t *own = malloc(N * sizeof *own), rounds = 0;
    (void)unused;
    if (!own)
        abort();
    memset(own, 0, N * sizeof *own);
    do {
#pragma omp target enter data map(to : own [0:N])
#pragma omp target teams distribute parallel for map(alloc : own [0:N])
        for (uint32_t i = 0; i < N; i++)
            own[i]++;
#pragma omp target update from(own [0:N])
#pragma omp target exit data map(delete : own [0:N])
        rounds++;
    } while (!atomic_load(&has_ended));
    for (uint32_t i = 0; i < N; i++)
        if (own[i] != rounds) {
            CHECK(own[i] == rounds);
            break;
        }
    free(own);
    return NULL;
}

static void alternate(unsigned launches, bool forks)
{
    for (unsigned l = 0; l < launches; l++) {
        there[0](device[0], device[1], l, 3);
        there[0](device[2], device[0], 1, 3);
        if (forks && l % 8 == 7) {
            int status;
            pid_t child = fork();
            if (!child)
                _exit(3);
            CHECK(child > 0 && waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3);
        }
    }
    here[0](host[0], host[1], launches - 1, 3);
    here[0](host[2], host[0], 1, 3);
}

static void beside(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, add_ones, NULL))
        abort();
    alternate(40, false);
    atomic_store(&has_ended, true);
    pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
    const char *variant = argc > 1 ? argv[1] : "steady.1";
    for (unsigned a = 0; a < ARRAYS; a++) {
        device[a] = malloc(N * sizeof *device[a]);
        host[a] = malloc(N * sizeof *host[a]);
        if (!device[a] || !host[a])
            abort();
        for (uint32_t i = 0; i < N; i++)
            device[a][i] = host[a][i] = i * (a + 1);
        uint32_t *array = device[a];
#pragma omp target enter data map(to : array [0:N])
    }
    if (strchr(variant, '.')) {
        state = strtoul(strchr(variant, '.') + 1, NULL, 10) * 2654435761u + 1;
        sequence(argc > 2 ? (unsigned)atoi(argv[2]) : 300, variant[0] == 's');
    } else if (!strcmp(variant, "late")) {
        late();
    } else if (!strcmp(variant, "beside")) {
        beside();
    } else if (!strcmp(variant, "forks")) {
        alternate(40, true);
    } else if (!strcmp(variant, "unended")) {
        alternate(40, false);
        return check_result();
    } else {
        looked();
    }
    for (unsigned a = 0; a < ARRAYS; a++) {
        uint32_t *array = device[a];
        check_one(a);
#pragma omp target exit data map(delete : array [0:N])
        free(array);
        free(host[a]);
    }
    return check_result();
}
