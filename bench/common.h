/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What all benchmark programs share: the command line, the clock, random
 * numbers, the checksum and the report.
 *
 * A matrix benchmark fills in a bench_program and calls bench_main(). The
 * program allocates, fills, computes and checks in one call of its `run`
 * function, once per precision; everything that a person or a script reads is
 * printed here, so that all programs speak alike.
 *
 * Exit codes: 0 right, 1 wrong result, 2 bad command line or not enough memory.
 */
#ifndef BENCH_COMMON_H
#define BENCH_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BENCH_EXIT_WRONG = 1, BENCH_EXIT_USAGE = 2 };

/* How a program hands its tiles to the devices. */
typedef enum bench_style {
    BENCH_TASK,   /* target nowait depend, every task maps its own tiles */
    BENCH_REGION, /* the same between enter data and exit data of every tile */
    BENCH_BLAS,   /* host task depend around target data use_device_ptr and a BLAS call, in such regions */
} bench_style;

typedef struct bench_config {
    bench_style style;
    bool is_double;
    bool check;
    bool json;
    bool pinned;     /* GPU build: matrices in page-locked memory */
    bool warm_up;    /* a small problem first, not measured */
    size_t tiles;    /* tiles along each side of the matrix */
    size_t tile;     /* rows and columns of one tile */
    size_t depth;    /* gemm2d: tiles in one block row of A */
    unsigned repeat; /* runs; the fastest is reported */
    uint64_t seed;
} bench_config;

/* What ompdarts counted during a run, over all devices. */
typedef struct bench_traffic {
    int devices; /* 0: nothing was scheduled */
    uint64_t tasks, h2d_bytes, d2h_bytes, d2d_bytes, loads, evictions;
} bench_traffic;

typedef struct bench_outcome {
    double seconds;    /* from the first task's creation to the last one's end */
    double flop;       /* operations of the textbook algorithm */
    size_t terms;      /* length of the sums behind one element of the result: rounding errors grow with its root */
    double residual;   /* ||expected - result|| / ||expected|| for a random vector; NaN when not checked */
    uint64_t checksum; /* bench_checksum() of the result */
    bench_traffic traffic;
} bench_outcome;

typedef void bench_run(const bench_config *config, bench_outcome *outcome);

typedef struct bench_program {
    const char *name;
    const char *summary;  /* one line for --help */
    size_t default_depth; /* 0 = the program knows no --depth */
    bench_run *run_float;
    bench_run *run_double;
} bench_program;

/* A whole matrix benchmark: returns the exit code of main(). */
int bench_main(int argc, char **argv, const bench_program *program);

/* One line "PROGRAM: text" on standard error, then exit with BENCH_EXIT_USAGE. */
__attribute__((format(printf, 1, 2))) _Noreturn void bench_fail(const char *format, ...);

/* `text` as a whole number within [low, high]; anything else ends the program with a message naming `what`. */
uint64_t bench_number(const char *what, const char *text, uint64_t low, uint64_t high);

/* `count` elements of `size` bytes, aligned for vector units; ends the program when there is no memory. free() it. */
void *bench_alloc(size_t count, size_t size);

/* The same for a matrix that devices work on. Not free(): bench_free_matrix(). */
void *bench_alloc_matrix(const bench_config *config, size_t count, size_t size);
void bench_free_matrix(const bench_config *config, void *matrix);

/* Monotonic time in seconds. */
double bench_now(void);

/* 64-bit FNV-1a over the FNV-1a of each MiB, which are computed in parallel. */
uint64_t bench_checksum(const void *data, size_t bytes);

/* A stream of random numbers that depends on nothing but (seed, stream). */
typedef struct bench_random {
    uint64_t state;
} bench_random;

bench_random bench_random_start(uint64_t seed, uint64_t stream);

/* Leaves out `count` numbers. */
void bench_random_skip(bench_random *random, uint64_t count);

/* The next number, uniform in [-0.5, 0.5). */
double bench_random_next(bench_random *random);

/* `count` random numbers: the vector of a check. bench_alloc'ed, free() it. */
double *bench_random_vector(uint64_t seed, size_t count);

/* `count` zeros, bench_alloc'ed, free() it. */
double *bench_zero_vector(size_t count);

/* Norm to expect of A (B x) for a random n x inner matrix A, inner x n matrix B and vector x (variance 1/12 each). */
double bench_product_norm(size_t n, size_t inner);

/*
 * ||reference - result||_2 / max(||reference||_2, floor). The floor is the
 * norm that random terms lead one to expect: where they happen to cancel, as
 * in tiny matrices, their rounding errors do not. 0 where nothing can cancel.
 */
double bench_relative_error(const double *reference, const double *result, size_t count, double floor);

#endif
