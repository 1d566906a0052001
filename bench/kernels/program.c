/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The matrix benchmarks' common part, see program.h. */
#include "bench/kernels/program.h"

#include "bench/common/check.h"
#include "bench/common/command.h"
#include "bench/common/memory.h"

#include "ompdarts.h"
#ifdef BENCH_GPU
#include "bench/gpu/cuda.h"
#endif

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TILES = 65536, MAX_TILE = 32768, MAX_DEPTH = 4096, MAX_REPEAT = 1000000 };

static const char *const style_names[] = {[BENCH_TASK] = "task",   [BENCH_REGION] = "region", [BENCH_BLAS] = "blas",
                                          [BENCH_ARRAY] = "array", [BENCH_LAPACK] = "lapack", NULL};
#ifdef BENCH_GPU
static const char *const type_names[] = {
    [BENCH_FLOAT] = "float", [BENCH_DOUBLE] = "double", [BENCH_TF32] = "tf32", NULL};
static const char type_list[] = "float|double|tf32";
#else
static const char *const type_names[] = {[BENCH_FLOAT] = "float", [BENCH_DOUBLE] = "double", NULL};
static const char type_list[] = "float|double";
#endif

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

/* "320/160/40": orders of tiles, each a multiple of the next one, the last of which is TILE. */
static bench_levels parse_levels(const char *text, const bench_config *config)
{
    bench_levels levels = {0};
    size_t order[BENCH_MOST_LEVELS];
    char copy[128], *rest = copy;
    if ((size_t)snprintf(copy, sizeof copy, "%s", text) >= sizeof copy) {
        bench_fail("--levels: too long");
    }
    for (char *number; (number = strsep(&rest, "/")); levels.count++) {
        if (levels.count == BENCH_MOST_LEVELS) {
            bench_fail("--levels %s: at most %d orders of tiles", text, BENCH_MOST_LEVELS);
        }
        order[levels.count] = bench_number("--levels", number, 1, MAX_TILE);
    }
    for (unsigned l = 0; l < levels.count; l++) {
        levels.span[l] = order[l] / config->tile;
        if (order[l] % config->tile != 0 || levels.span[l] > 255 ||
            (l > 0 && (order[l] >= order[l - 1] || order[l - 1] % order[l] != 0))) {
            bench_fail("--levels %s: each must be a multiple of the next one, and of TILE", text);
        }
    }
    if (levels.count == 0 || order[levels.count - 1] != config->tile || config->tiles % levels.span[0] != 0) {
        bench_fail("--levels %s: the last must be TILE, and NTILES x TILE a multiple of the first", text);
    }
    return levels;
}

