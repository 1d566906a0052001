/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Copies that a thread makes itself. To wake a thread for a small copy, and to be woken when it is made, takes many
 * times as long as the copy. So before an event a thread says how many bytes it will copy: the first small copies that
 * this event starts are the thread's own, all others those of the queues (memmgr/device/transfer_queues.h,
 * memmgr/device/host_copy.h).
 */
#ifndef OD_OMP_EXT_OWN_COPIES_H
#define OD_OMP_EXT_OWN_COPIES_H

#include "memmgr/device/transfer_queues.h"

enum { OD_OWN_COPIES = 16 };

/* Bytes at once: what a thread copies while another one wakes, where it waits for them, and where it has other things
 * to do. */
enum { OD_OWN_BYTES_WAITING = 64 * 1024, OD_OWN_BYTES_PASSING = 8 * 1024 };

typedef struct od_own_copies {
    unsigned count;
    od_transfer *transfer[OD_OWN_COPIES];
    od_status status[OD_OWN_COPIES]; /* when they have been made */
} od_own_copies;

/* The calling thread will make so many bytes' copies, or more if it has said so before. */
void od_own_copies_open(size_t most_bytes);
/* What follows is not its event: no copies are added until it opens again. */
void od_own_copies_close(void);
/* A copy has been started by the calling thread. False: it is for the queues. */
bool od_own_copies_add(const od_transfer_queues *queues, od_transfer *transfer);
bool od_own_copies_are_left(void);
/* Those of the calling thread, which are the caller's then, to make or to submit. No more are added until it opens
 * again. */
od_own_copies od_own_copies_take(void);
/* Without any lock. */
void od_own_copies_make(od_transfer_queues *queues, od_own_copies *copies);

#endif
