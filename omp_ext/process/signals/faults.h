/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Page faults of kernels on host devices. The signal handler does nothing but ask a thread of ours, which may take
 * locks, and try the instruction again; faults that are not ours go to whoever had the signal before.
 */
#ifndef OD_OMP_EXT_FAULTS_H
#define OD_OMP_EXT_FAULTS_H

#include "util/status.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct od_fault { /* of a kernel */
    uintptr_t address;
    bool write;
    uint64_t since_ns; /* when it happened */
} od_fault;

/* Faults are answered by `serve`, without locks, on a thread of ours. Its answers: OD_OK, the access may be tried
 * again; OD_EBUSY, serve will be asked again, after others; OD_EINVAL, the fault is none of ours. What this itself
 * returns: OD_EBUSY, the program has a handler of its own for the signal; OD_ENOMEM, there are no more threads. Under
 * the runtime's lock; again: nothing. */
od_status od_faults_start(od_status (*serve)(const od_fault *fault));
/* Ours may have these addresses. Under the runtime's lock. */
void od_faults_add(uintptr_t begin, uintptr_t end);
bool od_faults_may_be_at(uintptr_t address);
/* The calling thread is about to run a kernel whose faults are ours: the program may have set a handler behind our
 * back, and may block the signal on its threads. */
void od_faults_begin_kernel(sigset_t *mask);
/* It has run: the thread's mask is what it was. */
void od_faults_end_kernel(const sigset_t *mask);
/* A thread of libomp's takes part in a kernel: it has the mask of whoever has started it, at some time. */
void od_faults_join_kernel(void);

#endif
