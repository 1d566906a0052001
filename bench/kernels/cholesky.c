/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Cholesky factorisation A = L L^T of a symmetric positive definite matrix,
 * right-looking and tiled (POTRF, TRSM, SYRK, GEMM). Only the tiles of the
 * lower half are stored, each contiguous; in the style lapack it is a matrix
 * stored by columns. Ordinary OpenMP: nothing here knows of any scheduler.
 */
#define BENCH_SOURCE "bench/kernels/cholesky.inc"
#include "bench/kernels/for_each_type.h"

int main(int argc, char **argv)
{
    static const bench_program program = {
        .name = "cholesky",
        .summary = "Tiled Cholesky factorisation of a symmetric positive definite matrix.",
        .whole = true,
        .recursive = true,
        .run_float = cholesky_float,
        .run_double = cholesky_double,
    };
    use_one_blas_thread();
    return bench_main(argc, argv, &program);
}
