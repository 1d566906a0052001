/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Strides: what a kernel touches of an array, relative to an address by which its task names it.
 *
 * A tile of a column-major matrix, named by its first element, is so many ranges of one length, one stride apart. A row
 * of blocks is one range. They are inferred from the pages that a kernel has touched, of which page faults tell the
 * address that was touched first. All tiles of a kernel in one array have one stride: the one by which most of what was
 * touched can be reached from the names, and little of it from two of them. A guess: pages that it misses are fetched
 * when they are touched.
 */
#ifndef OD_MEMMGR_EXTENT_STRIDES_H
#define OD_MEMMGR_EXTENT_STRIDES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct od_strides {
    size_t before; /* bytes of each range in front of where the name is; all in bytes */
    size_t length; /* from there on */
    size_t stride;
    uint32_t count; /* of ranges; 0: nothing is known */
} od_strides;

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
    const uintptr_t *places; /* these, and where other tasks' tiles of the array begin; ascending */
    uint32_t nplaces;
} od_named_runs;

/* Sorts addresses that were touched, and makes runs of their pages, in place of `runs`, which has room for as many as
 * there are addresses. Returns how many. */
uint32_t od_page_runs_make(uintptr_t *touched, uint32_t count, od_page_run *runs);
/* Those around each name, where others in the array have been found to be `known` bytes apart; 0: there are none. Count
 * 0: the name is in no run, or memory is out. False: a guess, since other strides say as much of what was touched. */
bool od_strides_infer(const od_named_runs *all, size_t known, od_strides *found);
/* What is in either, where they are as far apart; else the other one. */
od_strides od_strides_unite(const od_strides *strides, const od_strides *other);
/* What is in both, likewise. */
od_strides od_strides_intersect(const od_strides *strides, const od_strides *other);
bool od_strides_are_equal(const od_strides *a, const od_strides *b);

#endif
