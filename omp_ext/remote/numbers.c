/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See numbers.h. */
#include "omp_ext/remote/numbers.h"

static bool on;

bool od_remote_is_on(void)
{
    return on;
}

void od_remote_set_on(void)
{
    on = true;
}
