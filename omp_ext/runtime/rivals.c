/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Attempts to be shown device addresses, of all threads. See runtime.h. */
#include "omp_ext/runtime/internal.h"

/* And those of them that have failed or whose construct has ended. */
static atomic_uint begun, over;

void od_rivals_begin(void)
{
    atomic_fetch_add(&begun, 1);
}

void od_rivals_end(void)
{
    atomic_fetch_add(&over, 1);
}

bool od_job_has_rivals(const od_job *job)
{
    unsigned ended = atomic_load(&over); /* first: what ends meanwhile counts as there */
    return atomic_load(&begun) - ended > job->attempts;
}
