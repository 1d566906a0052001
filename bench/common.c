/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The benchmark programs' common part, see common.h.
 *
 * A residual is accepted up to 2 eps sqrt(n), n the number of terms in a sum:
 * rounding errors of random terms grow like sqrt(n) (0.2 eps sqrt(n) is
 * typical), and the inputs (tiles.h) are chosen so that one lost update of a
 * tile stands far above the limit.
 */
#define _GNU_SOURCE /* program_invocation_short_name */
#include "common.h"

#include "ompdarts.h"
#ifdef BENCH_GPU
#include "gpu/cuda.h"
#endif

#include <errno.h>
#include <float.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_TILES = 65536, MAX_TILE = 32768, MAX_DEPTH = 4096, MAX_REPEAT = 1000000 };

/* Bytes beyond which no matrix can be meant; keeps every product of sizes below from overflowing. */
#define MAX_BYTES ((double)(UINT64_C(1) << 48))

static const char *const style_names[] = {[BENCH_TASK] = "task", [BENCH_REGION] = "region", [BENCH_BLAS] = "blas"};

void bench_fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(BENCH_EXIT_USAGE);
}

uint64_t bench_number(const char *what, const char *text, uint64_t low, uint64_t high)
{
    char *end = NULL;
    errno = 0;
    const uint64_t value = strtoull(text, &end, 10);
    /* strtoull takes signs and blanks; a count has neither. */
    const bool is_number = text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
    if (!is_number || value < low || value > high) {
        bench_fail("%s must be a whole number from %" PRIu64 " to %" PRIu64 ", not '%s'", what, low, high, text);
    }
    return value;
}

void *bench_alloc(size_t count, size_t size)
{
    const size_t alignment = 64;
    const double wanted = (double)count * (double)size;
    void *memory = NULL;
    if (wanted < MAX_BYTES) {
        memory = aligned_alloc(alignment, (count * size + alignment - 1) / alignment * alignment);
    }
    if (memory == NULL) {
        bench_fail("no memory for %.1f MB", wanted / 1e6);
    }
    return memory;
}

#ifdef BENCH_GPU
void *bench_alloc_matrix(const bench_config *config, size_t count, size_t size)
{
    void *memory = config->pinned ? gpu_host_alloc(count * size) : bench_alloc(count, size);
    if (memory == NULL) {
        bench_fail("no page-locked memory for %.1f MB", (double)count * (double)size / 1e6);
    }
    return memory;
}

void bench_free_matrix(const bench_config *config, void *matrix)
{
    if (config->pinned) {
        gpu_host_free(matrix);
    } else {
        free(matrix);
    }
}
#else
void *bench_alloc_matrix(const bench_config *config, size_t count, size_t size)
{
    (void)config;
    return bench_alloc(count, size);
}

void bench_free_matrix(const bench_config *config, void *matrix)
{
    (void)config;
    free(matrix);
}
#endif

