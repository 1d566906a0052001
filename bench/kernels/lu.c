/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * LU factorisation without pivoting, right-looking and tiled (GETRF, two TRSM,
 * GEMM), of a matrix whose diagonal dominates. Tiles are contiguous, but in
 * the style lapack. Depend items are the tiles' first elements, as many
 * programs write them; in the style array whole tiles.
 */
#define BENCH_SOURCE "bench/kernels/lu.inc"
#include "bench/kernels/for_each_type.h"

int main(int argc, char **argv)
{
    static const bench_program program = {
        .name = "lu",
        .summary = "Tiled LU factorisation without pivoting.",
        .whole = true,
        .recursive = true,
        .run_float = lu_float,
        .run_double = lu_double,
    };
    use_one_blas_thread();
    return bench_main(argc, argv, &program);
}
