/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Slices: a kernel's iterations in parts, as the code of the kernel sees it on host devices.
 *
 * A kernel whose target region is nothing but a (teams) distribute loop asks libomp in each team which iterations are
 * the team's. A slice answers with those of them that are the slice's: so teams have the numbers, and the iterations,
 * that they have in the whole launch, and each iteration runs in one slice. OpenMP has no synchronisation between
 * teams, so slices need not run at once, nor in any order. What teams share all the same, atomics and critical
 * sections, works across slices: memory is coherent (omp_ext/runtime/parts/pages.c), and a lock of ours excludes the
 * critical sections of others, whose own locks are variables of each device's image.
 *
 * Whoever decides which kernels run like this (omp_ext/slices) watches their first run: what they ask libomp for is
 * part of their code, the same in each run.
 */
#ifndef OD_OMP_EXT_SLICES_SLICE_H
#define OD_OMP_EXT_SLICES_SLICE_H

#include "omp_ext/libomp/thread.h"

#include <stdatomic.h>

/* What a kernel has been seen to do. */
typedef enum od_seen {
    OD_SEEN_LOOP = 1,      /* a distribute loop over all iterations of the launch, divided evenly between the teams */
    OD_SEEN_CHUNKS = 2,    /* one with dist_schedule(static, chunk): compiled code finds the next chunk by itself */
    OD_SEEN_OTHER = 4,     /* one over other iterations */
    OD_SEEN_REDUCTION = 8,
    OD_SEEN_CRITICAL = 16,
    OD_SEEN_LIBRARY = 32, /* it may call atomic operations of a library, which has a lock for each address */
} od_seen;

/* Slices but the first begin at iterations that are `phase` modulo `every`; every 0: anywhere. */
typedef struct od_grain {
    uint64_t every, phase;
} od_grain;

struct od_slice {
    unsigned index, count; /* this one of so many; count 1: all iterations, and it is watched */
    uint64_t trip_count;   /* of the launch */
    atomic_uint *seen;     /* od_seen */
    od_grain grain;
};

/* A team's iterations, counted from 0; none where first > last. */
typedef struct od_iterations {
    uint64_t first, last;
} od_iterations;

/* Those of n iterations that are the slice's; the first > last where n is less than the slices. */
od_iterations od_slice_of(const od_slice *slice, uint64_t n);
/* Of a team's iterations those that are the slice's too. */
od_iterations od_slice_cut(const od_slice *slice, uint64_t n, od_iterations team);
/* The kernel that runs on the calling thread has done this. */
void od_slice_see(od_seen what);

/* A launch in slices begins, and has ended. */
void od_slices_begin(void);
void od_slices_end(void);
/* The calling thread's critical sections exclude those of other slices, or are noted. */
bool od_slice_concerns(void);
/* Likewise of a reduction: it is a kernel's. */
bool od_slice_may_reduce(void);
/* Around such a section. */
void od_slice_lock(void);
void od_slice_unlock(void);
/* What __kmpc_reduce has answered: 1, the calling thread combines now, and then says that it has. */
int32_t od_slice_reduces(int32_t method);

#endif
