/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What one small task costs: many target nowait tasks on arrays of 512 bytes
 * that do next to nothing. With --depend chain (default) they form 64 chains,
 * task i updating array i modulo 64; with --depend none each has an array of
 * its own. The update, a step of a linear congruential generator, neither
 * commutes nor forgets: a task that ran twice, not at all or out of order shows.
 * With --empty they have no data and do nothing, and nothing shows but the time.
 */
#include "bench/common/check.h"
#include "bench/common/clock.h"
#include "bench/common/command.h"
#include "bench/common/memory.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { LENGTH = 64, CHAINS = 64, DEFAULT_TASKS = 50000, MAX_TASKS = 100000000 };

/* Of the 64-bit generator in Knuth's MMIX. */
#define FACTOR UINT64_C(6364136223846793005)

static const char *const name = "tiny";

typedef enum dependences { CHAIN, NONE } dependences;

static const char *const dependence_names[] = {[CHAIN] = "chain", [NONE] = "none", NULL};

typedef struct tiny_config {
    dependences depend;
    bool empty, json;
    size_t tasks;
} tiny_config;

static tiny_config parse(int argc, char **argv)
{
    tiny_config config = {.tasks = DEFAULT_TASKS};
    const bench_option options[] = {
        {"depend", "chain|none", "64 chains of dependent tasks (default), or independent tasks", bench_take_choice,
         &config.depend, .names = dependence_names},
        {"empty", .help = "tasks without data that do nothing", .take = bench_take_yes, .value = &config.empty},
        {"json", .help = "print one line of JSON", .take = bench_take_yes, .value = &config.json},
        {.name = NULL},
    };
    char usage[128];
    snprintf(usage, sizeof usage,
             "Usage: %s [OPTION]... [NTASKS]\n"
             "Time per task of NTASKS (default %d) tiny target nowait tasks.\n",
             name, DEFAULT_TASKS);
    const bench_command command = {
        .usage = usage,
        .options = options,
        .notes = BENCH_EXIT_CODES,
        .expected = "one argument, NTASKS",
        .most = 1,
    };
    if (bench_parse(argc, argv, &command) > 0) {
        config.tasks = bench_number("NTASKS", argv[argc - 1], 1, MAX_TASKS);
    }
    return config;
}

static void run_chained(uint64_t *arrays, size_t tasks)
{
#pragma omp parallel
#pragma omp single
    for (size_t i = 0; i < tasks; i++) {
        uint64_t *x = arrays + i % CHAINS * LENGTH;
#pragma omp target nowait depend(inout : x[0 : LENGTH]) map(tofrom : x[0 : LENGTH])
        for (size_t k = 0; k < LENGTH; k++) {
            x[k] = x[k] * FACTOR + i;
        }
    }
}

static void run_independent(uint64_t *arrays, size_t tasks)
{
#pragma omp parallel
#pragma omp single
    for (size_t i = 0; i < tasks; i++) {
        uint64_t *x = arrays + i * LENGTH;
#pragma omp target nowait map(tofrom : x[0 : LENGTH])
        for (size_t k = 0; k < LENGTH; k++) {
            x[k] = x[k] * FACTOR + i;
        }
    }
}

static void run_empty(size_t tasks)
{
#pragma omp parallel
#pragma omp single
    for (size_t i = 0; i < tasks; i++) {
#pragma omp target nowait
        {
        }
    }
}

static void fill(uint64_t *arrays, size_t count)
{
    for (size_t i = 0; i < count * LENGTH; i++) {
        arrays[i] = i % LENGTH;
    }
}

/* Repeats the work without OpenMP, one chain after the other. */
static bool is_right(const uint64_t *arrays, size_t count, size_t tasks)
{
    for (size_t chain = 0; chain < count; chain++) {
        for (size_t k = 0; k < LENGTH; k++) {
            uint64_t expected = k;
            for (size_t i = chain; i < tasks; i += count) {
                expected = expected * FACTOR + i;
            }
            if (arrays[chain * LENGTH + k] != expected) {
                return false;
            }
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    const tiny_config config = parse(argc, argv);
    const size_t count = config.depend == CHAIN ? CHAINS : config.tasks;
    uint64_t *arrays = bench_alloc(count * LENGTH, sizeof *arrays);
    fill(arrays, count);
    const double start = bench_now();
    if (config.empty) {
        run_empty(config.tasks);
    } else if (config.depend == CHAIN) {
        run_chained(arrays, config.tasks);
    } else {
        run_independent(arrays, config.tasks);
    }
    const double seconds = bench_now() - start, us_per_task = seconds * 1e6 / (double)config.tasks;
    const bool ok = is_right(arrays, count, config.empty ? 0 : config.tasks);
    const char *depend = config.empty ? "empty" : dependence_names[config.depend];
    const uint64_t checksum = bench_checksum(arrays, count * LENGTH * sizeof *arrays);
    if (config.json) {
        printf("{\"program\": \"%s\", \"depend\": \"%s\", \"tasks\": %zu, \"seconds\": %.9g, \"us_per_task\": %.6g, "
               "\"checksum\": \"%016" PRIx64 "\", \"ok\": %s}\n",
               name, depend, config.tasks, seconds, us_per_task, checksum, ok ? "true" : "false");
    } else {
        printf("checksum %016" PRIx64 "\n", checksum);
        printf("%s depend=%s tasks=%zu time %.3f s  %.3f us/task  %s\n", name, depend, config.tasks, seconds,
               us_per_task, ok ? "ok" : "WRONG");
    }
    free(arrays);
    return ok ? EXIT_SUCCESS : BENCH_EXIT_WRONG;
}
