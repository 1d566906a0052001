/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Slices: a kernel's iterations in parts, as the code of the kernel sees it on host devices.
 *
 * A kernel whose target region is nothing but a (teams) distribute loop asks libomp in each team which iterations are
 * the team's. A slice answers with those of them that are the slice's: so teams have the numbers, and the iterations,
 * that they have in the whole launch, and each iteration runs in one slice. OpenMP has no synchronisation between
 * teams, so slices need not run at once, nor in any order. What teams share all the same, atomics, reductions and
 * critical sections, works across slices: memory is coherent (omp_ext/runtime/parts/pages.c), and a lock of ours
 * excludes the critical sections of others, whose own locks are variables of each device's image.
 *
 * A team whose iterations are in several slices is there several times at once, so a kernel that asks for the number of
 * its team or thread, to have memory of its own, must not be cut inside of teams: a slice has the teams that begin in
 * it. Code may ask under conditions. Where it has not been seen to before, the slice that asks first goes on alone
 * among those that ask, to its end.
 *
 * Whoever decides which kernels run like this (omp_ext/slices) watches their first run: what they ask libomp for is
 * part of their code, mostly the same in each run.
 */
#ifndef OD_OMP_EXT_SLICES_SLICE_H
#define OD_OMP_EXT_SLICES_SLICE_H

#include "omp_ext/libomp/thread.h"

#include <stdatomic.h>

/* What a kernel has been seen to do. */
typedef enum od_seen {
    OD_SEEN_LOOP = 1,     /* a distribute loop over all iterations of the launch, divided evenly between the teams */
    OD_SEEN_CHUNKS = 2,   /* one with dist_schedule(static, chunk): compiled code finds the next chunk by itself */
    OD_SEEN_OTHER = 4,    /* one over other iterations */
    OD_SEEN_LIBRARY = 8,  /* it may call atomic operations of a library, which has a lock for each address */
    OD_SEEN_NUMBERS = 16, /* the number of a team or a thread */
    OD_SEEN_TASKS = 32,   /* explicit tasks, whose sections a thread may wait for in one of its own */
    OD_SEEN_PRIVATE =
        64, /* variables that are private to the target region, and all teams': they write to them, or each
                            * slice must have its own (variables.h) */
} od_seen;

/* Slices but the first begin at iterations that are `phase` modulo `every`; every 0: anywhere. */
typedef struct od_grain {
    uint64_t every, phase;
} od_grain;

struct od_slice {
    unsigned index, count; /* this one of so many; count 1: all iterations, and it is watched */
    uint64_t trip_count;   /* of the launch */
    atomic_uint *seen;     /* od_seen */
    atomic_uint *teams;    /* that have begun the loop where all iterations are watched; else NULL */
    struct od_variables *variables; /* of all slices of the launch; NULL where all iterations are watched */
    od_grain grain;
    bool together;         /* teams are in one slice each */
    /* Waits for slices of the launch before, which may want what this one is about to have alone; or NULL. */
    void (*await_turn)(const od_slice *slice);
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

/* The calling thread runs a region of a kernel, or of the program, and what its team leaves to its end. */
void od_slice_note_region(bool of_kernel);
/* It is in a kernel, or in a team of libomp's whose last region was one's. */
bool od_slice_is_of_kernel(void);
/* A launch in slices begins, and has ended. */
void od_slices_begin(void);
void od_slices_end(void);
/* Around a critical section, which then excludes those of other slices. Sections may be inside each other. */
void od_slice_begin_section(void);
void od_slice_end_section(void);
/* The calling thread is in a section; so is a parallel region that it begins. */
bool od_slice_in_section(void);
/* Around what a thread does in such a region: the section of the thread that has begun it excludes others already.
 * True: it is another thread. */
bool od_slice_join_section(bool in_section);
void od_slice_part_from_section(bool joined);
/* The calling thread is in a kernel, whose reduction may be one of several slices. */
bool od_slice_may_reduce(void);
/* What __kmpc_reduce has answered: OD_COMBINES, the calling thread does so now, and then says that it has. It says so,
 * too, where it has combined by atomic operations. */
int32_t od_slice_reduces(int32_t method);
void od_slice_has_reduced(void);

/* The kernel that runs on the calling thread asks for the number of its team or thread. */
void od_slice_asks_number(void);
/* Likewise: it creates an explicit task, or is about to take a lock of the program's. */
void od_slice_makes_task(void);
void od_slice_takes_lock(void);
/* A run of the slice has ended. */
void od_slice_leave(const od_slice *slice);

#endif
