/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What the matrix benchmarks share.
 *
 * Each fills in a bench_program and calls bench_main(). The program allocates, fills, computes and checks in one call
 * of its `run` function, once per precision; everything that a person or a script reads is printed here, so that all
 * programs speak alike.
 */
#ifndef BENCH_KERNELS_PROGRAM_H
#define BENCH_KERNELS_PROGRAM_H

#include "bench/kernels/levels.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a program hands its tiles to the devices. */
typedef enum bench_style {
    BENCH_TASK,   /* target nowait depend, every task maps its own tiles */
    BENCH_REGION, /* the same between enter data and exit data of every tile */
    BENCH_BLAS,   /* host task depend around target data use_device_ptr and a BLAS call, in such regions */
    BENCH_ARRAY,  /* one enter data of the array of all tiles, which tasks map whole; depend items are the tiles */
    BENCH_LAPACK, /* the same for a matrix stored by columns; depend items are the tiles' first elements */
} bench_style;

typedef enum bench_type { BENCH_FLOAT, BENCH_DOUBLE, BENCH_TF32 /* floats; GPU build: products in TF32 */ } bench_type;

typedef struct bench_config {
    bench_style style;
    bench_type type;
    bool check;
    bool json;
    bool pinned;   /* GPU build: matrices in page-locked memory */
    bool warm_up;  /* a small problem first, not measured */
    size_t tiles;  /* tiles along each side of the matrix */
    size_t tile;   /* rows and columns of one tile */
    size_t depth;  /* gemm2d: tiles in one block row of A */
    size_t repeat; /* runs; the fastest is reported */
    uint64_t seed;
    bench_levels levels; /* of a recursive run; `tiles` and `tile` are then the blocks */
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
    bool whole;           /* knows the styles array and lapack */
    bool recursive;       /* knows --levels */
    bench_run *run_float;
    bench_run *run_double;
} bench_program;

/* A whole matrix benchmark: returns the exit code of main(). */
int bench_main(int argc, char **argv, const bench_program *program);

/* bench_alloc() for a matrix that devices work on. Not free(): bench_free_matrix(). */
void *bench_alloc_matrix(const bench_config *config, size_t count, size_t size);
void bench_free_matrix(const bench_config *config, void *matrix);

#endif
