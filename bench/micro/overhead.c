/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What the library costs a program for which it can do nothing: one that offloads nothing, or one small target region
 * after the other.
 *
 * Started without --work it runs itself with --work, again and again, in pairs: once with the library preloaded, once
 * without, the order changing from pair to pair. Each pair gives two ratios, of the time that passed and of the
 * processor time (user and system), start and end of the process included. Printed are their medians and quartiles.
 * `overhead` has no device code at all; in `overhead-target`, the same program, there is a target region that never
 * runs, and further works are synchronous target regions on next to no data, and tiny host tasks beside a few target
 * tasks.
 */
#include "bench/common/clock.h"
#include "bench/common/command.h"
#include "bench/common/memory.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    DEFAULT_PAIRS = 31,
    MAX_PAIRS = 10000,
    LENGTH = 1 << 15,
    LOOPS = 10000,
    TASKS = 200000,
    TASK_LENGTH = 1 << 11,
    SYNCS = 100000,
    SYNC_LENGTH = 16,
    HOST_TASKS = 200000,
    HOST_TASKS_PER_TARGET = 1000
};

static const char *const name = "overhead";

typedef struct overhead_config {
    char *work; /* NULL: in pairs */
    char *only; /* NULL: all of them */
    const char *library;
    bool json;
    size_t pairs;
} overhead_config;

/* --- the work ------------------------------------------------------------- */

/* The compiler cannot know that it never runs. */
static void offload(double *x)
{
#ifdef BENCH_DEVICE_CODE
    if (getenv("OVERHEAD_OFFLOAD") != NULL) {
#pragma omp target map(tofrom : x [0:LENGTH])
        x[0] += 1;
    }
#else
    (void)x;
#endif
}

/* A parallel region, a barrier in it, and a reduction, for about 20 us each. */
static double loops(double *x)
{
    double total = 0;
    for (int loop = 0; loop < LOOPS; loop++) {
        double sum = 0;
#pragma omp parallel
        {
#pragma omp for
            for (int i = 0; i < LENGTH; i++) {
                x[i] = x[i] * 0.5 + i;
            }
#pragma omp for reduction(+ : sum)
            for (int i = 0; i < LENGTH; i++) {
                sum += x[LENGTH - 1 - i];
            }
        }
        total += sum;
    }
    return total;
}

/* About 1 us. */
static void update(double *x)
{
    for (int i = 0; i < TASK_LENGTH; i++) {
        x[i] = x[i] * 0.5 + i;
    }
}

static double tasks(double *x)
{
#pragma omp parallel
#pragma omp single
    for (int t = 0; t < TASKS; t++) {
        double *own = x + t % (LENGTH / TASK_LENGTH) * TASK_LENGTH;
#pragma omp task
        update(own);
        if (t % (LENGTH / TASK_LENGTH) == LENGTH / TASK_LENGTH - 1) {
#pragma omp taskwait
        }
    }
    return x[LENGTH - 1];
}

static double depend(double *x)
{
#pragma omp parallel
#pragma omp single
    for (int t = 0; t < TASKS; t++) {
        double *own = x + t % (LENGTH / TASK_LENGTH) * TASK_LENGTH;
#pragma omp task depend(inout : own[0])
        update(own);
    }
    return x[LENGTH - 1];
}

static double start(double *x)
{
#pragma omp parallel
#pragma omp single
    x[0] = 1;
    return x[0];
}

#ifdef BENCH_DEVICE_CODE
static double sync_none(double *x)
{
    for (int i = 0; i < SYNCS; i++) {
#pragma omp target
        {
        }
    }
    return x[0] + 1;
}

static void add_ones(double *x)
{
    for (int i = 0; i < SYNCS; i++) {
#pragma omp target map(tofrom : x[0 : SYNC_LENGTH])
        x[0] += 1;
    }
}

static double sync_mapped(double *x)
{
    x[0] = 0;
    add_ones(x);
    return (int)x[0] == SYNCS;
}

