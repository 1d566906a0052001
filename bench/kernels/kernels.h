/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The tile kernels, for one precision (see for_each_type.h). Tiles are stored
 * by columns, which are ld elements apart: as many as they have rows, where a
 * tile has no gaps. t is the order of a square tile.
 *
 *   kernel_…  runs inside a target region: on host devices it calls OpenBLAS,
 *             in the GPU build (BENCH_GPU) it is a plain parallel loop nest.
 *   BLAS(…)   is called on the host with device addresses: the same OpenBLAS
 *             call on host devices, cuBLAS (blas_…) in the GPU build.
 *
 * A kernel that is spread over the whole device stands in a region with
 * BENCH_LEAGUE, which is `teams` on a GPU and nothing on a host device, where
 * one call does it all. The factorisations of one tile run in one team.
 */
#ifndef BENCH_LEAGUE
#ifdef BENCH_GPU
#define BENCH_LEAGUE teams
#define BLAS(name) TYPED(blas_##name)
#define BENCH_SPREAD _Pragma("omp distribute parallel for")
#define BENCH_SPREAD_2D _Pragma("omp distribute parallel for collapse(2)")
#else
#define BENCH_LEAGUE
#define BLAS(name) TYPED(kernel_##name)
#endif
enum { BENCH_FACTOR_BLOCK = 32 }; /* columns factored at once by the plain loops */

/* Of the matrices of a product. */
typedef struct bench_ld {
    size_t a, b, c;
} bench_ld;
#endif

#pragma omp begin declare target

/* Cholesky of the leading n x n part of a matrix with columns `stride` apart. */
static inline void TYPED(factor_cholesky)(size_t n, REAL *a, size_t stride)
{
    for (size_t k = 0; k < n; k++) {
        const REAL pivot = (REAL)sqrt((double)a[k + k * stride]);
        a[k + k * stride] = pivot;
        for (size_t i = k + 1; i < n; i++) {
            a[i + k * stride] /= pivot;
        }
        for (size_t j = k + 1; j < n; j++) {
            for (size_t i = j; i < n; i++) {
                a[i + j * stride] -= a[i + k * stride] * a[j + k * stride];
            }
        }
    }
}

/* LU without pivoting of the leading n x n part of a matrix with columns `stride` apart. */
static inline void TYPED(factor_lu)(size_t n, REAL *a, size_t stride)
{
    for (size_t k = 0; k < n; k++) {
        const REAL pivot = a[k + k * stride];
        for (size_t i = k + 1; i < n; i++) {
            a[i + k * stride] /= pivot;
        }
        for (size_t j = k + 1; j < n; j++) {
            for (size_t i = k + 1; i < n; i++) {
                a[i + j * stride] -= a[i + k * stride] * a[k + j * stride];
            }
        }
    }
}

#ifdef BENCH_GPU

/* C := beta C + alpha A op(B); C is m x n, A is m x k, op(B) is k x n. Not read when beta is 0. */
static inline void TYPED(kernel_gemm)(size_t m, size_t n, size_t k, bool transpose_b, REAL alpha, const REAL *a,
                                      const REAL *b, REAL beta, REAL *c, bench_ld ld)
{
    const size_t row_step = transpose_b ? ld.b : 1, column_step = transpose_b ? 1 : ld.b;
    BENCH_SPREAD_2D
    for (size_t j = 0; j < n; j++) {
        for (size_t i = 0; i < m; i++) {
            REAL sum = 0;
            for (size_t l = 0; l < k; l++) {
                sum += a[i + l * ld.a] * b[l * row_step + j * column_step];
            }
            c[i + j * ld.c] = alpha * sum + (beta == 0 ? 0 : beta * c[i + j * ld.c]);
        }
    }
}

/* Lower triangle of C := C - A A^T. */
static inline void TYPED(kernel_syrk)(size_t t, const REAL *a, REAL *c, size_t ld)
{
    BENCH_SPREAD_2D
    for (size_t j = 0; j < t; j++) {
        for (size_t i = 0; i < t; i++) {
            REAL sum = 0;
            for (size_t l = 0; i >= j && l < t; l++) {
                sum += a[i + l * ld] * a[j + l * ld];
            }
            c[i + j * ld] -= sum;
        }
    }
}

/* B := B L^-T, L lower. The rows of B are independent. */
static inline void TYPED(kernel_trsm_cholesky)(size_t t, const REAL *l, REAL *b, size_t ld)
{
    BENCH_SPREAD
    for (size_t i = 0; i < t; i++) {
        for (size_t j = 0; j < t; j++) {
            REAL sum = b[i + j * ld];
            for (size_t k = 0; k < j; k++) {
                sum -= b[i + k * ld] * l[j + k * ld];
            }
            b[i + j * ld] = sum / l[j + j * ld];
        }
    }
}

/* B := B U^-1, U upper. The rows of B are independent. */
static inline void TYPED(kernel_trsm_upper)(size_t t, const REAL *u, REAL *b, size_t ld)
{
    BENCH_SPREAD
    for (size_t i = 0; i < t; i++) {
        for (size_t j = 0; j < t; j++) {
            REAL sum = b[i + j * ld];
            for (size_t k = 0; k < j; k++) {
                sum -= b[i + k * ld] * u[k + j * ld];
            }
            b[i + j * ld] = sum / u[j + j * ld];
        }
    }
}

/* B := L^-1 B, L lower with ones on its diagonal. The columns of B are independent. */
static inline void TYPED(kernel_trsm_lower)(size_t t, const REAL *l, REAL *b, size_t ld)
{
    BENCH_SPREAD
    for (size_t j = 0; j < t; j++) {
        for (size_t i = 0; i < t; i++) {
            REAL sum = b[i + j * ld];
            for (size_t k = 0; k < i; k++) {
                sum -= l[i + k * ld] * b[k + j * ld];
            }
            b[i + j * ld] = sum;
        }
    }
}

