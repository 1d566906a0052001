/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Memory that must be there. See memory.h. */
#include "omp_ext/process/memory.h"

#include "omp_ext/process/fatal.h"
#include "util/memory.h"

void od_expect_memory(bool there)
{
    if (!there)
        od_fatal("out of host memory");
}

void *od_alloc(size_t bytes)
{
    void *got = od_malloc(bytes ? bytes : 1);
    od_expect_memory(got);
    return got;
}

void *od_alloc_zeroed(size_t n, size_t bytes)
{
    void *got = od_calloc(n ? n : 1, bytes);
    od_expect_memory(got);
    return got;
}

void *od_alloc_more(void *old, size_t bytes)
{
    void *got = od_realloc(old, bytes ? bytes : 1);
    od_expect_memory(got);
    return got;
}
