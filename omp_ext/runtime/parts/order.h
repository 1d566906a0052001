/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The order of two launches in slices, of which slices of the second begin before the first has ended.
 *
 * Whoever lets them (omp_ext/slices/early.h) expects slices of the first to use nothing that these write, and to write
 * nothing that these use. That is a prediction. What proves it wrong is a page fault, as the slices that run at once
 * have no device in common, and a page has one writer or several readers: a slice of the second that asks for a page
 * that it was not expected to use waits for the end of the first launch; one of the first that asks for what slices of
 * the second may have used ends the program, since what they have done cannot be undone (late.c).
 *
 * Under the runtime's lock, but where it says otherwise.
 */
#ifndef OD_OMP_EXT_RUNTIME_ORDER_H
#define OD_OMP_EXT_RUNTIME_ORDER_H

#include "memmgr/window/window.h"
#include "sched/engine/engine.h"

#include <stdbool.h>
#include <stdint.h>

/* A slice's, while its launch is under way. */
typedef struct od_turn {
    uint64_t launch; /* number, in the program's order */
    int place;       /* where its kernel has begun, or OD_NOWHERE */
    /* It was expected to read, or write, the page at this host address. */
    bool (*expects)(const struct od_turn *turn, const od_window *window, uintptr_t host, bool write);
} od_turn;

/* The slice that is the task; NULL: it is none. */
const od_turn *od_order_turn(const od_task *task);

/* A slice has begun, or ended: for od_runtime_wait(). */
extern bool od_order_progress;

/* Slices of the launch after this one may begin. False: kernels of others run, whose faults might be taken for
 * theirs. */
bool od_order_open(uint64_t launch);
/* That one has ended. */
void od_order_close(void);
/* A slice of this launch is about to exclude others from something: waits until none of the launch before is left.
 * Without the lock. */
void od_order_await(const od_turn *turn);

/* It is a slice of a launch that begins while another one's are under way. */
bool od_order_is_early(const od_task *task);
/* A kernel begins on device k. Ends the program where it is a slice of the first launch, which has failed on another
 * device, and slices of the second have begun. */
void od_order_note_begun(const od_task *task, unsigned k);
/* A slice of the second launch may use this of the array, from now on. */
void od_order_note_use(const od_window *window, uintptr_t base, size_t size, bool write);
/* While both are under way: slices of the second may have used it in a way that is in the way of this access. */
bool od_order_uses(const od_window *window, uintptr_t host, bool write);

#endif