double bench_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static uint64_t fnv(const void *data, size_t bytes)
{
    const unsigned char *byte = data;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < bytes; i++) {
        hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

uint64_t bench_checksum(const void *data, size_t bytes)
{
    const size_t block = (size_t)1 << 20, count = (bytes + block - 1) / block;
    uint64_t *hashes = bench_alloc(count, sizeof *hashes);
#pragma omp parallel for
    for (size_t i = 0; i < count; i++) {
        const size_t rest = bytes - i * block;
        hashes[i] = fnv((const char *)data + i * block, rest < block ? rest : block);
    }
    const uint64_t hash = fnv(hashes, count * sizeof *hashes);
    free(hashes);
    return hash;
}

/* SplitMix64 (Steele, Lea, Flood 2014). */
#define MIX_STEP UINT64_C(0x9e3779b97f4a7c15)

static uint64_t mix(uint64_t *state)
{
    uint64_t z = *state += MIX_STEP;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

bench_random bench_random_start(uint64_t seed, uint64_t stream)
{
    uint64_t state = seed;
    state = mix(&state) ^ stream;
    return (bench_random){.state = mix(&state)};
}

void bench_random_skip(bench_random *random, uint64_t count)
{
    random->state += count * MIX_STEP;
}

double bench_random_next(bench_random *random)
{
    return (double)(mix(&random->state) >> 11) * 0x1p-53 - 0.5;
}

double *bench_random_vector(uint64_t seed, size_t count)
{
    double *vector = bench_alloc(count, sizeof *vector);
    bench_random random = bench_random_start(seed, UINT64_MAX);
    for (size_t i = 0; i < count; i++) {
        vector[i] = bench_random_next(&random);
    }
    return vector;
}

double *bench_zero_vector(size_t count)
{
    double *vector = bench_alloc(count, sizeof *vector);
    for (size_t i = 0; i < count; i++) {
        vector[i] = 0.0;
    }
    return vector;
}

double bench_product_norm(size_t n, size_t inner)
{
    return (double)n * sqrt((double)inner / (12.0 * 12.0 * 12.0));
}

double bench_relative_error(const double *reference, const double *result, size_t count, double floor)
{
    double error = 0.0, norm = 0.0;
    for (size_t i = 0; i < count; i++) {
        const double difference = reference[i] - result[i];
        error += difference * difference;
        norm += reference[i] * reference[i];
    }
    return sqrt(error) / fmax(sqrt(norm), floor);
}

static void print_help(const bench_program *program)
{
    printf("Usage: %s [OPTION]... NTILES TILE\n"
           "%s\n"
           "The matrix has NTILES x NTILES tiles of TILE x TILE elements.\n\n"
           "  --style task|region|blas  task: every task maps its tiles (default)\n"
           "                            region: the same inside enter data / exit data\n"
           "                            blas: host tasks around use_device_ptr and a BLAS call, inside these\n"
           "  --type float|double       precision (default float)\n",
           program->name, program->summary);
    if (program->default_depth != 0) {
        printf("  --depth K                 tiles in one block row of A (default %zu)\n", program->default_depth);
    }
    printf("  --seed S                  seed of the random input (default 1)\n"
           "  --repeat R                run R times, report the fastest (default 1)\n"
           "  --warm-up                 run a small problem first, which is not reported\n"
#ifdef BENCH_GPU
           "  --pinned                  keep the matrices in page-locked memory\n"
#endif
           "  --no-check                do not compute the residual\n"
           "  --json                    print one line of JSON\n"
           "  --help                    print this text\n\n"
           "Exit code: 0 right, 1 wrong result, 2 bad command line or not enough memory, 77 no cuBLAS (GPU build).\n");
}

static bench_style parse_style(const char *text)
{
    for (size_t i = 0; i < sizeof style_names / sizeof style_names[0]; i++) {
        if (strcmp(text, style_names[i]) == 0) {
            return (bench_style)i;
        }
    }
    bench_fail("--style must be task, region or blas, not '%s'", text);
}

static bool parse_is_double(const char *text)
{
    if (strcmp(text, "float") != 0 && strcmp(text, "double") != 0) {
        bench_fail("--type must be float or double, not '%s'", text);
    }
    return text[0] == 'd';
}

static void parse_option(const bench_program *program, int option, bench_config *config)
{
    switch (option) {
    case 's':
        config->style = parse_style(optarg);
        break;
    case 't':
        config->is_double = parse_is_double(optarg);
        break;
    case 'd':
        if (program->default_depth == 0) {
            bench_fail("--depth is an option of gemm2d only");
        }
        config->depth = bench_number("--depth", optarg, 1, MAX_DEPTH);
        break;
    case 'S':
        config->seed = bench_number("--seed", optarg, 0, UINT64_MAX);
        break;
    case 'r':
        config->repeat = (unsigned)bench_number("--repeat", optarg, 1, MAX_REPEAT);
        break;
    case 'n':
        config->check = false;
        break;
    case 'j':
        config->json = true;
        break;
    case 'w':
        config->warm_up = true;
        break;
    case 'p':
        config->pinned = true;
        break;
    case 'h':
        print_help(program);
        exit(EXIT_SUCCESS);
    default:
        exit(BENCH_EXIT_USAGE); /* getopt has said what is wrong */
    }
}

static bench_config parse(int argc, char **argv, const bench_program *program)
{
    static const struct option options[] = {
        {"style", required_argument, NULL, 's'},  {"type", required_argument, NULL, 't'},
        {"depth", required_argument, NULL, 'd'},  {"seed", required_argument, NULL, 'S'},
        {"repeat", required_argument, NULL, 'r'}, {"no-check", no_argument, NULL, 'n'},
        {"json", no_argument, NULL, 'j'},         {"warm-up", no_argument, NULL, 'w'},
#ifdef BENCH_GPU
        {"pinned", no_argument, NULL, 'p'},
#endif
        {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0},
    };
    bench_config config = {.check = true, .depth = program->default_depth, .repeat = 1, .seed = 1};
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        parse_option(program, option, &config);
    }
    if (argc - optind != 2) {
        bench_fail("expected two arguments, NTILES and TILE, but found %d (see --help)", argc - optind);
    }
    config.tiles = bench_number("NTILES", argv[optind], 1, MAX_TILES);
    config.tile = bench_number("TILE", argv[optind + 1], 1, MAX_TILE);
    const double order = (double)config.tiles * (double)config.tile;
    if (order * order * sizeof(double) > MAX_BYTES) {
        bench_fail("a matrix of order %.0f is too large", order);
    }
    return config;
}

static void print_traffic(const bench_traffic *traffic)
{
    if (traffic->devices > 0) {
        printf("\"devices\": %d, \"scheduled_tasks\": %" PRIu64 ", \"h2d_bytes\": %" PRIu64 ", \"d2h_bytes\": %" PRIu64
               ", \"d2d_bytes\": %" PRIu64 ", \"loads\": %" PRIu64 ", \"evictions\": %" PRIu64 ", ",
               traffic->devices, traffic->tasks, traffic->h2d_bytes, traffic->d2h_bytes, traffic->d2d_bytes,
               traffic->loads, traffic->evictions);
    }
}

static void print_json(const bench_program *program, const bench_config *config, const bench_outcome *outcome, bool ok)
{
    printf("{\"program\": \"%s\", \"style\": \"%s\", \"type\": \"%s\", \"n\": %zu, \"tiles\": %zu, \"tile\": %zu, ",
           program->name, style_names[config->style], config->is_double ? "double" : "float",
           config->tiles * config->tile, config->tiles, config->tile);
    if (program->default_depth != 0) {
        printf("\"depth\": %zu, ", config->depth);
    }
    printf("\"seed\": %" PRIu64 ", \"repeat\": %u, \"seconds\": %.9g, \"gflops\": %.6g, ", config->seed, config->repeat,
           outcome->seconds, outcome->flop / outcome->seconds * 1e-9);
    print_traffic(&outcome->traffic);
#ifdef BENCH_GPU
    printf("\"waits\": %s, ", gpu_waited ? "true" : "false");
#endif
    if (isfinite(outcome->residual)) {
        printf("\"residual\": %.3e, ", outcome->residual);
    } else {
        printf("\"residual\": null, ");
    }
    printf("\"checksum\": \"%016" PRIx64 "\", \"checked\": %s, \"ok\": %s}\n", outcome->checksum,
           config->check ? "true" : "false", ok ? "true" : "false");
}

static void print_text(const bench_program *program, const bench_config *config, const bench_outcome *outcome, bool ok)
{
    printf("checksum %016" PRIx64 "\n", outcome->checksum);
    printf("%s style=%s type=%s n=%zu tiles=%zux%zu tile=%zu ", program->name, style_names[config->style],
           config->is_double ? "double" : "float", config->tiles * config->tile, config->tiles, config->tiles,
           config->tile);
    if (program->default_depth != 0) {
        printf("depth=%zu ", config->depth);
    }
    printf("time %.3f s  %.4g GFlop/s  ", outcome->seconds, outcome->flop / outcome->seconds * 1e-9);
    if (config->check) {
        printf("residual %.1e %s\n", outcome->residual, ok ? "ok" : "WRONG");
    } else {
        printf("%s\n", ok ? "not checked" : "WRONG");
    }
}

/* The comparison is written so that a NaN is not accepted. */
static bool residual_is_right(const bench_config *config, const bench_outcome *outcome)
{
    const double epsilon = config->is_double ? DBL_EPSILON : (double)FLT_EPSILON;
    return outcome->residual <= 2.0 * epsilon * sqrt((double)outcome->terms);
}

static bench_traffic traffic_so_far(void)
{
    bench_traffic sum = {.devices = ompdarts_ndevices()};
    for (int k = 0; k < sum.devices; k++) {
        ompdarts_device_stats device;
        if (ompdarts_get_device_stats(k, &device) == 0) {
            sum.tasks += device.tasks;
            sum.h2d_bytes += device.h2d_bytes;
            sum.d2h_bytes += device.d2h_bytes;
            sum.d2d_bytes += device.d2d_bytes;
            sum.loads += device.loads;
            sum.evictions += device.evictions;
        }
    }
    return sum;
}

static bench_outcome run_once(const bench_config *config, bench_run *run)
{
    const bench_traffic before = traffic_so_far();
    bench_outcome outcome = {.residual = NAN};
    run(config, &outcome);
    bench_traffic *traffic = &outcome.traffic;
    *traffic = traffic_so_far();
    traffic->tasks -= before.tasks;
    traffic->h2d_bytes -= before.h2d_bytes;
    traffic->d2h_bytes -= before.d2h_bytes;
    traffic->d2d_bytes -= before.d2d_bytes;
    traffic->loads -= before.loads;
    traffic->evictions -= before.evictions;
    return outcome;
}

/* Libraries load their kernels, and ompdarts learns what the program's tasks use. */
static void run_small(const bench_config *config, bench_run *run)
{
    const size_t enough_for_each_kind_of_task = 3;
    bench_config small = *config;
    small.check = false;
    if (small.tiles > enough_for_each_kind_of_task) {
        small.tiles = enough_for_each_kind_of_task;
    }
    run_once(&small, run);
}

/* All runs have the same input, so they must agree to the last bit. */
static bool run_all(const bench_config *config, bench_run *run, bench_outcome *best)
{
    bool ok = true;
    for (unsigned i = 0; i < config->repeat; i++) {
        const bench_outcome outcome = run_once(config, run);
        ok = ok && (!config->check || residual_is_right(config, &outcome));
        if (i == 0) {
            *best = outcome;
        }
        if (outcome.checksum != best->checksum) {
            fprintf(stderr, "run %u differs from the first run\n", i + 1);
            ok = false;
        }
        if (outcome.seconds < best->seconds) {
            best->seconds = outcome.seconds;
            best->traffic = outcome.traffic;
        }
        if (!(outcome.residual <= best->residual)) {
            best->residual = outcome.residual;
        }
    }
    return ok;
}

int bench_main(int argc, char **argv, const bench_program *program)
{
    const bench_config config = parse(argc, argv, program);
    bench_run *run = config.is_double ? program->run_double : program->run_float;
    bench_outcome outcome;
#ifdef BENCH_GPU
    if (config.style == BENCH_BLAS || config.pinned) {
        gpu_open();
    }
#endif
    if (config.warm_up) {
        run_small(&config, run);
    }
    const bool ok = run_all(&config, run, &outcome);
    if (config.json) {
        print_json(program, &config, &outcome, ok);
    } else {
        print_text(program, &config, &outcome, ok);
    }
    return ok ? EXIT_SUCCESS : BENCH_EXIT_WRONG;
}