static double sync_present(double *x)
{
    x[0] = 0;
#pragma omp target data map(tofrom : x[0 : SYNC_LENGTH])
    add_ones(x);
    return (int)x[0] == SYNCS;
}

/* Host tasks on so many addresses; no target task is in any order with them. */
static double host_tasks(double *x, int addresses)
{
    double *y = x + LENGTH / 2, sum = 0;
#pragma omp parallel
#pragma omp single
    for (int t = 0; t < HOST_TASKS; t++) {
        if (t % HOST_TASKS_PER_TARGET == 0) {
#pragma omp target nowait depend(inout : y[0]) map(tofrom : y[0 : SYNC_LENGTH])
            y[0] += 1;
        }
        double *own = x + t % addresses;
#pragma omp task depend(inout : own[0])
        own[0] += 1;
    }
    for (int i = 0; i < addresses; i++) {
        sum += x[i];
    }
    return (int)sum == HOST_TASKS && (int)y[0] == HOST_TASKS / HOST_TASKS_PER_TARGET;
}

static double host_chain(double *x)
{
    return host_tasks(x, 1);
}

static double host_fan(double *x)
{
    return host_tasks(x, 1024);
}
#endif

static const struct {
    const char *name;
    double (*run)(double *x); /* greater than zero: right */
} works[] = {
    {"loops", loops},    {"tasks", tasks},          {"depend", depend},      {"start", start},
#ifdef BENCH_DEVICE_CODE
    {"none", sync_none}, {"present", sync_present}, {"mapped", sync_mapped},
    {"chain", host_chain}, {"fan", host_fan},
#endif
};

enum { WORKS = sizeof works / sizeof *works };

static int work(const char *which)
{
    for (int w = 0; w < WORKS; w++) {
        if (strcmp(works[w].name, which) == 0) {
            double *x = bench_zero_vector(LENGTH);
            offload(x);
            const bool ok = works[w].run(x) > 0;
            free(x);
            return ok ? EXIT_SUCCESS : BENCH_EXIT_WRONG;
        }
    }
    bench_fail("there is no work '%s' (see --help)", which);
}

/* --- pairs ---------------------------------------------------------------- */

typedef struct timing {
    double wall, cpu; /* seconds */
} timing;

