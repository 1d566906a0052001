/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * gpu_peers: what ompdarts is compared with on a GPU, see peers.h. Prints one line of JSON for each measurement, as
 * soon as it is done.
 */
#include "bench/common/check.h"
#include "bench/common/command.h"
#include "bench/common/memory.h"
#include "bench/common/random.h"
#include "bench/gpu/cuda.h"
#include "bench/gpu/peers.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LIST = 32, MAX_ORDER = 1 << 18 };

typedef struct list {
    size_t count;
    size_t values[MAX_LIST];
} list;

typedef struct options {
    list limits; /* bytes, for --streams */
    list blocks; /* for --cublasxt */
    bool in_core, managed;
} options;

/* --- matrices on the host ------------------------------------------------------------------------ */

static const uint64_t seed = 1;

static double get(const void *matrix, size_t i)
{
    return gpu_computes_in == GPU_DOUBLE ? ((const double *)matrix)[i] : (double)((const float *)matrix)[i];
}

static void put(void *matrix, size_t i, double value)
{
    if (gpu_computes_in == GPU_DOUBLE) {
        ((double *)matrix)[i] = value;
    } else {
        ((float *)matrix)[i] = (float)value;
    }
}

static void fill(void *matrix, size_t n, uint64_t number)
{
#pragma omp parallel for
    for (size_t j = 0; j < n; j++) {
        bench_random random = bench_random_start(seed, number * n + j);
        for (size_t i = 0; i < n; i++) {
            put(matrix, i + j * n, (double)bench_random_next(&random));
        }
    }
}

