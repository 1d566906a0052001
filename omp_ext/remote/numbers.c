/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See numbers.h. */
#include "omp_ext/remote/numbers.h"

static bool on, serves;

bool od_remote_is_on(void)
{
    return on;
}

void od_remote_set_on(void)
{
    on = true;
}

bool od_remote_serves(void)
{
    return serves;
}

void od_remote_set_serving(void)
{
    serves = true;
}