static double seconds(struct timeval time)
{
    return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

/* One process; `library` is preloaded if it is not NULL. */
static timing run(const char *program, const char *which, const char *library)
{
    struct rusage usage;
    int status;
    const double begin = bench_now();
    const pid_t child = fork();
    if (child == 0) {
        unsetenv("LD_PRELOAD");
        if (library != NULL) {
            setenv("LD_PRELOAD", library, 1);
        }
        execl(program, program, "--work", which, (char *)NULL);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &usage) != child) {
        bench_fail("cannot start a process");
    }
    const double wall = bench_now() - begin;
    if (status != 0) {
        bench_fail("%s --work %s failed %s the library", program, which, library != NULL ? "with" : "without");
    }
    return (timing){wall, seconds(usage.ru_utime) + seconds(usage.ru_stime)};
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef struct spread {
    double low, median, high; /* quartiles */
} spread;

/* Sorts the values. */
static spread spread_of(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
    return (spread){values[count / 4], values[count / 2], values[count * 3 / 4]};
}

static void report(const overhead_config *config, const char *which, spread wall, spread cpu, timing plain)
{
    if (config->json) {
        printf("{\"program\": \"%s\", \"work\": \"%s\", \"pairs\": %zu, \"seconds\": %.6g, \"cpu_seconds\": %.6g, "
               "\"wall_ratio\": [%.5f, %.5f, %.5f], \"cpu_ratio\": [%.5f, %.5f, %.5f]}\n",
               name, which, config->pairs, plain.wall, plain.cpu, wall.low, wall.median, wall.high, cpu.low, cpu.median,
               cpu.high);
    } else {
        printf("%-7s  %8.2f ms without  time x %.4f (%.4f .. %.4f)  processor time x %.4f (%.4f .. %.4f)\n", which,
               1e3 * plain.wall, wall.median, wall.low, wall.high, cpu.median, cpu.low, cpu.high);
    }
    fflush(stdout);
}

static void measure(const overhead_config *config, const char *program, const char *which)
{
    const size_t n = config->pairs;
    double *values = bench_zero_vector(4 * n), *wall = values, *cpu = values + n, *wall_plain = values + 2 * n,
           *cpu_plain = values + 3 * n;
    for (size_t i = 0; i < n; i++) {
        timing with = {0, 0};
        if (i % 2 == 0) {
            with = run(program, which, config->library);
        }
        const timing plain = run(program, which, NULL);
        if (i % 2 != 0) {
            with = run(program, which, config->library);
        }
        wall[i] = with.wall / plain.wall;
        cpu[i] = with.cpu / plain.cpu;
        wall_plain[i] = plain.wall;
        cpu_plain[i] = plain.cpu;
    }
    const timing plain = {spread_of(wall_plain, n).median, spread_of(cpu_plain, n).median};
    report(config, which, spread_of(wall, n), spread_of(cpu, n), plain);
    free(values);
}

/* --- command line --------------------------------------------------------- */

static overhead_config parse(int argc, char **argv)
{
    overhead_config config = {.work = NULL};
    const bench_option options[] = {
        {"pairs", "N", "runs with and without it", bench_take_number, &config.pairs, .low = 1, .high = MAX_PAIRS,
         .standard = DEFAULT_PAIRS},
        {"json", .help = "print a line of JSON for each kind of work", .take = bench_take_yes, .value = &config.json},
        {"only", "KIND", "only this work", bench_take_text, .value = &config.only},
        {"work", "KIND", "only do the work, once, in this process", bench_take_text, .value = &config.work},
        {.name = NULL},
    };
    char notes[1024];
    snprintf(notes, sizeof notes,
             "Works: loops, tasks, depend, start: nothing is offloaded. In overhead-target also %d synchronous target\n"
             "regions without data (none), on data of a data region (present), on data that each maps (mapped), and\n"
             "%d tiny host tasks, %d for each target task, in a chain (chain) or on 1,024 addresses (fan).\n\n"
             "Exit code: 0 right, 1 wrong result, 2 bad command line, or a run failed.\n",
             SYNCS, HOST_TASKS, HOST_TASKS_PER_TARGET);
    const bench_command command = {
        .usage = "Usage: overhead [OPTION]... LIBRARY\n"
                 "Time of a program with LIBRARY (libompdarts.so) preloaded, over that without.\n",
        .options = options,
        .notes = notes,
        .expected = "one argument, LIBRARY",
        .most = 1,
    };
    const int count = bench_parse(argc, argv, &command);
    if (config.work == NULL && count == 0) {
        bench_fail("expected %s (see --help)", command.expected);
    }
    config.library = config.work == NULL ? argv[argc - 1] : NULL;
    return config;
}

int main(int argc, char **argv)
{
    overhead_config config = parse(argc, argv);
    if (config.work != NULL) {
        return work(config.work);
    }
    char program[PATH_MAX], library[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length < 0 || realpath(config.library, library) == NULL || access(library, R_OK) != 0) {
        bench_fail("cannot read %s", length < 0 ? "/proc/self/exe" : config.library);
    }
    config.library = library; /* the dynamic linker would look for a name without a slash elsewhere */
    program[length] = '\0';
    int measured = 0;
    for (int w = 0; w < WORKS; w++) {
        if (config.only == NULL || strcmp(config.only, works[w].name) == 0) {
            measure(&config, program, works[w].name);
            measured++;
        }
    }
    if (measured == 0) {
        bench_fail("there is no work '%s' (see --help)", config.only);
    }
    return EXIT_SUCCESS;
}