/* A := its lower Cholesky factor; the upper triangle stays as it is. */
static inline void TYPED(kernel_potrf)(size_t t, REAL *a, size_t ld)
{
    for (size_t k = 0; k < t; k++) {
        REAL *column = a + k * ld;
        const REAL pivot = (REAL)sqrt((double)column[k]);
        column[k] = pivot;
#pragma omp parallel for
        for (size_t i = k + 1; i < t; i++) {
            column[i] /= pivot;
        }
#pragma omp parallel for
        for (size_t j = k + 1; j < t; j++) {
            for (size_t i = j; i < t; i++) {
                a[i + j * ld] -= column[i] * column[j];
            }
        }
    }
}

/* A := L and U without pivoting; L's ones are not stored. */
static inline void TYPED(kernel_getrf)(size_t t, REAL *a, size_t ld)
{
    for (size_t k = 0; k < t; k++) {
        REAL *column = a + k * ld;
        const REAL pivot = column[k];
#pragma omp parallel for
        for (size_t i = k + 1; i < t; i++) {
            column[i] /= pivot;
        }
#pragma omp parallel for
        for (size_t j = k + 1; j < t; j++) {
            for (size_t i = k + 1; i < t; i++) {
                a[i + j * ld] -= column[i] * a[k + j * ld];
            }
        }
    }
}

#else /* host devices */

/* C := beta C + alpha A op(B); C is m x n, A is m x k, op(B) is k x n. Not read when beta is 0. */
static inline void TYPED(kernel_gemm)(size_t m, size_t n, size_t k, bool transpose_b, REAL alpha, const REAL *a,
                                      const REAL *b, REAL beta, REAL *c, bench_ld ld)
{
    CBLAS(gemm)
    (CblasColMajor, CblasNoTrans, transpose_b ? CblasTrans : CblasNoTrans, (int)m, (int)n, (int)k, alpha, a, (int)ld.a,
     b, (int)ld.b, beta, c, (int)ld.c);
}

/* Lower triangle of C := C - A A^T. */
static inline void TYPED(kernel_syrk)(size_t t, const REAL *a, REAL *c, size_t ld)
{
    const int n = (int)t, stride = (int)ld;
    CBLAS(syrk)(CblasColMajor, CblasLower, CblasNoTrans, n, n, -1, a, stride, 1, c, stride);
}

/* B := B L^-T, L lower. */
static inline void TYPED(kernel_trsm_cholesky)(size_t t, const REAL *l, REAL *b, size_t ld)
{
    const int n = (int)t, stride = (int)ld;
    CBLAS(trsm)(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, n, n, 1, l, stride, b, stride);
}

/* B := B U^-1, U upper. */
static inline void TYPED(kernel_trsm_upper)(size_t t, const REAL *u, REAL *b, size_t ld)
{
    const int n = (int)t, stride = (int)ld;
    CBLAS(trsm)(CblasColMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, n, n, 1, u, stride, b, stride);
}

/* B := L^-1 B, L lower with ones on its diagonal. */
static inline void TYPED(kernel_trsm_lower)(size_t t, const REAL *l, REAL *b, size_t ld)
{
    const int n = (int)t, stride = (int)ld;
    CBLAS(trsm)(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasUnit, n, n, 1, l, stride, b, stride);
}

/* A := its lower Cholesky factor; the upper triangle stays as it is. */
static inline void TYPED(kernel_potrf)(size_t t, REAL *a, size_t ld)
{
    const int stride = (int)ld;
    for (size_t k = 0; k < t; k += BENCH_FACTOR_BLOCK) {
        const size_t block = t - k < BENCH_FACTOR_BLOCK ? t - k : BENCH_FACTOR_BLOCK;
        const int width = (int)block, rest = (int)(t - k - block);
        REAL *diagonal = a + k + k * ld, *below = diagonal + block, *trailing = below + block * ld;
        TYPED(factor_cholesky)(block, diagonal, ld);
        if (rest > 0) {
            CBLAS(trsm)
            (CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, rest, width, 1, diagonal, stride, below,
             stride);
            CBLAS(syrk)(CblasColMajor, CblasLower, CblasNoTrans, rest, width, -1, below, stride, 1, trailing, stride);
        }
    }
}

/* A := L and U without pivoting; L's ones are not stored. */
static inline void TYPED(kernel_getrf)(size_t t, REAL *a, size_t ld)
{
    const int stride = (int)ld;
    for (size_t k = 0; k < t; k += BENCH_FACTOR_BLOCK) {
        const size_t block = t - k < BENCH_FACTOR_BLOCK ? t - k : BENCH_FACTOR_BLOCK;
        const int width = (int)block, rest = (int)(t - k - block);
        REAL *diagonal = a + k + k * ld, *below = diagonal + block, *beside = diagonal + block * ld;
        TYPED(factor_lu)(block, diagonal, ld);
        if (rest > 0) {
            CBLAS(trsm)
            (CblasColMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, rest, width, 1, diagonal, stride, below,
             stride);
            CBLAS(trsm)
            (CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasUnit, width, rest, 1, diagonal, stride, beside,
             stride);
            CBLAS(gemm)
            (CblasColMajor, CblasNoTrans, CblasNoTrans, rest, rest, width, -1, below, stride, beside, stride, 1,
             beside + block, stride);
        }
    }
}

#endif

#pragma omp end declare target

#ifdef BENCH_GPU
#include "bench/kernels/gpu_kernels.h"
#endif