/* --depth or --levels comes last, where the program has it. */
static bench_config parse(int argc, char **argv, const bench_program *program)
{
    bench_config config = {.check = true};
    char *levels = NULL;
    const bench_option options[] = {
        {"style", program->whole ? "task|region|blas|array|lapack" : "task|region|blas",
         "task: every task maps its tiles (default)\n"
         "region: the same inside enter data / exit data\n"
         "blas: host tasks around use_device_ptr and a BLAS call, inside these\n"
         "array: all tiles are entered as one array, which tasks map; depend clauses name tiles\n"
         "lapack: the same with a matrix stored by columns; depend clauses name the tiles' first elements",
         bench_take_choice, &config.style, .names = style_names},
        {"type", type_list, "precision (default float)", bench_take_choice, &config.type, .names = type_names},
        {"seed", "S", "seed of the random input", bench_take_number, &config.seed, .low = 0, .high = UINT64_MAX,
         .standard = 1},
        {"repeat", "R", "run R times, report the fastest", bench_take_number, &config.repeat, .low = 1,
         .high = MAX_REPEAT, .standard = 1},
        {"warm-up", .help = "run a small problem first, which is not reported", .take = bench_take_yes,
         .value = &config.warm_up},
#ifdef BENCH_GPU
        {"pinned", .help = "keep the matrices in page-locked memory", .take = bench_take_yes, .value = &config.pinned},
#endif
        {"no-check", .help = "do not compute the residual", .take = bench_take_no, .value = &config.check},
        {"json", .help = "print one line of JSON", .take = bench_take_yes, .value = &config.json},
        {program->recursive ? "levels" : program->default_depth != 0 ? "depth" : NULL, program->recursive ? "L" : "K",
         program->recursive ? "orders of tiles such as 320/160/40, the last is TILE: tasks that may be split"
                            : "tiles in one block row of A",
         program->recursive ? bench_take_text : bench_take_number, program->recursive ? (void *)&levels : &config.depth,
         .low = 1, .high = MAX_DEPTH, .standard = program->default_depth},
        {.name = NULL},
    };
    char usage[512];
    snprintf(usage, sizeof usage,
             "Usage: %s [OPTION]... NTILES TILE\n"
             "%s\n"
             "The matrix has NTILES x NTILES tiles of TILE x TILE elements.\n",
             program->name, program->summary);
    const bench_command command = {
        .usage = usage,
        .options = options,
        .notes =
            "Exit code: 0 right, 1 wrong result, 2 bad command line or not enough memory, 77 no cuBLAS (GPU build).\n",
        .expected = "two arguments, NTILES and TILE",
        .least = 2,
        .most = 2,
    };
    bench_parse(argc, argv, &command);
    if (config.style >= BENCH_ARRAY && !program->whole) {
        bench_fail("--style %s: this program has no such style", style_names[config.style]);
    }
    config.tiles = bench_number("NTILES", argv[argc - 2], 1, MAX_TILES);
    config.tile = bench_number("TILE", argv[argc - 1], 1, MAX_TILE);
    if (levels) {
        config.levels = parse_levels(levels, &config);
    }
#ifdef BENCH_GPU
    if (levels) {
        bench_fail("--levels is for host devices");
    }
#endif
    if (levels && (config.style == BENCH_BLAS || config.style == BENCH_LAPACK)) {
        bench_fail("--levels is not for --style %s: its tasks are target regions on contiguous tiles",
                   style_names[config.style]);
    }
    const double order = (double)config.tiles * (double)config.tile;
    if (order * order * sizeof(double) > BENCH_MAX_BYTES) {
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

/* `each`: seconds of the runs, one after the other. */
static void print_json(const bench_program *program, const bench_config *config, const bench_outcome *outcome,
                       const double *each, bool ok)
{
    printf("{\"program\": \"%s\", \"style\": \"%s\", \"type\": \"%s\", \"n\": %zu, \"tiles\": %zu, \"tile\": %zu, ",
           program->name, style_names[config->style], type_names[config->type], config->tiles * config->tile,
           config->tiles, config->tile);
    if (program->default_depth != 0) {
        printf("\"depth\": %zu, ", config->depth);
    }
    printf("\"seed\": %" PRIu64 ", \"repeat\": %zu, \"seconds\": %.9g, \"gflops\": %.6g, ", config->seed,
           config->repeat, outcome->seconds, outcome->flop / outcome->seconds * 1e-9);
    for (size_t i = 0; i < config->repeat; i++) {
        printf("%s%.9g%s", i ? ", " : "\"each\": [", each[i], i + 1 == config->repeat ? "], " : "");
    }
    print_traffic(&outcome->traffic);
#ifdef BENCH_GPU
    printf("\"waits\": %s, ", gpu_waited ? "true" : "false");
#endif
    bench_print_residual(outcome->residual);
    printf("\"checksum\": \"%016" PRIx64 "\", \"checked\": %s, \"ok\": %s}\n", outcome->checksum,
           config->check ? "true" : "false", ok ? "true" : "false");
}

static void print_text(const bench_program *program, const bench_config *config, const bench_outcome *outcome, bool ok)
{
    printf("checksum %016" PRIx64 "\n", outcome->checksum);
    printf("%s style=%s type=%s n=%zu tiles=%zux%zu tile=%zu ", program->name, style_names[config->style],
           type_names[config->type], config->tiles * config->tile, config->tiles, config->tiles, config->tile);
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

static bool residual_is_right(const bench_config *config, const bench_outcome *outcome)
{
    static const double epsilon[] = {
        [BENCH_FLOAT] = FLT_EPSILON, [BENCH_DOUBLE] = DBL_EPSILON, [BENCH_TF32] = 0x1p-10 /* ten bits of mantissa */};
    return bench_residual_is_right(outcome->residual, epsilon[config->type], outcome->terms);
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
    const size_t step = small.levels.count ? small.levels.span[0] : 1;
    if (small.tiles > enough_for_each_kind_of_task * step) {
        small.tiles = enough_for_each_kind_of_task * step;
    }
    run_once(&small, run);
}

/* All runs have the same input, so they must agree to the last bit. */
static bool run_all(const bench_config *config, bench_run *run, bench_outcome *best, double *each)
{
    bool ok = true;
    for (size_t i = 0; i < config->repeat; i++) {
        const bench_outcome outcome = run_once(config, run);
        each[i] = outcome.seconds;
        ok = ok && (!config->check || residual_is_right(config, &outcome));
        if (i == 0) {
            *best = outcome;
        }
        if (outcome.checksum != best->checksum) {
            fprintf(stderr, "run %zu differs from the first run\n", i + 1);
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
    bench_run *run = config.type == BENCH_DOUBLE ? program->run_double : program->run_float;
    bench_outcome outcome;
#ifdef BENCH_GPU
    gpu_computes_in = config.type == BENCH_DOUBLE ? GPU_DOUBLE : config.type == BENCH_TF32 ? GPU_TF32 : GPU_SINGLE;
    if (config.type == BENCH_TF32 && config.style != BENCH_BLAS) {
        bench_fail("--type tf32 is for --style blas");
    }
    if (config.style == BENCH_BLAS || config.pinned) {
        gpu_open();
    }
#endif
    if (config.warm_up) {
        run_small(&config, run);
    }
    double *each = calloc(config.repeat, sizeof *each);
    if (!each) {
        bench_fail("not enough memory");
    }
    const bool ok = run_all(&config, run, &outcome, each);
    if (config.json) {
        print_json(program, &config, &outcome, each, ok);
    } else {
        print_text(program, &config, &outcome, ok);
    }
    free(each);
    return ok ? EXIT_SUCCESS : BENCH_EXIT_WRONG;
}
