/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Matrix product C = C + A B in N^3 tasks: tile C(i,j) is updated with the
 * product of the tiles A(i,k) and B(k,j) for every k, in this order. Tiles are
 * contiguous, but in the style lapack. Depend items are the tiles' first
 * elements; of the host tasks around BLAS calls, and in the style array, whole
 * tiles.
 */
#define BENCH_SOURCE "bench/kernels/gemm3d.inc"
#include "bench/kernels/for_each_type.h"

int main(int argc, char **argv)
{
    static const bench_program program = {
        .name = "gemm3d",
        .summary = "Matrix product, one task per product of two tiles.",
        .whole = true,
        .recursive = true,
        .run_float = gemm3d_float,
        .run_double = gemm3d_double,
    };
    use_one_blas_thread();
    return bench_main(argc, argv, &program);
}
