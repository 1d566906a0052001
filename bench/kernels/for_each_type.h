/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Compiles BENCH_SOURCE twice, once per precision. The source writes its
 * element type as REAL and every function name as TYPED(name), which becomes
 * name_float or name_double. No include guard: once per program, on purpose.
 */
#include "bench/common/check.h"
#include "bench/common/clock.h"
#include "bench/common/memory.h"
#include "bench/common/random.h"
#include "bench/kernels/program.h"

#ifdef BENCH_GPU
#include "bench/kernels/gpu_blas.h"
#else
/* A region that runs on a host device may call host libraries: their symbols are found in the process. */
#pragma omp begin declare target
#include <cblas.h>
#pragma omp end declare target
#endif

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One thread per call: tasks are the parallelism, and results do not depend on how a call is split. */
static inline void use_one_blas_thread(void)
{
#ifndef BENCH_GPU
    openblas_set_num_threads(1);
#endif
}

#define REAL float
#define TYPED(name) name##_float
#define CBLAS(name) cblas_s##name
#define CUBLAS(name) gpu_cublas.s##name
#include "bench/kernels/kernels.h"
#include "bench/kernels/tiles.h"
#include BENCH_SOURCE
#undef REAL
#undef TYPED
#undef CBLAS
#undef CUBLAS

#define REAL double
#define TYPED(name) name##_double
#define CBLAS(name) cblas_d##name
#define CUBLAS(name) gpu_cublas.d##name
#include "bench/kernels/kernels.h"
#include "bench/kernels/tiles.h"
#include BENCH_SOURCE
#undef REAL
#undef TYPED
#undef CBLAS
#undef CUBLAS
