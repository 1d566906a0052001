/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Parts of a kernel in slices: cells of its arrays, in as many shares as there are slices (memmgr/window/cut.h). */
#ifndef OD_OMP_EXT_BY_SHARE_H
#define OD_OMP_EXT_BY_SHARE_H

#include "omp_ext/maps/parts/collect.h"

/* Those of the region that a slice uses. None, or OD_EFULL: as od_parts_find(). Locked. */
od_status od_parts_by_share(od_engine *engine, od_region *region, const od_parts_named *named, od_parts *parts);
/* Whether kernels that use argument i may run in slices: it is an array that may be in parts, or no datum. Locked. */
typedef enum od_divisible {
    OD_DIVISIBLE,
    OD_DIVISIBLE_NOT_HERE,    /* devices have no windows */
    OD_DIVISIBLE_NOT_MAPPED,  /* it is in no region */
    OD_DIVISIBLE_NOT_SECTION, /* a section of a region, or with `always` */
    OD_DIVISIBLE_NOT_HELD,    /* pointers are attached in it, or the program holds its address */
    OD_DIVISIBLE_NOT_NOW,     /* others use it in one piece */
} od_divisible;
od_divisible od_parts_divisible(od_engine *engine, const od_map_args *args, int32_t i);
/* The array is cut for so many slices and what is known of them, and its data are exactly cells of the cut, or none.
 * OD_EFULL: settle the region and retry. Locked. */
od_status od_parts_prepare(od_engine *engine, const od_map_args *args, int32_t i, const od_parts_slice *slice);
/* To be asked for each kernel in one piece that uses all of an array in parts: there have been so many since the last
 * one in slices that the array should be in one piece again, too. Locked. */
bool od_parts_are_past_slices(od_region *region);
/* Bytes that one slice of so many uses of argument i. Locked. */
size_t od_parts_slice_bytes(od_engine *engine, const od_map_args *args, int32_t i, const od_parts_slice *slice);

#endif
