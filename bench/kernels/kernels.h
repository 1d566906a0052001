/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The tile kernels, for one precision (see for_each_type.h). Tiles are stored
 * by columns without gaps. t is the order of a square tile.
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
                                      const REAL *b, REAL beta, REAL *c)
{
    const size_t row_step = transpose_b ? n : 1, column_step = transpose_b ? 1 : k;
    BENCH_SPREAD_2D
    for (size_t j = 0; j < n; j++) {
        for (size_t i = 0; i < m; i++) {
            REAL sum = 0;
            for (size_t l = 0; l < k; l++) {
                sum += a[i + l * m] * b[l * row_step + j * column_step];
            }
            c[i + j * m] = alpha * sum + (beta == 0 ? 0 : beta * c[i + j * m]);
        }
    }
}

/* Lower triangle of C := C - A A^T. */
static inline void TYPED(kernel_syrk)(size_t t, const REAL *a, REAL *c)
{
    BENCH_SPREAD_2D
    for (size_t j = 0; j < t; j++) {
        for (size_t i = 0; i < t; i++) {
            REAL sum = 0;
            for (size_t l = 0; i >= j && l < t; l++) {
                sum += a[i + l * t] * a[j + l * t];
            }
            c[i + j * t] -= sum;
        }
    }
}

/* B := B L^-T, L lower. The rows of B are independent. */
static inline void TYPED(kernel_trsm_cholesky)(size_t t, const REAL *l, REAL *b)
{
    BENCH_SPREAD
    for (size_t i = 0; i < t; i++) {
        for (size_t j = 0; j < t; j++) {
            REAL sum = b[i + j * t];
            for (size_t k = 0; k < j; k++) {
                sum -= b[i + k * t] * l[j + k * t];
            }
            b[i + j * t] = sum / l[j + j * t];
        }
    }
}

/* B := B U^-1, U upper. The rows of B are independent. */
static inline void TYPED(kernel_trsm_upper)(size_t t, const REAL *u, REAL *b)
{
    BENCH_SPREAD
    for (size_t i = 0; i < t; i++) {
        for (size_t j = 0; j < t; j++) {
            REAL sum = b[i + j * t];
            for (size_t k = 0; k < j; k++) {
                sum -= b[i + k * t] * u[k + j * t];
            }
            b[i + j * t] = sum / u[j + j * t];
        }
    }
}

/* B := L^-1 B, L lower with ones on its diagonal. The columns of B are independent. */
static inline void TYPED(kernel_trsm_lower)(size_t t, const REAL *l, REAL *b)
{
    BENCH_SPREAD
    for (size_t j = 0; j < t; j++) {
        for (size_t i = 0; i < t; i++) {
            REAL sum = b[i + j * t];
            for (size_t k = 0; k < i; k++) {
                sum -= l[i + k * t] * b[k + j * t];
            }
            b[i + j * t] = sum;
        }
    }
}

/* A := its lower Cholesky factor; the upper triangle stays as it is. */
static inline void TYPED(kernel_potrf)(size_t t, REAL *a)
{
    for (size_t k = 0; k < t; k++) {
        const REAL pivot = (REAL)sqrt((double)a[k + k * t]);
        a[k + k * t] = pivot;
#pragma omp parallel for
        for (size_t i = k + 1; i < t; i++) {
            a[i + k * t] /= pivot;
        }
#pragma omp parallel for
        for (size_t j = k + 1; j < t; j++) {
            for (size_t i = j; i < t; i++) {
                a[i + j * t] -= a[i + k * t] * a[j + k * t];
            }
        }
    }
}

/* A := L and U without pivoting; L's ones are not stored. */
static inline void TYPED(kernel_getrf)(size_t t, REAL *a)
{
    for (size_t k = 0; k < t; k++) {
        const REAL pivot = a[k + k * t];
#pragma omp parallel for
        for (size_t i = k + 1; i < t; i++) {
            a[i + k * t] /= pivot;
        }
#pragma omp parallel for
        for (size_t j = k + 1; j < t; j++) {
            for (size_t i = k + 1; i < t; i++) {
                a[i + j * t] -= a[i + k * t] * a[k + j * t];
            }
        }
    }
}

