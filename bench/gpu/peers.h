/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What ompdarts is compared with on a GPU: the parts of the program gpu_peers.
 *
 * All work on the same problem, C = C + A B in the program's precision (gpu_computes_in), three matrices of order n
 * stored by columns in page-locked host memory; C is filled anew before each, and its product with a random vector
 * checked afterwards.
 */
#ifndef BENCH_GPU_PEERS_H
#define BENCH_GPU_PEERS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct peer_problem {
    size_t n;
    void *a, *b, *c; /* page-locked */
} peer_problem;

typedef struct peer_result {
    double seconds;
    size_t block;                /* order of the blocks it works with; 0: none */
    size_t device_bytes;         /* device memory that it used */
    double h2d_bytes, d2h_bytes; /* of the timed part; negative: not known */
} peer_result;

/* Each computes the product and fills in *result; false, having said why on standard error, where it cannot be done. */

/* One cuBLAS call on matrices that are on the device already. */
bool peer_in_core(const peer_problem *problem, peer_result *result);

/* The same call on managed memory, with everything prefetched to the device and C prefetched back. Never more managed
 * memory than is free: more can hang the device. */
bool peer_managed(const peer_problem *problem, peer_result *result);

/* Two streams with buffers of their own, in at most `limit` bytes. */
bool peer_streams(const peer_problem *problem, size_t limit, peer_result *result);

/* cublasXt with blocks of the given order. It has no TF32. */
bool peer_xt(const peer_problem *problem, size_t block, peer_result *result);

/* Cholesky factorisation by cuSOLVER of a matrix on the device; C is overwritten with the factor (lower triangle) of
 * the matrix it holds, of which only the lower triangle is read. */
bool peer_cholesky(const peer_problem *problem, peer_result *result);

/* What the machine is and how fast: prints one JSON object. */
void peer_probe(void);

#endif
