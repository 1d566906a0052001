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
    if (slice->together && team.first >= own.first && team.first <= own.last)
        return team;
    if (slice->together)
        return (od_iterations){1, 0};
    own.first = own.first > team.first ? own.first : team.first;
    own.last = own.last < team.last ? own.last : team.last;
    return own.first <= own.last && team.first <= team.last ? own : (od_iterations){1, 0};
}

void od_slice_see(od_seen what)
{
    if (od_self.slice)
        atomic_fetch_or_explicit(od_self.slice->seen, what, memory_order_relaxed);
}

/* --- critical sections and numbers ------------------------------------------- */

/* Who is in a section, and which slice goes on alone among those that ask for numbers: sections of others are not
 * entered meanwhile, and nobody goes on alone while somebody else is in a section. So whoever waits for one of them
 * has not got the other. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static const od_thread *inside; /* in a section, or in several; under `lock`, as the next */
static const od_slice *inside_of; /* whose thread that is; NULL: not known */
static const od_slice *alone;
static atomic_uint launches;    /* in slices, under way */

void od_slices_begin(void)
{
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

bool od_slice_may_reduce(void)
{
    return od_self.kernels && are_under_way();
}

static bool is_kept_out(void)
{
    return inside || (alone && od_self.slice && alone != od_self.slice);
}

/* Of threads that belong to no kernel's launch: the last region was one's. Sections of the program are none of ours:
 * kernels do not exclude those. */
static _Thread_local bool region_was_kernels;

void od_slice_note_region(bool of_kernel)
{
    region_was_kernels = of_kernel;
}

bool od_slice_is_of_kernel(void)
{
    return od_self.kernels || region_was_kernels;
}

static void await_turn(void)
{
    const od_slice *slice = od_self.slice;
    if (slice && slice->await_turn)
        slice->await_turn(slice);
}

/* Whoever is in a section that began before slices did is waited for by those that want that one. */
static void enter(void)
{
    if (od_self.sections || (!od_self.slice_locks && !are_under_way()) || od_self.slice_locks++)
        return;
    await_turn();
    pthread_mutex_lock(&lock);
    while (is_kept_out())
        pthread_cond_wait(&changed, &lock);
    inside = &od_self;
    inside_of = od_self.slice;
    pthread_mutex_unlock(&lock);
}

static void leave(void)
{
    if (!od_self.slice_locks || --od_self.slice_locks)
        return;
    pthread_mutex_lock(&lock);
    inside = NULL;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

void od_slice_begin_section(void)
{
    if (!od_slice_is_of_kernel())
        return;
    enter();
    od_self.sections += !od_self.slice_locks;
}

void od_slice_end_section(void)
{
    if (!od_slice_is_of_kernel())
        return;
    od_self.sections -= !od_self.slice_locks;
    leave();
}

bool od_slice_in_section(void)
{
    return od_self.slice_locks || od_self.sections;
}

bool od_slice_join_section(bool in_section)
{
    bool joins = in_section && !od_slice_in_section();
    od_self.sections += joins;
    return joins;
}

void od_slice_part_from_section(bool joined)
{
    od_self.sections -= joined;
}

int32_t od_slice_reduces(int32_t method)
{
    unsigned before = od_self.slice_locks;
    if (method == OD_COMBINES)
        enter();
    od_self.slice_reductions += od_self.slice_locks != before;
    return method;
}

void od_slice_has_reduced(void)
{
    if (!od_self.slice_reductions)
        return;
    od_self.slice_reductions--;
    leave();
}

static bool is_shared(const od_slice *slice)
{
    return slice && slice->count > 1 && !slice->together;
}

void od_slice_asks_number(void)
{
    const od_slice *slice = od_self.slice;
    if (slice)
        od_slice_see(OD_SEEN_NUMBERS);
    if (!is_shared(slice))
        return;
    await_turn();
    pthread_mutex_lock(&lock);
    while (alone != slice && (alone || (inside && inside != &od_self && inside_of != slice)))
        pthread_cond_wait(&changed, &lock);
    alone = slice;
    pthread_mutex_unlock(&lock);
}

/* Whoever has it may ask for its number later, and wait for a slice that waits for the lock. */
void od_slice_takes_lock(void)
{
    if (od_self.slice)
        od_slice_asks_number();
}

void od_slice_makes_task(void)
{
    od_slice_see(OD_SEEN_TASKS);
    od_slice_asks_number(); /* on which thread it runs, nothing says whose kernel asks */
}

void od_slice_leave(const od_slice *slice)
{
    if (!is_shared(slice))
        return;
    pthread_mutex_lock(&lock);
    if (alone == slice)
        alone = NULL;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}
