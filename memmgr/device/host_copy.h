/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Copies within host memory, between the program's memory and a spill area: in pieces, by several threads.
 *
 * No link is used, so they go through no transfer queue. A thread that has nothing better to do than to wait for a copy
 * carries pieces itself; a thread of our own, and more when they are needed, carry what it does not.
 * When a copy ends, `done` is called on the thread that has carried its last piece, without any lock held.
 */
#ifndef OD_MEMMGR_DEVICE_HOST_COPY_H
#define OD_MEMMGR_DEVICE_HOST_COPY_H

#include "memmgr/data/transfer.h"
#include "util/status.h"

typedef struct od_host_copies od_host_copies;

/* `done` is called with `arg`. NULL: out of memory, or no thread can be started. */
od_host_copies *od_host_copies_create(void (*done)(void *arg, od_transfer *transfer, od_status status), void *arg);
/* Lets copies finish, then ends the threads. */
void od_host_copies_destroy(od_host_copies *copies);
/* In the child of a fork, which has none of the threads: frees what is left. */
void od_host_copies_abandon(od_host_copies *copies);

/* The transfer is between OD_HOST and OD_SPILL, and belongs to `copies` until `done`. `helped`: the caller will call
 * od_host_copies_help() soon. Never blocks for long. */
void od_host_copies_submit(od_host_copies *copies, od_transfer *transfer, bool helped);
/* Carries pieces until all have been begun. */
void od_host_copies_help(od_host_copies *copies);

#endif
