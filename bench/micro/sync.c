/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A synchronous program, as most offload programs are: one kernel at a time in
 * a loop, always on the same three arrays, with `target data` around the loop
 * (--no-region leaves it out, and every kernel maps for itself). Nothing here
 * profits from several devices; what counts is that a scheduler does no harm:
 * with the region, a and b should travel once in and c once out.
 */
#include "bench/common/check.h"
#include "bench/common/clock.h"
#include "bench/common/command.h"
#include "bench/common/memory.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEFAULT_LOOPS = 100, MAX_LOOPS = 1000000, MAX_WORK = 1000000 };
enum { PERIOD = 1021 }; /* a and b repeat after so many elements */

#define MAX_LENGTH (UINT64_C(1) << 36)

static const char *const name = "sync";

typedef struct sync_config {
    bool region;
    bool json;
    size_t loops;
    size_t work;
    size_t length;
} sync_config;

static sync_config parse(int argc, char **argv)
{
    sync_config config = {.region = true};
    const bench_option options[] = {
        {"region", .help = "target data around the loop (default)", .take = bench_take_yes, .value = &config.region},
        {"no-region", .help = "every kernel maps the arrays itself", .take = bench_take_no, .value = &config.region},
        {"loops", "N", "number of kernels", bench_take_number, &config.loops, .low = 1, .high = MAX_LOOPS,
         .standard = DEFAULT_LOOPS},
        {"work", "N", "multiplications for each element and kernel, one after the other", bench_take_number,
         &config.work, .low = 0, .high = MAX_WORK},
        {"json", .help = "print one line of JSON", .take = bench_take_yes, .value = &config.json},
        {.name = NULL},
    };
    const bench_command command = {
        .usage = "Usage: sync [OPTION]... LENGTH\n"
                 "Synchronous kernels, one after the other, over three arrays of LENGTH doubles.\n",
        .options = options,
        .notes = BENCH_EXIT_CODES,
        .expected = "one argument, LENGTH",
        .least = 1,
        .most = 1,
    };
    bench_parse(argc, argv, &command);
    config.length = bench_number("LENGTH", argv[argc - 1], 1, MAX_LENGTH);
    return config;
}

/* A whole number below PERIOD from another one. */
static double computed(double x, size_t work)
{
    uint32_t u = (uint32_t)x;
    for (size_t i = 0; i < work; i++)
        u = (5 * u + 3) % PERIOD;
    return u;
}

/* c := c + computed(a) + loop b, in whole numbers below 2^53 and therefore exact; the first kernel does not read c. */
static void run_kernels(const sync_config *config, const double *a, const double *b, double *c)
{
    const size_t loops = config->loops, work = config->work, n = config->length;
    for (size_t loop = 0; loop < loops; loop++) {
#pragma omp target teams distribute parallel for map(to : a[0 : n], b[0 : n]) map(tofrom : c[0 : n])
        for (size_t i = 0; i < n; i++) {
            const double before = loop == 0 ? 0.0 : c[i];
            c[i] = before + computed(a[i], work) + (double)loop * b[i];
        }
    }
}

static void run_in_region(const sync_config *config, const double *a, const double *b, double *c)
{
    const size_t n = config->length;
#pragma omp target data map(to : a[0 : n], b[0 : n]) map(from : c[0 : n])
    run_kernels(config, a, b, c);
}

static double element_of_a(size_t i)
{
    return (double)(i % PERIOD);
}

static double element_of_b(size_t i)
{
    return (double)((7 * i) % PERIOD);
}

/* One period computed on the host checks them all. */
static bool is_right(const sync_config *config, const double *c)
{
    const size_t loops = config->loops, n = config->length;
    double expected[PERIOD];
    for (size_t i = 0; i < PERIOD; i++) {
        expected[i] = 0.0;
        for (size_t loop = 0; loop < loops; loop++) {
            expected[i] += computed(element_of_a(i), config->work) + (double)loop * element_of_b(i);
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (c[i] != expected[i % PERIOD]) {
            return false;
        }
    }
    return true;
}

static void report(const sync_config *config, double seconds, uint64_t checksum, bool ok)
{
    if (config->json) {
        printf("{\"program\": \"%s\", \"region\": %s, \"length\": %zu, \"loops\": %zu, \"work\": %zu, "
               "\"seconds\": %.9g, \"checksum\": \"%016" PRIx64 "\", \"ok\": %s}\n",
               name, config->region ? "true" : "false", config->length, config->loops, config->work,
               seconds, checksum,
               ok ? "true" : "false");
    } else {
        printf("checksum %016" PRIx64 "\n", checksum);
        printf("%s region=%s length=%zu loops=%zu work=%zu time %.3f s  %s\n", name, config->region ? "yes" : "no",
               config->length, config->loops, config->work, seconds, ok ? "ok" : "WRONG");
    }
}

int main(int argc, char **argv)
{
    const sync_config config = parse(argc, argv);
    const size_t n = config.length;
    double *a = bench_alloc(n, sizeof *a), *b = bench_alloc(n, sizeof *b), *c = bench_alloc(n, sizeof *c);
    for (size_t i = 0; i < n; i++) {
        a[i] = element_of_a(i);
        b[i] = element_of_b(i);
        c[i] = -1.0;
    }
    const double start = bench_now();
    if (config.region) {
        run_in_region(&config, a, b, c);
    } else {
        run_kernels(&config, a, b, c);
    }
    const double seconds = bench_now() - start;
    const bool ok = is_right(&config, c);
    report(&config, seconds, bench_checksum(c, n * sizeof *c), ok);
    free(a);
    free(b);
    free(c);
    return ok ? EXIT_SUCCESS : BENCH_EXIT_WRONG;
}
