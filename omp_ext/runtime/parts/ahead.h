/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What comes next of kernels that get all of their data by page faults: most go through arrays from one page to the
 * next, so these get more and more pages at once. A kernel whose threads, or arrays, are at several places has as many
 * streams.
 */
#ifndef OD_OMP_EXT_AHEAD_H
#define OD_OMP_EXT_AHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OD_AHEAD_STREAMS = 16, OD_AHEAD_MOST = 64 };

typedef struct od_stream {
    const void *of;       /* the array; NULL: none */
    uintptr_t begin, end; /* what it got last */
    bool writes;
    uint64_t used; /* when it came last */
} od_stream;

typedef struct od_ahead {
    od_stream stream[OD_AHEAD_STREAMS];
    uint64_t faults;
} od_ahead;

/* A fault in the page that begins there. How many pages it gets from there on, 1 to `most`; `write`: whether to write
 * to them, as the fault does, or as its stream did with what came before. */
unsigned od_ahead_note(od_ahead *ahead, const void *of, uintptr_t page, size_t page_size, unsigned most, bool *write);

#endif
