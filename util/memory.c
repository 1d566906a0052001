/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Host memory with a reserve, and addresses. See memory.h. */
#include "util/memory.h"

#include "util/log.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static void *_Atomic reserve;
static atomic_bool is_short;

void od_memory_reserve(size_t bytes)
{
    free(atomic_exchange(&reserve, malloc(bytes)));
}

bool od_memory_is_short(void)
{
    return atomic_load_explicit(&is_short, memory_order_relaxed);
}

/* True: there is more now. */
static bool give_reserve_back(void)
{
    void *held = atomic_exchange(&reserve, NULL);
    if (!held)
        return od_memory_is_short(); /* perhaps another thread has just given it back */
    free(held);
    atomic_store(&is_short, true);
    od_log(OD_LOG_WARNING, "memory",
           "host memory is short: kernels that use no data of regions are left to libomptarget from now on");
    return true;
}

void *od_malloc(size_t bytes)
{
    void *got = malloc(bytes);
    return got || !bytes || !give_reserve_back() ? got : malloc(bytes);
}

void *od_calloc(size_t n, size_t bytes)
{
    void *got = calloc(n, bytes);
    return got || !n || !bytes || !give_reserve_back() ? got : calloc(n, bytes);
}

void *od_realloc(void *old, size_t bytes)
{
    void *got = realloc(old, bytes);
    return got || !bytes || !give_reserve_back() ? got : realloc(old, bytes);
}

/* --- addresses -------------------------------------------------------------- */

enum { SMALL_PART = 16 }; /* what is not needed takes one in so many of the bytes left, at most */

static size_t space_used(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file || fscanf(file, "%lu", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

bool od_space_is_limited(void)
{
    struct rlimit limit;
    return !getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur != RLIM_INFINITY;
}

size_t od_space_left(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY)
        return SIZE_MAX;
    size_t used = space_used();
    return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

bool od_space_admits(size_t bytes)
{
    return bytes <= od_space_left() / SMALL_PART;
}
