/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The tile operations on device addresses, called on the host, for one precision (see for_each_type.h): cuBLAS. No
 * include guard: once per precision.
 *
 * cuBLAS has no factorisation of one matrix without pivoting: its small diagonal blocks are factored by the host, in
 * the order of the task's stream, so that no thread waits.
 */

static inline void TYPED(blas_gemm)(size_t m, size_t n, size_t k, bool transpose_b, REAL alpha, const REAL *a,
                                    const REAL *b, REAL beta, REAL *c, bench_ld ld)
{
    const gpu_queue queue = gpu_queue_begin();
    gpu_check_blas(CUBLAS(gemm)(queue.handle, CUBLAS_NO_TRANSPOSE, transpose_b ? CUBLAS_TRANSPOSE : CUBLAS_NO_TRANSPOSE,
                                (int)m, (int)n, (int)k, &alpha, a, (int)ld.a, b, (int)ld.b, &beta, c,
                                (int)ld.c),
                   "cublasGemm");
    gpu_queue_end(queue);
}

/* Lower triangle of C := C - A A^T; A is n x k. */
static inline void TYPED(queue_syrk)(gpu_queue queue, size_t n, size_t k, const REAL *a, REAL *c, size_t stride)
{
    const REAL minus_one = -1, one = 1;
    gpu_check_blas(CUBLAS(syrk)(queue.handle, CUBLAS_LOWER, CUBLAS_NO_TRANSPOSE, (int)n, (int)k, &minus_one, a,
                                (int)stride, &one, c, (int)stride),
                   "cublasSyrk");
}

typedef struct TYPED(triangle) {
    int side, part, transpose, diagonal;
    const REAL *a;
} TYPED(triangle);

/* B := the solution of a triangular system with B, m x n, on its right side. */
static inline void TYPED(queue_trsm)(gpu_queue queue, TYPED(triangle) triangle, size_t m, size_t n, REAL *b,
                                     size_t stride)
{
    const REAL one = 1;
    gpu_check_blas(CUBLAS(trsm)(queue.handle, triangle.side, triangle.part, triangle.transpose, triangle.diagonal,
                                (int)m, (int)n, &one, triangle.a, (int)stride, b, (int)stride),
                   "cublasTrsm");
}

static inline void TYPED(blas_syrk)(size_t t, const REAL *a, REAL *c, size_t ld)
{
    const gpu_queue queue = gpu_queue_begin();
    TYPED(queue_syrk)(queue, t, t, a, c, ld);
    gpu_queue_end(queue);
}

static inline void TYPED(blas_trsm)(TYPED(triangle) triangle, size_t t, REAL *b, size_t ld)
{
    const gpu_queue queue = gpu_queue_begin();
    TYPED(queue_trsm)(queue, triangle, t, t, b, ld);
    gpu_queue_end(queue);
}

static inline void TYPED(blas_trsm_cholesky)(size_t t, const REAL *l, REAL *b, size_t ld)
{
    TYPED(blas_trsm)((TYPED(triangle)){CUBLAS_RIGHT, CUBLAS_LOWER, CUBLAS_TRANSPOSE, CUBLAS_NON_UNIT, l}, t, b, ld);
}

static inline void TYPED(blas_trsm_upper)(size_t t, const REAL *u, REAL *b, size_t ld)
{
    TYPED(blas_trsm)((TYPED(triangle)){CUBLAS_RIGHT, CUBLAS_UPPER, CUBLAS_NO_TRANSPOSE, CUBLAS_NON_UNIT, u}, t, b, ld);
}

static inline void TYPED(blas_trsm_lower)(size_t t, const REAL *l, REAL *b, size_t ld)
{
    TYPED(blas_trsm)((TYPED(triangle)){CUBLAS_LEFT, CUBLAS_LOWER, CUBLAS_NO_TRANSPOSE, CUBLAS_UNIT, l}, t, b, ld);
}

static void TYPED(factor_cholesky_block)(size_t order, void *a, size_t stride)
{
    TYPED(factor_cholesky)(order, a, stride);
}

static void TYPED(factor_lu_block)(size_t order, void *a, size_t stride)
{
    TYPED(factor_lu)(order, a, stride);
}

/* The columns of the diagonal block are copied as they lie, with what is between them: one piece. */
static inline void TYPED(queue_diagonal)(gpu_queue queue, gpu_block_work *work, size_t order, REAL *a, size_t stride)
{
    gpu_queue_block(queue, work, order, a, stride, ((order - 1) * stride + order) * sizeof *a);
}

static inline void TYPED(blas_potrf)(size_t t, REAL *a, size_t ld)
{
    const gpu_queue queue = gpu_queue_begin();
    for (size_t k = 0; k < t; k += BENCH_GPU_FACTOR_BLOCK) {
        const size_t block = t - k < BENCH_GPU_FACTOR_BLOCK ? t - k : BENCH_GPU_FACTOR_BLOCK, rest = t - k - block;
        REAL *diagonal = a + k + k * ld, *below = diagonal + block;
        TYPED(queue_diagonal)(queue, TYPED(factor_cholesky_block), block, diagonal, ld);
        if (rest > 0) {
            const TYPED(triangle) l = {CUBLAS_RIGHT, CUBLAS_LOWER, CUBLAS_TRANSPOSE, CUBLAS_NON_UNIT, diagonal};
            TYPED(queue_trsm)(queue, l, rest, block, below, ld);
            TYPED(queue_syrk)(queue, rest, block, below, below + block * ld, ld);
        }
    }
    gpu_queue_end(queue);
}

static inline void TYPED(blas_getrf)(size_t t, REAL *a, size_t ld)
{
    const gpu_queue queue = gpu_queue_begin();
    const REAL minus_one = -1, one = 1;
    for (size_t k = 0; k < t; k += BENCH_GPU_FACTOR_BLOCK) {
        const size_t block = t - k < BENCH_GPU_FACTOR_BLOCK ? t - k : BENCH_GPU_FACTOR_BLOCK, rest = t - k - block;
        REAL *diagonal = a + k + k * ld, *below = diagonal + block, *beside = diagonal + block * ld;
        TYPED(queue_diagonal)(queue, TYPED(factor_lu_block), block, diagonal, ld);
        if (rest > 0) {
            const TYPED(triangle) u = {CUBLAS_RIGHT, CUBLAS_UPPER, CUBLAS_NO_TRANSPOSE, CUBLAS_NON_UNIT, diagonal};
            const TYPED(triangle) l = {CUBLAS_LEFT, CUBLAS_LOWER, CUBLAS_NO_TRANSPOSE, CUBLAS_UNIT, diagonal};
            TYPED(queue_trsm)(queue, u, rest, block, below, ld);
            TYPED(queue_trsm)(queue, l, block, rest, beside, ld);
            gpu_check_blas(CUBLAS(gemm)(queue.handle, CUBLAS_NO_TRANSPOSE, CUBLAS_NO_TRANSPOSE, (int)rest, (int)rest,
                                        (int)block, &minus_one, below, (int)ld, beside, (int)ld, &one, beside + block,
                                        (int)ld),
                           "cublasGemm");
        }
    }
    gpu_queue_end(queue);
}
