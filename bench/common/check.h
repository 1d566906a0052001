/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Checks of results: products with a random vector before and after, and a checksum.
 *
 * A residual is accepted up to 2 eps sqrt(n), n the number of terms in a sum:
 * rounding errors of random terms grow like sqrt(n) (0.2 eps sqrt(n) is
 * typical), and the inputs (kernels/tiles.h) are chosen so that one lost update of a
 * tile stands far above the limit.
 */
#ifndef BENCH_COMMON_CHECK_H
#define BENCH_COMMON_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* False for a NaN, too. */
bool bench_residual_is_right(double residual, double epsilon, size_t terms);

/* Prints "residual" and the number, in JSON null where there is none. */
void bench_print_residual(double residual);

/* 64-bit FNV-1a over the FNV-1a of each MiB, which are computed in parallel. */
uint64_t bench_checksum(const void *data, size_t bytes);

/* Norm to expect of A (B x) for a random n x inner matrix A, inner x n matrix B and vector x (variance 1/12 each). */
double bench_product_norm(size_t n, size_t inner);

/*
 * ||reference - result||_2 / max(||reference||_2, floor). The floor is the
 * norm that random terms lead one to expect: where they happen to cancel, as
 * in tiny matrices, their rounding errors do not. 0 where nothing can cancel.
 */
double bench_relative_error(const double *reference, const double *result, size_t count, double floor);

#endif
