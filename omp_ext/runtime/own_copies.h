/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Copies that a thread makes itself while it waits. To wake a thread for a small copy, and to be woken when it is made,
 * takes many times as long as the copy. So a thread that is about to wait says so before the event that it will wait
 * for: the first small copies that this event starts are the thread's own, all others those of the queues
 * (memmgr/device/transfer_queues.h, memmgr/device/host_copy.h).
 */
#ifndef OD_OMP_EXT_OWN_COPIES_H
#define OD_OMP_EXT_OWN_COPIES_H

#include "memmgr/device/transfer_queues.h"

enum { OD_OWN_COPIES = 16 };

typedef struct od_own_copies {
    unsigned count;
    od_transfer *transfer[OD_OWN_COPIES];
    od_status status[OD_OWN_COPIES]; /* when they have been made */
} od_own_copies;

/* The calling thread will wait. */
void od_own_copies_open(void);
/* A copy has been started by the calling thread. False: it is for the queues. */
bool od_own_copies_add(const od_transfer_queues *queues, od_transfer *transfer);
bool od_own_copies_are_left(void);
/* Those of the calling thread, which are the caller's then, to make or to submit. No more are added until it opens
 * again. */
od_own_copies od_own_copies_take(void);
/* Without any lock. */
void od_own_copies_make(od_transfer_queues *queues, od_own_copies *copies);

#endif
