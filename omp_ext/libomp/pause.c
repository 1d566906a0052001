/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * omp_pause_resource and omp_pause_resource_all. A hard pause takes libomp down, which it cannot survive while other
 * root threads exist, and our workers are such threads: once there are any it becomes a soft one, which differs only in
 * what it frees. Statuses are the same.
 */
#include "omp_ext/libomp/real.h"
#include "omp_ext/process/activity.h"

enum { PAUSE_SOFT = 1, PAUSE_HARD = 2 };

static int survivable(int kind)
{
    return kind == PAUSE_HARD && od_runtime_started() ? PAUSE_SOFT : kind;
}

int omp_pause_resource(int kind, int device)
{
    return REAL(omp_pause_resource)(survivable(kind), device);
}

int omp_pause_resource_all(int kind)
{
    return REAL(omp_pause_resource_all)(survivable(kind));
}
