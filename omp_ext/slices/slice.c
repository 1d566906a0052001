/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See slice.h. */
#include "omp_ext/slices/slice.h"

#include <pthread.h>

/* The remainder is spread over the first ones. */
static uint64_t first_of(uint64_t n, uint64_t index, uint64_t count)
{
    uint64_t more = n % count;
    return n / count * index + (index < more ? index : more);
}

static uint64_t begin_of(const od_slice *slice, uint64_t n, unsigned index)
{
    uint64_t first = first_of(n, index, slice->count), every = slice->grain.every;
    if (!every || !index || index == slice->count)
        return first;
    uint64_t more = (slice->grain.phase + every - first % every) % every;
    return more < n - first ? first + more : n;
}

od_iterations od_slice_of(const od_slice *slice, uint64_t n)
{
    uint64_t first = begin_of(slice, n, slice->index), end = begin_of(slice, n, slice->index + 1);
    return end > first ? (od_iterations){first, end - 1} : (od_iterations){1, 0};
}

od_iterations od_slice_cut(const od_slice *slice, uint64_t n, od_iterations team)
{
    od_iterations own = od_slice_of(slice, n);
    own.first = own.first > team.first ? own.first : team.first;
    own.last = own.last < team.last ? own.last : team.last;
    return own.first <= own.last && team.first <= team.last ? own : (od_iterations){1, 0};
}

void od_slice_see(od_seen what)
{
    if (od_self.slice)
        atomic_fetch_or_explicit(od_self.slice->seen, what, memory_order_relaxed);
}

/* --- critical sections ------------------------------------------------------- */

static atomic_uint launches; /* in slices, under way */
static pthread_mutex_t sections;
static pthread_once_t made = PTHREAD_ONCE_INIT;

/* Sections of different names may be inside each other. */
static void make(void)
{
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&sections, &recursive);
    pthread_mutexattr_destroy(&recursive);
}

void od_slices_begin(void)
{
    pthread_once(&made, make);
    atomic_fetch_add(&launches, 1);
}

void od_slices_end(void)
{
    atomic_fetch_sub(&launches, 1);
}

/* Tasks of a kernel may run where nothing says which kernel's they are, in the barrier at a region's end. */
static bool are_under_way(void)
{
    return atomic_load_explicit(&launches, memory_order_relaxed);
}

bool od_slice_concerns(void)
{
    return od_self.slice || are_under_way();
}

bool od_slice_may_reduce(void)
{
    return od_self.kernels && od_slice_concerns();
}

void od_slice_lock(void)
{
    if (!are_under_way())
        return;
    pthread_mutex_lock(&sections);
    od_self.slice_locks++;
}

void od_slice_unlock(void)
{
    if (!od_self.slice_locks)
        return;
    od_self.slice_locks--;
    pthread_mutex_unlock(&sections);
}

int32_t od_slice_reduces(int32_t method)
{
    enum { COMBINES = 1 };
    od_slice_see(OD_SEEN_REDUCTION);
    if (method == COMBINES)
        od_slice_lock();
    return method;
}