#else /* host devices */

/* C := beta C + alpha A op(B); C is m x n, A is m x k, op(B) is k x n. Not read when beta is 0. */
static inline void TYPED(kernel_gemm)(size_t m, size_t n, size_t k, bool transpose_b, REAL alpha, const REAL *a,
                                      const REAL *b, REAL beta, REAL *c)
{
    CBLAS(gemm)(CblasColMajor, CblasNoTrans, transpose_b ? CblasTrans : CblasNoTrans, (int)m, (int)n, (int)k, alpha, a,
                (int)m, b, (int)(transpose_b ? n : k), beta, c, (int)m);
}

/* Lower triangle of C := C - A A^T. */
static inline void TYPED(kernel_syrk)(size_t t, const REAL *a, REAL *c)
{
    const int n = (int)t;
    CBLAS(syrk)(CblasColMajor, CblasLower, CblasNoTrans, n, n, -1, a, n, 1, c, n);
}

/* B := B L^-T, L lower. */
static inline void TYPED(kernel_trsm_cholesky)(size_t t, const REAL *l, REAL *b)
{
    const int n = (int)t;
    CBLAS(trsm)(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, n, n, 1, l, n, b, n);
}

/* B := B U^-1, U upper. */
static inline void TYPED(kernel_trsm_upper)(size_t t, const REAL *u, REAL *b)
{
    const int n = (int)t;
    CBLAS(trsm)(CblasColMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, n, n, 1, u, n, b, n);
}

/* B := L^-1 B, L lower with ones on its diagonal. */
static inline void TYPED(kernel_trsm_lower)(size_t t, const REAL *l, REAL *b)
{
    const int n = (int)t;
    CBLAS(trsm)(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasUnit, n, n, 1, l, n, b, n);
}

/* A := its lower Cholesky factor; the upper triangle stays as it is. */
static inline void TYPED(kernel_potrf)(size_t t, REAL *a)
{
    const int stride = (int)t;
    for (size_t k = 0; k < t; k += BENCH_FACTOR_BLOCK) {
        const size_t block = t - k < BENCH_FACTOR_BLOCK ? t - k : BENCH_FACTOR_BLOCK;
        const int width = (int)block, rest = (int)(t - k - block);
        REAL *diagonal = a + k + k * t, *below = diagonal + block, *trailing = below + block * t;
        TYPED(factor_cholesky)(block, diagonal, t);
        if (rest > 0) {
            CBLAS(trsm)(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, rest, width, 1, diagonal,
                        stride, below, stride);
            CBLAS(syrk)(CblasColMajor, CblasLower, CblasNoTrans, rest, width, -1, below, stride, 1, trailing, stride);
        }
    }
}

/* A := L and U without pivoting; L's ones are not stored. */
static inline void TYPED(kernel_getrf)(size_t t, REAL *a)
{
    const int stride = (int)t;
    for (size_t k = 0; k < t; k += BENCH_FACTOR_BLOCK) {
        const size_t block = t - k < BENCH_FACTOR_BLOCK ? t - k : BENCH_FACTOR_BLOCK;
        const int width = (int)block, rest = (int)(t - k - block);
        REAL *diagonal = a + k + k * t, *below = diagonal + block, *beside = diagonal + block * t;
        TYPED(factor_lu)(block, diagonal, t);
        if (rest > 0) {
            CBLAS(trsm)(CblasColMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, rest, width, 1, diagonal,
                        stride, below, stride);
            CBLAS(trsm)(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasUnit, width, rest, 1, diagonal, stride,
                        beside, stride);
            CBLAS(gemm)(CblasColMajor, CblasNoTrans, CblasNoTrans, rest, rest, width, -1, below, stride, beside, stride,
                        1, beside + block, stride);
        }
    }
}

#endif

#pragma omp end declare target

#ifdef BENCH_GPU
#include "bench/kernels/gpu_kernels.h"
#endif