/* Symmetric in effect, as only the lower triangle counts, with a diagonal as in kernels/tiles.h. */
static void fill_positive(void *matrix, size_t n)
{
    fill(matrix, n, 0);
    for (size_t i = 0; i < n; i++) {
        put(matrix, i + i * n, get(matrix, i + i * n) + 2.0 * sqrt((double)n));
    }
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* y += M x, or with `lower` only the lower triangle's part of it. */
static void multiply(const void *matrix, size_t n, bool lower, const double *x, double *y)
{
    const size_t piece = 512;
#pragma omp parallel for schedule(dynamic)
    for (size_t start = 0; start < n; start += piece) {
        const size_t end = smaller(n, start + piece);
        for (size_t j = 0; j < (lower ? end : n); j++) {
            for (size_t i = lower ? larger(start, j) : start; i < end; i++) {
                y[i] += get(matrix, i + j * n) * x[j];
            }
        }
    }
}

/* y += L^T x for the lower triangle L, without its diagonal where `strictly`. */
static void multiply_transposed(const void *matrix, size_t n, bool strictly, const double *x, double *y)
{
#pragma omp parallel for schedule(dynamic, 64)
    for (size_t j = 0; j < n; j++) {
        double sum = 0;
        for (size_t i = j + strictly; i < n; i++) {
            sum += get(matrix, i + j * n) * x[i];
        }
        y[j] += sum;
    }
}

static void *alloc_matrix(size_t n)
{
    void *matrix = gpu_host_alloc(n * n * gpu_element_bytes());
    if (matrix == NULL) {
        bench_fail("no page-locked memory for %.1f MB", (double)(n * n * gpu_element_bytes()) / 1e6);
    }
    return matrix;
}

/* --- results --------------------------------------------------------------------------------------- */

typedef struct report {
    const char *problem, *variant;
    size_t n, limit; /* limit: of device memory, 0: none */
    double flop, residual;
} report;

static void print_bytes(const char *name, double bytes)
{
    if (bytes >= 0) {
        printf("\"%s\": %.0f, ", name, bytes);
    } else {
        printf("\"%s\": null, ", name);
    }
}

/* Returns whether the result is right. */
static bool print(const report *report, const peer_result *result)
{
    const bool ok = bench_residual_is_right(report->residual, gpu_epsilon(), report->n);
    printf("{\"problem\": \"%s\", \"variant\": \"%s\", \"n\": %zu, \"memory_limit\": %zu, \"memory_used\": %zu, "
           "\"block\": %zu, \"seconds\": %.6g, \"gflops\": %.6g, ",
           report->problem, report->variant, report->n, report->limit, result->device_bytes, result->block,
           result->seconds, report->flop / result->seconds * 1e-9);
    print_bytes("h2d_bytes", result->h2d_bytes);
    print_bytes("d2h_bytes", result->d2h_bytes);
    bench_print_residual(report->residual);
    printf("\"ok\": %s}\n", ok ? "true" : "false");
    fflush(stdout);
    return ok;
}

/* --- the product ----------------------------------------------------------------------------------- */

typedef struct product {
    peer_problem problem;
    double *x, *expected; /* C0 x + A (B x) */
    bool right;           /* all results so far */
} product;

static product make_product(size_t n)
{
    product p = {.problem = {.n = n, .a = alloc_matrix(n), .b = alloc_matrix(n), .c = alloc_matrix(n)}, .right = true};
    double *bx = bench_zero_vector(n);
    fill(p.problem.a, n, 0);
    fill(p.problem.b, n, 1);
    fill(p.problem.c, n, 2);
    p.x = bench_random_vector(seed, n);
    p.expected = bench_zero_vector(n);
    multiply(p.problem.b, n, false, p.x, bx);
    multiply(p.problem.a, n, false, bx, p.expected);
    multiply(p.problem.c, n, false, p.x, p.expected);
    free(bx);
    return p;
}

static void free_product(product *p)
{
    gpu_host_free(p->problem.a);
    gpu_host_free(p->problem.b);
    gpu_host_free(p->problem.c);
    free(p->x);
    free(p->expected);
}

/* Checks C, prints, and gives C its first contents back. */
static void conclude(product *p, const char *variant, size_t limit, const peer_result *result)
{
    const size_t n = p->problem.n;
    double *cx = bench_zero_vector(n);
    multiply(p->problem.c, n, false, p->x, cx);
    const report report = {.problem = "gemm",
                           .variant = variant,
                           .n = n,
                           .limit = limit,
                           .flop = 2.0 * (double)n * (double)n * (double)n,
                           .residual = bench_relative_error(p->expected, cx, n, bench_product_norm(n, n))};
    p->right = print(&report, result) && p->right;
    fill(p->problem.c, n, 2);
    free(cx);
}

static bool run_products(size_t n, const options *options)
{
    product p = make_product(n);
    peer_result result;
    if (options->in_core && peer_in_core(&p.problem, &result)) {
        conclude(&p, "in-core", 0, &result);
    }
    for (size_t i = 0; i < options->limits.count; i++) {
        if (peer_streams(&p.problem, options->limits.values[i], &result)) {
            conclude(&p, "streams", options->limits.values[i], &result);
        }
    }
    for (size_t i = 0; i < options->blocks.count; i++) {
        if (peer_xt(&p.problem, options->blocks.values[i], &result)) {
            conclude(&p, "cublasxt", 0, &result);
        }
    }
    if (options->managed && peer_managed(&p.problem, &result)) {
        conclude(&p, "managed", 0, &result);
    }
    free_product(&p);
    return p.right;
}

/* --- Cholesky ---------------------------------------------------------------------------------------- */

static bool run_cholesky(size_t n)
{
    const peer_problem problem = {.n = n, .c = alloc_matrix(n)};
    double *x = bench_random_vector(seed, n), *ax = bench_zero_vector(n);
    double *ltx = bench_zero_vector(n), *lltx = bench_zero_vector(n);
    peer_result result;
    bool right = true;
    fill_positive(problem.c, n);
    multiply(problem.c, n, true, x, ax);
    multiply_transposed(problem.c, n, true, x, ax);
    if (peer_cholesky(&problem, &result)) {
        multiply_transposed(problem.c, n, false, x, ltx);
        multiply(problem.c, n, true, ltx, lltx);
        const report report = {.problem = "cholesky",
                               .variant = "in-core",
                               .n = n,
                               .flop = (double)n * (double)n * (double)n / 3.0,
                               .residual = bench_relative_error(ax, lltx, n, 0.0)};
        right = print(&report, &result);
    }
    gpu_host_free(problem.c);
    free(x);
    free(ax);
    free(ltx);
    free(lltx);
    return right;
}

/* --- command line -------------------------------------------------------------------------------------- */

static void take_list(const bench_option *option, char *text)
{
    list *list = option->value;
    char *rest = NULL;
    list->count = 0;
    for (char *word = strtok_r(text, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest)) {
        if (list->count == MAX_LIST) {
            bench_fail("--%s takes at most %d values", option->name, MAX_LIST);
        }
        bench_option one = *option;
        one.value = &list->values[list->count++];
        bench_take_number(&one, word);
    }
}

/* Returns how many arguments there are besides options. */
static int parse(int argc, char **argv, options *options)
{
    const uint64_t most = UINT64_C(1) << 48;
    static const char *const precisions[] = {
        [GPU_SINGLE] = "float", [GPU_DOUBLE] = "double", [GPU_TF32] = "tf32", NULL};
    const bench_option known[] = {
        {"type", "float|double|tf32", "precision (default float)", bench_take_choice, &gpu_computes_in,
         .names = precisions},
        {"in-core", .help = "cuBLAS on data that are on the GPU already", .take = bench_take_yes,
         .value = &options->in_core},
        {"managed", .help = "cuBLAS on managed memory, prefetched; left out where it is not free",
         .take = bench_take_yes, .value = &options->managed},
        {"streams", "BYTES[,BYTES]...", "two streams, double buffering, in that much GPU memory", take_list,
         &options->limits, .low = 1, .high = most},
        {"cublasxt", "BLOCK[,BLOCK]...", "cublasXt with blocks of that order; reports the GPU memory it used",
         take_list, &options->blocks, .low = 1, .high = most},
        {.name = NULL},
    };
    const bench_command command = {
        .usage =
            "Usage: gpu_peers probe [--type T]\n"
            "       gpu_peers gemm N [OPTION]...\n"
            "       gpu_peers cholesky N [--type T]\n"
            "What ompdarts is compared with on the first NVIDIA GPU, matrices of order N.\n\n"
            "probe prints what the machine is, and how fast it copies and multiplies. gemm is the matrix product,\n"
            "done by each of the options; cholesky is cuSOLVER on data that are on the GPU already.\n",
        .options = known,
        .notes =
            "Environment: BENCH_CUDA, BENCH_CUBLAS, BENCH_CUSOLVER name the libraries to open instead of the usual "
            "ones.\n"
            "Exit code: 0 right, 1 wrong result, 2 bad command line or a failed call, 77 no GPU or no cuBLAS.\n",
        .expected = "probe, gemm N or cholesky N",
        .least = 1,
        .most = 2,
    };
    return bench_parse(argc, argv, &command);
}

int main(int argc, char **argv)
{
    options options = {.in_core = false};
    const int count = parse(argc, argv, &options);
    const char *what = argv[argc - count];
    const bool is_probe = strcmp(what, "probe") == 0, is_gemm = strcmp(what, "gemm") == 0;
    if ((!is_probe && !is_gemm && strcmp(what, "cholesky") != 0) || count != (is_probe ? 1 : 2)) {
        bench_fail("expected probe, gemm N or cholesky N (see --help)");
    }
    const size_t n = is_probe ? 0 : bench_number("N", argv[argc - 1], 1, MAX_ORDER);
    gpu_open();
    gpu_use_device(0);
    if (is_probe) {
        peer_probe();
        return EXIT_SUCCESS;
    }
    const bool right = is_gemm ? run_products(n, &options) : run_cholesky(n);
    return right ? EXIT_SUCCESS : BENCH_EXIT_WRONG;
}
