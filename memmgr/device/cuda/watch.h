/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What becomes of memory that is pinned while the program may do with it what it likes: Linux tells by a userfaultfd
 * that watched pages are unmapped, replaced or thrown away (munmap, also out of free(), mmap over them, mremap,
 * madvise). No access to the pages ever faults for it, so nothing is slower but these calls, which return when they
 * have been heard of. A fork() counts as the end of all of it, since it may copy the parent's pages.
 *
 * What a thread of the program has done to memory before it names it in a task, od_watch_ask() knows, even where the
 * call has not returned on its own thread yet.
 */
#ifndef OD_MEMMGR_DEVICE_CUDA_WATCH_H
#define OD_MEMMGR_DEVICE_CUDA_WATCH_H

#include "util/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct od_watch od_watch;

/* `heard` is called on a thread of the watch when something has come; it waits for nothing that others may hold while
 * they free memory, and returns false to be called again soon. NULL: the system does not allow it. */
od_watch *od_watch_create(bool (*heard)(void *arg), void *arg);
/* Nothing is watched any more. */
void od_watch_destroy(od_watch *watch);

/* Whole pages. False: such memory cannot be watched. */
bool od_watch_begin(od_watch *watch, uintptr_t begin, uintptr_t end);
/* The pages are still those that were watched. */
void od_watch_end(od_watch *watch, uintptr_t begin, uintptr_t end);

/* Calls `gone` for each range that has changed since the last time. False: too much has, or it cannot be told: all may
 * be gone. Takes a few microseconds, and neither allocates nor frees memory. */
bool od_watch_ask(od_watch *watch, void (*gone)(void *arg, uintptr_t begin, uintptr_t end), void *arg);

#endif
