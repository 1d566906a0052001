/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Footprints: what a kernel touches of an array, relative to an address by which its task names it.
 *
 * A tile of a column-major matrix, named by its first element, is so many ranges of one length, one stride apart. A row
 * of blocks is one range. A footprint is found from the pages that a kernel has touched, of which page faults tell the
 * address that was touched first: the stride is the one by which most of what was touched can be reached from the
 * name. What belongs to another name of the same kernel is not taken for this one's. A guess: pages that it misses are
 * fetched when they are touched.
 */
#ifndef OD_MEMMGR_WINDOW_FOOTPRINT_H
#define OD_MEMMGR_WINDOW_FOOTPRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct od_footprint {
    size_t before; /* bytes of each range in front of where the name is; all in bytes */
    size_t length; /* from there on */
    size_t stride;
    uint32_t count; /* of ranges; 0: nothing is known */
} od_footprint;

/* Pages in a row that have been touched. */
typedef struct od_page_run {
    uintptr_t begin, end;
    uintptr_t first; /* the address in its first page that was touched first, or its beginning */
} od_page_run;

typedef struct od_named_runs {
    const od_page_run *runs; /* in order of addresses */
    uint32_t nruns;
    const uintptr_t *names; /* in any order */
    uint32_t nnames;
} od_named_runs;

/* Sorts addresses that were touched, and makes runs of their pages, in place of `runs`, which has room for as many as
 * there are addresses. Returns how many. */
uint32_t od_page_runs_make(uintptr_t *touched, uint32_t count, od_page_run *runs);
/* The footprint around the name `which`. Count 0: it is in no run. */
od_footprint od_footprint_infer(const od_named_runs *all, uint32_t which);
bool od_footprints_are_equal(const od_footprint *a, const od_footprint *b);

#endif
