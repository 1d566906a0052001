/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Matrix product C = A B in N^2 independent tasks, submitted row by row. One
 * task multiplies a block row of A (TILE x K TILE) with a block column of B
 * (K TILE x TILE) into one tile of C, which is only written. Every block row
 * serves N tasks and so does every block column: which of them stay in a
 * device's memory decides how many bytes move.
 */
#define BENCH_SOURCE "bench/kernels/gemm2d.inc"
#include "bench/kernels/for_each_type.h"

int main(int argc, char **argv)
{
    static const bench_program program = {
        .name = "gemm2d",
        .summary = "Matrix product, one task per tile of C: a block row of A times a block column of B.",
        .default_depth = 4,
        .run_float = gemm2d_float,
        .run_double = gemm2d_double,
    };
    use_one_blas_thread();
    return bench_main(argc, argv, &program);
}
