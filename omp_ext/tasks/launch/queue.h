/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A device's queue of work for code that calls its vendor's libraries: a task's own, or that of a construct that shows
 * device addresses. While the code runs, its device is current on the thread; the queue is taken when the code asks for
 * it (ompdarts_stream()). Nothing here does anything where the back-end has no queues.
 */
#ifndef OD_OMP_EXT_QUEUE_H
#define OD_OMP_EXT_QUEUE_H

#include "memmgr/device/backend.h"
#include "omp_ext/runtime/runtime.h"
#include "util/lock.h"

/* Device k becomes current on the calling thread, until od_queue_leave(). */
void od_queue_enter(unsigned k);
/* What the queue holds has ended when this returns; OD_EDEVICE where it has failed. */
od_status od_queue_leave(void);
/* Likewise, without waiting: *ticket, if not NULL, ends with what the queue holds (od_backend_ops.poll). */
od_status od_queue_leave_ticket(od_ticket **ticket);
/* The queue for the code that runs here, taken at the first call; NULL: there is none. */
od_queue *od_queue_own(void);
/* The vendor's BLAS set to it (cublasHandle_t); NULL: there is none. */
void *od_queue_blas(void);
/* Waits for what the queue holds: constructs that the same code meets next expect that. */
void od_queue_drain(void);

/* Device k is current on the calling thread around what libomptarget does there: it launches and asks without seeing to
 * that itself. OD_EDEVICE: the device has failed, and libomptarget, which would end the process, is not to be
 * called. */
od_status od_queue_enter_device(unsigned k);
void od_queue_leave_device(unsigned k);
/* Likewise around a construct that is libomptarget's, for OpenMP's device, with this list: data make room there for
 * what it brings. The answer is for the end. */
int od_queue_enter_passing(int64_t device, const od_map_args *args);
void od_queue_leave_passing(int place);

/* For a fork (interop.c). */
void od_interop_locks(void (*visit)(od_lock *lock));

#endif
